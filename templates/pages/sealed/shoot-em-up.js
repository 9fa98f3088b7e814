// Shoot 'em up Spaceships as it is played sealed: setups and orders are committed to, and then opened to all. A port of
// pbem/games/shoot_em_up/sealed.py and action.py: the table from all steps, and the turns that follow from it.
// tests/page_scripts/sealed.py holds both against each other.

/**
 * @typedef {{options: Object<string, *>, turn: number, over: boolean, setups: Map<number, string[]>, ships: Map<string, Ship>, committed: Set<number>, opened: Map<number, string[]>, played: Object<string, *>[][]}} Table what all were told
 * @typedef {{column: number, row: number, facing: number}} Ship
 */
const SEALED = (() => {
  const { COLUMNS, SHIPS } = RULES, { owner } = BOARD, { facings: FACINGS, steps: AHEAD } = FACTS;
  const line = new RegExp(`^[${SHIPS}](?:: [${FACTS.actions}]{3}| [${COLUMNS}][1-9][0-9]? [${FACINGS}])$`);
  const called = ({ column, row }) => COLUMNS[column] + (row + 1);
  const order = (one, other) => one.column - other.column || one.row - other.row;

  // The table. `options.seats` says how many play.

  /** @returns {Table} */
  const begin = (options) => ({ options, turn: 0, over: false, setups: new Map(), ships: new Map(), committed: new Set(), opened: new Map(), played: [] });
  const all = ({ options }) => Array.from({ length: options.seats }, (_, at) => at + 1);
  const remaining = (table) => (table.turn ? all(table).filter((seat) => [...table.ships.keys()].some((ship) => owner(ship) === seat)) : all(table));

  /** The step that a seat owes now; "" if none. */
  function owed(table, seat) {
    const seats = remaining(table), opens = seats[seats.length - 1], done = table.turn ? table.opened : table.setups;
    if (table.over || !seats.includes(seat) || done.has(seat)) return "";
    if (table.turn && !seats.every((each) => each === opens || table.committed.has(each))) return seat !== opens && !table.committed.has(seat) ? "commit" : "";
    if (table.turn && seat !== opens && !done.has(opens)) return "";
    return table.turn ? "open" : "setup";
  }

  /** @returns {Table} after a step that the seat owed */
  function enter(table, seat, step, lines) {
    if (step === "commit") return { ...table, committed: new Set([...table.committed, seat]) };
    const now = step === "setup" ? { ...table, setups: new Map([...table.setups, [seat, lines]]) } : { ...table, opened: new Map([...table.opened, [seat, lines]]) };
    if (!remaining(now).every((each) => (now.turn ? now.opened : now.setups).has(each))) return now;
    return now.turn ? resolved(now) : { ...now, turn: 1, ships: placed(all(now).flatMap((each) => now.setups.get(each))) };
  }

  const placed = (lines) => new Map(lines.map((each) => each.split(" ")).map(([ship, square, facing]) => [ship, { column: COLUMNS.indexOf(square[0]), row: Number(square.slice(1)) - 1, facing: FACINGS.indexOf(facing) }]));

  // A turn (rulings 9 to 27)

  /** @returns {Table} */
  function resolved(table) {
    const orders = new Map(remaining(table).flatMap((seat) => table.opened.get(seat)).map((each) => [each[0], each.slice(3)]));
    const [columns, rows] = RULES.sizeOf(table.options), most = table.options.max_turns || FACTS.turns;
    const ships = new Map([...table.ships].map(([ship, where]) => [ship, { ...where, shields: 0 }])), reports = [];
    const standing = () => new Set([...ships.keys()].map(owner)).size;
    let over = false;
    for (let action = 1; action <= 3 && !over; action++) {
      const before = ships.size;
      act(ships, orders, action, [columns, rows], (report) => reports.push({ action, ...report }));
      over = ships.size < before && standing() < 2 || action === 3 && table.turn >= most;
    }
    const left = new Map([...ships].map(([ship, { column, row, facing }]) => [ship, { column, row, facing }]));
    return { ...table, turn: table.turn + (over ? 0 : 1), over, ships: left, committed: new Set(), opened: new Map(), played: [...table.played, reports] };
  }

  function act(ships, orders, action, [columns, rows], report) {
    const moves = new Map(), shots = new Map();
    for (const [ship, actions] of orders) {
      const now = ships.get(ship), what = actions[action - 1];
      if (!now) continue;
      if (what === "S") now.shields++;
      else if (what === "L" || what === "R") now.facing = (now.facing + (what === "R" ? 1 : 3)) % 4;
      else {
        const goal = { column: now.column + AHEAD[now.facing][0], row: now.row + AHEAD[now.facing][1] };
        if (goal.column >= 0 && goal.column < columns && goal.row >= 0 && goal.row < rows) (what === "M" ? moves : shots).set(ship, goal);
      }
    }
    const hits = (where, met, fire, most = Infinity) => {
      const by = new Map(met.map((ship) => [ship, [...met.filter((other) => other !== ship), ...fire].sort()]));
      for (const ship of met) {
        const now = ships.get(ship), left = now.shields - Math.min(by.get(ship).length, most);
        now.shields = Math.max(left, 0);
        if (left < 0) ships.delete(ship);
        report({ kind: "hit", ship, where, by: by.get(ship), shields: now.shields, destroyed: left < 0 });
      }
    };
    const rounds = (where, met, fire) => {
      hits(where, met, fire);
      for (let left = met.filter((ship) => ships.has(ship)); left.length > 1; left = left.filter((ship) => ships.has(ship))) hits(where, left, [], 1);
    };
    meetInSides(ships, moves, shots, hits, rounds);
    for (const [ship, goal] of moves) Object.assign(ships.get(ship), goal);
    meetInSquares(ships, shots, rounds);
    if (action === 3) for (const ship of ships.values()) ship.shields = 0;
    report({ kind: "state", ships: Object.fromEntries([...ships].map(([ship, where]) => [ship, `${called(where)} ${FACINGS[where.facing]} ${where.shields}`])) });
  }

  /** The first half-step: rams in sides, and shots that are used up there (rulings 13 to 15). */
  function meetInSides(ships, moves, shots, hits, rounds) {
    const at = new Map([...ships].map(([ship, where]) => [called(where), ship])), meetings = [];
    for (const [ship, goal] of moves) {
      const start = { ...ships.get(ship) }, other = at.get(called(goal)), to = (map) => map.has(other) && called(map.get(other)) === called(start);
      if (other === undefined || !(to(moves) ? order(start, goal) < 0 : to(shots))) continue;
      const [one, two] = [start, goal].sort(order);
      meetings.push({ one, two, ship, other });
    }
    meetings.sort((a, b) => order(a.one, b.one) || order(a.two, b.two) || (a.ship < b.ship ? -1 : 1));
    for (const { one, two, ship, other } of meetings) {
      const where = `${called(one)}/${called(two)}`;
      if (shots.delete(other)) hits(where, [ship], [other]);
      else rounds(where, [ship, other].sort(), []);
      for (const met of [ship, other]) if (!ships.has(met)) moves.delete(met);
    }
  }

  /** The second half-step: everything arrives (rulings 16 and 17). */
  function meetInSquares(ships, shots, rounds) {
    const at = new Map();
    for (const [ship, where] of ships) at.set(called(where), [...(at.get(called(where)) || []), ship]);
    const squares = [...at].map(([name, met]) => ({ name, met, fire: [...shots].filter(([, goal]) => called(goal) === name).map(([ship]) => ship), where: { ...ships.get(met[0]) } }));
    for (const { name, met, fire } of squares.filter((each) => each.met.length > 1 || each.fire.length).sort((one, other) => order(one.where, other.where))) rounds(name, met, fire);
  }

  return { line, begin, owed, enter };
})();
