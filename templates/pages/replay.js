// Stepping through a match, and checking its bundle. All is drawn from the bundle in the page: nothing is fetched.

/**
 * What the script of a game, replay/GAME.js, has for this page; a position is whatever the game makes of it.
 * @typedef {{symbol: string, tint: string, fresh: boolean, said: string}} Square
 * @typedef {{name: string, columns: string[], rows: string[], square: (row: string, column: string) => ?Square}} Panel
 * @typedef {{label: string, square: string, text: string[], tone: string}} Told
 * @typedef {Object} Game
 * @property {(game: Object) => Object} begin the position before the first turn, from a record
 * @property {(before: Object, given: Object<string, string>, reports: Object[]) => Object} turn the position after one
 * @property {(position: Object) => {seat: number, panels: Panel[]}[]} boards seat 0: everybody's
 * @property {(reports: Object[], names: string[]) => [string, Told[], string?][]} told title, lines, and words for none
 * @property {(position: Object) => number[]} materiel what is left to each seat
 * @property {string} counted what that counts
 * @property {(position: Object) => [string, number, number][][]} shots of each seat: weapon, fired, hit
 * @property {(text: string) => string} orders as one line
 */

(() => {
  const data = JSON.parse(document.getElementById("data").textContent), byId = (id) => document.getElementById(id);
  let games = [], game = null, at = 0, steps = [];

  /** The positions of a game, the start first. */
  function played(one) {
    const found = [GAME.begin(one)];
    one.turns.forEach((given, turn) => found.push(GAME.turn(found[turn], given, one.reports[turn])));
    return found;
  }

  const name = (seat) => game.seats[seat].name;

  function panel({ name: layer, columns, rows, square }, title) {
    return grid({
      caption: `${title}${layer ? ", layer " + layer : ""}`, corner: layer, columns, rows, called: (row, column) => row + column,
      square: (_, down, along) => {
        const found = square(rows[down], columns[along]);
        return found && { ...found, marks: found.fresh ? "fresh" : "", said: `${found.said}${found.fresh ? ", this turn" : ""}` };
      },
    });
  }

  function events() {
    if (!at) return [make("p", {}, "The setups are in.")];
    const given = Object.entries(game.turns[at - 1]).map(([seat, text]) => make("li", {}, make("b", {}, `${name(seat - 1)}: `), make("code", {}, GAME.orders(text))));
    const told = GAME.told(game.reports[at - 1], game.seats.map((seat) => seat.name)).map(([title, lines, none = "nothing"]) => [
      title ? make("h3", {}, title) : null,
      lines.length ? make("ul", { class: "told" }, lines.map((line) => make("li", { class: `told-${line.tone || "plain"}` },
        make("b", {}, `${line.label}${line.square ? " " + line.square : ""}`), " ", line.text.map((words, row) => [row ? make("br") : null, words])))) : make("p", {}, none),
    ]);
    return [...told.flat().filter(Boolean), make("h3", {}, "The orders"), make("ul", { class: "told" }, given)];
  }

  function press() {
    const said = data.press.filter((one) => one.game === game.number && Math.min(one.turn, steps.length - 1) === at);
    return said.length ? [make("h3", {}, "What was written to all"), ...said.map(({ by, text }) => make("blockquote", {}, make("b", {}, by), make("pre", {}, text)))] : [];
  }

  function draw() {
    const scores = GAME.materiel(steps[at]);
    byId("turn").max = steps.length - 1;
    byId("turn").value = at;
    byId("at").textContent = at ? `turn ${at} of ${steps.length - 1}: ${scores.map((score, seat) => `${name(seat)} ${score}`).join(", ")}` : "before the first turn";
    byId("boards").replaceChildren(...GAME.boards(steps[at]).map((board) => {
      const title = board.seat ? name(board.seat - 1) : "The board";
      return make("section", {}, make("h3", {}, title), make("div", { class: "boards" }, board.panels.map((one) => panel(one, title))));
    }));
    byId("events").replaceChildren(...events());
    byId("press").replaceChildren(...press());
    for (const [id, end] of [["first", 0], ["back", 0], ["next", steps.length - 1], ["last", steps.length - 1]]) byId(id).disabled = at === end;
    for (const mark of document.querySelectorAll("#chart .now")) { mark.setAttribute("x1", place(before() + at)); mark.setAttribute("x2", place(before() + at)); }
    byId("shots").replaceChildren(...shots());
  }

  // Charts: materiel over all turns of the match, and what was hit by which weapon up to this turn.

  const WIDE = 600, HIGH = 150;
  let every = [];
  const place = (step) => 10 + (WIDE - 20) * (step / Math.max(1, every.flat().length - 1));
  const before = () => every.slice(0, games.indexOf(game)).flat().length;

  function drawing(attributes, ...children) {
    const element = (tag, values, ...inside) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
      made.append(...inside);
      return made;
    };
    return element("svg", { class: "chart", role: "img", ...attributes }, ...children.map((child) => element(...child)));
  }

  function chart() {
    const most = Math.max(1, ...every.flat(2)), names = games[0].seats.map((seat) => seat.name), parts = [];
    names.forEach((who, seat) => {
      let step = 0;
      for (const turns of every) {
        const points = turns.map((counts) => `${place(step++).toFixed(1)},${(HIGH - 26 - (HIGH - 50) * (counts[seat] / most)).toFixed(1)}`);
        parts.push(["polyline", { points: points.join(" "), class: `line${seat + 1}` }]);
      }
      parts.push(["text", { x: 12 + seat * 145, y: 14 }, `${["—", "– –", "···", "–·–"][seat]} ${who}`]);
    });
    let step = 0;
    every.forEach((turns, number) => {
      if (number) parts.push(["line", { y1: 20, y2: HIGH - 20, x1: place(step - 0.5), x2: place(step - 0.5), class: "between" }]);
      if (games.length > 1) parts.push(["text", { x: place(step), y: HIGH - 6 }, String(number + 1)]);
      step += turns.length;
    });
    parts.push(["line", { y1: 20, y2: HIGH - 20, x1: 10, x2: 10, class: "now" }]);
    const said = names.map((who, seat) => `${who} ${every.map((turns) => `from ${turns[0][seat]} to ${turns[turns.length - 1][seat]}`).join(", then ")}`).join("; ");
    const title = `${GAME.counted}, over ${games.length > 1 ? `${games.length} games` : `${steps.length - 1} turns`}`;
    byId("chart").replaceChildren(make("p", {}, title[0].toUpperCase() + title.slice(1)), drawing({ viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-label": `${title}: ${said}` }, ...parts));
  }

  function shots() {
    const all = GAME.shots(steps[at]);
    if (!all.some((weapons) => weapons.length)) return [];
    const most = Math.max(...all.flat().map(([, tried]) => tried));
    const bar = (tried, hit) => drawing({ viewBox: "0 0 120 10", class: "chart bar", "aria-label": `${hit} of ${tried}` },
      ["rect", { width: 120 * tried / most, height: 10, class: "tried" }], ["rect", { width: 120 * hit / most, height: 10, class: "hits" }]);
    const rows = all.flatMap((weapons, seat) => weapons.map(([weapon, tried, hit]) => make("tr", {},
      make("th", { scope: "row" }, name(seat)), make("td", {}, weapon), make("td", {}, String(tried)), make("td", {}, String(hit)), make("td", {}, bar(tried, hit)))));
    const heads = ["player", "weapon", "fired", "hit", "hit of fired"].map((word) => make("th", { scope: "col" }, word));
    return [make("table", { class: "due shots" }, make("caption", {}, "Hits by weapon, up to this turn"), make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows))];
  }

  function open(chosen) {
    game = chosen;
    steps = played(game);
    at = 0;
    for (const button of byId("games").children) button.setAttribute("aria-pressed", String(Number(button.dataset.game) === game.number));
    const { result } = game;
    byId("about").textContent = `${data.title}: ${game.seats.map((seat) => seat.name).join(" and ")}. Game ${game.number}: ${result.winner ? `${name(result.winner - 1)} won` : "nobody won"}, ${result.scores.join(" to ")} (${result.reason}).`;
    byId("setups").replaceChildren(...game.seats.flatMap((seat) => [make("h3", {}, seat.name), make("pre", {}, seat.setup)]));
    chart();
    draw();
  }

  const go = (turn) => { at = Math.max(0, Math.min(turn, steps.length - 1)); draw(); };
  byId("first").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(at - 1));
  byId("next").addEventListener("click", () => go(at + 1));
  byId("last").addEventListener("click", () => go(steps.length - 1));
  byId("turn").addEventListener("input", (event) => go(Number(event.target.value)));
  byId("verify").addEventListener("click", async () => {
    const list = make("ul");
    byId("proof").replaceChildren(list);
    const marks = new Map([[true, ["good", "ok"]], [null, ["open", "open"]], [false, ["bad", "FAILED"]]]), found = [];
    for await (const check of VERIFY.run(data.bundle, data.forms)) {
      const [tone, word] = marks.get(check.holds);
      list.append(make("li", { class: tone }, `${word}  ${check.said}`));
      found.push(check.holds);
    }
    const holds = found.includes(false) ? false : found.includes(null) ? null : true;
    byId("proof").append(make("p", { class: marks.get(holds)[0] }, holds ? "All that can be checked here holds."
      : holds === null ? "What can be checked here holds, but not all can be: pbem verify says of the rest whether it does." : "This does not hold."));
  });

  async function begin() {
    const bytes = await BUNDLE.unpacked(data.bundle);
    byId("save").href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
    byId("save").setAttribute("download", `${document.title.split(" ")[0]}.pbem.zip`);
    games = BUNDLE.games(BUNDLE.unzip(bytes));
    every = games.map((one) => played(one).map(GAME.materiel));
    for (const each of games) byId("games").append(make("button", { type: "button", "data-game": each.number, onclick: () => open(each) }, `game ${each.number}`));
    byId("games").hidden = games.length < 2;
    if (games.length) open(games[games.length - 1]);
    else { byId("steps").hidden = true; byId("about").textContent = "No game of this match is revealed yet."; }
  }

  begin().catch((error) => { byId("about").textContent = `The bundle in this page cannot be drawn: ${error.message}. Verify says what is wrong with it.`; });
})();
