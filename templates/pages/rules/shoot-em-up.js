// The rules of Shoot 'em up Spaceships that a player needs before sending: setups and orders, judged as the referee
// judges them. A port of pbem/games/shoot_em_up/notation.py: text in; canonical text and faults, by ruling, out.
// tests/page_scripts/rules.py holds both against each other.

const RULES = (() => {
  const { columns: COLUMNS, each: EACH, edges: EDGES, ships: SHIPS } = FACTS;
  const PLACED = new RegExp(`^([${SHIPS}])\\s+([${COLUMNS}][1-9][0-9]?)\\s+([${FACTS.facings}])$`), ORDERED = new RegExp(`^([${SHIPS}])(?:\\s*:\\s*|\\s+)([${FACTS.actions}]{3})$`), BEGUN = new RegExp(`^[${SHIPS}]: [${FACTS.actions}?]{3}$`);
  const sizeOf = (options) => (options.board ? options.board.split("x").map(Number) : FACTS.size);
  /** Whether a position or a setup is of a board that can be agreed: anybody can make one, and a page draws it. */
  const fits = ({ options, view }) => [...sizeOf(options || {}), ...(view ? [view.board.columns, view.board.rows] : [])].every((length) => Number.isInteger(length) && length >= FACTS.smallest && length <= COLUMNS.length);
  const letters = (seat) => [...SHIPS.slice((seat - 1) * EACH, seat * EACH)];
  const lines = (text) => text.split(/\r\n|\n|\r/).map((line, number) => [number + 1, line.trim()]).filter(([, line]) => line);
  const meant = (line, ships) => (ships.includes(line[0].toUpperCase()) && !/[A-Za-z0-9]/.test(line[1] || "") ? line[0].toUpperCase() : null);

  function homes(options, seat) {
    const [columns, rows] = sizeOf(options);
    const across = [...COLUMNS.slice(1, columns - 1)], along = Array.from({ length: rows - 2 }, (_, row) => row + 2);
    if (seat < 3) return across.map((column) => column + (seat === 1 ? 1 : rows));
    return along.map((row) => (seat === 3 ? "a" : COLUMNS[columns - 1]) + row);
  }

  function exists([columns, rows], square) {
    return COLUMNS.slice(0, columns).includes(square[0]) && Number(square.slice(1)) > 0 && Number(square.slice(1)) <= rows;
  }

  /** @returns {Judged & {ships: {ship: string, square: string, facing: string}[]}} faults have the number of their line */
  function setup(options, seat, text) {
    const own = letters(seat), home = homes(options, seat), faults = [], named = new Set(), placed = new Map(), taken = new Map();
    const blame = (rule, token, message, at, missing = "") => faults.push({ rule, token, message, at, missing });
    for (const [number, line] of lines(text)) {
      const found = line.match(PLACED);
      if (!found) {
        blame("4", line, say("write a ship, a square and a facing, such as `A c1 N`, on a line of its own"), number);
        const ship = meant(line, own);
        if (ship) named.add(ship);
        continue;
      }
      const [, ship, square, facing] = found;
      if (!own.includes(ship)) { blame("3", line, say("{ship} is not your ship: you have {ships}", { ship, ships: own.join(", ") }), number); continue; }
      if (named.has(ship)) { blame("4", line, say("{ship} has a line already", { ship }), number); continue; }
      named.add(ship);
      if (!exists(sizeOf(options), square)) blame("1", line, say("there is no {square} on a board of {size}", { square, size: sizeOf(options).join("x") }), number);
      else if (!home.includes(square)) blame("2", line, say("{square} is not in your home zone, the {edge} without its corners", { square, edge: EDGES[seat - 1] }), number);
      else if (taken.has(square)) blame("5", line, say("{ship} starts on {square} already", { ship: taken.get(square), square }), number);
      if (exists(sizeOf(options), square) && !taken.has(square)) taken.set(square, ship);
      placed.set(ship, { ship, square, facing });
    }
    for (const ship of own) if (!named.has(ship)) blame("4", null, say("{ship} has no line", { ship }), Infinity, ship);
    const ships = own.filter((ship) => placed.has(ship)).map((ship) => placed.get(ship));
    return { faults, ships, text: ships.map((each) => `${each.ship} ${each.square} ${each.facing}`).join("\n") };
  }

  /** @returns {Judged & {given: Map<string, string>}} */
  function orders(view, text) {
    const living = view.entitled || [], seat = view.seat, faults = [], named = new Set(), given = new Map();
    const blame = (rule, token, message, at, missing = "") => faults.push({ rule, token, message, at, missing });
    for (const [number, line] of lines(text)) {
      const found = line.match(ORDERED);
      if (!found) {
        blame("7", line, say("write a ship and three of L R F M S, such as `A: FMS`, on a line of its own"), number, BEGUN.test(line) ? line[0] : "");
        const ship = meant(line, living);
        if (ship) named.add(ship);
      } else if (!living.includes(found[1])) {
        blame("8", line, letters(seat).includes(found[1]) ? say("{ship} is destroyed", { ship: found[1] }) : say("{ship} is not your ship", { ship: found[1] }), number);
      } else if (named.has(found[1])) {
        blame("8", line, say("{ship} has a line already", { ship: found[1] }), number);
      } else {
        named.add(found[1]);
        given.set(found[1], found[2]);
      }
    }
    for (const ship of living) if (!named.has(ship)) blame("8", null, say("{ship} has no line", { ship }), Infinity, ship);
    return { faults, given, text: living.filter((ship) => given.has(ship)).map((ship) => `${ship}: ${given.get(ship)}`).join("\n") };
  }

  return { COLUMNS, SHIPS, sizeOf, exists, fits, letters, homes, setup, orders };
})();
