// What reports tell of both sides of Dueling Masters, turn by turn: a port of `_follow` in
// pbem/games/dueling_masters/knowledge.py, for the page of a match. tests/page_scripts/drawings.py compares.

/**
 * @typedef {{piece: string, state: string, square: string, turn: number}} Heard
 * @typedef {{pieces: Map<string, Heard>, asteroids: Map<string, number>, empty: Map<string, number>}} Picture
 *   of each piece the last that was heard; the turn in which the asteroid of a square was destroyed, or it was last found empty
 */
const KNOWLEDGE = (() => {
  const copy = ({ pieces, asteroids, empty }) => ({ pieces: new Map(pieces), asteroids: new Map(asteroids), empty: new Map(empty) });
  const nothing = () => copy({ pieces: [], asteroids: [], empty: [] });

  /** @returns {Object<number, Picture>} by seat */
  const begin = () => ({ 1: nothing(), 2: nothing() });

  /** The squares of a transit after its start: a knight's, which goes neither straight nor aslant, is its end alone. */
  function path(from, to) {
    const place = (square) => [FACTS.rows.indexOf(square[0]), Number(square.slice(1))], [row, column] = place(from), [end, goal] = place(to);
    const far = Math.max(Math.abs(end - row), Math.abs(goal - column)), straight = row === end || column === goal || Math.abs(end - row) === Math.abs(goal - column);
    if (!straight) return [to];
    return Array.from({ length: far }, (_, at) => FACTS.rows[row + Math.sign(end - row) * (at + 1)] + (column + Math.sign(goal - column) * (at + 1)));
  }

  /**
   * @param {Object<number, Picture>} before @param {Object[]} reports @param {number} turn
   * @param {boolean} told whether all are told where a transit that is checked would end, as in a sealed game; else its owner alone
   * @returns {Object<number, Picture>} after a turn
   */
  function follow(before, reports, turn, told) {
    const all = { 1: copy(before[1]), 2: copy(before[2]) }, of = (kind) => reports.filter((report) => report.kind === kind);
    const hear = (seat, piece, state, square) => (piece === "*" ? all[seat].asteroids.set(square, turn) : all[seat].pieces.set(piece, { piece, state, square, turn }));
    const checks = of("check"), collisions = of("collision"), departures = of("departure");
    const gone = new Set(), checked = new Set(checks.map(({ seat, piece }) => `${seat} ${piece}`));
    for (const { square, pieces, destroyed } of collisions) for (const seat of [1, 2]) {
      const name = `${seat} ${pieces[seat]}`;
      if (destroyed[seat]) { hear(seat, pieces[seat], "destroyed", square); gone.add(name); }
      else if (!gone.has(name) && !checked.has(name)) hear(seat, pieces[seat], "resting", square);
    }
    for (const check of checks) {
      const { seat, piece, from, to } = check, met = collisions.filter((report) => report.pieces[seat] === piece).map((report) => report.square);
      const left = departures.find((report) => report.seat === seat && report.piece === piece), far = (square) => path(from, square).length;
      const farthest = met.reduce((best, square) => (best === from || far(square) > far(best) ? square : best), from);
      const end = told ? to : left ? left.square : check === reports[0] ? null : farthest, last = all[seat].pieces.get(piece);
      if (end && !(last && last.state === "destroyed")) hear(seat, piece, "resting", end);
      // What its owner learns of the other's pieces, who knows where it would end.
      for (const square of path(from, to)) if (!met.includes(square)) all[3 - seat].empty.set(square, turn);
    }
    for (const { seat, piece, square } of departures) hear(seat, piece, "in transit", square);
    return all;
  }

  return { begin, path, follow };
})();
