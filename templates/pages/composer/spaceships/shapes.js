// Ships of Spaceships as shapes: the ways in which each lies, where that is in the space, a fleet laid out at random.
// The rules have the last word; chance is handed in.

/** @typedef {[number, number, number]} Sides how far a box reaches over colours, letters and numbers */
const SHAPES = (() => {
  const { NAMES, CELLS, TYPES, CODES, at, box, place: placeOf } = RULES;
  const CUBE = [2, 2, 2];

  /** All different orders of three numbers. */
  const orders = (sides) => {
    const [a, b, c] = sides, found = [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]];
    return found.filter((one, at) => found.findIndex((other) => other.join() === one.join()) === at);
  };

  /** By type, the boxes that it can fill; a death star has other shapes too, which are drawn cell by cell. */
  const WAYS = Object.fromEntries(CODES.map((code) => [code, code === "DS" ? [CUBE, ...orders([1, 2, 4])] : orders(TYPES[code].box)]));

  const place = (cell) => placeOf(CELLS.get(cell));

  /** The cells of a box that begins at a cell, pushed back into the space where it would reach out of it. */
  function footprint(sides, cell) {
    const from = place(cell).map((value, axis) => Math.min(value, 5 - sides[axis]));
    return box(from, from.map((value, axis) => value + sides[axis] - 1)).map((each) => NAMES[each]);
  }

  /** How far a cell is from another, and the cell that far before one, pushed back into the space. */
  const offset = (from, to) => { const start = place(from); return place(to).map((value, axis) => value - start[axis]); };
  const moved = (cell, far) => NAMES[at(place(cell).map((value, axis) => Math.max(0, value - far[axis])))];

  /** Types that make up an agreed fleet; null if chance finds none. `chance(n)`: a whole number below n. */
  function fleet(options, seat, chance) {
    for (let tried = 0; tried < 4000; tried++) {
      const cost = RULES.baseCost(options), codes = cost === null ? [...FACTS.standard[chance(FACTS.standard.length)]] : [];
      let left = (cost || 0) + (options.additional || [0, 0])[seat - 1];
      while (left > 0) {
        const could = CODES.filter((code) => TYPES[code].cost <= left);
        codes.push(could[chance(could.length)]);
        left -= TYPES[codes[codes.length - 1]].cost;
      }
      if (RULES.isAgreed(options, seat, codes)) return codes.sort((one, other) => CODES.indexOf(one) - CODES.indexOf(other));
    }
    return null;
  }

  /** A fleet laid out by chance: each type with its cells, or null where it found no room. */
  function scattered(codes, chance) {
    for (let tried = 0; tried < 300; tried++) {
      const taken = new Set();
      const ships = [...codes].sort((one, other) => TYPES[other].size - TYPES[one].size).map((code) => {
        const could = WAYS[code].flatMap((sides) => NAMES.map((cell) => [sides, cell]))
          .filter(([sides, cell]) => place(cell).every((value, axis) => value + sides[axis] <= 5)).map(([sides, cell]) => footprint(sides, cell))
          .filter((cells) => cells.every((cell) => !taken.has(cell)));
        const cells = could.length ? could[chance(could.length)] : [];
        for (const cell of cells) taken.add(cell);
        return { code, cells };
      });
      if (ships.every((ship) => ship.cells.length)) return ships.sort((one, other) => CODES.indexOf(one.code) - CODES.indexOf(other.code));
    }
    return null;
  }

  return { WAYS, footprint, offset, moved, fleet, scattered };
})();
