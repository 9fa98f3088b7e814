// A game of Dueling Masters drawn from its record and reports: both halves in the open, transits and what they met.

const GAME = (() => {
  const { path } = KNOWLEDGE;
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
  const acts = (before, given, reports, reader = 0) => BOARD.acts(reports, (seat) => given[seat].split("-")[1], (seat) => !reader || reader === seat || before.sealed);

  function boards({ sides, played, heard }, reader = 0) {
    return sides.map((own, seat) => ({ seat: seat + 1, panels: BOARD.panels(reader && reader !== seat + 1 ? known(heard[seat + 1], played) : open(own), seat === 1) }));
  }

  const known = ({ pieces, asteroids, empty }, last) => (name) => BOARD.heard([...pieces.values()].filter((each) => each.square === name && each.state !== "destroyed"), asteroids.get(name), empty.get(name), last);
  const open = ({ pieces, asteroids, lost, looked, fresh }) => (name) => BOARD.own([...pieces].filter(([, { square }]) => square === name).map(([piece, { from }]) => ({ piece, from })),
    asteroids.has(name) ? "asteroid" : lost.has(name) ? "lost" : looked.has(name) ? "met nothing" : "", fresh.has(name));

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
