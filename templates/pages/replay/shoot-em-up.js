// A game of Shoot 'em up Spaceships drawn from its record and reports: the one board, ships with their facings.

const GAME = (() => {
  const { arrows: ARROWS, columns: COLUMNS, each: EACH, ships: SHIPS } = FACTS;
  const FACINGS = { N: say("north"), E: say("east"), S: say("south"), W: say("west") };
  const owner = (ship) => Math.floor(SHIPS.indexOf(ship) / EACH);

  function begin({ options, seats }) {
    const [columns, rows] = options.board ? options.board.split("x").map(Number) : FACTS.size;
    const ships = Object.fromEntries(seats.flatMap(({ setup }) => setup.split("\n").map((line) => [line[0], line.slice(2)])));
    return { columns, rows, count: seats.length, ships, struck: new Set(), burnt: new Set() };
  }

  function turn(before, given, reports) {
    const states = reports.filter((report) => report.kind === "state"), hits = reports.filter((report) => report.kind === "hit");
    return {
      ...before,
      ships: states[states.length - 1].ships,
      struck: new Set(hits.map((report) => report.ship)),
      burnt: new Set(hits.filter((report) => report.destroyed).map((report) => report.where.split("/")[0])),
    };
  }

  /** What is drawn of a turn: in each of its actions the moves and the shots, then what they hit. */
  function acts(before, given, reports) {
    const ordered = Object.fromEntries(Object.values(given).flatMap((text) => text.split("\n").map((line) => [line[0], line.slice(-3)])));
    let at = before.ships;
    return reports.filter(({ kind }) => kind === "state").flatMap(({ action, ships }) => {
      const step = 2 * (action - 1), was = at, hits = reports.filter((report) => report.kind === "hit" && report.action === action);
      at = ships;
      const own = Object.entries(was).flatMap(([ship, where]) => {
        const [square, facing] = where.split(" "), to = (ships[ship] || "").split(" ")[0], ahead = next(square, facing);
        if ((ordered[ship] || "")[action - 1] === "F") return [{ kind: "strike", on: 0, from: square, squares: [ahead], step }];
        return to && to !== square ? [{ kind: "move", on: 0, from: square, squares: [to], step }] : [];
      });
      return [...own, ...hits.map(({ where, destroyed }) => ({ kind: "strike", on: 0, squares: [where], struck: [where], wrecked: destroyed ? [where] : [], step: step + 1 }))];
    });
  }

  /** The square ahead. */
  function next(square, facing) {
    const [across, along] = FACTS.steps[FACTS.facings.indexOf(facing)];
    return (COLUMNS[COLUMNS.indexOf(square[0]) + across] || "") + (Number(square.slice(1)) + along);
  }

  function boards({ columns, rows, ships, struck, burnt }) {
    const at = new Map(Object.entries(ships).map(([ship, where]) => [where.split(" ")[0], [ship, where.split(" ")[1]]]));
    const square = (name) => {
      const [ship, facing] = at.get(name) || [];
      if (ship) return { symbol: ship + ARROWS[facing], glyph: ship, shape: `heads-${facing}`, tint: `seat${owner(ship) + 1}`, fresh: struck.has(ship), said: say("{ship} facing {facing}", { ship, facing: FACINGS[facing] }) };
      return burnt.has(name) ? { symbol: "*", tint: "hit", fresh: true, said: say("a ship was destroyed here") } : null;
    };
    return [{ seat: 0, panels: [{ name: "", columns: [...COLUMNS.slice(0, columns)], rows: Array.from({ length: rows }, (_, row) => String(rows - row)), called: (row, column) => column + row, square }] }];
  }

  const left = (shields) => shields === 1 ? say("1 shield left") : say("{shields} shields left", { shields });

  function told(reports, names) {
    const the = (ship) => say("{player}'s {ship}", { player: names[owner(ship)], ship });
    return reports.filter((report) => report.kind === "state").map(({ action }) => {
      const hits = reports.filter((report) => report.kind === "hit" && report.action === action);
      return [say("Action {action}", { action }), hits.map(({ ship, where, by, shields, destroyed }) => ({
        label: where, square: "", text: [say("{ship}, hit by {by}: {outcome}", { ship: the(ship), by: by.map(the).join(say(" and ")), outcome: destroyed ? say("destroyed") : left(shields) })], tone: destroyed ? "sunk" : "struck",
      })), say("nobody was hit")];
    });
  }

  return {
    begin, turn, acts, boards, told,
    materiel: ({ count, ships }) => Array.from({ length: count }, (_, seat) => Object.keys(ships).filter((ship) => owner(ship) === seat).length),
    counted: say("ships left"),
    secret: false,
    legend: say("The point of a ship: the way a ship faces. *: a ship was destroyed here."),
    shots: () => [],
    orders: (text) => text.split("\n").join("; ") || say("nothing"),
  };
})();
