// Dueling Masters as it is played sealed: departures are announced, and the opponent checks the path. A port of
// pbem/games/dueling_masters/sealed.py and of what it reads in board.py, transit.py and knowledge.py: the table from all
// steps, an own side from secrets and table, the lines of a step. tests/page_scripts/sealed.py holds both against each other.

/**
 * @typedef {{turn: number, seat: number, step: string, lines: string[]}} Step
 * @typedef {{seat: number, slot: number, start: string, end: string}} Transit one that is checked in this turn
 * @typedef {{squares: (?string)[], transit: Set<number>, destroyed: Set<number>}} Pieces by slot, its place in the list of pieces; -1 is an asteroid
 * @typedef {{options: Object<string, *>, turn: number, over: boolean, pieces: Pieces[], departing: ?[number, string], queue: Transit[], answered: number, collisions: [string, number, number][], played: Object<string, *>[][]}} Table what all were told; collisions: a square, and the slots of both seats
 */
const SEALED = (() => {
  const { ROWS, SQUARE, SQUARES } = RULES, { asteroids: ASTEROIDS, rank: RANK, strength: STRENGTH } = FACTS, FIRST_HOME = FACTS.fighters.length, { path } = KNOWLEDGE;
  // B1 may be a piece or a square: no word may be read in two ways, or the time doubles with each.
  const numbered = [...RANK].filter((kind) => !ROWS.includes(kind)).join("");
  const line = new RegExp(`^(?:(?:pass|check|none|\\*|[${RANK}]|[${numbered}][1-9]|${SQUARE})(?: |$))+$`);
  const named = (table) => RULES.pieces(RULES.homesOf(table.options));
  const slotOf = (table, piece) => (piece === "*" ? -1 : named(table).indexOf(piece));
  const mover = (turn) => 2 - turn % 2;
  const sorted = (squares) => [...squares].sort((one, other) => SQUARES.get(one) - SQUARES.get(other));

  // The board (rulings 4 to 7, 14 and 19)

  /** The squares that a piece would enter one after another, a list for each direction. */
  function rays(kind, square) {
    const [steps, most] = FACTS.moves[kind], row = ROWS.indexOf(square[0]), column = Number(square.slice(1));
    return steps.map(([down, along]) => {
      const found = [];
      for (let far = 1; far <= most; far++) {
        const [r, c] = [row + down * far, column + along * far];
        if (r < 0 || r > 9 || c < 1 || c > 10) break;
        found.push(ROWS[r] + c);
      }
      return found;
    });
  }

  function destinations(kind, square, asteroids, homes) {
    const found = [];
    for (const ray of rays(kind, square)) {
      for (const end of ray) {
        if (homes.has(end)) break;
        if (!asteroids.has(end) || kind !== "H") found.push(end);
        if (asteroids.has(end)) break;
      }
    }
    return sorted(found);
  }

  const loses = (one, other) => one === "*" || other === "*" || STRENGTH.indexOf(one[0]) <= STRENGTH.indexOf(other[0]);

  // The table

  /** @returns {Table} */
  function begin(options) {
    const untold = () => ({ squares: RULES.pieces(RULES.homesOf(options)).map(() => null), transit: new Set(), destroyed: new Set() });
    return { options, turn: 1, over: false, pieces: [untold(), untold()], departing: null, queue: [], answered: 0, collisions: [], played: [] };
  }

  const homes = (told) => told.squares.filter((_, slot) => slot >= FIRST_HOME && !told.destroyed.has(slot)).length;
  const most = (table) => table.options.max_turns || FACTS.turns;
  const due = (table) => (table.answered < table.queue.length ? 3 - table.queue[table.queue.length - 1].seat : mover(table.turn));

  /** The steps that a seat owes now, in one letter; those behind the first unless that tells otherwise. */
  function owed(table, seat) {
    if (table.over || due(table) !== seat) return [];
    if (table.answered === table.queue.length) return ["departs"];
    return table.turn >= most(table) || mover(table.turn) === seat ? ["answers"] : ["answers", "departs"];
  }

  /** @returns {Table} after a step that the seat owed */
  function enter(table, seat, step, lines) {
    const now = step === "answers" ? looked(table, seat, lines) : announced(table, seat, lines[0]);
    return now.answered < now.queue.length ? now : finished(now);
  }

  function announced(table, seat, line) {
    if (line === "pass") return { ...table, departing: null };
    const [piece, square] = line.split(" "), slot = slotOf(table, piece), told = table.pieces[seat - 1];
    const queue = told.transit.has(slot) ? [{ seat, slot, start: told.squares[slot], end: square }] : [];
    return { ...table, departing: [slot, square], queue };
  }

  function looked(table, seat, lines) {
    const queue = [...table.queue], collisions = [...table.collisions], told = table.pieces[seat - 1];
    lines.forEach((line, at) => {
      const checked = table.queue[table.answered + at], words = line.split(" ").slice(2);
      for (let place = 0; place + 1 < words.length; place += 2) {
        const square = words[place], slot = slotOf(table, words[place + 1]);
        const met = checked.seat === 1 ? [square, checked.slot, slot] : [square, slot, checked.slot];
        if (!collisions.some((each) => each.every((value, index) => value === met[index]))) collisions.push(met);
        if (told.transit.has(slot) && !queue.some((each) => each.seat === seat && each.slot === slot)) queue.push({ seat, slot, start: told.squares[slot], end: square });
      }
    });
    return { ...table, queue, answered: table.queue.length, collisions };
  }

  function finished(table) {
    const seat = mover(table.turn), names = [...named(table)], nameOf = (slot) => (slot < 0 ? "*" : names[slot]);
    const told = table.pieces.map(({ squares, transit, destroyed }) => ({ squares: [...squares], transit: new Set(transit), destroyed: new Set(destroyed) }));
    const rest = (side, slot, square) => { side.squares[slot] = square; side.transit.delete(slot); };
    const reports = table.queue.map(({ seat, slot, start, end }) => ({ seat, kind: "check", piece: names[slot], from: start, to: end }));
    for (const [square, ...slots] of [...table.collisions].sort((a, b) => SQUARES.get(a[0]) - SQUARES.get(b[0]) || a[1] - b[1] || a[2] - b[2])) {
      const [one, two] = slots.map(nameOf), lost = [loses(one, two), loses(two, one)];
      reports.push({ kind: "collision", square, pieces: { 1: one, 2: two }, destroyed: { 1: lost[0], 2: lost[1] } });
      slots.forEach((slot, at) => {
        if (slot < 0) return;
        if (lost[at]) { told[at].destroyed.add(slot); told[at].transit.delete(slot); } else rest(told[at], slot, square);
      });
    }
    for (const { seat, slot, end } of table.queue) rest(told[seat - 1], slot, end);
    if (!table.departing) reports.push({ seat, kind: "pass" });
    else if (!told[seat - 1].destroyed.has(table.departing[0]) && told.every(homes)) {
      const [slot, square] = table.departing;
      told[seat - 1].squares[slot] = square;
      told[seat - 1].transit.add(slot);
      reports.push({ seat, kind: "departure", piece: names[slot], square });
    }
    const played = [...table.played, reports], passed = played.length > 1 && played.slice(-2).every(([one]) => one.kind === "pass");
    const harmless = !table.options.mobile_home && told.every(({ destroyed }) => names.slice(0, FIRST_HOME).every((_, slot) => destroyed.has(slot)));
    const over = passed || harmless || !told.every(homes) || table.turn >= most(table);
    return { ...begin(table.options), pieces: told, turn: table.turn + (over ? 0 : 1), over, played };
  }

  // What reports have told of each side

  function known({ pieces, asteroids, empty }) {
    const place = ({ piece }) => RANK.indexOf(piece[0]) * 10 + Number(piece.slice(1));
    return { pieces: [...pieces.values()].sort((one, other) => place(one) - place(other)), asteroids: ASTEROIDS - asteroids.size, asteroids_destroyed: Object.fromEntries(asteroids), empty: Object.fromEntries(empty) };
  }

  // The own side

  const ownHomes = (side) => new Set(side.squares.filter((square, slot) => slot >= FIRST_HOME && square));
  const goals = (side, slot) => (!side.squares[slot] || (slot >= FIRST_HOME && !side.options.mobile_home) ? [] : destinations(side.names[slot][0], side.squares[slot], side.asteroids, ownHomes(side)));
  const canMove = (side) => side.names.some((_, slot) => goals(side, slot).length);

  /** The order of a turn, if it is one's own and known, or a forced pass; undefined else. */
  function given(side, orders, turn) {
    if (mover(turn) !== side.seat) return undefined;
    return orders[turn] !== undefined ? orders[turn] : canMove(side) ? undefined : "";
  }

  function own(seat, setup, orders, table) {
    const names = named(table), placed = new Map();
    for (const [kind, ...squares] of setup.split("\n").map((each) => each.split(" "))) placed.set(kind, squares);
    const count = {}, squares = names.map((name) => { const kind = name[0]; count[kind] = (count[kind] || 0) + 1; return placed.get(kind)[count[kind] - 1]; });
    let side = { seat, options: table.options, names, asteroids: new Set(placed.get("*")), first: new Set(placed.get("*")), squares, starts: names.map(() => null) };
    table.played.forEach((reports, at) => { side = after(side, reports, given(side, orders, at + 1)); });
    return { ...side, order: table.over ? undefined : given(side, orders, table.turn) };
  }

  function after(side, reports, order) {
    const squares = [...side.squares], starts = [...side.starts], asteroids = new Set(side.asteroids);
    const destroy = (slot, square) => { if (slot < 0) asteroids.delete(square); else squares[slot] = starts[slot] = null; };
    for (const each of reports) {
      if (each.kind === "collision" && each.destroyed[side.seat]) destroy(side.names.indexOf(each.pieces[side.seat]), each.square);
      else if (each.seat === side.seat && each.kind === "check") starts[side.names.indexOf(each.piece)] = null;
      else if (each.seat === side.seat && each.kind === "departure") {
        const slot = side.names.indexOf(each.piece), to = order.split("-")[1];
        if (asteroids.has(to)) { destroy(slot, to); asteroids.delete(to); } else { starts[slot] = squares[slot]; squares[slot] = to; }
      }
    }
    return { ...side, squares, starts, asteroids };
  }

  /** Whether an order has to be decided on before the next step can be made. */
  const asks = (own, table) => own.order === undefined && owed(table, own.seat)[0] === "departs";

  /** The lines of a step that is owed, as a truthful owner writes them. */
  function lines(own, table, step) {
    if (step === "departs") return [own.order ? own.order.split("-")[0] : "pass"];
    return table.queue.slice(table.answered).map(({ slot, start, end }) => {
      const met = path(start, end).flatMap((square) => [
        ...(own.asteroids.has(square) ? [square, "*"] : []),
        ...own.names.flatMap((name, other) => (own.squares[other] === square ? [square, name] : []))]);
      return ["check", own.names[slot], ...(met.length ? met : ["none"])].join(" ");
    });
  }

  /** All that this player knows at the start of the turn that is due, as a report's view has it. */
  function view(own, table) {
    const all = table.played.reduce((all, reports, at) => KNOWLEDGE.follow(all, reports, at + 1, true), KNOWLEDGE.begin()), other = 3 - own.seat, scores = { [own.seat]: ownHomes(own).size, [other]: homes(table.pieces[other - 1]) };
    const left = own.names.map((piece, slot) => ({ piece, square: own.squares[slot], from: own.starts[slot] }));
    const able = left.map((each, slot) => ({ ...each, goals: goals(own, slot) })).filter((each) => each.goals.length);
    return {
      turn: table.turn, over: table.over, seat: own.seat, moves: table.over ? null : mover(table.turn), scores: [scores[1], scores[2]],
      options: { homes: RULES.homesOf(table.options), mobile_home: Boolean(table.options.mobile_home), max_turns: most(table) },
      own: {
        pieces: left.filter(({ square }) => square), asteroids: sorted(own.asteroids), destroyed: left.filter(({ square }) => !square).map(({ piece }) => piece),
        asteroids_destroyed: sorted([...own.first].filter((square) => !own.asteroids.has(square))), explored: Object.fromEntries(all[own.seat].empty),
      },
      known: { [other]: known(all[other]) },
      entitled: table.over || mover(table.turn) !== own.seat ? null : able.map(({ piece, square, goals }) => ({
        piece, square, to: goals.filter((goal) => !own.asteroids.has(goal)), rams: goals.filter((goal) => own.asteroids.has(goal)) })),
    };
  }

  return { line, begin, owed, enter, own, asks, lines, view };
})();
