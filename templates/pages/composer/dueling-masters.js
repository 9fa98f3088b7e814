// Composing for Dueling Masters: pieces clicked onto the own half, a move clicked from its square to its destination.

const GAME = (() => {
  const { asteroids: ASTEROIDS } = FACTS;
  const said = (piece) => BOARD.TITLES[piece[0]];
  let write, piece, hint;

  /** The squares that a move passes on its way, where it has one. */
  const transit = (start, end) => KNOWLEDGE.path(start, end).slice(0, -1);

  /** All that must be placed, put on the own half by chance; `chance(n)`: a whole number below n. */
  function random(state, chance) {
    const free = RULES.NAMES.filter((name, square) => RULES.own(state.seat, square));
    const draw = () => free.splice(chance(free.length), 1)[0];
    const rocks = Array.from({ length: ASTEROIDS }, draw);
    return [["*", ...rocks].join(" "), ...RULES.pieces(RULES.homesOf(state.options)).map((name) => `${name} ${draw()}`)].join("\n");
  }

  const board = (title, seat, square, click) => drawBoard(title, BOARD.panels(square, seat === 2), click);

  function drawSetup(state, judged, controls, boards, given) {
    const placed = judged.placed, asteroids = judged.asteroids;
    const missing = [...(asteroids.length < ASTEROIDS ? ["*"] : []), ...placed.filter(([, square]) => !square).map(([name]) => name)];
    const written = (rocks, list) => [...(rocks.length ? [["*", ...rocks].join(" ")] : []), ...list.filter(([, square]) => square).map(([name, square]) => `${name} ${square}`)].join("\n");
    redraw(controls,
      make("p", {}, missing.length ? say("Still to be placed: {list}.", { list: missing.map((name) => (name === "*" ? `${ASTEROIDS - asteroids.length} * ${said("*")}` : name)).join(", ") }) : say("All are placed.")),
      make("div", { class: "row", role: "group", "aria-label": say("Your pieces") }, [["*", asteroids.length === ASTEROIDS], ...placed].map(([name, done]) => make("button", {
        type: "button", class: "ship", id: `piece-${name === "*" ? "rock" : name}`, "aria-pressed": String(name === piece), "aria-label": `${name}, ${said(name)}${done ? `, ${say("placed")}` : ""}`, onclick: () => { piece = name; write(written(asteroids, placed)); },
      }, make("b", {}, name), make("small", {}, said(name)), make("small", {}, name === "*" ? `${asteroids.length}/${ASTEROIDS}` : done || "–")))),
      make("div", { class: "row" }, make("button", { type: "button", id: "random", onclick: () => write(random(state, chance)) }, say("Any legal setup")),
        make("span", {}, say("Click a square of your half; click a piece to pick it up again."))));
    const at = new Map();
    for (const [name, square] of placed) if (square) at.set(square, [...(at.get(square) || []), name]);
    const laid = board(say("Your half and the other"), state.seat, (square) => BOARD.own((at.get(square) || []).map((name) => ({ piece: name })), asteroids.includes(square) ? "asteroid" : "")
      || (RULES.own(state.seat, RULES.SQUARES.get(square)) ? { marks: "may", said: say("your half") } : {}), (square) => {
      if (!RULES.own(state.seat, RULES.SQUARES.get(square))) return;
      const here = at.get(square) || [], mine = piece !== "*" && here.includes(piece) ? piece : null;
      if (mine || (here.length && placed.every(([name, where]) => name !== piece || where))) {
        piece = mine || here[here.length - 1];
        write(written(asteroids, placed.map(([name, where]) => [name, name === piece ? null : where])));
      } else if (asteroids.includes(square)) {
        piece = "*";
        write(written(asteroids.filter((rock) => rock !== square), placed));
      } else if (piece === "*") {
        const rocks = [...asteroids, square];
        if (rocks.length >= ASTEROIDS) piece = (placed.find(([, where]) => !where) || ["*"])[0];
        write(written(rocks, placed));
      } else {
        const list = placed.map(([name, where]) => [name, name === piece ? square : where]);
        piece = (list.find(([, where]) => !where) || [piece])[0];
        write(written(asteroids, list));
      }
    });
    sides(boards, [{ seat: state.seat, title: say("Your half and the other"), drawn: laid }]);
    redraw(given, BOARD.legend());
  }

  function drawOrders(state, judged, controls, boards, given) {
    const view = state.view, mine = Boolean(view.entitled), can = view.entitled || [];
    const [, ordered, aim] = judged.text.match(/^(\S+) \S+-(\S+)$/) || [], last = view.turn - (view.over ? 0 : 1), chosen = can.find((each) => each.piece === (ordered || piece));
    piece = chosen ? chosen.piece : null;
    redraw(controls, can.length ? make("p", { class: "aiming" }, chosen ? [make("b", {}, say("{piece}, {kind}, from {square}", { piece, kind: said(piece), square: chosen.square })), " "] : "",
      make("span", { id: "hint", role: "status", class: hint ? "bad" : "" }, hint || (!chosen ? say("Click the piece that is to move.") : chosen.rams.length ? say("to a framed square, or against an own asteroid on {squares}: click it; click it again to take it back", { squares: chosen.rams.join(", ") }) : say("to a framed square: click it; click it again to take it back")))) : make("p", {}, mine ? say("You have no legal move, and pass.") : ""));
    redraw(given, BOARD.legend());
    const way = new Set(chosen && aim && ordered === piece && !judged.faults.length ? transit(chosen.square, aim) : []), [other] = Object.keys(view.known), theirs = view.known[other];
    const own = board(say("Your pieces"), view.seat, (square) => {
      const goal = chosen && (chosen.to.includes(square) || chosen.rams.includes(square));
      const marks = judged.faults.length === 0 && aim === square && ordered === piece ? "aimed" : way.has(square) ? "way" : goal ? "may" : "";
      if (!chosen && can.some((each) => each.square === square)) return { ...BOARD.own(view.own.pieces.filter((each) => each.square === square), ""), marks: "may" };
      const plan = marks === "aimed" ? say("destination ordered") : marks === "way" ? say("passed on the way") : goal ? say("{piece} may go there", { piece }) : "";
      const found = BOARD.own(view.own.pieces.filter((each) => each.square === square), view.own.asteroids.includes(square) ? "asteroid" : "");
      return { ...(found || { symbol: { aimed: "+", way: "•" }[marks] || "" }), marks, said: [found && found.said, plan].filter(Boolean).join(", ") };
    }, can.length ? (square) => {
      hint = "";
      if (chosen && (chosen.to.includes(square) || chosen.rams.includes(square))) { write(aim === square && ordered === piece ? "" : `${piece} ${chosen.square}-${square}`); return; }
      const here = can.filter((each) => each.square === square);
      if (here.length) piece = here[(here.findIndex((each) => each.piece === piece) + 1) % here.length].piece;
      else if (chosen) hint = say("{piece} cannot go to {square}: choose a framed square, or another piece.", { piece, square });
      write(here.length ? "" : judged.text);
    } : null);
    const heard = board(say("The other pieces"), view.seat, (square) => BOARD.heard(theirs.pieces.filter((each) => each.square === square && each.state !== "destroyed"), theirs.asteroids_destroyed[square], theirs.empty[square], last) || {});
    sides(boards, [{ seat: view.seat, title: say("Your pieces"), tab: say("mine: {left} left", { left: view.own.pieces.length }), drawn: own }, { seat: Number(other), title: say("The other pieces, as you know them"), tab: say("theirs"), drawn: heard }]);
  }

  return {
    oneLine: true, // kinds alone read the same on one line
    begin(state, writer) { write = writer; hint = ""; piece = state.pbem === "setup 1" ? "*" : null; },
    draw: (state, text, judged, controls, boards, given) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, judged, controls, boards, given),
    acts: ({ reports, view }) => BOARD.acts(reports, (seat, from) => (view.own.pieces.find((each) => each.from === from) || {}).square, (seat) => seat === view.seat),
    random, transit,
  };
})();
