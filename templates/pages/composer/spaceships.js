// Composing for Spaceships: ships clicked into place, orders aimed by clicking, entitlements counted down.

const GAME = (() => {
  const { COLOURS, LETTERS, NUMBERS, NAMES, TYPES, CODES } = RULES;
  const LETTER = { DS: "D", KC: "K", FS: "F", PC: "P", MD: "M", HS: "H", LS: "S", AG: "A", LG: "G" };
  const symbol = (ship) => LETTER[ship.slice(0, 2)] + ship.slice(2);
  const title = (ship) => `${TYPES[ship.slice(0, 2)].title}${ship.slice(2) ? " " + ship.slice(2) : ""}`;
  let write, current, kind, launch, end;

  function space(caption, square, click) {
    return make("div", { class: "boards" }, [...COLOURS].map((colour) => grid({
      caption: `${caption}, layer ${colour}`, corner: colour, columns: NUMBERS, rows: LETTERS,
      called: (row, column) => colour + row + column, square, click,
    })));
  }

  // Setups

  const named = (ships) => {
    const several = {}, number = {};
    for (const { code } of ships) several[code] = (several[code] || 0) + 1;
    return ships.map((ship) => {
      number[ship.code] = (number[ship.code] || 0) + 1;
      return { ...ship, name: ship.code + (several[ship.code] > 1 ? number[ship.code] : "") };
    });
  };
  const written = (ships) => named(ships).map((ship) => [ship.name, ...ship.cells].join(" ")).join("\n");

  function clickCell(ships, cell) {
    const owner = ships.findIndex((ship) => ship.cells.includes(cell));
    if (owner >= 0) {
      current = owner;
      ships[owner].cells = ships[owner].cells.filter((other) => other !== cell);
    } else if (ships[current]) {
      const ship = ships[current];
      ship.cells = [...ship.cells, cell].sort((a, b) => NAMES.indexOf(a) - NAMES.indexOf(b));
      if (ship.cells.length === TYPES[ship.code].size) {
        const next = ships.findIndex((other) => other.cells.length < TYPES[other.code].size);
        if (next >= 0) current = next;
      }
    }
    write(written(ships));
  }

  function drawSetup(state, judged, controls, boards) {
    const ships = named(judged.ships.filter((ship) => ship.code).map((ship) => ({ code: ship.code, cells: ship.cells })));
    current = Math.max(0, Math.min(current, ships.length - 1));
    const cost = ships.reduce((sum, ship) => sum + TYPES[ship.code].cost, 0);
    const base = RULES.baseCost(state.options) ?? 24, extra = (state.options.additional || [0, 0])[state.seat - 1];
    const rows = ships.map((ship, at) => make("tr", {},
      make("th", { scope: "row" }, ship.name), make("td", {}, TYPES[ship.code].title),
      make("td", {}, `${ship.cells.length} of ${TYPES[ship.code].size}`),
      make("td", {}, make("button", { type: "button", id: `place-${at}`, "aria-pressed": String(at === current), onclick: () => { current = at; write(written(ships)); } }, at === current ? "placing" : "place"), " ",
        make("button", { type: "button", id: `drop-${at}`, "aria-label": `remove ${ship.name}`, onclick: () => write(written(ships.filter((_, other) => other !== at))) }, "remove"))));
    redraw(controls,
      make("p", {}, `Ships of cost ${cost}; ${RULES.baseCost(state.options) === null ? "the standard fleet costs 24" : `the fleet costs ${base}`}${extra ? `, and additional ships ${extra}` : ""}. Choose a ship, then click its cells; a cell clicked again is free again.`),
      make("table", { class: "due" }, make("thead", {}, make("tr", {}, ["ship", "type", "cells", "change"].map((word) => make("th", { scope: "col" }, word)))), make("tbody", {}, rows)),
      make("div", { class: "row" }, CODES.map((code) => make("button", { type: "button", id: `add-${code}`, title: `${TYPES[code].title}, cost ${TYPES[code].cost}`, onclick: () => {
        const list = [...ships, { code, cells: [] }].sort((a, b) => CODES.indexOf(a.code) - CODES.indexOf(b.code));
        current = list.findIndex((ship) => ship.code === code && !ship.cells.length);
        write(written(list));
      } }, `add ${code}`))));
    const owner = new Map(ships.flatMap((ship, at) => ship.cells.map((cell) => [cell, [ship, at]])));
    redraw(boards, space("Your space", (cell) => {
      const [ship, at] = owner.get(cell) || [];
      return ship ? { symbol: symbol(ship.name), tint: at === current ? "own" : "fired", said: title(ship.name) } : {};
    }, (cell) => clickCell(ships, cell)));
  }

  // Orders

  const KINDS = { conventional: "conventional strike", beam: "beam", missile: "missile strike", kamikaze: "kamikaze strike", scan: "scan" };

  function left(judged) {
    const { due, used } = judged;
    const free = (cells, taken) => [...cells].filter((cell) => !taken.has(due.owner.get(cell).ship));
    const ships = (cells) => new Set([...cells].map((cell) => due.owner.get(cell).ship)).size;
    return {
      conventional: { due: due.conventional, used: used.conventional },
      beam: { due: due.stars.filter((ship) => RULES.able({ stars: [ship] }, [0, 0, 1]).length || anyDirection(ship)).length, used: used.beams.size },
      missile: { due: ships(due.missiles), used: used.missiles.size, cells: free(due.missiles, used.missiles) },
      kamikaze: { due: ships(due.kamikazes), used: used.kamikazes.size, cells: free(due.kamikazes, used.kamikazes) },
      scan: { due: due.scans, used: used.scans },
    };
  }

  const STEPS = [-1, 0, 1].flatMap((c) => [-1, 0, 1].flatMap((l) => [-1, 0, 1].map((n) => [c, l, n]))).filter((step) => step.some(Boolean));
  const anyDirection = (ship) => STEPS.some((step) => RULES.able({ stars: [ship] }, step).length);

  function aim(judged, count, cell) {
    const add = (order) => { end = null; launch = null; write([...judged.list, order].join(" ")); };
    if (kind === "conventional") add(cell);
    else if (kind === "scan") add(`s${cell}`);
    else if (kind === "missile" || kind === "kamikaze") {
      const from = launch && count[kind].cells.includes(launch) ? launch : count[kind].cells[0];
      add(`${kind === "missile" ? "m" : "k"}${from || ""} ${cell}`);
    } else if (!end) { end = cell; write(judged.list.join(" ")); }
    else if (end === cell) { end = null; write(judged.list.join(" ")); }
    else {
      const step = RULES.line(end, cell);
      const could = step ? RULES.able(judged.due, step) : [];
      const free = could.find((ship) => !judged.used.beams.has(ship.ship)) || could[0];
      add(`b${end}${cell}${could.length > 1 ? `(${free.ship})` : ""}`);
    }
  }

  function drawOrders(state, judged, controls, boards) {
    const count = left(judged), view = state.view;
    const open = Object.keys(KINDS).filter((name) => count[name].due > count[name].used);
    if (!open.includes(kind)) { kind = open[0] || kind; launch = null; end = null; }
    const rows = Object.entries(KINDS).filter(([name]) => count[name].due).map(([name, words]) => make("tr", {},
      make("th", { scope: "row" }, words), make("td", {}, String(count[name].due)), make("td", {}, String(count[name].due - count[name].used))));
    redraw(controls,
      make("table", { class: "due" }, make("thead", {}, make("tr", {}, ["what you may order", "due", "left"].map((word) => make("th", { scope: "col" }, word)))), make("tbody", {}, rows)),
      make("div", { class: "row" },
        chooser("kind", "Order a", Object.entries(KINDS).filter(([name]) => count[name].due), kind, (value) => { kind = value; end = null; launch = null; write(judged.list.join(" ")); }),
        (kind === "missile" || kind === "kamikaze") && count[kind].cells.length
          ? chooser("launch", "from", count[kind].cells.map((cell) => [cell, `${cell}, ${judged.due.owner.get(cell).ship}`]), launch || count[kind].cells[0], (value) => { launch = value; }) : null,
        make("span", { id: "hint", role: "status" }, kind === "beam" ? (end ? `from ${end}: now the other end of the line of three` : "click one end of a line of three, then the other") : "click its target")),
      make("ul", { class: "orders", "aria-label": "Orders so far" }, judged.list.map((order, at) => make("li", {}, `${order} `,
        make("button", { type: "button", id: `undo-${at}`, "aria-label": `remove ${order}`, onclick: () => write(judged.list.filter((_, other) => other !== at).join(" ")) }, "remove")))));
    const aimed = new Map();
    for (const order of judged.list) {
      const cells = order.match(/[ROYGB][v-z][1-5]/g) || [];
      if (order[0] === "b" && cells.length === 2) [cells[0], RULES.between(...cells), cells[1]].forEach((cell) => cell && aimed.set(cell, "beam"));
      else if (cells.length) aimed.set(cells[cells.length - 1], order[0] === "s" ? "scan" : "strike");
    }
    const [other] = Object.keys(view.known);
    redraw(boards,
      make("h3", {}, "The other space, as you know it"),
      space("The other space", (cell) => known(view.known[other], cell, aimed, end), (cell) => aim(judged, count, cell)),
      make("h3", {}, "Your space"), space("Your space", (cell) => own(view.own, cell)));
  }

  function known(space, cell, aimed, from) {
    const ship = space.named[cell] || (space.ships.find((each) => each.cells.includes(cell)) || {}).ship;
    const marks = [space.fresh.includes(cell) ? "fresh" : "", aimed.has(cell) || from === cell ? "aimed" : ""].join(" ");
    const plan = aimed.has(cell) ? `, ${aimed.get(cell)} ordered` : from === cell ? ", one end of the beam" : "";
    if (space.destroyed.includes(cell)) return { symbol: ship ? symbol(ship).toLowerCase() : "X", tint: "sunk", said: `${ship ? title(ship) : "ship"}, destroyed${plan}`, marks };
    if (space.ship.includes(cell)) return { symbol: ship ? symbol(ship) : "#", tint: "seen", said: `${ship ? title(ship) : "ship"}, undamaged${plan}`, marks };
    if (space.empty.includes(cell)) return { symbol: "o", tint: "empty", said: `no ship${plan}`, marks };
    return { symbol: aimed.has(cell) ? "+" : "", said: `not searched${plan}`, marks };
  }

  function own(space, cell) {
    const ship = space.ships.find((each) => each.cells.includes(cell));
    const marks = space.fresh.includes(cell) ? "fresh" : "";
    if (!ship) return space.misses.includes(cell) ? { symbol: "o", tint: "empty", said: "searched, empty", marks } : {};
    if (ship.destroyed.includes(cell)) return { symbol: symbol(ship.ship).toLowerCase(), tint: "lost", said: `${title(ship.ship)}, destroyed`, marks };
    if (ship.fired.includes(cell)) return { symbol: symbol(ship.ship) + "-", tint: "fired", said: `${title(ship.ship)}, fired`, marks };
    return { symbol: symbol(ship.ship), tint: "own", said: title(ship.ship), marks };
  }

  return {
    oneLine: true,
    begin(state, writer) {
      write = writer;
      current = 0; kind = "conventional"; launch = null; end = null;
      if (state.pbem === "setup 1" && RULES.baseCost(state.options) === null) write("DS\nKC\nFS\nMD\nHS");
    },
    draw: (state, text, judged, controls, boards) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, judged, controls, boards),
  };
})();
