// Grids that people click on: tables of buttons, walked by the arrow keys, each square said in words.

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

/**
 * A grid: `square(name)` gives {symbol, tint, said, marks}; `click(name)`, if any, makes buttons. Squares are called
 * `prefix + row + column` by `called(row, column)`.
 */
function grid({ caption, corner, columns, rows, called, square, click }) {
  const table = make("table", { class: "grid", role: click ? "grid" : null, "aria-label": caption });
  table.append(make("thead", {}, make("tr", {}, corner ? make("th", { scope: "col" }, corner) : make("td", { class: "corner" }), ...[...columns].map((column) => make("th", { scope: "col" }, column)))));
  const body = make("tbody");
  [...rows].forEach((row, down) => {
    const line = make("tr", {}, make("th", { scope: "row" }, row));
    [...columns].forEach((column, along) => {
      const name = called(row, column);
      const { symbol = "", tint = "", said = "", marks = "" } = square(name, down, along) || {};
      const label = `${name}${said ? ", " + said : ""}`;
      const inside = click
        ? make("button", { type: "button", tabindex: down || along ? "-1" : "0", "aria-label": label, "data-name": name, class: `${tint} ${marks}`, onclick: () => click(name) }, symbol || "·")
        : make("span", { class: `${tint} ${marks}`, role: "img", "aria-label": label }, symbol || "·");
      line.append(make("td", {}, inside));
    });
    body.append(line);
  });
  table.append(body);
  if (click) table.addEventListener("keydown", walk);
  return table;
}

/** Arrow keys walk a grid, and from its left and right edges into the grid beside it; Home and End go along a row. */
function walk(event) {
  const table = event.currentTarget, here = event.target.closest("td");
  if (!here) return;
  const down = here.parentElement.rowIndex - 1, along = here.cellIndex - 1;
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -99], End: [0, 99] };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  const rows = table.tBodies[0].rows;
  let target = table, row = down + step[0], column = along + step[1];
  const last = rows[0].cells.length - 2;
  if (Math.abs(step[1]) === 1 && (column < 0 || column > last)) {
    const beside = [...table.parentElement.querySelectorAll("table.grid")];
    const next = beside[beside.indexOf(table) + step[1]];
    if (next) { target = next; column = column < 0 ? next.tBodies[0].rows[0].cells.length - 2 : 0; }
  }
  row = Math.max(0, Math.min(row, target.tBodies[0].rows.length - 1));
  column = Math.max(0, Math.min(column, target.tBodies[0].rows[0].cells.length - 2));
  const button = target.tBodies[0].rows[row].cells[column + 1].querySelector("button");
  if (button) {
    for (const other of table.querySelectorAll("td button")) other.tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
  }
}

/** Draw anew without losing the place of the keyboard. */
function redraw(root, ...children) {
  const held = /** @type {?HTMLElement} */ (document.activeElement && root.contains(document.activeElement) ? document.activeElement : null);
  const name = held && (held.dataset.name || held.id), where = held && held.closest("table") && held.closest("table").getAttribute("aria-label");
  root.replaceChildren(...children.flat().filter(Boolean));
  if (!name) return;
  const found = [...root.querySelectorAll(`[data-name="${CSS.escape(name)}"], #${CSS.escape(name)}`)]
    .find((element) => !where || !element.closest("table") || element.closest("table").getAttribute("aria-label") === where);
  if (found) {
    if (found.closest("table.grid")) for (const other of found.closest("table.grid").querySelectorAll("td button")) other.tabIndex = -1;
    if (found.closest("table.grid")) found.tabIndex = 0;
    found.focus();
  }
}

function chooser(id, label, entries, value, change) {
  return make("label", { for: id }, `${label} `, make("select", { id, onchange: (event) => change(event.target.value) },
    entries.map(([key, words]) => make("option", { value: key, selected: key === value }, words))));
}
