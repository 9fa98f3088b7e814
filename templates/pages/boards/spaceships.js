// The boards of Spaceships: both spaces as their reader knows them, the ships beside them, and what is drawn of a turn.
// The composer and the page of a match draw with these alone; what stands where, they are told.

const BOARD = (() => {
  const { colours: COLOURS, letters: LETTERS, numbers: NUMBERS, types } = FACTS;
  const TYPES = Object.fromEntries(types.map((type) => [type.code, type]));
  const typeOf = (ship) => TYPES[ship.slice(0, 2)], symbol = (ship) => typeOf(ship).symbol + ship.slice(2);
  const title = (ship) => `${typeOf(ship).title}${ship.slice(2) ? " " + ship.slice(2) : ""}`;

  const panels = (square) => [...COLOURS].map((colour) => ({ corner: colour, columns: [...NUMBERS], rows: [...LETTERS], called: (row, column) => colour + row + column, square }));

  /** A cell of the reader's own space, or of one that lies open; `what` of it: destroyed, fired, or empty once searched. */
  function own(ship, what, fresh) {
    if (!ship) return what === "empty" ? { symbol: "o", tint: "empty", fresh, said: say("searched, empty") } : null;
    if (what === "destroyed") return { symbol: symbol(ship).toLowerCase(), tint: "lost", ship, fresh, said: say("{ship}, destroyed", { ship: title(ship) }) };
    if (what === "fired") return { symbol: `${symbol(ship)}-`, tint: "fired", ship, fresh, said: say("{ship}, fired", { ship: title(ship) }) };
    return { symbol: symbol(ship), tint: "own", ship, fresh, said: title(ship) };
  }

  /** A cell of the other space as far as reports told: destroyed, ship or empty; its ship, where it was named. */
  function heard(ship, what, fresh) {
    const named = ship ? title(ship) : say("ship");
    if (what === "destroyed") return { symbol: ship ? symbol(ship).toLowerCase() : "X", tint: "sunk", ship, fresh, said: say("{ship}, destroyed", { ship: named }) };
    if (what === "ship") return { symbol: ship ? symbol(ship) : "#", tint: "seen", ship, fresh, said: say("{ship}, undamaged", { ship: named }) };
    return what === "empty" ? { symbol: "o", tint: "empty", fresh, said: say("no ship") } : null;
  }

  /** A shape: its layers side by side, as the boards show them. */
  function shape([layers, rows, columns]) {
    const wide = layers * (columns * 7 + 4), found = [];
    for (let c = 0; c < layers; c++) for (let l = 0; l < rows; l++) for (let n = 0; n < columns; n++) {
      found.push(svg("rect", { x: c * (columns * 7 + 4) + n * 7 + 0.5, y: l * 7 + 0.5, width: 6, height: 6, rx: 1.5 }));
    }
    return svg("svg", { class: "shape", width: wide, height: rows * 7 + 1, "aria-hidden": "true" }, found);
  }

  /** The ships of a space in words, each with its shape: [name, cells left] of each; without the number, a kind of ship. */
  const fleet = (ships) => make("ul", { class: "fleet" }, ships.map(([ship, left]) => make("li", { class: left === 0 ? "gone" : "" },
    make("b", {}, symbol(ship)), " ", title(ship), " ", left === undefined ? shape(typeOf(ship).box || [2, 2, 2]) : left ? `${left}/${typeOf(ship).size}` : "✕")));

  /**
   * What is drawn of a turn. Whoever was shot at did not know from which cell: `launched` gives a seat's in their order;
   * `gone`, by seat, the cells that were destroyed before.
   */
  function acts(reports, launched = () => "", gone = { 1: new Set(), 2: new Set() }) {
    const found = [];
    let beam = null;
    for (const { kind, seat, cell, result, explosions, destroyed, flashcube } of reports) {
      if (kind === "kamikaze death") continue;
      const goes = kind === "beam" && beam && beam.by === seat && beam.squares.length < 3 ? beam : null;
      const from = kind === "strike" ? launched(seat) : "";
      const act = goes || { kind, by: seat, ...(from ? { from } : {}), on: 3 - seat, squares: [], struck: [], wrecked: [], broken: [] };
      if (!goes) found.push(act);
      beam = kind === "beam" ? act : null;
      act.squares.push(cell);
      if (kind !== "scan" && result !== "miss") act.struck.push(cell);
      act.wrecked.push(...(explosions || []), ...(destroyed ? destroyed.cells : []));
      for (const one of result === "hit" ? [cell, ...(explosions || [])] : explosions || []) if (!gone[3 - seat].has(one)) { gone[3 - seat].add(one); act.broken.push(one); }
      if (flashcube) found.push({ kind: "flash", on: seat, squares: flashcube.map((one) => one.cell) });
    }
    return found;
  }

  return { TYPES, panels, own, heard, shape, fleet, acts, symbol, title };
})();
