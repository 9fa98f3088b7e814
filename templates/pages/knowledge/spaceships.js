// What reports tell of both spaces of Spaceships, turn by turn: a port of `_follow` in pbem/games/spaceships/knowledge.py,
// for the page of a match. tests/page_scripts/drawings.py compares.

/**
 * @typedef {{cells: Map<string, string>, named: Map<string, string>, ships: {ship: string, cells: string[]}[], misses: Set<string>, struck: Set<string>, learned: Set<string>}} Picture
 *   of each cell the last that was heard: empty, ship or destroyed; struck and learned: in the last turn
 */
const KNOWLEDGE = (() => {
  const copy = ({ cells, named, ships, misses }) => ({ cells: new Map(cells), named: new Map(named), ships: [...ships], misses: new Set(misses), struck: new Set(), learned: new Set() });
  const nothing = () => copy({ cells: [], named: [], ships: [], misses: [] });

  /** @returns {Object<number, Picture>} by seat */
  const begin = () => ({ 1: nothing(), 2: nothing() });

  function learn(picture, cells, what) {
    for (const cell of cells) { picture.cells.set(cell, what); picture.learned.add(cell); }
    if (what === "empty") for (const cell of cells) picture.misses.add(cell);
  }

  /** @returns {Object<number, Picture>} after a turn with these reports */
  function follow(before, reports) {
    const all = { 1: copy(before[1]), 2: copy(before[2]) };
    for (const report of reports) {
      const died = report.kind === "kamikaze death", struck = [report.cell, ...(report.explosions || [])];
      const giver = all[died ? 3 - report.seat : report.seat], looked = all[died ? report.seat : 3 - report.seat];
      if (report.kind === "scan") learn(looked, struck, report.result === "none" ? "empty" : report.result);
      else {
        learn(looked, struck, report.result === "miss" ? "empty" : "destroyed");
        for (const cell of struck) looked.struck.add(cell);
      }
      if (!report.destroyed) continue;
      looked.ships.push(report.destroyed);
      for (const cell of report.destroyed.cells) { looked.named.set(cell, report.destroyed.ship); looked.cells.set(cell, "destroyed"); }
      for (const { cell, ship, destroyed } of report.flashcube || []) {
        giver.learned.add(cell);
        giver.cells.set(cell, ship === null ? "empty" : destroyed ? "destroyed" : "ship");
        if (ship !== null) giver.named.set(cell, ship);
      }
    }
    return all;
  }

  return { begin, follow };
})();
