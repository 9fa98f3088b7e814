// Composing for Shoot 'em up Spaceships: ships clicked onto the home zone, three actions chosen for each.

const GAME = (() => {
  const { FACINGS } = BOARD, { arrows: ARROWS, facings: ROUND } = FACTS;
  const WRITTEN = new RegExp(`^([${RULES.SHIPS}])[\\s:]+([${FACTS.actions}?]{3})$`);
  const ACTIONS = { L: ["↶", say("turn left")], R: ["↷", say("turn right")], F: ["✸", say("fire")], M: ["▲", say("move")], S: ["◯", say("shield")] };
  let write, current;

  /** Where a ship is after each of its actions, if nobody is in its way; an action that is not chosen yet ends it. */
  function path({ square, facing }, actions, { columns, rows }) {
    const found = [];
    for (const action of actions) {
      if (action === "?") break;
      if (action === "L" || action === "R") facing = ROUND[(ROUND.indexOf(facing) + (action === "R" ? 1 : 3)) % 4];
      const ahead = BOARD.next(square, facing);
      if (action === "M" && RULES.exists([columns, rows], ahead)) square = ahead;
      found.push({ square, facing });
    }
    return found;
  }

  /** The one board. */
  const show = (boards, [columns, rows], square, click) => sides(boards, [{ seat: 0, title: say("The board"), drawn: drawBoard(say("The board"), BOARD.panels(columns, rows, square), click) }]);

  function drawSetup(state, text, judged, controls, boards) {
    const own = RULES.letters(state.seat), home = RULES.homes(state.options, state.seat);
    const ships = own.map((ship) => judged.ships.find((each) => each.ship === ship) || { ship, square: "", facing: "" });
    const written = (list) => list.filter((each) => each.square).map((each) => `${each.ship} ${each.square} ${each.facing || "?"}`).join("\n");
    const change = (ship, what) => write(written(ships.map((each) => (each.ship === ship ? { ...each, ...what } : each))));
    const inward = ["N", "S", "E", "W"][state.seat - 1];
    const random = () => {
      const free = [...home];
      write(own.map((ship) => `${ship} ${free.splice(chance(free.length), 1)[0]} ${inward}`).join("\n"));
    };
    const { square: taken, facing: heading } = ships.find((each) => each.ship === current);
    redraw(controls,
      make("div", { class: "row", role: "group", "aria-label": say("Your ships") }, ships.map(({ ship, square, facing }) => make("button", { type: "button", class: "ship", id: `ship-${ship}`, "aria-pressed": String(ship === current), onclick: () => { current = ship; write(text); } },
        make("b", {}, ship), make("small", {}, square ? `${square} ${ARROWS[facing] || "?"}` : "–")))),
      make("div", { class: "row", role: "group", "aria-label": say("{ship}: facing", { ship: current }) }, Object.entries(FACINGS).map(([facing, words]) => make("button", { type: "button", id: `facing-${facing}`, disabled: !taken, "aria-pressed": String(facing === heading), onclick: () => change(current, { facing }) }, `${ARROWS[facing]} ${words}`))),
      make("p", {}, say("Choose a ship, then click a square of your home zone; click a ship to pick it up again."), " ", make("button", { type: "button", id: "random", onclick: random }, say("Any legal setup"))));
    show(boards, RULES.sizeOf(state.options), (square) => {
      const ship = ships.find((each) => each.square === square);
      if (ship) return BOARD.token(ship.ship, ship.facing);
      return home.includes(square) ? { marks: "may", said: say("home zone") } : {};
    }, (square) => {
      if (!home.includes(square)) return;
      const here = ships.find((each) => each.square === square);
      if (here) { current = here.ship; change(here.ship, { square: "" }); return; }
      const ship = current, next = own[own.indexOf(ship) + 1];
      const facing = ships.find((each) => each.ship === ship).facing || inward;
      if (next) current = next;
      change(ship, { square, facing });
    });
  }

  function drawOrders(state, text, judged, controls, boards) {
    const view = state.view, entitled = view.entitled || [], given = new Map();
    for (const line of text.split(/\r?\n/)) {
      const found = line.trim().match(WRITTEN);
      if (found && !given.has(found[1])) given.set(found[1], found[2]);
    }
    const change = (ship, at, action) => {
      const all = new Map(entitled.map((each) => [each, given.get(each) || "???"]));
      all.set(ship, [...all.get(ship)].map((old, place) => (place === at ? action : old)).join(""));
      write([...all].map(([each, three]) => `${each}: ${three}`).join("\n"));
    };
    const placed = (ship) => view.ships.find((each) => each.ship === ship);
    const ways = new Map();
    for (const ship of entitled) path(placed(ship), given.get(ship) || "???", view.board).forEach((step, at, all) => {
      const stays = at && all[at - 1].square === step.square, last = ways.get(step.square) || [];
      ways.set(step.square, stays && last.length && last[last.length - 1].ship === ship ? [...last.slice(0, -1), { ...step, ship, at }] : [...last, { ...step, ship, at }]);
    });
    if (!entitled.includes(current)) [current] = entitled;
    const choose = (ship) => { current = ship; write(text); }, three = given.get(current) || "???";
    redraw(controls, current ? [
      make("div", { class: "row", role: "group", "aria-label": say("Your ships") }, entitled.map((ship) => make("button", { type: "button", class: "ship", id: `ship-${ship}`, "aria-pressed": String(ship === current), onclick: () => choose(ship) },
        make("b", {}, ship), make("small", {}, (given.get(ship) || "???").replaceAll("?", "·"))))),
      make("p", { class: "small" }, say("{ship} on {square}, facing {facing}", { ship: current, square: placed(current).square, facing: FACINGS[placed(current).facing] }), ". ", say("The numbers on the board show where it will be after which action, if nobody is in its way.")),
      make("div", { class: "actions" }, [0, 1, 2].map((at) => make("div", { class: "row", role: "group", "aria-label": say("action {number}", { number: at + 1 }) }, make("span", {}, String(at + 1)), Object.entries(ACTIONS).map(([action, [sign, words]]) => make("button", {
        type: "button", id: `action-${current}-${at}-${action}`, "aria-pressed": String(three[at] === action), "aria-label": words, onclick: () => change(current, at, three[at] === action ? "?" : action),
      }, sign, make("small", {}, words))))))] : "");
    show(boards, [view.board.columns, view.board.rows], (square) => {
      const ship = view.ships.find((each) => each.square === square), steps = ways.get(square) || [], last = steps[steps.length - 1];
      const plan = steps.map((step) => say("{ship} after action {number}, facing {facing}", { ship: step.ship, number: step.at + 1, facing: FACINGS[step.facing] }));
      if (ship) {
        const facing = FACINGS[ship.facing], mine = BOARD.owner(ship.ship) === view.seat;
        return { ...BOARD.token(ship.ship, ship.facing, [mine ? say("your {ship} facing {facing}", { ship: ship.ship, facing }) : say("seat {seat}: {ship} facing {facing}", { seat: BOARD.owner(ship.ship), ship: ship.ship, facing }), ...plan].join("; ")), marks: steps.length ? "way" : "" };
      }
      return last ? { symbol: `${last.at + 1}${ARROWS[last.facing]}`, glyph: String(last.at + 1), shape: `heads-${last.facing}`, tint: "ahead", marks: "way", said: plan.join("; ") } : {};
    }, current ? (square) => { const here = view.ships.find((each) => each.square === square); if (here && entitled.includes(here.ship)) choose(here.ship); } : null);
  }

  return {
    oneLine: false, // one line is one ship: that is the notation
    begin(state, writer) { write = writer; current = RULES.letters(state.seat)[0]; },
    draw: (state, text, judged, controls, boards) => (state.pbem === "setup 1" ? drawSetup : drawOrders)(state, text, judged, controls, boards),
    acts: ({ reports }) => BOARD.acts(reports, null, {}),
    path,
  };
})();
