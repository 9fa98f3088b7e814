// Grids that people click on: tables of buttons, walked by the arrow keys, each square said in words.

const byId = (id) => document.getElementById(id);

/** A whole number below this one. */
const chance = (below) => crypto.getRandomValues(new Uint32Array(1))[0] % below;

/** Whether somebody wants no motion. */
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** An element with its attributes and what stands in it. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same in SVG. */
function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children.flat(Infinity));
  return element;
}

/**
 * What a board shows on a square: a token of this `tint`. `ship`: tokens of one ship that lie side by side are drawn as one
 * hull; `glyph` and `shape`: another letter than the symbol, on a token of that shape; `marks`: frames of the square;
 * `fresh`: framed, as what the last turn changed.
 * @typedef {{symbol?: string, tint?: string, said?: string, marks?: string, ship?: string, glyph?: string, shape?: string, fresh?: boolean}} Shown
 */

/** The token of a square, whose neighbours of the same ship are on these `sides`. */
function token({ symbol = "", tint = "", glyph = symbol, shape = "" }, sides) {
  if (!tint) return symbol || "·";
  return make("b", { class: ["hull", shape, ...sides].filter(Boolean).join(" "), "data-symbol": glyph === symbol ? null : symbol }, glyph);
}

const SIDES = { north: [-1, 0], east: [0, 1], south: [1, 0], west: [0, -1] };

/**
 * A grid: `square(name)` gives what is shown there; `click(name)`, if any, makes buttons. Squares are called
 * `prefix + row + column` by `called(row, column)`.
 */
function grid({ caption, corner, columns, rows, called, square, click }) {
  const table = make("table", { class: "grid", role: click ? "grid" : null, "aria-label": caption });
  table.append(make("thead", {}, make("tr", {}, corner ? make("th", { scope: "col" }, corner) : make("td", { class: "corner" }), ...[...columns].map((column) => make("th", { scope: "col" }, column)))));
  const body = make("tbody");
  const all = [...rows].map((row, down) => [...columns].map((column, along) => square(called(row, column), down, along) || {}));
  const alike = (one, other) => Boolean(one && other && one.ship && one.ship === other.ship && one.tint === other.tint);
  [...rows].forEach((row, down) => {
    const line = make("tr", {}, make("th", { scope: "row" }, row));
    [...columns].forEach((column, along) => {
      const name = called(row, column), shown = all[down][along], { tint = "", said = "", marks = "", ship, fresh } = shown;
      const label = `${name}${said ? ", " + said : ""}${fresh ? ", " + say("new") : ""}`, classes = [tint, fresh ? "fresh" : "", marks].filter(Boolean).join(" ");
      const sides = Object.keys(SIDES).filter((side) => alike(shown, (all[down + SIDES[side][0]] || [])[along + SIDES[side][1]]));
      const about = { "aria-label": label, "data-name": name, "data-ship": ship, class: classes, title: said && label };
      const inside = click
        ? make("button", { type: "button", tabindex: down || along ? "-1" : "0", ...about, onclick: () => click(name) }, token(shown, sides))
        : make("span", { role: "img", ...about }, token(shown, sides));
      line.append(make("td", {}, inside));
    });
    body.append(line);
  });
  table.append(body);
  if (click) table.addEventListener("keydown", walk);
  return table;
}

/** The board of a game by its panels: one grid, or planes, each with its letter in its `corner`. */
function drawBoard(title, panels, click) {
  const all = panels.map((panel) => ({ ...panel, click, caption: panel.corner ? say("{title}, layer {layer}", { title, layer: panel.corner }) : title }));
  return all.length > 1 ? space(all) : make("div", { class: "boards" }, all.map(grid));
}

/**
 * A space: grids that lie above each other, one a plane. The pointer or the focus on a cell lights those next to it
 * above and below, and all cells of its ship.
 */
function space(planes) {
  const found = make("div", { class: "boards space" }, planes.map((plane) => make("div", { class: "plane", "data-plane": plane.corner }, grid(plane))));
  const at = (event) => (event.target.closest ? event.target.closest("td") : null);
  const lit = (cell) => {
    for (const one of found.querySelectorAll(".lit, .kin")) one.classList.remove("lit", "kin");
    if (!cell) return;
    const { ship } = cell.firstElementChild ? cell.firstElementChild.dataset : {};
    if (ship) for (const one of found.querySelectorAll(`[data-ship="${CSS.escape(ship)}"]`)) one.classList.add("kin");
    const tables = [...found.querySelectorAll("table.grid")], here = tables.indexOf(cell.closest("table"));
    for (const next of [tables[here - 1], tables[here + 1]]) if (next) next.rows[cell.parentElement.rowIndex].cells[cell.cellIndex].classList.add("lit");
  };
  for (const kind of ["mouseover", "focusin"]) found.addEventListener(kind, (event) => lit(at(event)));
  for (const kind of ["mouseleave", "focusout"]) found.addEventListener(kind, () => lit(null));
  return found;
}

