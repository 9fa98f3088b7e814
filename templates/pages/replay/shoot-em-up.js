// A game of Shoot 'em up Spaceships drawn from its record and reports: the one board, ships with their facings.

const GAME = (() => {
  const owner = (ship) => BOARD.owner(ship) - 1;

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

  const acts = (before, given, reports) => BOARD.acts(reports, before.ships, Object.fromEntries(Object.values(given).flatMap((text) => text.split("\n").map((line) => [line[0], line.slice(-3)]))));

  function boards({ columns, rows, ships, struck, burnt }) {
    const at = new Map(Object.entries(ships).map(([ship, where]) => [where.split(" ")[0], [ship, where.split(" ")[1]]]));
    return [{ seat: 0, panels: BOARD.panels(columns, rows, (name) => {
      const [ship, facing] = at.get(name) || [];
      if (ship) return { ...BOARD.token(ship, facing), fresh: struck.has(ship) };
      return burnt.has(name) ? { symbol: "*", tint: "hit", fresh: true, said: say("a ship was destroyed here") } : null;
    }) }];
  }

  const left = (shields) => shields === undefined ? say("destroyed") : shields === 1 ? say("1 shield left") : say("{shields} shields left", { shields });

  function told(reports, names) {
    const the = (ship) => say("{player}'s {ship}", { player: names[owner(ship)], ship });
    return reports.filter((report) => report.kind === "state").map(({ action }) => {
      const hits = reports.filter((report) => report.kind === "hit" && report.action === action);
      return [say("Action {action}", { action }), hits.map(({ ship, where, by, shields, destroyed }) => ({
        label: where, square: "", text: [say("{ship}, hit by {by}: {outcome}", { ship: the(ship), by: by.map(the).join(say(" and ")), outcome: left(destroyed ? undefined : shields) })], tone: destroyed ? "sunk" : "struck",
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
