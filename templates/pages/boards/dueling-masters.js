// The boards of Dueling Masters: both sides as their reader knows them, the pieces in words, and what is drawn of a turn.
// The composer and the page of a match draw with these alone; what stands where, they are told.

const BOARD = (() => {
  const ROWS = [...FACTS.rows], RANK = FACTS.rank, { path } = KNOWLEDGE, COLUMNS = Array.from({ length: 10 }, (_, column) => String(column + 1));
  const TITLES = { "*": say("asteroid"), W: say("knight"), B: say("queen"), X: say("rook"), Y: say("bishop"), Z: say("queen"), H: say("home planet") };
  const named = (piece) => `${piece} ${TITLES[piece[0]]}`;
  const byRank = (one, other) => RANK.indexOf(one.piece[0]) - RANK.indexOf(other.piece[0]) || (one.piece < other.piece ? -1 : 1);

  const panels = (square, turned) => [{ columns: COLUMNS, rows: turned ? ROWS : [...ROWS].reverse(), called: (row, column) => row + column, square }];

  /** The token of the first of some pieces, small and in outline while it moves. */
  function token(there, moving, tint) {
    const [{ piece }] = there;
    return { symbol: (moving ? piece.toLowerCase() : piece) + (there.length > 1 ? "+" : ""), tint, shape: `${piece[0] === "H" ? "planet" : "disc"}${moving ? " transit" : ""}` };
  }

  /** A square of the reader's own side, or of one that lies open: its pieces, each with the square that it comes `from`; else `what`. */
  function own(pieces, what, fresh) {
    if (pieces.length) {
      const there = [...pieces].sort(byRank), moving = Boolean(there[0].from);
      return { ...token(there, moving, moving ? "fired" : "own"), fresh, said: there.map(({ piece, from }) => (from ? say("{piece}, in transit from {square}", { piece: named(piece), square: from }) : named(piece))).join("; ") };
    }
    if (what === "asteroid") return { symbol: "*", tint: "rock", shape: "boulder", fresh, said: TITLES["*"] };
    if (what === "lost") return { symbol: "x", tint: "lost", fresh, said: say("an asteroid was destroyed here") };
    if (what === "met nothing") return { symbol: "o", tint: "empty", fresh: true, said: say("a transit passed here and met nothing") };
    return fresh ? { symbol: "o", tint: "empty", fresh, said: say("something happened here") } : null;
  }

  /** A square of the other side as far as reports told: its pieces, and the turns in which its asteroid was destroyed or it was found empty. */
  function heard(pieces, destroyed, empty, last) {
    if (pieces.length) {
      const there = [...pieces].sort(byRank), moving = there[0].state === "in transit";
      const said = there.map(({ piece, state, turn }) => (state === "resting" ? say("{piece} rests there since turn {turn}", { piece: named(piece), turn }) : say("{piece} left there in turn {turn}", { piece: named(piece), turn })));
      return { ...token(there, moving, moving ? "rock" : "seen"), fresh: there.some((each) => each.turn === last), said: said.join("; ") };
    }
    if (destroyed !== undefined) return { symbol: "x", tint: "sunk", fresh: destroyed === last, said: say("an asteroid was destroyed here") };
    return empty === undefined ? null : { symbol: "o", tint: "empty", fresh: empty === last, said: say("found empty in turn {turn}", { turn: empty }) };
  }

  /** All kinds of pieces in words, the strongest first. */
  const legend = () => make("p", { class: "small" }, say("The stronger destroys the weaker, equal ones destroy each other:"), " ", [...RANK].map((kind) => `${kind} ${TITLES[kind]}`).join(" › "), ". ", say("An asteroid (*) and whatever meets it destroy each other."));

  /** What is drawn of a turn; `goal` gives where a seat's piece departs to, if the reader knows it, and `told` whether a seat's ways are known. */
  function acts(reports, goal, told) {
    return reports.flatMap(({ kind, seat, piece, from, to, square, destroyed }, step) => {
      if (kind === "check") return told(seat) ? [{ kind: "move", on: seat, from, squares: piece[0] === "W" ? [to] : path(from, to), step }] : [];
      if (kind === "departure") return told(seat) && goal(seat, square) ? [{ kind: "move", on: seat, from: square, squares: [goal(seat, square)], step }] : [];
      if (kind !== "collision") return [];
      return [1, 2].map((on) => ({ kind: "strike", on, squares: [square], struck: [square], wrecked: destroyed[on] ? [square] : [], step }));
    });
  }

  return { TITLES, panels, own, heard, legend, acts, named };
})();