/**
 * Boards side by side in `root`; on a phone one at a time, by its tab or a swipe. Each part has its `seat`, its `title`,
 * what is `drawn`, and the words of its `tab`. Whoever listens to `turned` hears that another is shown.
 */
function sides(root, parts) {
  const seats = parts.map(({ seat }) => String(seat));
  if (!seats.includes(root.dataset.side)) [root.dataset.side] = seats;
  const tabs = parts.map(({ seat, title, tab = title }) => make("button", { type: "button", id: `side-${seat}`, onclick: () => showSide(root, String(seat)) }, tab));
  redraw(root, parts.length > 1 ? make("div", { class: "tabs", role: "group", "aria-label": say("Which board is shown") }, tabs) : "",
    parts.map(({ seat, title, drawn }) => make("section", { "data-seat": seat }, make("h3", {}, title), drawn)));
  showSide(root, root.dataset.side);
  let from = null;
  root.ontouchstart = ({ touches }) => { from = touches.length === 1 ? touches[0] : null; };
  root.ontouchend = ({ changedTouches: [to] }) => {
    const far = from && Math.abs(to.clientX - from.clientX) > 2 * Math.abs(to.clientY - from.clientY) ? to.clientX - from.clientX : 0, next = seats[seats.indexOf(root.dataset.side) - Math.sign(far)];
    if (Math.abs(far) > 60 && next && !root.querySelector(".placing")) showSide(root, next);
  };
}

/** Show a seat's board, where there is room for one. */
function showSide(root, seat) {
  const other = root.dataset.side !== seat;
  root.dataset.side = seat;
  for (const section of root.querySelectorAll("section[data-seat]")) section.classList.toggle("aside", section.dataset.seat !== seat);
  for (const tab of root.querySelectorAll(".tabs button")) tab.setAttribute("aria-pressed", String(tab.id === `side-${seat}`));
  if (other) root.dispatchEvent(new Event("turned"));
}

/** "ruling 17", which opens into its words where the page has them. */
function ruling(number) {
  const words = say("ruling {rule}", { rule: number }), all = document.getElementById("rulings"), text = all && JSON.parse(all.textContent)[number];
  if (!text) return `(${words})`;
  return make("details", { class: "ruling" }, make("summary", {}, words), make("div", {}, ...new DOMParser().parseFromString(text, "text/html").body.childNodes));
}

/**
 * Arrow keys walk a grid, and from its left and right edges into the grid beside it; Home and End go along a row, Page Up
 * and Page Down to the same square of the grid before or after.
 */
function walk(event) {
  const table = event.currentTarget, here = event.target.closest("td");
  if (!here) return;
  const down = here.parentElement.rowIndex - 1, along = here.cellIndex - 1;
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -99], End: [0, 99], PageUp: [0, 0, -1], PageDown: [0, 0, 1] };
  const step = steps[event.key], beside = [...table.closest(".boards").querySelectorAll("table.grid")];
  if (!step || (step[2] && beside.length === 1)) return;
  event.preventDefault();
  const [up, right, over = 0] = step, { rows } = table.tBodies[0], last = rows[0].cells.length - 2, within = (value, most) => Math.max(0, Math.min(value, most));
  const leaves = Math.abs(right) === 1 && within(along + right, last) !== along + right, target = beside[beside.indexOf(table) + (leaves ? right : over)];
  if (!target) return; // there is no grid beside it
  const row = within(down + up, rows.length - 1), column = leaves ? last - along : within(along + right, last);
  const button = target.tBodies[0].rows[row].cells[column + 1].querySelector("button");
  if (button) focusOn(button);
}

/** Put the keyboard onto an element; of a grid it is the one that is reached by Tab then. */
function focusOn(element) {
  const table = element.closest("table.grid");
  if (table) for (const button of table.querySelectorAll("td button")) button.tabIndex = button === element ? 0 : -1;
  element.focus();
}

/** Draw anew without losing the place of the keyboard. */
function redraw(root, ...children) {
  const held = /** @type {?HTMLElement} */ (document.activeElement && root.contains(document.activeElement) ? document.activeElement : null);
  const name = held && (held.dataset.name || held.id), where = held && held.closest("table") && held.closest("table").getAttribute("aria-label");
  root.replaceChildren(...children.flat().filter(Boolean));
  if (!name) return;
  const found = [...root.querySelectorAll(`[data-name="${CSS.escape(name)}"], #${CSS.escape(name)}`)]
    .find((element) => !where || !element.closest("table") || element.closest("table").getAttribute("aria-label") === where);
  if (found) focusOn(found);
}

function chooser(id, label, entries, value, change) {
  return make("label", { for: id }, `${label} `, make("select", { id, onchange: (event) => change(event.target.value) },
    entries.map(([key, words]) => make("option", { value: key, selected: key === value }, words))));
}
