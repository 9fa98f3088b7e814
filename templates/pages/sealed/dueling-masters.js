// Dueling Masters as it is played sealed: departures are announced, and the opponent checks the path. A port of
// pbem/games/dueling_masters/sealed.py: the table from all steps, and the reports of its turns. tests/page_scripts/sealed.py
// holds both against each other.

/**
 * @typedef {{seat: number, slot: number, start: string, end: string}} Transit one that is checked in this turn
 * @typedef {{squares: (?string)[], transit: Set<number>, destroyed: Set<number>}} Pieces by slot, its place in the list of pieces; -1 is an asteroid
 * @typedef {{options: Object<string, *>, turn: number, over: boolean, pieces: Pieces[], departing: ?[number, string], queue: Transit[], answered: number, collisions: [string, number, number][], played: Object<string, *>[][]}} Table what all were told; collisions: a square, and the slots of both seats
 */
const SEALED = (() => {
  const { ROWS, SQUARE, SQUARES } = RULES, { rank: RANK, strength: STRENGTH } = FACTS, FIRST_HOME = FACTS.fighters.length;
  // B1 may be a piece or a square: no word may be read in two ways, or the time doubles with each.
  const numbered = [...RANK].filter((kind) => !ROWS.includes(kind)).join("");
  const line = new RegExp(`^(?:(?:pass|check|none|\\*|[${RANK}]|[${numbered}][1-9]|${SQUARE})(?: |$))+$`);
  const named = (table) => RULES.pieces(RULES.homesOf(table.options));
  const slotOf = (table, piece) => (piece === "*" ? -1 : named(table).indexOf(piece));
  const mover = (turn) => 2 - turn % 2;
  const loses = (one, other) => one === "*" || other === "*" || STRENGTH.indexOf(one[0]) <= STRENGTH.indexOf(other[0]);

  /** @returns {Table} */
  function begin(options) {
    const untold = () => ({ squares: RULES.pieces(RULES.homesOf(options)).map(() => null), transit: new Set(), destroyed: new Set() });
    return { options, turn: 1, over: false, pieces: [untold(), untold()], departing: null, queue: [], answered: 0, collisions: [], played: [] };
  }

  const homes = (told) => told.squares.filter((_, slot) => slot >= FIRST_HOME && !told.destroyed.has(slot)).length;
  const most = (table) => table.options.max_turns || FACTS.turns;
  const due = (table) => (table.answered < table.queue.length ? 3 - table.queue[table.queue.length - 1].seat : mover(table.turn));

  /** The step that a seat owes now; "" if none. */
  const owed = (table, seat) => (table.over || due(table) !== seat ? "" : table.answered === table.queue.length ? "departs" : "answers");

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

  return { line, begin, owed, enter };
})();
