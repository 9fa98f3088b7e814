// Spaceships as it is played sealed: what both were told, and what the owner of a side answers for it. A port of
// pbem/games/spaceships/sealed.py and of what it reads in turn.py and knowledge.py: the table from all steps, an own side
// from secrets and table, the lines of a step. tests/page_scripts/rules.py holds both against each other.

/**
 * @typedef {{turn: number, seat: number, step: string, lines: string[]}} Step
 * @typedef {{options: Object<string, *>, turn: number, committer: number, over: boolean, steps: Step[], played: Object<string, *>[][]}} Table what all were told; steps: those of the turn that is due
 */
const SEALED = (() => {
  const { CELL, NAMES, TYPES } = RULES;
  const order = new Map(NAMES.map((name, at) => [name, at]));
  const sorted = (cells) => [...cells].sort((one, other) => order.get(one) - order.get(other));
  const beside = (one, other) => RULES.distance(order.get(one), order.get(other)) === 1;

  // The table

  /** @returns {Table} */
  const begin = (options) => ({ options, turn: 1, committer: 1, over: false, steps: [], played: [] });
  const told = (table, seat, step) => (table.steps.find((each) => each.seat === seat && each.step === step) || { lines: null }).lines;
  const lost = (lines) => lines.some((line) => line.includes(" destroyed ") && !line.startsWith("flash "));
  const first = (table, turn = table.turn) => (["1", "2"].includes(String(table.options.first)) ? Number(table.options.first) : 2 - turn % 2);

  /** The steps of a turn in their order, as far as they are certain: seat and step. */
  function way(table) {
    const one = table.committer, other = 3 - one, answered = told(table, other, "answers");
    const steps = [[one, "commit"], [other, "open"], [one, "open"], [one, "answers"], [other, "answers"]];
    if (answered && lost(answered)) steps.push([one, "flash"]);
    return steps;
  }

  const ends = (table) => [1, 2].some((seat) => (told(table, seat, "answers") || []).some((line) => line.startsWith("over ")));

  /** The steps that a seat owes now, in one letter; those behind the first unless that tells otherwise. */
  function owed(table, seat) {
    if (table.over) return [];
    const left = way(table).slice(table.steps.length), others = left.findIndex(([by]) => by !== seat);
    const steps = (others < 0 ? left : left.slice(0, others)).map(([, step]) => step);
    const last = others < 0 && steps.length;
    return last && !ends(table) ? [...steps, "commit"] : steps;
  }

  /** @returns {Table} after a step that the seat owed */
  function enter(table, seat, step, lines) {
    const now = { ...table, steps: [...table.steps, { turn: table.turn, seat, step, lines }] };
    if (now.steps.length < way(now).length) return now;
    const over = ends(now), swapped = step !== "flash";
    return {
      options: table.options, turn: table.turn + (over ? 0 : 1), committer: swapped ? 3 - table.committer : table.committer,
      over, steps: [], played: [...table.played, merged(now)],
    };
  }

  // The reports of a turn, merged from the papers of both

  const RESULTS = { miss: "miss", hit: "hit", duplicate: "duplicate hit" };

  /** What one line of answers reports of a seat's strike, scan or death. */
  function report(seat, line) {
    const [kind, cell, ...words] = line.split(" ");
    const where = words.indexOf("destroyed", kind === "scan" ? 1 : 0), from = words.indexOf("explodes");
    const found = { seat, kind: kind === "death" ? "kamikaze death" : kind, cell };
    if (kind === "scan") found.result = words[0];
    else if (kind !== "death") found.result = RESULTS[words[0]];
    if (from >= 0) found.explosions = words.slice(from + 1, where < 0 ? undefined : where);
    if (where >= 0) found.destroyed = { ship: words[where + 1], cells: words.slice(where + 2) };
    return found;
  }

  function flashed(line) {
    const [, cell, ship, destroyed] = line.split(" ");
    return ship === "none" ? { cell, ship: null } : { cell, ship, destroyed: destroyed === "destroyed" };
  }

  function merged(table) {
    const begun = first(table), answers = { 1: told(table, 1, "answers"), 2: told(table, 2, "answers") };
    const flashes = [1, 2].map((seat) => new Map([...answers[seat], ...(told(table, seat, "flash") || [])]
      .filter((line) => line.startsWith("flash ")).map((line) => [line.split(" ")[1], flashed(line)])));
    const found = [];
    for (const seat of [begun, 3 - begun]) {
      const theirs = answers[3 - seat].filter((line) => /^(beam|strike|scan) /.test(line)).map((line) => [report(seat, line), seat]);
      const deaths = answers[seat].filter((line) => line.startsWith("death ")).map((line) => [report(seat, line), 3 - seat]);
      for (const [each, giver] of [...theirs, ...deaths]) {
        if (each.destroyed) each.flashcube = each.destroyed.cells.map((cell) => flashes[giver - 1].get(cell) || { cell, ship: null });
        found.push(each);
      }
    }
    return found;
  }

  function known(picture) {
    const where = (heard) => sorted([...picture.cells].filter(([, last]) => last === heard).map(([cell]) => cell));
    return {
      empty: where("empty"), ship: where("ship"), destroyed: where("destroyed"), ships: picture.ships, fresh: sorted(picture.learned),
      named: Object.fromEntries(sorted(picture.named.keys()).map((cell) => [cell, picture.named.get(cell)])),
    };
  }

  // The own side

  /** The greatest number of non-overlapping adjacent pairs among some cells (ruling 14). */
  function pairs(cells) {
    if (!cells.length) return 0;
    const [one, ...rest] = cells;
    return Math.max(pairs(rest), ...rest.filter((cell) => beside(one, cell)).map((cell) => 1 + pairs(rest.filter((each) => each !== cell))));
  }

  const STEPS = [-1, 0, 1].flatMap((c) => [-1, 0, 1].flatMap((l) => [-1, 0, 1].map((n) => [c, l, n]))).filter(([c, l, n]) => c > 0 || (c === 0 && (l > 0 || (l === 0 && n > 0))));
  const codeOf = (ship) => ship.name.slice(0, 2), hasMissiles = (ship) => TYPES[codeOf(ship)].missiles;

  /** What a side may order in the turn that is due (rulings 14 to 18). */
  function entitled({ ships, undamaged, fired, burnt, scans }) {
    const found = { conventional: [], missiles: [], kamikazes: [], beams: [], scans: 0 };
    for (const ship of ships) {
      const left = ship.cells.filter((cell) => undamaged.has(cell)), code = codeOf(ship);
      if (!left.length) continue;
      if (TYPES[code].scanner) found.scans = scans;
      const missiles = hasMissiles(ship) ? left.filter((cell) => !fired.has(cell)) : [];
      if (missiles.length) found.missiles.push({ ship: ship.name, cells: missiles });
      if (code === "DS") {
        found.conventional.push({ ship: ship.name, strikes: 1 });
        const directions = burnt.has(ship.name) ? 0 : STEPS.filter((step) => RULES.fires({ cells: left, destroyed: [] }, step)).length;
        if (directions) found.beams.push({ ship: ship.name, directions });
      } else if (pairs(left)) found.conventional.push({ ship: ship.name, strikes: pairs(left) });
      else if (!missiles.length && code !== "LS") found.kamikazes.push({ ship: ship.name, cells: left });
    }
    return found;
  }

  /** @returns {Object<string, *>} orders by what they do; `shown` is what the other is told of them */
  function read(side, text) {
    const found = { beams: [], strikes: [], scans: [], launches: [], fired: [], text };
    const WORD = new RegExp(`b(${CELL})(${CELL})(?:\\(([A-Z0-9]+)\\))?|s(${CELL})|m([A-Za-z0-9]+) (${CELL})|k(${CELL}) (${CELL})|(${CELL})`, "g");
    for (const [, one, last, named, scan, part, target, launch, aim, cell] of text.matchAll(WORD)) {
      if (one) {
        const step = RULES.line(one, last), ships = side.ships.filter((ship) => codeOf(ship) === "DS" && !side.burnt.has(ship.name));
        const able = ships.filter((ship) => RULES.fires({ cells: ship.cells.filter((each) => side.undamaged.has(each)), destroyed: [] }, step));
        found.beams.push({ cells: [one, RULES.between(one, last), last], ship: named || able[0].name });
      } else if (scan) found.scans.push(scan);
      else if (part) {
        const live = side.ships.filter(hasMissiles).flatMap((ship) => ship.cells).filter((each) => side.undamaged.has(each) && !side.fired.has(each));
        found.fired.push(live.find((each) => [...part].every((value) => each.includes(value))));
        found.strikes.push(target);
      } else if (launch) { found.launches.push(launch); found.strikes.push(aim); }
      else found.strikes.push(cell);
    }
    const shown = [...found.beams.map(({ cells }) => ["beam", ...cells].join(" ")), ...[["strike", "strikes"], ["scan", "scans"], ["death", "launches"]].flatMap(([word, kind]) => found[kind].map((cell) => `${word} ${cell}`))];
    return { ...found, shown };
  }

  /** One's space while a turn is resolved: what the other revealed, answered line by line (rulings 20 to 28). */
  function field(side, seat, orders, theirs, begun) {
    const owner = new Map(side.ships.flatMap((ship) => ship.cells.map((cell) => [cell, ship])));
    const undamaged = new Set([...side.undamaged].filter((cell) => !orders.launches.includes(cell)));
    const fired = new Set([...side.fired, ...orders.fired]), start = new Set(undamaged), lines = [], gone = new Set();
    const missiles = new Set([...undamaged].filter((cell) => hasMissiles(owner.get(cell)) && !fired.has(cell)));
    const ended = (ship) => ship && !gone.has(ship.name) && !ship.cells.some((cell) => undamaged.has(cell)) ? (gone.add(ship.name), ` destroyed ${[ship.name, ...ship.cells].join(" ")}`) : "";
    const strike = (kind, cell) => {
      const ship = owner.get(cell);
      if (!ship) return `${kind} ${cell} miss`;
      const result = undamaged.has(cell) ? "hit" : "duplicate";
      const struck = missiles.has(cell) ? ship.cells.filter((each) => each === cell || (side.undamaged.has(each) && beside(each, cell))) : [cell];
      const fresh = struck.filter((each) => undamaged.delete(each));
      return `${kind} ${cell} ${result}${missiles.has(cell) ? ` explodes ${struck.join(" ")}` : ""}${fresh.length ? ended(ship) : ""}`;
    };
    const scan = (cell) => `scan ${cell} ${!owner.has(cell) ? "none" : undamaged.has(cell) ? "ship" : "destroyed"}`;
    for (const reporter of [begun, 3 - begun]) {
      if (reporter === seat) lines.push(...orders.launches.map((cell) => `death ${cell}${ended(owner.get(cell))}`));
      else for (const line of theirs) {
        const [kind, ...cells] = line.split(" ");
        if (kind !== "death") lines.push(...cells.map((cell) => (kind === "scan" ? scan(cell) : strike(kind, cell))));
      }
    }
    const flash = (cells, left) => cells.map((cell) => (owner.has(cell) ? `flash ${cell} ${owner.get(cell).name}${left.has(cell) ? "" : " destroyed"}` : `flash ${cell} none`));
    /** Flashcube data for the ships that the other's answers name: by the space as it was when each was reported. */
    const flashes = (answers) => answers.filter((line) => lost([line])).flatMap((line) => flash(line.split(" destroyed ")[1].split(" ").slice(1), !line.startsWith("death ") && begun === seat ? start : undamaged));
    const can = entitled(side), idle = !can.conventional.length && !can.missiles.length && !orders.beams.length && !orders.strikes.length;
    return { lines, flashes, undamaged, fired, over: !undamaged.size ? ["over fleet"] : idle ? ["over idle"] : [] };
  }

  /**
   * One's own side at the start of the turn that is due, from one's secrets and the table.
   * @param {number} seat @param {string} setup @param {Object<string, string>} orders by turn @param {Table} table
   */
  function own(seat, setup, orders, table) {
    const ships = setup.split("\n").map((line) => { const [name, ...cells] = line.split(" "); return { name, cells }; });
    let side = { seat, ships, undamaged: new Set(ships.flatMap((ship) => ship.cells)), fired: new Set(), burnt: new Set(), scans: 1, orders };
    table.played.forEach((reports, at) => {
      const turn = at + 1, mine = read(side, orders[turn] || ""), theirs = opened(reports, 3 - seat);
      const after = field(side, seat, mine, theirs, first(table, turn)), burnt = new Set(side.burnt);
      const beams = reports.filter((each) => each.seat === seat && each.kind === "beam");
      mine.beams.forEach(({ ship }, place) => { if (beams[place * 3].result === "hit" && beams[place * 3 + 2].result === "hit") burnt.add(ship); });
      side = { ...side, undamaged: after.undamaged, fired: after.fired, burnt, scans: Math.max(1, side.undamaged.size - after.undamaged.size) };
    });
    return side;
  }

  /** What a seat had revealed in a turn, from its reports. */
  const opened = (reports, seat) => reports.filter((each) => each.seat === seat).map(({ kind, cell }) => `${kind === "kamikaze death" ? "death" : kind} ${cell}`);

  /** Whether orders have to be decided on before the next step can be made. */
  const asks = (own, table) => ["open", "commit"].includes(owed(table, own.seat)[0]) && own.orders[table.turn] === undefined;

  /** The lines of a step that is owed, as a truthful owner writes them. */
  function lines(own, table, step) {
    if (step === "commit") return [];
    const mine = read(own, own.orders[table.turn]);
    if (step === "open") return mine.shown;
    const answered = told(table, 3 - own.seat, "answers");
    const found = field(own, own.seat, mine, told(table, 3 - own.seat, "open"), first(table));
    if (step === "flash") return found.flashes(answered);
    return [...found.lines, ...(answered ? found.flashes(answered) : []), ...found.over];
  }

  /** All that this player knows at the start of the turn that is due, as a report's view has it. */
  function view(own, table) {
    const all = table.played.reduce(KNOWLEDGE.follow, KNOWLEDGE.begin()), other = 3 - own.seat, { misses, struck } = all[own.seat];
    const ships = [...own.ships].map(({ name, cells }) => ({ ship: name, cells, destroyed: cells.filter((cell) => !own.undamaged.has(cell)), fired: cells.filter((cell) => own.fired.has(cell)), burnt_out: own.burnt.has(name) }));
    return {
      turn: table.turn, over: table.over, first: first(table), known: { [other]: known(all[other]) }, entitled: table.over ? null : entitled(own),
      own: { ships, misses: sorted(misses), fresh: sorted(struck), score: own.undamaged.size },
    };
  }

  /** What a line of any step may be made of. */
  const line = new RegExp(`^(?:(?:beam|strike|scan|death|flash|over|miss|hit|duplicate|explodes|destroyed|ship|none|fleet|idle|${CELL}|[A-Z]{2}[0-9]{0,3})(?: |$))+$`);

  return { line, begin, owed, enter, own, asks, lines, view };
})();
