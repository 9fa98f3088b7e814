// What happened in a turn, drawn over the boards as it happens: beams, strikes, explosions, moves. A game's script says
// what there was (its `acts`); where squares lie is measured from the boards as they are drawn, flat or tilted.

/**
 * @typedef {Object} Act
 * @property {"beam"|"strike"|"scan"|"move"|"flash"} kind what is drawn
 * @property {number} [by] the seat from whose board it comes, where its square is not told
 * @property {string} [from] the square that it comes from
 * @property {number} on the seat on whose board it ends; 0: everybody's
 * @property {string[]} squares where it ends, or what it crosses; c3/c4 is the side between two squares
 * @property {string[]} [struck] those of them where something was hit
 * @property {string[]} [wrecked] squares in which something exploded or was destroyed
 * @property {string[]} [broken] squares whose tokens were whole until then
 * @property {number} [step] acts of one step are simultaneous; without it each is a step of its own
 */

const SCENE = (() => {
  const LASTS = 1100; // milliseconds until the last act begins
  const SPIKES = 9;

  /** A star around a place. */
  function star([x, y], far) {
    return Array.from({ length: 2 * SPIKES }, (_, at) => {
      const angle = Math.PI * at / SPIKES, reach = far * (at % 2 ? 0.62 : 1);
      return `${(x + reach * Math.sin(angle)).toFixed(1)},${(y - reach * Math.cos(angle)).toFixed(1)}`;
    }).join(" ");
  }

  /**
   * Draw the acts over the boards in `root`, where each board is an element with its `data-seat`; one that is there is replaced.
   * @param {HTMLElement} root @param {Act[]} acts @param {boolean} now whether they happen now, or have happened; who wants no motion sees them as they have happened
   */
  function show(root, acts, now) {
    for (const old of root.querySelectorAll("svg.scene")) old.remove();
    const frame = root.getBoundingClientRect(), found = [], moving = now && !still();
    const boardOf = (seat) => [...root.querySelectorAll(`[data-seat="${seat}"]`)].find((board) => board.getClientRects().length);  // on a phone, one is hidden
    const element = (seat, name) => boardOf(seat) && boardOf(seat).querySelector(`[data-name="${CSS.escape(name)}"]`);
    const middle = (box) => [box.x + box.width / 2 - frame.x, box.y + box.height / 2 - frame.y];
    const place = (seat, name) => {
      const all = name.split("/").map((one) => element(seat, one)).filter(Boolean).map((one) => middle(one.getBoundingClientRect()));
      return all.length ? [0, 1].map((axis) => all.reduce((sum, one) => sum + one[axis], 0) / all.length) : null;
    };
    const size = (seat, name) => { const one = element(seat, name.split("/")[0]); return one ? one.getBoundingClientRect().height * 0.62 : 12; };
    /** Where an act comes from: its square, or from the side of its board. */
    const origin = ({ by, from, on }, [, y]) => {
      if (from) return place(by === undefined ? on : by, from);
      const board = by !== undefined && by !== on && boardOf(by);
      return board ? [middle(board.getBoundingClientRect())[0], y * 0.6 + middle(board.getBoundingClientRect())[1] * 0.4] : null;
    };
    const steps = Math.max(1, ...acts.map((act, at) => (act.step === undefined ? at : act.step)));
    acts.forEach((act, at) => {
      const begins = Math.round(Math.min(180, LASTS / steps) * (act.step === undefined ? at : act.step)), parts = [];
      const places = act.squares.map((name) => place(act.on, name)).filter(Boolean), last = places[places.length - 1];
      if (!last) return;
      const start = act.kind === "flash" ? null : origin(act, places[0]);
      if (act.kind === "move") parts.push(svg("polyline", { class: "move", points: [start, ...places].filter(Boolean).map((one) => one.join(",")).join(" "), pathLength: 1 }));
      else if (start) parts.push(svg("line", { class: act.from ? "bolt sent" : "bolt", x1: start[0], y1: start[1], x2: places[0][0], y2: places[0][1], pathLength: 1 }));
      if (act.kind === "beam") parts.push(svg("line", { class: "beam", x1: places[0][0], y1: places[0][1], x2: last[0], y2: last[1], pathLength: 1 }));
      const struck = act.struck || [], wrecked = act.wrecked || [];
      for (const name of act.squares) {
        const [x, y] = place(act.on, name) || [0, 0];
        if (act.kind === "scan" || act.kind === "flash") parts.push(svg("circle", { class: act.kind, cx: x, cy: y, r: size(act.on, name) }));
        else if (act.kind !== "move" && !struck.includes(name) && !wrecked.includes(name)) parts.push(svg("circle", { class: "missed", cx: x, cy: y, r: size(act.on, name) * 0.7 }));
      }
      for (const name of new Set([...struck, ...wrecked])) {
        const where = place(act.on, name);
        if (where) parts.push(svg("polygon", { class: wrecked.includes(name) ? "blast great" : "blast", points: star(where, size(act.on, name) * (wrecked.includes(name) ? 1.25 : 1)) }));
      }
      for (const cell of moving ? (act.broken || []).map((name) => element(act.on, name)).filter(Boolean) : []) {
        cell.classList.add("breaks");
        cell.style.setProperty("--begins", `${begins + 300}ms`);
      }
      const group = svg("g", {}, parts);
      group.style.setProperty("--begins", `${begins}ms`);
      found.push(group);
    });
    if (found.length) root.append(svg("svg", { class: moving ? "scene moving" : "scene", "aria-hidden": "true" }, found));
  }

  return { show };
})();
