// Composing for Dueling Masters: pieces clicked onto the own half, a move clicked from its square to its destination.

const GAME = (() => {
  const { ROWS, TITLES } = RULES, { asteroids: ASTEROIDS } = FACTS;
  const COLUMNS = Array.from({ length: 10 }, (_, column) => String(column + 1));
  const said = (piece) => TITLES[piece[0]];
  const shape = (name, moving = false) => `${{ "*": "boulder", H: "planet" }[name[0]] || "disc"}${moving ? " transit" : ""}`;
  let write, piece;

  /** The squares that a move passes on its way, where it has one. */
  const transit = (start, end) => KNOWLEDGE.path(start, end).slice(0, -1);

  /** All that must be placed, put on the own half by chance; `chance(n)`: a whole number below n. */
  function random(state, chance) {
    const free = RULES.NAMES.filter((name, square) => RULES.own(state.seat, square));
    const draw = () => free.splice(chance(free.length), 1)[0];
    const rocks = Array.from({ length: ASTEROIDS }, draw);
    return [["*", ...rocks].join(" "), ...RULES.pieces(RULES.homesOf(state.options)).map((name) => `${name} ${draw()}`)].join("\n");
  }

  function board(caption, seat, square, click) {
    return grid({ caption, columns: COLUMNS, rows: seat === 2 ? [...ROWS] : [...ROWS].reverse(), called: (row, column) => row + column, square, click });
  }

  function drawSetup(state, judged, controls, boards) {
    const placed = judged.placed, asteroids = judged.asteroids;
    const missing = [...(asteroids.length < ASTEROIDS ? ["*"] : []), ...placed.filter(([, square]) => !square).map(([name]) => name)];
    const written = (rocks, list) => [...(rocks.length ? [["*", ...rocks].join(" ")] : []), ...list.filter(([, square]) => square).map(([name, square]) => `${name} ${square}`)].join("\n");
    redraw(controls,
      make("p", {}, missing.length ? say("Still to be placed: {list}.", { list: missing.map((name) => (name === "*" ? `${ASTEROIDS - asteroids.length} * ${said("*")}` : name)).join(", ") }) : say("All are placed.")),
      make("div", { class: "row", role: "group", "aria-label": say("Your pieces") }, [["*", asteroids.length === ASTEROIDS], ...placed].map(([name, done]) => make("button", {
        type: "button", class: "ship", id: `piece-${name === "*" ? "rock" : name}`, "aria-pressed": String(name === piece), "aria-label": `${name}, ${said(name)}${done ? `, ${say("placed")}` : ""}`, onclick: () => { piece = name; write(written(asteroids, placed)); },
      }, make("b", {}, name), make("small", {}, said(name)), make("small", {}, name === "*" ? `${asteroids.length}/${ASTEROIDS}` : done || "–")))),
      make("div", { class: "row" }, make("button", { type: "button", id: "random", onclick: () => write(random(state, (below) => crypto.getRandomValues(new Uint32Array(1))[0] % below)) }, say("Any legal setup")),
        make("span", {}, say("Click a square of your half; click a piece to pick it up again."))));
    const at = new Map();
    for (const [name, square] of placed) if (square) at.set(square, [...(at.get(square) || []), name]);
    redraw(boards, make("div", { class: "boards" }, board(say("Your half and the other"), state.seat, (square) => {
      const names = at.get(square);
      if (asteroids.includes(square)) return { symbol: "*", tint: "rock", shape: shape("*"), said: said("*") };
      if (names) return { symbol: names[0] + (names.length > 1 ? "+" : ""), tint: "own", shape: shape(names[0]), said: names.map((name) => `${name} ${said(name)}`).join(", ") };
      return RULES.own(state.seat, RULES.SQUARES.get(square)) ? { marks: "may", said: say("your half") } : {};
    }, (square) => {
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
    })));
  }

  function drawOrders(state, judged, controls, boards) {
    const view = state.view, can = view.entitled, chosen = can.find((each) => each.piece === piece) || can[0];
    const [, ordered, aim] = judged.text.match(/^(\S+) \S+-(\S+)$/) || [];
    piece = chosen ? chosen.piece : null;
    redraw(controls, chosen ? make("div", { class: "row" },
      chooser("piece", say("Move"), can.map((each) => [each.piece, say("{piece}, {kind}, from {square}", { piece: each.piece, kind: said(each.piece), square: each.square })]), piece, (value) => { piece = value; write(""); }),
      make("span", {}, chosen.rams.length ? say("to a framed square, or against an own asteroid on {squares}: click it; click it again to take it back", { squares: chosen.rams.join(", ") }) : say("to a framed square: click it; click it again to take it back"))) : make("p", {}, say("You have no legal move, and pass.")));
    const way = new Set(chosen && aim && ordered === piece && !judged.faults.length ? transit(chosen.square, aim) : []);
    const [other] = Object.keys(view.known);
    redraw(boards, make("div", { class: "boards" }, make("div", {}, make("h3", {}, say("Your pieces")), board(say("Your pieces"), view.seat, (square) => {
      const own = view.own.pieces.filter((each) => each.square === square);
      const goal = chosen && (chosen.to.includes(square) || chosen.rams.includes(square));
      const marks = judged.faults.length === 0 && aim === square && ordered === piece ? "aimed" : way.has(square) ? "way" : goal ? "may" : "";
      const told = marks === "aimed" ? say("destination ordered") : marks === "way" ? say("passed on the way") : goal ? say("{piece} may go there", { piece }) : "";
      const plan = told && ", " + told;
      if (own.length) return { symbol: (own[0].from ? own[0].piece.toLowerCase() : own[0].piece) + (own.length > 1 ? "+" : ""), tint: own[0].from ? "fired" : "own", shape: shape(own[0].piece, Boolean(own[0].from)), said: own.map((each) => (each.from ? say("{piece} in transit from {square}", { piece: each.piece, square: each.from }) : say("{piece} resting", { piece: each.piece }))).join(", ") + plan, marks };
      if (view.own.asteroids.includes(square)) return { symbol: "*", tint: "rock", shape: shape("*"), said: said("*") + plan, marks };
      return { symbol: marks === "aimed" ? "+" : marks === "way" ? "•" : "", said: plan.slice(2), marks };
    }, chosen ? (square) => {
      if (chosen.to.includes(square) || chosen.rams.includes(square)) return write(aim === square && ordered === piece ? "" : `${piece} ${chosen.square}-${square}`);
      const here = can.filter((each) => each.square === square);
      if (here.length) { piece = here[(here.findIndex((each) => each.piece === piece) + 1) % here.length].piece; write(""); }
      return undefined;
    } : null)), make("div", {}, make("h3", {}, say("The other pieces, as you know them")), board(say("The other pieces"), view.seat, (square) => {
      const known = view.known[other], there = known.pieces.filter((each) => each.square === square && each.state !== "destroyed");
      if (there.length) return { symbol: there[0].state === "resting" ? there[0].piece : there[0].piece.toLowerCase(), tint: there[0].state === "resting" ? "seen" : "rock", shape: shape(there[0].piece, there[0].state !== "resting"), said: there.map((each) => (each.state === "resting" ? say("{piece} rests there since turn {turn}", each) : say("{piece} left there in turn {turn}", each))).join(", ") };
      if (square in known.asteroids_destroyed) return { symbol: "x", tint: "sunk", said: say("asteroid destroyed") };
      if (square in known.empty) return { symbol: "o", tint: "empty", said: say("found empty in turn {turn}", { turn: known.empty[square] }) };
      return {};
    }))));
  }

  return {
    oneLine: true, // kinds alone read the same on one line
    begin(state, writer) { write = writer; piece = state.pbem === "setup 1" ? "*" : null; },
    draw: (state, text, judged, controls, boards) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, judged, controls, boards),
    random, transit,
  };
})();
