// Composing for Spaceships: ships clicked into place, orders aimed by clicking, entitlements counted down.

const GAME = (() => {
  const { NAMES, TYPES, CODES } = RULES, { shape, symbol, title } = BOARD;
  let write, current, kind, launch, end, freehand, fleetOpen, hint, over, ways, held;

  /** A space with the list of its ships in the place of a sixth plane. */
  function planes(title, square, click, ships) {
    const found = drawBoard(title, BOARD.panels(square), click);
    found.append(BOARD.fleet(ships));
    return found;
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
  const sizeOf = (ship) => TYPES[ship.code].size;
  const inOrder = (ships) => [...ships].sort((one, other) => CODES.indexOf(one.code) - CODES.indexOf(other.code));

  const lying = (code) => SHAPES.WAYS[code][(ways[code] || 0) % SHAPES.WAYS[code].length];
  const next = (ships) => { const open = ships.findIndex((ship) => ship.cells.length < sizeOf(ship)); if (open >= 0) current = open; };

  /** Where a ship would lie with its first cell there, and whether there is room. */
  function fitting(ships, ship, cell) {
    const cells = SHAPES.footprint(lying(ship.code), cell);
    return { cells, free: cells.every((each) => !ships.some((other) => other !== ship && other.cells.includes(each))) };
  }

  /** Where a click on a cell would lay the current ship, or where the ship that is dragged would be let go. */
  function ghost(ships, cell) {
    if (held) return fitting(ships, ships[held.at], SHAPES.moved(cell, held.grip));
    const ship = ships[current];
    return !ship || freehand || ship.cells.length ? { cells: [], free: false } : fitting(ships, ship, cell);
  }

  /** A ship is dragged, from the palette or by one of its cells, until it is let go over a cell; a mere click is none. */
  function drag(ships, at, from, shown) {
    const ship = ships[at], way = ship.cells.length ? SHAPES.WAYS[ship.code].findIndex((sides) => SHAPES.footprint(sides, ship.cells[0]).join() === ship.cells.join()) : ways[ship.code] || 0;
    if (way < 0) return; // drawn cell by cell
    const under = (event) => { const found = document.elementFromPoint(event.clientX, event.clientY); return found && found.closest("#boards [data-name]"); };
    const move = (event) => {
      const cell = under(event), name = cell && cell.dataset.name;
      if (!held && (!name || name === from)) return;
      if (!held) { ways[ship.code] = way; held = { at, grip: from ? SHAPES.offset(ship.cells[0], from) : [0, 0, 0] }; }
      event.preventDefault();
      shown(name);
    };
    const turned = (event) => { if (held && (event.key === "r" || event.key === "R")) { ways[ship.code] = ((ways[ship.code] || 0) + 1) % SHAPES.WAYS[ship.code].length; held.grip = [0, 0, 0]; shown(over); event.stopPropagation(); } };
    const stop = (event) => {
      for (const [kind, listen] of [["pointermove", move], ["pointerup", stop], ["pointercancel", stop]]) document.removeEventListener(kind, listen);
      document.removeEventListener("keydown", turned, true);
      const cell = event.type === "pointerup" && held && under(event), found = cell && ghost(ships, cell.dataset.name);
      const dragged = Boolean(held);
      held = null;
      if (!dragged) return;
      current = at;
      hint = found && !found.free ? [say("There is no room for it there: turn it, or choose another cell.")] : [];
      if (found && found.free) { ship.cells = found.cells; next(ships); }
      rewrite(ships);
    };
    for (const [kind, listen] of [["pointermove", move], ["pointerup", stop], ["pointercancel", stop]]) document.addEventListener(kind, listen);
    document.addEventListener("keydown", turned, true);
  }

  function clickCell(ships, cell) {
    const owner = ships.findIndex((ship) => ship.cells.includes(cell)), ship = ships[current];
    hint = [];
    if (owner >= 0) {
      current = owner;
      ships[owner].cells = freehand ? ships[owner].cells.filter((other) => other !== cell) : [];
    } else if (ship && freehand) {
      ship.cells = [...ship.cells, cell].sort((a, b) => NAMES.indexOf(a) - NAMES.indexOf(b));
      if (ship.cells.length === sizeOf(ship)) { freehand = false; next(ships); }
    } else if (ship) {
      if (ship.cells.length) next(ships);
      const { cells, free } = ghost(ships, cell);
      if (free) { ships[current].cells = cells; next(ships); }
      else hint = [cells.length ? say("There is no room for it there: turn it, or choose another cell.") : say("All ships are placed. Click one to pick it up again.")];
    }
    rewrite(ships);
  }

  /** Even where nothing changed, what is current may have. */
  const rewrite = (ships) => write(written(ships));

  function drawSetup(state, judged, controls, boards, given) {
    const ships = named(judged.ships.filter((ship) => ship.code).map((ship) => ({ code: ship.code, cells: ship.cells })));
    current = Math.max(0, Math.min(current, ships.length - 1));
    const ship = ships[current], base = RULES.baseCost(state.options), extra = (state.options.additional || [0, 0])[state.seat - 1];
    const cost = ships.reduce((sum, each) => sum + TYPES[each.code].cost, 0), goal = (base ?? FACTS.cost) + extra;
    const shown = (cell) => {
      const { cells, free } = cell ? ghost(ships, cell) : { cells: [], free: false };
      over = cell || over;
      for (const button of boards.querySelectorAll("button[data-name]")) {
        const inside = cells.includes(button.dataset.name);
        button.classList.toggle("ghost", inside && free);
        button.classList.toggle("blocked", inside && !free);
      }
    };
    const palette = ships.map((each, at) => make("button", {
      type: "button", class: "ship", id: `place-${at}`, "aria-pressed": String(at === current),
      "aria-label": [each.name, TYPES[each.code].title, each.cells.length < sizeOf(each) ? say("{count} of {size} cells", { count: each.cells.length, size: sizeOf(each) }) : say("placed")].join(", "),
      onclick: () => { current = at; freehand = false; hint = []; rewrite(ships); }, onpointerdown: () => drag(ships, at, "", shown),
    }, make("b", {}, each.name), shape(lying(each.code)), make("small", {}, each.cells.length < sizeOf(each) ? `${each.cells.length}/${sizeOf(each)}` : "✓")));
    const standard = base === null && !extra;
    const fleets = FACTS.standard.map((codes) => [codes.join(" "), codes.join(" ")]);
    const change = (codes) => { current = 0; freehand = false; rewrite(inOrder(codes.map((code) => ({ code, cells: (ships.find((each) => each.code === code) || { cells: [] }).cells })))); };
    const several = ship && SHAPES.WAYS[ship.code].length > 1 && !freehand;
    redraw(controls,
      make("p", {}, say("Drag your ships into your space, or choose one and click where its first cell goes. R turns it. Click a ship in the space to pick it up again.")),
      make("div", { class: "row placing", role: "group", "aria-label": say("Your ships") }, palette),
      make("div", { class: "row" },
        several ? make("button", { type: "button", id: "turn-ship", "aria-keyshortcuts": "r", onclick: () => turn(ships) }, say("Turn {ship} (R)", { ship: ship.name })) : null,
        ship && ship.code === "DS" ? make("label", {}, make("input", { type: "checkbox", id: "freehand", checked: freehand, onchange: (event) => { freehand = event.target.checked; rewrite(ships); } }), " ", say("draw it cell by cell")) : null,
        make("button", { type: "button", id: "random", onclick: () => {
          const codes = RULES.isAgreed(state.options, state.seat, ships.map((each) => each.code)) ? ships.map((each) => each.code) : SHAPES.fleet(state.options, state.seat, chance);
          const laid = codes && SHAPES.scattered(codes, chance);
          if (laid) write(written(laid));
        } }, say("Any legal setup")),
        make("span", { id: "hint", role: "status" }, hint)),
      freehand ? make("p", { class: "small" }, say("A death star: eight cells, each next to two others; some of them must form a cube of 2x2x2 or a block of 1x2x3."), " ", shape([2, 2, 2]), " ", shape([1, 2, 3])) : null,
      make("details", { id: "fleet-details", open: fleetOpen, ontoggle: (event) => { fleetOpen = event.target.open; } }, make("summary", {}, cost === goal ? say("Another fleet: these ships cost {cost}", { cost }) : say("Another fleet: these ships cost {cost} of {goal}", { cost, goal })),
        standard ? make("p", {}, chooser("fleet", say("A standard fleet:"), [["", say("choose")], ...fleets], fleets.some(([key]) => key === ships.map((each) => each.code).join(" ")) ? ships.map((each) => each.code).join(" ") : "", (value) => value && change(value.split(" ")))) : null,
        make("div", { class: "row" }, ships.map((each, at) => make("button", { type: "button", id: `drop-${at}`, onclick: () => { freehand = false; rewrite(ships.filter((_, other) => other !== at)); } }, say("remove {ship}", { ship: each.name })))),
        make("div", { class: "row" }, CODES.map((code) => make("button", { type: "button", id: `add-${code}`, title: say("{kind}, cost {cost}", { kind: TYPES[code].title, cost: TYPES[code].cost }), onclick: () => {
          const list = inOrder([...ships, { code, cells: [] }]);
          current = list.findIndex((each) => each.code === code && !each.cells.length);
          rewrite(list);
        } }, say("add {ship}", { ship: code }), shape(SHAPES.WAYS[code][0]))))));
    const owner = new Map(ships.flatMap((each, at) => each.cells.map((cell) => [cell, [each, at]])));
    const laid = planes(say("Your space"), (cell) => {
      const [each, at] = owner.get(cell) || [];
      return each ? { symbol: symbol(each.name), tint: at === current ? "own" : "placed", ship: each.name, said: title(each.name) } : {};
    }, (cell) => clickCell(ships, cell), CODES.map((code) => [code]));
    laid.classList.add("placing"); // a finger on a ship drags it, and does not scroll the page
    sides(boards, [{ seat: state.seat, title: say("Your space"), drawn: laid }]);
    boards.onmouseover = boards.onfocusin = (event) => { if (!held) shown(event.target.closest("[data-name]") && event.target.closest("[data-name]").dataset.name); };
    boards.onmouseleave = () => shown(null);
    boards.onkeydown = (event) => { if (event.key === "r" || event.key === "R") { turn(ships); shown(over); } };
    boards.onpointerdown = (event) => {
      const cell = event.target.closest("[data-name]"), [, at] = (cell && owner.get(cell.dataset.name)) || [];
      if (at !== undefined && !freehand) drag(ships, at, cell.dataset.name, shown);
    };
    redraw(given);
  }

  function turn(ships) {
    const ship = ships[current];
    if (!ship) return;
    ways[ship.code] = ((ways[ship.code] || 0) + 1) % SHAPES.WAYS[ship.code].length;
    hint = [];
    if (ship.cells.length === sizeOf(ship)) {
      const others = ships.filter((other) => other !== ship).flatMap((other) => other.cells);
      const cells = SHAPES.footprint(lying(ship.code), ship.cells[0]);
      if (cells.every((cell) => !others.includes(cell))) ship.cells = cells;
      else hint = [say("There is no room to turn it there.")];
    }
    rewrite(ships);
  }

  // Orders

  const KINDS = { conventional: say("strike"), beam: say("beam"), missile: say("missile"), kamikaze: say("kamikaze"), scan: say("scan"), list: say("list") };
  /** By which ruling one has so many of them. */
  const RULINGS = { conventional: 14, beam: 17, missile: 15, kamikaze: 16, scan: 18, list: 14 };
  const listed = (list, at) => list.includes(RULES.NEXT) && at >= list.indexOf(RULES.NEXT);
  const kindOf = (list, at) => ({ b: "beam", m: "missile", k: "kamikaze", s: "scan" })[list[at][0]] || (listed(list, at) ? "list" : "conventional");
  /** Orders without one of them, and without a target list that is empty then. */
  const without = (list, at) => list.filter((order, other) => other !== at && (order !== RULES.NEXT || list.some((_, cell) => cell > other && cell !== at && kindOf(list, cell) === "list"))).join(" ");

  function counted(judged) {
    const { due, used } = judged;
    const free = (cells, taken) => [...cells].filter((cell) => !taken.has(due.owner.get(cell).ship));
    const ships = (cells) => new Set([...cells].map((cell) => due.owner.get(cell).ship)).size;
    return {
      conventional: { due: due.conventional, used: used.conventional },
      beam: { due: due.stars.filter((ship) => anyDirection(ship)).length, used: used.beams.size },
      missile: { due: ships(due.missiles), used: used.missiles.size, cells: free(due.missiles, used.missiles) },
      kamikaze: { due: ships(due.kamikazes), used: used.kamikazes.size, cells: free(due.kamikazes, used.kamikazes) },
      scan: { due: due.scans, used: used.scans },
      list: { due: due.conventional && Infinity, used: judged.list.filter((order, at) => order !== RULES.NEXT && kindOf(judged.list, at) === "list").length },
    };
  }

  const STEPS = [-1, 0, 1].flatMap((c) => [-1, 0, 1].flatMap((l) => [-1, 0, 1].map((n) => [c, l, n]))).filter((step) => step.some(Boolean));
  const anyDirection = (ship) => STEPS.some((step) => RULES.able({ stars: [ship] }, step).length);

  /** The cells that an order aims at. */
  function targets(order) {
    const cells = order.match(new RegExp(RULES.CELL, "g")) || [];
    if (order[0] === "b") return cells.length === 2 ? [cells[0], RULES.between(...cells), cells[1]].filter(Boolean) : [];
    return cells.slice(-1);
  }

  /** The order that a second click on a cell takes back: of the kind that is being given, or any, once that is used up. */
  function taken(judged, count, cell) {
    const over = count[kind].used >= count[kind].due, list = judged.list;
    const at = list.findLastIndex((order, each) => kindOf(list, each) === kind && targets(order).includes(cell) && (kind !== "beam" || over));
    return at >= 0 || !over ? at : list.findLastIndex((order) => targets(order).includes(cell));
  }

  /** The cells with which a beam from this end may end, and the death star that fires it along each line. */
  const ends = (due, from) => new Map(NAMES.flatMap((cell) => {
    const step = RULES.line(from, cell), could = step ? RULES.able(due, step) : [];
    return could.length ? [[cell, could]] : [];
  }));

  /** A click: another order, one taken back, or the reason why it cannot be. */
  function aim(judged, count, cell) {
    const list = judged.list, add = (order) => { end = null; launch = null; write([...list, order].join(" ")); };
    const stay = (...why) => { hint = why; write(list.join(" ")); };
    const at = end ? -1 : taken(judged, count, cell);
    hint = [];
    if (at >= 0) { kind = kindOf(list, at); write(without(list, at)); }
    else if (count[kind].used >= count[kind].due) stay(say("All are used: click one of them to take it back."), RULINGS[kind]);
    else if (kind === "conventional") write([...list.filter((_, each) => !listed(list, each)), cell, ...list.filter((_, each) => listed(list, each))].join(" "));
    else if (kind === "list") add(list.includes(RULES.NEXT) ? cell : `${RULES.NEXT} ${cell}`);
    else if (kind === "scan") add(`s${cell}`);
    else if (kind === "missile" || kind === "kamikaze") {
      const from = launch && count[kind].cells.includes(launch) ? launch : count[kind].cells[0];
      add(`${kind === "missile" ? "m" : "k"}${from} ${cell}`);
    } else if (end === cell) { end = null; stay(); }
    else if (!end) {
      end = ends(judged.due, cell).size ? cell : null;
      if (end) stay();
      else stay(say("No line of three that your death star can fire along ends at {cell}.", { cell }), RULINGS.beam);
    } else {
      const could = ends(judged.due, end).get(cell);
      if (!could && RULES.line(end, cell)) stay(say("Your death star cannot fire along this line."), RULINGS.beam);
      if (!could && !RULES.line(end, cell)) stay(say("{first} and {last} are not the ends of a line of three cells", { first: end, last: cell }), 3);
      if (!could) return;
      const free = could.find((ship) => !judged.used.beams.has(ship.ship)) || could[0];
      add(`b${end}${cell}${could.length > 1 ? `(${free.ship})` : ""}`);
    }
  }

  function drawOrders(state, judged, controls, boards, given) {
    const view = state.view, mine = Boolean(view.entitled), count = mine ? counted(judged) : {}, due = mine ? Object.keys(KINDS).filter((name) => count[name].due) : [];
    const open = due.filter((name) => count[name].due > count[name].used && name !== "list");
    if (!due.includes(kind) || (!open.includes(kind) && open.length && kind !== "list")) { kind = open[0] || due[0] || kind; launch = null; end = null; }
    const kinds = due.map((name) => make("button", {
      type: "button", class: "kind", id: `kind-${name}`, "aria-pressed": String(name === kind), onclick: () => { kind = name; end = null; launch = null; hint = []; write(judged.list.join(" ")); },
    }, make("b", {}, KINDS[name]), make("small", {}, name === "list" ? count.list.used : `${count[name].used}/${count[name].due}`)));
    redraw(controls, mine ? [
      make("div", { class: "row kinds", role: "group", "aria-label": say("What you may order") }, kinds),
      make("div", { class: "row aiming" },
        (kind === "missile" || kind === "kamikaze") && count[kind].cells.length
          ? chooser("launch", say("launched from"), count[kind].cells.map((cell) => [cell, `${cell}, ${judged.due.owner.get(cell).ship}`]), launch || count[kind].cells[0], (value) => { launch = value; }) : null,
        make("span", { id: "hint", role: "status", class: hint.length ? "bad" : "" }, hint.length ? [hint[0], " ", ruling(hint[1])] : (!due.length ? say("You have nothing to order this turn.")
          : kind === "beam" ? (end ? say("from {cell}: now the other end of the line of three", { cell: end }) : say("click one end of a line of three, then the other")) : kind === "list" ? say("click cells in the order in which they are to be struck; those that you know by then are left out") : say("click its target; click it again to take it back"))))] : "");
    redraw(given, mine ? [make("h3", {}, say("Orders so far")), make("ul", { class: "orders", "aria-label": say("Orders so far") }, judged.list.map((order, at) => make("li", { class: kindOf(judged.list, at) },
      make("code", {}, order), make("small", {}, KINDS[kindOf(judged.list, at)]),
      make("button", { type: "button", id: `undo-${at}`, "aria-label": say("remove {order}", { order }), onclick: () => write(without(judged.list, at)) }, "×"))))] : "");
    const aimed = new Map(mine ? judged.list.flatMap((order) => targets(order).map((cell) => [cell, order])) : []);
    const [other] = Object.keys(view.known), sunk = view.known[other].ships, may = end ? ends(judged.due, end) : new Map();
    sides(boards, [
      { seat: Number(other), title: say("The other space, as you know it"), tab: say("theirs"), drawn: planes(say("The other space"), (cell) => planned(known(view.known[other], cell), aimed.get(cell), cell, may), mine ? (cell) => aim(judged, count, cell) : null,
        [...sunk.map(({ ship }) => [ship, 0]), ...CODES.filter((code) => !sunk.some(({ ship }) => ship.startsWith(code))).map((code) => [code])]) },
      { seat: state.seat, title: say("Your space"), tab: say("mine: {left} left", { left: view.own.ships.reduce((sum, { cells, destroyed }) => sum + cells.length - destroyed.length, 0) }), drawn: planes(say("Your space"), (cell) => own(view.own, cell), null,
        view.own.ships.map(({ ship, cells, destroyed }) => [ship, cells.length - destroyed.length])) },
    ]);
    boards.onmouseover = boards.onfocusin = boards.onmouseleave = boards.onkeydown = boards.onpointerdown = null;
  }

  /** A cell with what is ordered for it. */
  function planned(found, order, cell, may) {
    const plan = order ? say("ordered: {order}", { order }) : end === cell ? say("one end of the beam") : may.has(cell) ? say("the other end could be here") : "";
    return { ...found, marks: order || end === cell ? "aimed" : may.has(cell) ? "may" : "", said: [found.said || say("not searched"), plan].filter(Boolean).join(", ") };
  }

  function known(space, cell) {
    const ship = space.named[cell] || (space.ships.find((each) => each.cells.includes(cell)) || {}).ship;
    return BOARD.heard(ship, ["destroyed", "ship", "empty"].find((what) => space[what].includes(cell)), space.fresh.includes(cell)) || {};
  }

  function own(space, cell) {
    const ship = space.ships.find((each) => each.cells.includes(cell));
    const what = ship ? ["destroyed", "fired"].find((each) => ship[each].includes(cell)) : space.misses.includes(cell) ? "empty" : "";
    const fresh = space.fresh.includes(cell);
    return BOARD.own(ship && ship.ship, what, fresh) || { fresh };
  }

  return {
    oneLine: true,
    begin(state, writer) {
      write = writer;
      current = 0; kind = "conventional"; launch = null; end = null; freehand = false; fleetOpen = false; hint = []; over = ""; ways = {}; held = null;
      if (state.pbem !== "setup 1") return "";
      return RULES.baseCost(state.options) === null ? FACTS.standard[1].join("\n") : "";
    },
    draw: (state, text, judged, controls, boards, given) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, judged, controls, boards, given),
    acts: ({ reports }) => BOARD.acts(reports),
  };
})();
