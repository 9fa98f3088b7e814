// The rules of Spaceships that a player needs before sending: setups and orders, judged as the referee judges them.
// A port of pbem/games/spaceships (notation, fleet, ships): text in; canonical text and faults, by ruling, out. What a
// turn entitles to comes from the view of a report. tests/page_scripts/rules.py holds both against each other.

const RULES = (() => {
  const { colours: COLOURS, letters: LETTERS, numbers: NUMBERS, standard: STANDARD } = FACTS;
  const NAMES = [...COLOURS].flatMap((c) => [...LETTERS].flatMap((l) => [...NUMBERS].map((n) => c + l + n)));
  const CELLS = new Map(NAMES.map((name, cell) => [name, cell]));
  /** @type {(cell: number) => [number, number, number]} */
  const place = (cell) => [Math.floor(cell / 25), Math.floor(cell / 5) % 5, cell % 5];
  /** @type {(place: number[]) => number} */
  const at = ([c, l, n]) => (c * 5 + l) * 5 + n;

  const { TYPES } = BOARD, CODES = Object.keys(TYPES);

  // Shapes (rulings 4 and 5)

  const distance = (one, other) => place(one).reduce((sum, value, axis) => sum + Math.abs(value - place(other)[axis]), 0);

  /** From where to where cells reach, over colours, letters and numbers. */
  const spans = (places) => [0, 1, 2].map((axis) => places.map((one) => one[axis])).map((values) => [Math.min(...values), Math.max(...values)]);
  const extents = (cells) => spans(cells.map(place)).map(([from, to]) => to - from + 1).sort().join("");

  function box(one, other) {
    const [colours, letters, numbers] = spans([one, other]).map(([from, to]) => Array.from({ length: to - from + 1 }, (_, step) => from + step));
    return colours.flatMap((c) => letters.flatMap((l) => numbers.map((n) => at([c, l, n]))));
  }

  const LYING = ["222", "123", "132", "213", "231", "312", "321"].map((sides) => [...sides].map(Number));

  function isDeathStar(cells) {
    const has = new Set(cells);
    if (!cells.every((cell) => cells.filter((other) => distance(cell, other) === 1).length >= 2)) return false;
    const filled = (from, sides) => box(from, from.map((value, axis) => value + sides[axis] - 1)).every((cell) => has.has(cell));
    return cells.some((cell) => LYING.some((sides) => {
      const from = place(cell);
      return from.every((value, axis) => value + sides[axis] <= 5) && filled(from, sides);
    }));
  }

  function fits(code, cells) {
    const type = TYPES[code];
    if (cells.length !== type.size) return false;
    return type.box ? extents(cells) === type.box.join("") : isDeathStar(cells);
  }

  // Fleets (rulings 7 to 9)

  const counted = (codes) => {
    const found = new Map();
    for (const code of codes) found.set(code, (found.get(code) || 0) + 1);
    return found;
  };
  const costOf = (ships) => [...ships].reduce((sum, [code, number]) => sum + TYPES[code].cost * number, 0);
  const most = (allowed, code, number) => (allowed ? Math.min(number, allowed[code] || 0) : number);
  const baseCost = (options) => (/^cost:/.test(options.fleet || "") ? Number(options.fleet.slice(5)) : null);

  function isAgreed(options, seat, codes, restricted = true) {
    const ships = counted(codes);
    const extra = (options.additional || [0, 0])[seat - 1];
    const allowed = restricted ? options.allowed : null, more = restricted ? options.additional_allowed : null;
    const cost = baseCost(options);
    if (cost === null) {
      return STANDARD.some((base) => {
        const rest = new Map(ships);
        for (const code of base) rest.set(code, (rest.get(code) || 0) - 1);
        const left = [...rest].filter(([, number]) => number > 0);
        return [...rest.values()].every((number) => number >= 0) && costOf(left) === extra &&
          left.every(([code, number]) => number <= most(more, code, number));
      });
    }
    if (costOf(ships) !== cost + extra) return false;
    let reached = new Set([0]);
    for (const [code, number] of ships) {
      const next = new Set();
      const greatest = most(allowed, code, number);
      for (let base = number - most(more, code, number); base <= greatest; base++) {
        for (const sum of reached) next.add(sum + TYPES[code].cost * base);
      }
      reached = next;
    }
    return reached.has(cost);
  }

  // Notation

  const CELL = `[${COLOURS}][${LETTERS}][${NUMBERS}]`, END = "(?=[\\s,;]|$)", WORD = "[^\\s,;]+";
  const SHIP = `(${CODES.join("|")})([1-9][0-9]{0,2})?`;
  const SETUP = new RegExp(`${SHIP}${END}|(${CELL})(?:\\s*-\\s*(${CELL}))?${END}|(${WORD})`, "g");
  const SHIP_WORD = new RegExp(`^${SHIP}$`), CELL_WORD = new RegExp(`^${CELL}(-.*)?$`);
  const LIKE_A_SHIP = /^(?![A-Za-z][v-zV-Z][0-9])[A-Za-z]{2,}[0-9]*$/;
  const ORDER = new RegExp(
    `(${CELL})${END}|s\\s*(${CELL})${END}` +
    `|b\\s*(${CELL})(?:\\s*-)?\\s*(${CELL})(?:\\s*\\(([A-Z]{2}[0-9]{0,3})\\))?${END}` +
    `|m\\s*([${COLOURS}]?[${LETTERS}]?[${NUMBERS}]?)\\s*(${CELL})${END}|k\\s*(${CELL})\\s*(${CELL})${END}|(${WORD})`, "g");

  const bare = (text) => text.replace(/#[^\n\r]*/g, "");
  const sorted = (faults) => faults.sort((one, other) => one.at - other.at);

  /** @returns {Judged & {ships: {name: string, code: string, cells: string[]}[]}} */
  function setup(options, seat, given) {
    const text = bare(given);
    const words = text.match(new RegExp(WORD, "g")) || [];
    const grids = (words.includes(".") || words.length === 125) && !words.some((word) => CELL_WORD.test(word));
    const draft = grids ? readGrids(text) : readList(text);
    const faults = draft.faults;
    const behind = text.length + 1;
    const several = counted(draft.ships.map((ship) => ship.code));
    const seen = new Set();
    for (const ship of draft.ships) {
      const number = ship.number, count = several.get(ship.code), key = `${ship.code}${number}`;
      const misnamed = number === null && count > 1 ? say("there are {most} {code}: number them from {code}1", { most: count, code: ship.code })
        : number > count ? say("{token}: the numbers of {code} go up to {most}", { token: ship.token, code: ship.code, most: count })
          : seen.has(key) ? say("there are two {token}", { token: ship.token }) : "";
      if (misnamed) faults.push({ rule: "6", token: ship.token, at: ship.at, message: misnamed });
      seen.add(key);
      const cells = [...ship.cells];
      if (ship.broken || fits(ship.code, cells)) continue;
      const type = TYPES[ship.code];
      const wrong = cells.length !== type.size;
      faults.push({
        rule: ship.code === "DS" && !wrong ? "5" : "4", token: ship.token, at: ship.at,
        missing: cells.length < type.size,
        message: wrong ? say("{token} has {count} cells; a {kind} has {size}", { token: ship.token, count: cells.length, kind: type.title, size: type.size })
          : say("the cells of {token} do not have the shape of a {kind}", { token: ship.token, kind: type.title }),
      });
    }
    const codes = draft.ships.map((ship) => ship.code);
    if (draft.whole && !isAgreed(options, seat, codes)) faults.push({ ...notAgreed(options, seat, codes), token: null, at: behind });
    const ships = [...draft.ships].sort((a, b) => CODES.indexOf(a.code) - CODES.indexOf(b.code) || (a.number || 0) - (b.number || 0))
      .map((ship) => ({
        name: ship.code + (several.get(ship.code) > 1 ? ship.number : ""), code: ship.code,
        cells: [...ship.cells].sort((a, b) => a - b).map((cell) => NAMES[cell]),
      }));
    return { faults: sorted(faults), ships, text: ships.map((ship) => [ship.name, ...ship.cells].join(" ")).join("\n") };
  }

  function readList(text) {
    const draft = { ships: [], faults: [], whole: true };
    const taken = new Set();
    let ship = null;
    for (const { 0: token, 1: code, 2: number, 3: first, 4: last, 5: unknown, index } of text.matchAll(SETUP)) {
      const blame = (message) => draft.faults.push({ rule: "10", token, at: index, message }), none = { code: "", cells: new Set(), broken: true };
      if (code) {
        ship = { token, code, number: number ? Number(number) : null, at: index, cells: new Set(), broken: false };
        draft.ships.push(ship);
      } else if (unknown && LIKE_A_SHIP.test(unknown)) {
        blame(say("no ship is called `{token}`", { token }));
        draft.whole = false;
        ship = none;
      } else if (unknown) {
        blame(say("`{token}` is neither a ship nor a cell", { token }));
        if (ship) ship.broken = true;
      } else if (!ship) {
        blame(say("{token} comes before the first ship", { token }));
        ship = none;
      } else {
        const cells = last ? box(place(CELLS.get(first)), place(CELLS.get(last))) : [CELLS.get(first)];
        if (cells.some((cell) => taken.has(cell))) blame(say("{token}: a cell is named twice", { token }));
        for (const cell of cells) { taken.add(cell); ship.cells.add(cell); }
      }
    }
    return draft;
  }

  function readGrids(text) {
    const draft = { ships: [], faults: [], whole: true };
    const ships = new Map();
    let cell = 0, rows = 0;
    for (const line of text.matchAll(/[^\n\r]+/g)) {
      const words = [...line[0].matchAll(new RegExp(WORD, "g"))];
      rows += Math.floor(words.length / 5);
      if (words.length % 5) {
        draft.faults.push({ rule: "12", token: line[0].trim(), at: line.index, message: say("a row of a grid has five words") });
        draft.whole = false;
      }
      for (const word of words) {
        const token = word[0], place0 = line.index + word.index;
        const found = token.match(SHIP_WORD);
        if (found) {
          if (!ships.has(token)) ships.set(token, { token, code: found[1], number: found[2] ? Number(found[2]) : null, at: place0, cells: new Set(), broken: false });
          if (cell < 125) ships.get(token).cells.add(cell);
        } else if (token !== ".") {
          draft.faults.push({ rule: "12", token, at: place0, message: say("`{token}` is neither `.` nor a ship", { token }) });
          draft.whole = false;
        }
        cell++;
      }
    }
    draft.ships.push(...ships.values());
    if (draft.whole && rows !== 25) {
      draft.faults.push({ rule: "12", token: null, at: text.length + 1, message: say("five grids have 25 rows, not {rows}", { rows }) });
      draft.whole = false;
    }
    if (!draft.whole) for (const ship of draft.ships) ship.broken = true;
    return draft;
  }

  function notAgreed(options, seat, codes) {
    if ((options.allowed || options.additional_allowed) && isAgreed(options, seat, codes, false)) {
      return { rule: "9", message: say("there are more ships of a type than agreed") };
    }
    const extra = (options.additional || [0, 0])[seat - 1], cost = baseCost(options);
    const base = cost === null ? say("the standard fleet") : say("a fleet of cost {cost}", { cost });
    const total = costOf(counted(codes)), missing = total < (cost === null ? FACTS.cost : cost) + extra;
    const lacking = extra || cost !== null ? "" : FACTS.standard_types.filter((types) => !types.some((code) => codes.includes(code))).map((types) => types.join("/")).join(", ");
    if (lacking) return { rule: "7", missing, message: say("this is not {base}; missing: {missing}", { base, missing: lacking }) };
    if (extra) return { rule: "8", missing, message: say("these ships cost {total}; they are not {base} and additional ships of cost {extra}", { total, base, extra }) };
    return { rule: "7", missing, message: say("these ships cost {total}; they are not {base}", { total, base }) };
  }

  // Orders

  /** The word before a target list (ruling 40). */
  const NEXT = "next";

  const NEARLY_A_CELL = new RegExp(`^[sbmk]?[${COLOURS}][A-Za-z][0-9]{1,3}$`);

  function entitled(view) {
    const due = view.entitled;
    const owner = new Map();
    for (const ship of view.own.ships) for (const cell of ship.cells) owner.set(cell, ship);
    const cellsOf = (list) => new Set(list.flatMap((each) => each.cells));
    return {
      owner,
      conventional: due.conventional.reduce((sum, each) => sum + each.strikes, 0),
      missiles: cellsOf(due.missiles), kamikazes: cellsOf(due.kamikazes), scans: due.scans,
      stars: view.own.ships.filter((ship) => ship.ship.startsWith("DS") && !ship.burnt_out),
    };
  }

  function fires(ship, step) {
    const left = ship.cells.filter((cell) => !ship.destroyed.includes(cell)).map((cell) => place(CELLS.get(cell)).join());
    return left.some((one) => left.includes(one.split(",").map((value, axis) => Number(value) + step[axis]).join()));
  }

  /** The direction of a line of three cells by its ends, or null. */
  function line(first, last) {
    const [one, other] = [place(CELLS.get(first)), place(CELLS.get(last))];
    const apart = one.map((value, axis) => other[axis] - value);
    return apart.every((by) => by === 0 || Math.abs(by) === 2) && apart.some((by) => by) ? apart.map((by) => by / 2) : null;
  }

  function between(first, last) {
    const step = line(first, last);
    return step && NAMES[at(place(CELLS.get(first)).map((value, axis) => value + step[axis]))];
  }

  const able = (due, step) => due.stars.filter((ship) => fires(ship, step));
  const strikesDue = (number) => (number === 0 ? say("you have no conventional strike this turn")
    : number === 1 ? say("that is one too many: you have one conventional strike this turn")
      : say("that is one too many: you have {number} conventional strikes this turn", { number }));
  const scansDue = (number) => (number === 0 ? say("you have no scan this turn")
    : number === 1 ? say("that is one too many: you have one scan this turn")
      : say("that is one too many: you have {number} scans this turn", { number }));

  /** @returns {Judged & {written: string, list: string[], used: Object, due: Object}} in written and list, a target list has all its cells */
  function orders(view, given) {
    const text = bare(given), due = entitled(view), faults = [], list = [], told = [];
    const used = { conventional: 0, scans: 0, missiles: new Set(), kamikazes: new Set(), beams: new Set() };
    const blame = (found, rule, message) => faults.push({ rule, token: found[0], at: found.index, message });
    const claim = (found, ships, name, message) => {
      if (ships.has(name)) blame(found, "19", message);
      ships.add(name);
    };
    if (/^[\s,;]*if(?=[\s,;]|$)/i.test(text)) {
      const message = say("orders for the turn that is due have no conditions: the report is here");
      return { faults: [{ rule: "42", token: null, at: 0, message }], text: "", written: text, list, used, due };
    }
    const words = [...text.matchAll(ORDER)], without = words.some(([whole]) => whole === NEXT) ? chosen(view, due, words, blame) : new Set();
    for (const found of words) {
      if (without.has(found)) { list.push(found[0]); continue; }
      const [whole, strike, scan, first, last, named, part, target, launch, aim] = found;
      let word = whole;
      if (strike) {
        word = strike;
        if (++used.conventional === due.conventional + 1) blame(found, "14", strikesDue(due.conventional));
      } else if (scan) {
        word = `s${scan}`;
        if (++used.scans === due.scans + 1) blame(found, "18", scansDue(due.scans));
      } else if (target) {
        word = `m${part} ${target}`;
        const fitting = [...due.missiles].filter((cell) => [...part].every((value) => cell.includes(value)));
        if (!part) blame(found, "37", say("which missile? Name at least one of its letters and digits, even if only one is left"));
        else if (!fitting.length) blame(found, "37", say("you have no unfired missile at {part}", { part }));
        else if (fitting.length > 1) blame(found, "37", say("{count} of your unfired missiles match {part}", { count: fitting.length, part }));
        else {
          const name = due.owner.get(fitting[0]).ship;
          claim(found, used.missiles, name, say("{name} has only one missile strike a turn", { name }));
        }
      } else if (aim) {
        word = `k${launch} ${aim}`;
        if (!due.kamikazes.has(launch)) blame(found, "16", whyNoKamikaze(due, launch));
        else {
          const name = due.owner.get(launch).ship;
          claim(found, used.kamikazes, name, say("{name} has only one kamikaze strike a turn", { name }));
        }
      } else if (first) {
        word = beam(found, first, last, named, due, used, blame, claim);
      } else {
        blame(found, "36", NEARLY_A_CELL.test(word) ? say("there is no cell `{word}`: the cells of a plane go from v1 to z5", { word }) : say("`{word}` is not an order", { word }));
      }
      list.push(word);
      told.push(word);
    }
    return { faults: sorted(faults), text: told.join(" "), written: list.join(" "), list, used, due };
  }

  /** What a target list is without the strikes for which it stands (ruling 40): `next`, and its other cells. */
  function chosen(view, due, words, blame) {
    const at = words.findIndex(([whole]) => whole === NEXT), listed = words.filter(([, strike], place) => strike && place > at);
    const before = words.slice(0, at).filter(([, strike]) => strike).map(([whole]) => whole), found = [];
    const done = new Set([...before, ...words.filter(([whole]) => /^[mk]/.test(whole)).map(([whole]) => whole.slice(-3))]);
    for (const { empty, destroyed } of Object.values(view.known)) for (const cell of [...empty, ...destroyed]) done.add(cell);
    for (const one of listed) {
      if (!done.has(one[0])) found.push(one);
      done.add(one[0]);
    }
    const room = Math.max(0, due.conventional - before.length), again = words.find(([whole], place) => whole === NEXT && place > at);
    if (again) blame(again, "40", say("there is one target list: write `next` once, and all its cells behind it"));
    else if (!listed.length) blame(words[at], "40", say("the cells of the target list are missing behind `next`"));
    else if (!found.length) blame(words[at], "40", say("no cell of the target list is left: all are known, or struck already"));
    else if (!room) blame(words[at], "14", strikesDue(due.conventional));
    return new Set([...words.filter(([whole]) => whole === NEXT), ...listed.filter((one) => !found.slice(0, room).includes(one))]);
  }

  function whyNoKamikaze(due, launch) {
    const ship = due.owner.get(launch);
    if (!ship) return say("you have no ship at {cell}", { cell: launch });
    const code = ship.ship.slice(0, 2);
    if (code === "DS" || code === "LS") return say("a {kind} never flies a kamikaze strike", { kind: TYPES[code].title });
    if (ship.cells.some((cell) => due.kamikazes.has(cell))) return say("{cell} is destroyed", { cell: launch });
    return say("{name} may not fly a kamikaze strike this turn", { name: ship.ship });
  }

  function beam(found, first, last, named, due, used, blame, claim) {
    const step = line(first, last);
    if (!step) { blame(found, "3", say("{first} and {last} are not the ends of a line of three cells", { first, last })); return found[0]; }
    const could = able(due, step);
    const fitting = named ? could.filter((ship) => ship.ship === named || (named === "DS1" && ship.ship === "DS")) : could;
    if (fitting.length !== 1) {
      if (fitting.length) blame(found, "38", say("{count} of your death stars could fire along this line: name one", { count: fitting.length }));
      else if (named) blame(found, "38", say("you have no {name} that can fire along this line", { name: named }));
      else blame(found, "17", say("you have no death star that can fire along this line"));
      return found[0];
    }
    claim(found, used.beams, fitting[0].ship, say("{name} fires its beam only once a turn", { name: fitting[0].ship }));
    return `b${first}${last}` + (could.length > 1 ? `(${fitting[0].ship})` : "");
  }

  return { NAMES, CELLS, NEXT, TYPES, CODES, CELL, place, at, box, setup, orders, able, line, between, baseCost, isAgreed };
})();
