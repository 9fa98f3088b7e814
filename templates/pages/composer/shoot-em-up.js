// Composing for Shoot 'em up Spaceships: ships clicked onto the home zone, three actions chosen for each.

const GAME = (() => {
  const { COLUMNS, SHIPS } = RULES;
  const ARROWS = { N: "^", E: ">", S: "v", W: "<" }, FACINGS = { N: "north", E: "east", S: "south", W: "west" };
  const ACTIONS = { "?": "choose", L: "L turn left", R: "R turn right", F: "F fire", M: "M move", S: "S shield" };
  const seatOf = (ship) => Math.floor(SHIPS.indexOf(ship) / 3) + 1;
  let write, current;

  function board(columns, rows, square, click) {
    return make("div", { class: "boards" }, grid({ caption: "The board", columns: [...COLUMNS.slice(0, columns)], rows: Array.from({ length: rows }, (_, row) => String(rows - row)), called: (row, column) => column + row, square, click }));
  }

  function drawSetup(state, text, judged, controls, boards) {
    const own = RULES.letters(state.seat), home = RULES.homes(state.options, state.seat);
    const ships = own.map((ship) => judged.ships.find((each) => each.ship === ship) || { ship, square: "", facing: "" });
    const written = (list) => list.filter((each) => each.square).map((each) => `${each.ship} ${each.square} ${each.facing || "?"}`).join("\n");
    const change = (ship, what) => write(written(ships.map((each) => (each.ship === ship ? { ...each, ...what } : each))));
    const inward = ["N", "S", "E", "W"][state.seat - 1];
    redraw(controls, make("p", {}, "Choose a ship, then click a square of your home zone."), ships.map((each) => make("div", { class: "row" },
      make("button", { type: "button", id: `ship-${each.ship}`, "aria-pressed": String(each.ship === current), onclick: () => { current = each.ship; write(text); } }, `${each.ship}${each.ship === current ? " is placed next" : ""}`),
      chooser(`square-${each.ship}`, "on", [["", "no square"], ...home.map((square) => [square, square])], each.square, (square) => change(each.ship, { square, facing: each.facing || inward })),
      chooser(`facing-${each.ship}`, "facing", [["", "no way"], ...Object.entries(FACINGS)], each.facing, (facing) => change(each.ship, { facing })))));
    const [columns, rows] = RULES.sizeOf(state.options);
    redraw(boards, board(columns, rows, (square) => {
      const ship = ships.find((each) => each.square === square);
      if (ship) return { symbol: ship.ship + (ARROWS[ship.facing] || ""), tint: `seat${state.seat}`, said: `${ship.ship} facing ${FACINGS[ship.facing] || "nowhere yet"}` };
      return home.includes(square) ? { marks: "may", said: "home zone" } : {};
    }, (square) => {
      if (!home.includes(square)) return;
      const ship = current, next = own[own.indexOf(ship) + 1];
      const facing = ships.find((each) => each.ship === ship).facing || inward;
      if (next) current = next;
      change(ship, { square, facing });
    }));
  }

  function drawOrders(state, text, judged, controls, boards) {
    const view = state.view, given = new Map();
    for (const line of text.split(/\r?\n/)) {
      const found = line.trim().match(/^([A-L])[\s:]+([LRFMS?]{3})$/);
      if (found && !given.has(found[1])) given.set(found[1], found[2]);
    }
    const change = (ship, at, action) => {
      const all = new Map(view.entitled.map((each) => [each, given.get(each) || "???"]));
      all.set(ship, [...all.get(ship)].map((old, place) => (place === at ? action : old)).join(""));
      write([...all].map(([each, three]) => `${each}: ${three}`).join("\n"));
    };
    redraw(controls, view.entitled.map((ship) => {
      const where = view.ships.find((each) => each.ship === ship);
      return make("div", { class: "row", role: "group", "aria-label": `ship ${ship}` }, make("b", {}, `${ship} on ${where.square}, facing ${FACINGS[where.facing]}`),
        [0, 1, 2].map((at) => chooser(`action-${ship}-${at}`, `action ${at + 1}`, Object.entries(ACTIONS), (given.get(ship) || "???")[at], (action) => change(ship, at, action))));
    }));
    redraw(boards, board(view.board.columns, view.board.rows, (square) => {
      const ship = view.ships.find((each) => each.square === square);
      return ship ? { symbol: ship.ship + ARROWS[ship.facing], tint: `seat${seatOf(ship.ship)}`, said: `${seatOf(ship.ship) === view.seat ? "your" : "seat " + seatOf(ship.ship)} ${ship.ship} facing ${FACINGS[ship.facing]}` } : {};
    }));
  }

  return {
    oneLine: false, // one line is one ship: that is the notation
    begin(state, writer) { write = writer; current = RULES.letters(state.seat)[0]; },
    draw: (state, text, judged, controls, boards) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, text, judged, controls, boards),
  };
})();
