// A game of Dueling Masters drawn from its record and reports: both halves in the open, transits and what they met.

const GAME = (() => {
  const ROWS = [...FACTS.rows], RANK = FACTS.rank, { path } = KNOWLEDGE, COLUMNS = Array.from({ length: 10 }, (_, column) => String(column + 1));
  const KINDS = { check: say("check"), departure: say("departure"), collision: say("collision"), pass: say("pass") };

  /** Pieces by name, each {square, from} (from: null for what rests), and the asteroids' squares. */
  function side(setup) {
    const pieces = new Map(), asteroids = new Set();
    for (const line of setup.split("\n")) {
      const [kind, ...squares] = line.split(" ");
      if (kind === "*") squares.forEach((square) => asteroids.add(square));
      else if (kind.length > 1) pieces.set(kind, { square: squares[0], from: null });
      else squares.forEach((square, at) => pieces.set(squares.length > 1 ? kind + (at + 1) : kind, { square, from: null }));
    }
    return { pieces, asteroids, lost: new Set(), looked: new Set(), fresh: new Set() };
  }

  const begin = ({ seats, sealed }) => ({ sides: seats.map(({ setup }) => side(setup)), played: 0, sealed, heard: KNOWLEDGE.begin() });

  const shape = (piece, moving) => `${piece[0] === "H" ? "planet" : "disc"}${moving ? " transit" : ""}`;

  /** The other's pieces as far as reports told of them. */
  function known({ pieces, asteroids, empty }, name, last) {
    const there = [...pieces.values()].filter((each) => each.square === name && each.state !== "destroyed").sort((one, other) => RANK.indexOf(one.piece[0]) - RANK.indexOf(other.piece[0]) || (one.piece < other.piece ? -1 : 1));
    if (there.length) {
      const [{ piece, state }] = there, moving = state === "in transit";
      return { symbol: (moving ? piece.toLowerCase() : piece) + (there.length > 1 ? "+" : ""), tint: moving ? "rock" : "seen", shape: shape(piece, moving), fresh: there.some((each) => each.turn === last), said: there.map((each) => (each.state === "resting" ? say("{piece} rests there since turn {turn}", each) : say("{piece} left there in turn {turn}", each))).join("; ") };
    }
    if (asteroids.has(name)) return { symbol: "x", tint: "sunk", fresh: asteroids.get(name) === last, said: say("an asteroid was destroyed here") };
    return empty.has(name) ? { symbol: "o", tint: "empty", fresh: empty.get(name) === last, said: say("found empty in turn {turn}", { turn: empty.get(name) }) } : null;
  }

  function turn(before, given, reports) {
    const sides = before.sides.map((one) => ({ pieces: new Map(one.pieces), asteroids: new Set(one.asteroids), lost: new Set(one.lost), looked: new Set(), fresh: new Set() }));
    const lose = (seat, piece, square) => {
      const own = sides[seat - 1];
      if (piece === "*") { own.asteroids.delete(square); own.lost.add(square); } else own.pieces.delete(piece);
    };
    for (const { seat, piece, from, to } of reports.filter((report) => report.kind === "check")) {
      sides[seat - 1].pieces.set(piece, { square: to, from: null });
      for (const square of path(from, to)) sides[2 - seat].looked.add(square);
    }
    for (const { square, pieces, destroyed } of reports.filter((report) => report.kind === "collision")) {
      for (const seat of [1, 2]) {
        sides[seat - 1].fresh.add(square);
        if (destroyed[seat]) lose(seat, pieces[seat], square);
      }
    }
    for (const { seat, piece, square } of reports.filter((report) => report.kind === "departure")) {
      const own = sides[seat - 1], to = given[seat].split("-")[1];
      own.fresh.add(square).add(to);
      if (own.asteroids.has(to) && piece[0] !== "H") { lose(seat, "*", to); lose(seat, piece, to); } // a ram
      else own.pieces.set(piece, { square: to, from: square });
    }
    const played = before.played + 1;
    return { sides, played, sealed: before.sealed, heard: KNOWLEDGE.follow(before.heard, reports, played, before.sealed) };
  }

  /** What is drawn of a turn; where a transit ends is its owner's secret, unless the match is sealed. */
  function acts(before, given, reports, reader = 0) {
    const all = (seat) => !reader || reader === seat || before.sealed;
    return reports.flatMap((report, step) => {
      const { kind, seat, piece, from, to, square } = report;
      if (kind === "check") return all(seat) ? [{ kind: "move", on: seat, from, squares: piece[0] === "W" ? [to] : path(from, to), step }] : [];
      if (kind === "departure") return all(seat) ? [{ kind: "move", on: seat, from: square, squares: [given[seat].split("-")[1]], step }] : [];
      if (kind !== "collision") return [];
      return [1, 2].map((on) => ({ kind: "strike", on, squares: [square], struck: [square], wrecked: report.destroyed[on] ? [square] : [], step }));
    });
  }

  function boards({ sides, played, heard: told }, reader = 0) {
    return sides.map((own, seat) => {
      const found = (name) => (reader && reader !== seat + 1 ? known(told[seat + 1], name, played) : square(own, name));
      return { seat: seat + 1, panels: [{ name: "", columns: COLUMNS, rows: seat ? ROWS : [...ROWS].reverse(), called: (row, column) => row + column, square: found }] };
    });
  }

  function square(own, name) {
    const fresh = own.fresh.has(name), there = [...own.pieces].filter(([, piece]) => piece.square === name);
    there.sort(([one], [other]) => RANK.indexOf(one[0]) - RANK.indexOf(other[0]) || one.localeCompare(other));
    if (there.length) {
      const [[piece, { from }]] = there;
      const said = there.map(([each, { from: start }]) => (start ? say("{piece}, in transit from {square}", { piece: each, square: start }) : each)).join("; ");
      return { symbol: (from ? piece.toLowerCase() : piece) + (there.length > 1 ? "+" : ""), tint: from ? "fired" : "own", shape: shape(piece, Boolean(from)), fresh, said };
    }
    if (own.asteroids.has(name)) return { symbol: "*", tint: "rock", shape: "boulder", fresh, said: say("asteroid") };
    if (own.lost.has(name)) return { symbol: "x", tint: "lost", fresh, said: say("an asteroid was destroyed here") };
    if (own.looked.has(name)) return { symbol: "o", tint: "empty", fresh: true, said: say("a transit passed here and met nothing") };
    return fresh ? { symbol: "o", tint: "empty", fresh, said: say("something happened here") } : null;
  }

  function told(reports, names, reader = 0) {
    const the = (seat, piece) => (piece === "*" ? say("{player}'s asteroid", { player: names[seat - 1] }) : say("{player}'s {piece}", { player: names[seat - 1], piece }));
    return [["", reports.map((report) => {
      const { kind, seat, piece } = report;
      if (kind === "check") return { label: KINDS[kind] || kind, square: "", text: [reader && reader !== seat ? say("{piece}, in transit from {square}", { piece: the(seat, piece), square: report.from }) : say("{piece}, in transit {start} to {goal}", { piece: the(seat, piece), start: report.from, goal: report.to })], tone: "" };
      if (kind === "departure") return { label: KINDS[kind] || kind, square: "", text: [say("{piece} departs from {square}", { piece: the(seat, piece), square: report.square })], tone: "" };
      if (kind === "pass") return { label: KINDS[kind] || kind, square: "", text: [say("{player} has no legal move", { player: names[seat - 1] })], tone: "" };
      const [one, two] = [the(1, report.pieces[1]), the(2, report.pieces[2])], gone = report.destroyed;
      return { label: KINDS[kind] || kind, square: "", text: [gone[1] && gone[2] ? say("{square}, {one} and {two}: both are destroyed", { square: report.square, one, two }) : say("{square}, {one} and {two}: {lost} is destroyed", { square: report.square, one, two, lost: gone[1] ? one : two })], tone: "sunk" };
    })]];
  }

  return {
    begin, turn, acts, boards, told,
    materiel: ({ sides }) => sides.map((own) => own.pieces.size),
    counted: say("pieces left, asteroids not counted"),
    secret: true,
    legend: say("Small letters: in transit. *: an asteroid; x: one that was destroyed. o: a transit passed here and met nothing."),
    shots: () => [],
    orders: (text) => text || say("nothing"),
  };
})();
