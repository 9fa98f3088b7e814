// The board of Shoot 'em up Spaceships: ships with their facings, and what is drawn of a turn. The composer and the page
// of a match draw with these alone; what stands where, they are told.

const BOARD = (() => {
  const { arrows: ARROWS, columns: COLUMNS, each: EACH, ships: SHIPS } = FACTS;
  const FACINGS = { N: say("north"), E: say("east"), S: say("south"), W: say("west") };
  const owner = (ship) => Math.floor(SHIPS.indexOf(ship) / EACH) + 1;

  const panels = (columns, rows, square) => [{ columns: [...COLUMNS.slice(0, columns)], rows: Array.from({ length: rows }, (_, row) => String(rows - row)), called: (row, column) => column + row, square }];

  const token = (ship, facing, said = say("{ship} facing {facing}", { ship, facing: FACINGS[facing] || "?" })) => ({ symbol: ship + (ARROWS[facing] || ""), glyph: ship, shape: `heads-${facing}`, tint: `seat${owner(ship)}`, said });

  /** The square ahead. */
  function next(square, facing) {
    const [across, along] = FACTS.steps[FACTS.facings.indexOf(facing)];
    return (COLUMNS[COLUMNS.indexOf(square[0]) + across] || "") + (Number(square.slice(1)) + along);
  }

  /** What is drawn of a turn: in each of its actions the moves and the shots, as far as the actions of ships are known, then what they hit. */
  function acts(reports, before, ordered) {
    let at = before;
    return reports.filter(({ kind }) => kind === "state").flatMap(({ action, ships }) => {
      const step = 2 * (action - 1), was = at || ships, hits = reports.filter((report) => report.kind === "hit" && report.action === action);
      at = ships;
      const own = Object.entries(was).flatMap(([ship, where]) => {
        const [square, facing] = where.split(" "), to = (ships[ship] || "").split(" ")[0];
        if ((ordered[ship] || "")[action - 1] === "F") return [{ kind: "strike", on: 0, from: square, squares: [next(square, facing)], step }];
        return to && to !== square ? [{ kind: "move", on: 0, from: square, squares: [to], step }] : [];
      });
      return [...own, ...hits.map(({ where, destroyed }) => ({ kind: "strike", on: 0, squares: [where], struck: [where], wrecked: destroyed ? [where] : [], step: step + 1 }))];
    });
  }

  return { FACINGS, owner, next, panels, token, acts };
})();
