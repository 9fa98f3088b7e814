// The rules of Dueling Masters of Space-Time that a player needs before sending: setups and orders, judged as the
// referee judges them. A port of pbem/games/dueling_masters/notation.py: text in; canonical text and faults, by ruling,
// out. Where pieces can go comes from the view of a report. tests/page_scripts/rules.py holds both against each other.

const RULES = (() => {
  const { asteroids: ASTEROIDS, fighters: FIGHTERS, rank: RANK, rows: ROWS } = FACTS;
  const NAMES = [...ROWS].flatMap((row) => Array.from({ length: 10 }, (_, column) => row + (column + 1)));
  const SQUARES = new Map(NAMES.map((name, square) => [name, square]));
  const SQUARE = `[${ROWS}](?:10|[1-9])`, NUMBERED = new RegExp(`^[${RANK}][1-9][0-9]{0,2}$`), ORDER = new RegExp(`^([^\\s,;]+)[\\s,;]+(${SQUARE})[\\s,;]*-[\\s,;]*(${SQUARE})$`);

  const homesOf = (options) => options.homes || 1;
  const pieces = (homes) => [...FIGHTERS, ...(homes === 1 ? ["H"] : ["H1", "H2", "H3"])];
  const own = (seat, square) => (seat === 1 ? square < 50 : square >= 50);
  const sorted = (faults) => faults.sort((one, other) => one.at - other.at);
  const bare = (text) => text.replace(/#[^\n\r]*/g, (comment) => " ".repeat(comment.length));

  function slotsOf(names) {
    const slots = new Map();
    names.forEach((name, slot) => slots.set(name[0], [...(slots.get(name[0]) || []), slot]));
    names.forEach((name, slot) => slots.set(name.length > 1 ? name : name + "1", [slot]));
    return slots;
  }

  /** @returns {Judged & {asteroids: string[], placed: [string, ?string][]}} */
  function setup(options, seat, given) {
    const text = bare(given), names = pieces(homesOf(options)), slots = slotsOf(names);
    const faults = [], squares = names.map(() => -1), asteroids = new Set(), placed = new Set();
    const taken = new Set(), alone = new Set();
    const blame = (rule, token, message, at, missing = false) => faults.push({ rule, token, message, at, missing });
    const beginsLine = (at) => !/[^ \t,;]/.test(text.slice(0, at).split(/\r\n|\n|\r/).pop());
    let piece = "", left = null, whole = true;
    for (const found of text.matchAll(/[^\s,;]+/g)) {
      const word = found[0], at = found.index;
      if ((word.length === 1 && `*${RANK}`.includes(word)) || (slots.has(word) && beginsLine(at))) {
        piece = word;
        left = [...(slots.get(word) || [])];
        const twice = left.find((slot) => placed.has(names[slot]));
        if (twice !== undefined) {
          blame("34", word, say("{name} is placed twice", { name: names[twice] }), at);
          left = null;
        } else left.forEach((slot) => placed.add(names[slot]));
      } else if (SQUARES.has(word) && piece) {
        put(word, at);
      } else if (SQUARES.has(word)) {
        blame("34", word, say("{word} comes before the first piece", { word }), at);
      } else {
        if (slots.has(word)) blame("35", word, say("{word} is read as a piece only at the start of a line", { word }), at);
        else if (NUMBERED.test(word)) blame("36", word, say("there is no piece {word}", { word }), at);
        else blame("34", word, say("`{word}` is neither a piece nor a square", { word }), at);
        piece = word; left = null; whole = false;
      }
    }

    function put(word, at) {
      const square = SQUARES.get(word), single = piece[0] === "*" || piece[0] === "H";
      if (!own(seat, square)) blame("2", word, say("{word} is not in your half", { word }), at);
      else if ((single ? taken : alone).has(square)) blame("3", word, say("{word}: asteroids and home planets must stand alone", { word }), at);
      taken.add(square);
      if (single) alone.add(square);
      if (piece === "*") {
        asteroids.add(square);
        if (asteroids.size === ASTEROIDS + 1) blame("2", word, say("{word}: there are only {asteroids} asteroids", { word, asteroids: ASTEROIDS }), at);
      } else if (left && left.length) squares[left.shift()] = square;
      else if (left) blame("2", word, say("{word} is one square too many for {piece}", { word, piece }), at);
    }

    if (whole) {
      const behind = text.length + 1;
      if (asteroids.size < ASTEROIDS) blame("2", null, say("place {asteroids} asteroids, not {count}", { asteroids: ASTEROIDS, count: asteroids.size }), behind, true);
      names.forEach((name, slot) => { if (squares[slot] < 0) blame("2", null, say("{name} is not placed", { name }), behind, true); });
    }
    const lines = [["*", ...[...asteroids].sort((a, b) => a - b).map((square) => NAMES[square])].join(" ")];
    let kind = "";
    names.forEach((name, slot) => {
      const square = squares[slot] < 0 ? "?" : NAMES[squares[slot]];
      if (name[0] === kind) lines[lines.length - 1] += ` ${square}`;
      else { kind = name[0]; lines.push(`${kind} ${square}`); }
    });
    return {
      faults: sorted(faults), text: lines.join("\n"), asteroids: [...asteroids].map((square) => NAMES[square]),
      placed: names.map((name, slot) => [name, squares[slot] < 0 ? null : NAMES[squares[slot]]]),
    };
  }

  /** @returns {Judged} */
  function orders(view, given) {
    const order = given.replace(/#[^\n\r]*/g, " ").replace(/^[ \t\r\n\f\v,;]+|[ \t\r\n\f\v,;]+$/g, "");
    const fault = (rule, message) => ({ faults: [{ rule, token: order || null, at: 0, message, missing: !order }], text: order });
    const can = view.entitled || [];
    if (/^if(?=[\s,;]|$)/i.test(order)) return fault("39", say("orders for the turn that is due have no conditions: the report is here"));
    if (!order) return can.length ? fault("25", say("a player with a legal move may not pass")) : { faults: [], text: "" };
    const found = order.match(ORDER);
    if (!found) return fault("37", say("`{order}` is not an order; write for example Z2 A1-C3", { order }));
    const [, word, start, end] = found;
    if (word === "*") return fault("4", say("asteroids do not move"));
    const homes = view.options.homes;
    const named = pieces(homes), piece = named.find((name) => name === word || (name.length === 1 && word === name + "1"));
    if (!piece) return fault("36", say("there is no piece `{word}`", { word }));
    const stands = view.own.pieces.find((each) => each.piece === piece);
    if (!stands) return fault("10", say("{name} is destroyed", { name: piece }));
    if (stands.square !== start) return fault("9", say("{name} does not stand on {square}", { name: piece, square: start }));
    const moves = can.find((each) => each.piece === piece);
    if (!moves || !(moves.to.includes(end) || moves.rams.includes(end))) return fault("4", say("{name} does not move from {start} to {end}", { name: piece, start, end }));
    return { faults: [], text: `${piece} ${start}-${end}` };
  }

  return { ROWS, SQUARE, NAMES, SQUARES, pieces, homesOf, own, setup, orders };
})();
