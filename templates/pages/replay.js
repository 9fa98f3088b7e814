// Stepping through a match, and checking its bundle. All of it is in the page: nothing is fetched.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent), byId = (id) => document.getElementById(id);
  let game = data.games[data.games.length - 1], at = 0;

  function panel(board, panel, title) {
    const squares = new Map(panel.squares.map(([down, along, symbol, tint, fresh]) => [`${down} ${along}`, { symbol, tint, marks: fresh ? "fresh" : "", said: `${symbol}${fresh ? ", this turn" : ""}` }]));
    return grid({
      caption: `${title}${panel.name ? ", layer " + panel.name : ""}`, corner: panel.name, columns: panel.columns, rows: panel.rows, called: (row, column) => row + column,
      square: (name, down, along) => squares.get(`${down} ${along}`),
    });
  }

  function draw() {
    const step = game.steps[at];
    byId("turn").max = game.steps.length - 1;
    byId("turn").value = at;
    byId("at").textContent = at ? `turn ${at} of ${game.steps.length - 1}: ${game.names.map((name, seat) => `${name} ${step.scores[seat]}`).join(", ")}` : "before the first turn";
    byId("boards").replaceChildren(...step.boards.map((board) => {
      const title = board.seat ? `${game.names[board.seat - 1]}` : "The board";
      return make("section", {}, make("h3", {}, title), make("div", { class: "boards" }, board.panels.map((one) => panel(board, one, title))));
    }));
    byId("events").textContent = at ? step.events : "The setups are in.";
    for (const [id, end] of [["first", 0], ["back", 0], ["next", game.steps.length - 1], ["last", game.steps.length - 1]]) byId(id).disabled = at === end;
    for (const mark of document.querySelectorAll("#chart line")) { mark.setAttribute("x1", place(at)); mark.setAttribute("x2", place(at)); }
  }

  const WIDE = 600, HIGH = 140;
  const place = (turn) => 10 + (WIDE - 20) * (turn / Math.max(1, game.steps.length - 1));

  function chart() {
    const space = "http://www.w3.org/2000/svg", element = (tag, attributes) => {
      const made = document.createElementNS(space, tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      return made;
    };
    const most = Math.max(1, ...game.steps.flatMap((step) => step.scores));
    const drawing = element("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "img", "aria-label": game.names.map((name, seat) => `${name} from ${game.steps[0].scores[seat]} to ${game.steps[game.steps.length - 1].scores[seat]}`).join("; ") });
    game.names.forEach((name, seat) => {
      const points = game.steps.map((step, turn) => `${place(turn).toFixed(1)},${(HIGH - 12 - (HIGH - 34) * (step.scores[seat] / most)).toFixed(1)}`);
      drawing.append(element("polyline", { points: points.join(" "), class: `line${seat + 1}` }));
      const label = element("text", { x: 12 + seat * 140, y: 14, class: `word${seat + 1}` });
      label.textContent = `${["—", "– –", "···", "–·–"][seat]} ${name}`;
      drawing.append(label);
    });
    drawing.append(element("line", { y1: 20, y2: HIGH - 8, x1: 10, x2: 10, class: "now" }));
    byId("chart").replaceChildren(drawing);
  }

  function open(chosen) {
    game = chosen;
    at = 0;
    for (const button of byId("games").children) button.setAttribute("aria-pressed", String(Number(button.dataset.round) === game.round));
    const result = game.result;
    byId("about").textContent = `${game.title}: ${game.names.join(" and ")}` + (result ? `. Game ${game.round}: ${result.winner ? game.names[result.winner - 1] + " won" : "nobody won"}, ${result.scores.join(" to ")}.` : "");
    byId("setups").replaceChildren(...game.names.flatMap((name, seat) => [make("h3", {}, name), make("pre", {}, game.setups[seat])]));
    chart();
    draw();
  }

  const go = (turn) => { at = Math.max(0, Math.min(turn, game.steps.length - 1)); draw(); };
  byId("first").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(at - 1));
  byId("next").addEventListener("click", () => go(at + 1));
  byId("last").addEventListener("click", () => go(game.steps.length - 1));
  byId("turn").addEventListener("input", (event) => go(Number(event.target.value)));
  for (const each of data.games) byId("games").append(make("button", { type: "button", "data-round": each.round, onclick: () => open(each) }, `game ${each.round}`));
  byId("games").hidden = data.games.length < 2;
  byId("save").href = `data:application/zip;base64,${data.bundle}`;
  byId("save").setAttribute("download", `${document.title.split(" ")[0]}.pbem.zip`);
  byId("verify").addEventListener("click", async () => {
    const list = make("ul");
    byId("proof").replaceChildren(list);
    let holds = true;
    for await (const check of VERIFY.run(data.bundle)) {
      list.append(make("li", { class: check.holds ? "good" : "bad" }, `${check.holds ? "ok" : "FAILED"}  ${check.said}`));
      holds = holds && check.holds;
    }
    byId("proof").append(make("p", { class: holds ? "good" : "bad" }, holds ? "All that can be checked here holds." : "This does not hold."));
  });
  if (game) open(game); else byId("about").textContent = "No game of this match is revealed yet.";
})();
