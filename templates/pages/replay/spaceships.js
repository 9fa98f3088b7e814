// A game of Spaceships drawn from its record and reports: both spaces in the open, what was reported, what was shot.

const GAME = (() => {
  const { colours: COLOURS } = FACTS;
  const SCANNED = { none: say("no ship"), ship: say("ship"), destroyed: say("ship, that cell destroyed") };
  const KINDS = { beam: say("beam"), conventional: say("conventional"), missile: say("missile"), kamikaze: say("kamikaze") };
  const TOLD = { hit: say("hit"), miss: say("miss"), strike: say("strike"), scan: say("scan"), beam: say("beam") };

  const side = (setup) => {
    const ships = new Map(setup.split("\n").flatMap((line) => { const [ship, ...cells] = line.split(" "); return cells.map((cell) => [cell, ship]); }));
    const missiles = new Set([...ships].filter(([, ship]) => BOARD.TYPES[ship.slice(0, 2)].missiles).map(([cell]) => cell));
    return { ships, missiles, destroyed: new Set(), fired: new Set(), misses: new Set(), fresh: new Set() };
  };

  /** The missile cell that a part of a coordinate names: the one that is neither fired nor destroyed. */
  function launched(own, part) {
    const fits = ([colour, letter, number]) => [...part].every((char) => char === colour || char === letter || char === number);
    return [...own.missiles].find((cell) => !own.fired.has(cell) && !own.destroyed.has(cell) && fits(cell));
  }

  /** A seat's strikes in the order in which they were written: the weapon of each, and the cell that it was launched from. */
  function strikes(own, source) {
    const found = [];
    for (const word of source.match(new RegExp(`b\\S+(?:\\s*\\([A-Z0-9]+\\))?|[mk]\\S+(?:\\s+\\S+)?|s\\S+|[${COLOURS}]\\S+`, "g")) || []) {
      const [from] = word.slice(1).split(/\s/);
      if (word[0] === "m") found.push({ weapon: "missile", from: launched(own, from) });
      else if (word[0] === "k") found.push({ weapon: "kamikaze", from });
      else if (word[0] !== "b" && word[0] !== "s") found.push({ weapon: "conventional", from: "" });
    }
    return found;
  }

  function begin({ seats }) {
    return { sides: seats.map(({ setup }) => side(setup)), shots: seats.map(() => ({})), heard: KNOWLEDGE.begin() };
  }

  function turn(before, given, reports) {
    const sides = before.sides.map((one) => ({ ...one, destroyed: new Set(one.destroyed), fired: new Set(one.fired), misses: new Set(one.misses), fresh: new Set() }));
    const shots = before.shots.map((one) => ({ ...one }));
    const ordered = sides.map((_, seat) => {
      const found = strikes(before.sides[seat], given[seat + 1] || "");
      for (const { weapon, from } of found) if (weapon === "missile") sides[seat].fired.add(from);
      return found.map(({ weapon }) => weapon);
    });
    for (const report of reports) {
      const own = sides[report.seat - 1], other = sides[2 - report.seat], { cell, kind } = report;
      if (kind === "kamikaze death") { own.destroyed.add(cell); own.fresh.add(cell); continue; }
      if (kind === "scan") { if (report.result === "none") other.misses.add(cell); continue; }
      const weapon = kind === "beam" ? "beam" : ordered[report.seat - 1].shift() || "conventional";
      const [tried, hit] = shots[report.seat - 1][weapon] || [0, 0];
      shots[report.seat - 1][weapon] = [tried + 1, hit + (report.result === "hit")];
      if (report.result === "miss") other.misses.add(cell); else other.destroyed.add(cell);
      other.fresh.add(cell);
      for (const exploded of report.explosions || []) { other.destroyed.add(exploded); other.fresh.add(exploded); }
    }
    return { sides, shots, heard: KNOWLEDGE.follow(before.heard, reports) };
  }

  /** What is drawn of a turn; whoever was shot at did not know from which cell. */
  function acts(before, given, reports, reader = 0) {
    const ordered = before.sides.map((own, seat) => strikes(own, given[seat + 1] || ""));
    const launched = (seat) => { const { from } = ordered[seat - 1].shift() || {}; return !reader || reader === seat ? from : ""; };
    return BOARD.acts(reports, launched, { 1: new Set(before.sides[0].destroyed), 2: new Set(before.sides[1].destroyed) });
  }

  function boards({ sides, heard: told }, reader = 0) {
    return sides.map((own, seat) => ({ seat: seat + 1, panels: BOARD.panels(reader && reader !== seat + 1 ? heard(told[seat + 1]) : open(own)) }));
  }

  const heard = ({ cells, named, learned }) => (cell) => BOARD.heard(named.get(cell), cells.get(cell), learned.has(cell));
  const open = ({ ships, misses, destroyed, fired, fresh }) => (cell) => BOARD.own(ships.get(cell),
    destroyed.has(cell) ? "destroyed" : fired.has(cell) ? "fired" : misses.has(cell) ? "empty" : "", fresh.has(cell));

  const answer = ({ cell, ship, destroyed }) => (!ship ? say("{cell} empty", { cell }) : destroyed ? say("{cell} {ship} destroyed", { cell, ship }) : `${cell} ${ship}`);

  function told(reports, names) {
    const order = [...new Set([...reports.map((report) => report.seat), ...names.map((_, seat) => seat + 1)])];
    return order.map((seat) => [names[seat - 1], reports.filter((report) => report.seat === seat).map((report) => {
      const { kind, cell, result, explosions, destroyed, flashcube } = report;
      const what = kind === "scan" ? SCANNED[result] : kind === "kamikaze death" ? say("launched from here, cell destroyed") : TOLD[result] || result;
      const giver = kind === "kamikaze death" ? names[2 - seat] : names[seat - 1];
      return {
        label: kind === "kamikaze death" ? say("kamikaze") : TOLD[kind] || kind, square: cell,
        text: [explosions ? say("{what}, exploded in {cells}", { what, cells: explosions.join(" ") }) : what, ...(destroyed ? [say("destroyed {ship} ({cells})", { ship: destroyed.ship, cells: destroyed.cells.join(" ") })] : []),
          ...(flashcube ? [say("flashcube, {player}'s space: {cells}", { player: giver, cells: flashcube.map(answer).join(", ") })] : [])],
        tone: destroyed ? "sunk" : result === "hit" || kind === "kamikaze death" ? "struck" : "",
      };
    })]);
  }

  return {
    begin, turn, acts, boards, told,
    materiel: ({ sides }) => sides.map((own) => own.ships.size - own.destroyed.size),
    counted: say("undamaged cells"),
    secret: true,
    legend: say("Small letters: destroyed. A dash after a letter: a missile that was fired. o: searched, and no ship there. #: some ship."),
    /** Of each seat and weapon how many were fired and how many hit an undamaged cell. */
    shots: ({ shots }) => shots.map((one) => Object.entries(KINDS).filter(([kind]) => one[kind]).map(([kind, words]) => [words, ...one[kind]])),
    orders: (text) => text || say("nothing"),
  };
})();
