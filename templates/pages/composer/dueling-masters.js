// Composing for Dueling Masters: pieces clicked onto the own half, a move clicked from its square to its destination.

const GAME = (() => {
  const { ROWS, TITLES } = RULES;
  const COLUMNS = Array.from({ length: 10 }, (_, column) => String(column + 1));
  const said = (piece) => TITLES[piece[0]].replace(/^[A-Z], /, "").replace(/s$/, "");
  let write, piece;

  function board(caption, seat, square, click) {
    return grid({ caption, columns: COLUMNS, rows: seat === 2 ? [...ROWS] : [...ROWS].reverse(), called: (row, column) => row + column, square, click });
  }

  function drawSetup(state, judged, controls, boards) {
    const placed = judged.placed, asteroids = judged.asteroids;
    const missing = [...(asteroids.length < 7 ? ["*"] : []), ...placed.filter(([, square]) => !square).map(([name]) => name)];
    const written = (rocks, list) => [...(rocks.length ? [["*", ...rocks].join(" ")] : []), ...list.filter(([, square]) => square).map(([name, square]) => `${name} ${square}`)].join("\n");
    redraw(controls,
      make("p", {}, missing.length ? `Still to be placed: ${missing.map((name) => (name === "*" ? `${7 - asteroids.length} asteroids` : name)).join(", ")}.` : "All are placed."),
      make("div", { class: "row" }, chooser("piece", "Place", [["*", "* asteroid"], ...placed.map(([name, square]) => [name, `${name} ${said(name)}${square ? " on " + square : ""}`])], piece, (value) => { piece = value; }),
        make("span", {}, "Click a square of your half; an asteroid clicked again is taken away.")));
    const at = new Map();
    for (const [name, square] of placed) if (square) at.set(square, [...(at.get(square) || []), name]);
    redraw(boards, make("div", { class: "boards" }, board("Your half and the other", state.seat, (square) => {
      const names = at.get(square);
      if (asteroids.includes(square)) return { symbol: "*", tint: "rock", said: "asteroid" };
      if (names) return { symbol: names[0] + (names.length > 1 ? "+" : ""), tint: "own", said: names.map((name) => `${name} ${said(name)}`).join(", ") };
      return RULES.own(state.seat, RULES.SQUARES.get(square)) ? { marks: "may", said: "your half" } : {};
    }, (square) => {
      if (piece === "*") {
        const rocks = asteroids.includes(square) ? asteroids.filter((rock) => rock !== square) : [...asteroids, square];
        if (rocks.length >= 7) piece = (placed.find(([, where]) => !where) || ["*"])[0];
        write(written(rocks, placed));
      } else {
        const list = placed.map(([name, where]) => [name, name === piece ? square : where]);
        piece = (list.find(([, where]) => !where) || [piece])[0];
        write(written(asteroids, list));
      }
    })));
  }

  function drawOrders(state, judged, controls, boards) {
    const view = state.view, can = view.entitled, chosen = can.find((each) => each.piece === piece) || can[0];
    const [, ordered, aim] = judged.text.match(/^(\S+) \S+-(\S+)$/) || [];
    piece = chosen ? chosen.piece : null;
    redraw(controls, chosen ? make("div", { class: "row" },
      chooser("piece", "Move", can.map((each) => [each.piece, `${each.piece} from ${each.square}`]), piece, (value) => { piece = value; write(""); }),
      make("span", {}, `to one of ${chosen.to.length} squares${chosen.rams.length ? `, or ram an own asteroid on ${chosen.rams.join(", ")}` : ""}: click it`)) : make("p", {}, "You have no legal move, and pass."));
    const [other] = Object.keys(view.known);
    redraw(boards, make("div", { class: "boards" }, make("div", {}, make("h3", {}, "Your pieces"), board("Your pieces", view.seat, (square) => {
      const own = view.own.pieces.filter((each) => each.square === square);
      const goal = chosen && (chosen.to.includes(square) || chosen.rams.includes(square));
      const marks = judged.faults.length === 0 && aim === square && ordered === piece ? "aimed" : goal ? "may" : "";
      const plan = marks === "aimed" ? ", destination ordered" : goal ? `, ${piece} may go there` : "";
      if (own.length) return { symbol: (own[0].from ? own[0].piece.toLowerCase() : own[0].piece) + (own.length > 1 ? "+" : ""), tint: own[0].from ? "fired" : "own", said: own.map((each) => `${each.piece} ${each.from ? "in transit from " + each.from : "resting"}`).join(", ") + plan, marks };
      if (view.own.asteroids.includes(square)) return { symbol: "*", tint: "rock", said: "asteroid" + plan, marks };
      return { symbol: marks === "aimed" ? "+" : "", said: plan.slice(2), marks };
    }, chosen ? (square) => {
      if (chosen.to.includes(square) || chosen.rams.includes(square)) return write(`${piece} ${chosen.square}-${square}`);
      const here = can.filter((each) => each.square === square);
      if (here.length) { piece = here[(here.findIndex((each) => each.piece === piece) + 1) % here.length].piece; write(""); }
      return undefined;
    } : null)), make("div", {}, make("h3", {}, "The other pieces, as you know them"), board("The other pieces", view.seat, (square) => {
      const known = view.known[other], there = known.pieces.filter((each) => each.square === square && each.state !== "destroyed");
      if (there.length) return { symbol: there[0].state === "resting" ? there[0].piece : there[0].piece.toLowerCase(), tint: there[0].state === "resting" ? "seen" : "rock", said: there.map((each) => `${each.piece} ${each.state === "resting" ? "rests" : "left"} there in turn ${each.turn}`).join(", ") };
      if (square in known.asteroids_destroyed) return { symbol: "x", tint: "sunk", said: "asteroid destroyed" };
      if (square in known.empty) return { symbol: "o", tint: "empty", said: `found empty in turn ${known.empty[square]}` };
      return {};
    }))));
  }

  return {
    oneLine: true, // kinds alone read the same on one line
    begin(state, writer) { write = writer; piece = state.pbem === "setup 1" ? "*" : null; },
    draw: (state, text, judged, controls, boards) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, judged, controls, boards),
  };
})();
