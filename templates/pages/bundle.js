// A bundle in the browser: unpacked, its files by their paths, its records and papers read. Nothing is judged here.

const BUNDLE = (() => {
  const utf8 = (text) => new TextEncoder().encode(text), text = (bytes) => new TextDecoder().decode(bytes);
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const sha256 = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

  class Wrong extends Error {}
  const must = (holds, reason) => { if (!holds) throw new Wrong(reason); };

  /**
   * The bundle's own bytes: the page carries them as raw deflate (RFC 1951) in base64.
   * @param {string} base64
   * @returns {Promise<Uint8Array>}
   */
  async function unpacked(base64) {
    const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /**
   * The files of a zip archive that compresses nothing, by its central directory.
   * @param {Uint8Array} bytes
   * @returns {Map<string, Uint8Array>} by their paths
   */
  function unzip(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), files = new Map();
    let end = bytes.length - 22;
    while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
    must(end >= 0, say("not a bundle: no list of files"));
    let at = view.getUint32(end + 16, true);
    for (let count = view.getUint16(end + 10, true); count > 0; count--) {
      must(view.getUint32(at, true) === 0x02014b50 && view.getUint16(at + 10, true) === 0, say("not stored as a bundle stores it"));
      const size = view.getUint32(at + 24, true), named = view.getUint16(at + 28, true), local = view.getUint32(at + 42, true);
      const name = text(bytes.subarray(at + 46, at + 46 + named));
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      must(!files.has(name), say("{path} is there twice", { path: name }));
      files.set(name, bytes.subarray(start, start + size));
      at += 46 + named + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return files;
  }

  /** How deep the lists and objects of this JSON are nested; measured only if there are many. */
  function depth(source) {
    if (source.replace(/[^[{]+/g, "").length <= FORMS.depth) return 0;
    let deepest = 0, now = 0;
    for (const bracket of source.replace(/"(?:[^"\\]+|\\.)*"?|[^[\]{}"]+/g, "")) deepest = Math.max(deepest, now += "[{".includes(bracket) ? 1 : -1);
    return deepest;
  }

  /**
   * What is written in JSON; raises Wrong if that is nested too deep, and SyntaxError.
   * @param {string} source
   * @param {string} what it is called
   */
  function json(source, what) {
    must(depth(source) <= FORMS.depth, say("{what} has more than {most} lists and objects in one another, which is over the limit", { what, most: FORMS.depth }));
    return JSON.parse(source);
  }

  /** A value as the transcript writes it: sorted keys, no blanks, ASCII alone. */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value && typeof value === "object") return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  /** The value of a small text paper's line `name value`, above its block. */
  const field = (paper, name) => (text(paper).split("\nsetup\n")[0].split("\n").find((line) => line.startsWith(`${name} `)) || "").slice(name.length + 1);

  /**
   * A game record in its canonical form (TOML).
   * @typedef {{winner: number, winners: ?number[], scores: number[], reason: string}} Result winners: several, if not all
   * @typedef {{name: string, setup: string}} Seat
   * @typedef {{options: Object<string, *>, seats: Seat[], turns: Object<string, string>[], left: {seat: number, turn: number}[], result: ?Result}} Played turns: orders by seat
   * @param {string} source
   * @returns {Played}
   */
  function record(source) {
    const found = { options: {}, seats: [], turns: [], left: [], result: null }, lines = source.split("\n");
    /** @type {Object<string, *>} */
    let into = found;
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at], section = line.match(/^\[+(\w+)\]+$/);
      if (section) {
        if (section[1] === "extra") break;
        into = {};
        if (section[1] === "seat") found.seats.push(into);
        else if (section[1] === "turn") found.turns.push(into);
        else if (section[1] === "left") found.left.push(into);
        else found[section[1]] = into;
        continue;
      }
      const [, key, value] = line.match(/^([\w-]+) = (.*)$/) || [];
      if (!key) continue;
      if (value !== '"""') { into[key] = literal(value); continue; }
      const block = [];
      do block.push(lines[++at]); while (!block[block.length - 1].endsWith('"""'));
      block.push(block.pop().slice(0, -3));
      into[key] = block.map((each) => JSON.parse(`"${each}"`)).join("\n");
    }
    return found;
  }

  function literal(value) {
    try { return JSON.parse(value); } catch { return value; } // a table of TOML: no page draws it
  }

  /**
   * The games that are revealed, each with its number, record and the reports of its turns.
   * @param {Map<string, Uint8Array>} files
   * @returns {Array<Played & {number: number, reports: Object[][]}>}
   */
  function games(files) {
    const found = [];
    const numbers = [...files.keys()].flatMap((path) => (path.match(/^records\/game-([1-9][0-9]*)\.pbem\.toml$/) || []).slice(1).map(Number));
    for (const number of numbers.sort((one, other) => one - other)) {
      const played = record(text(files.get(`records/game-${number}.pbem.toml`)));
      // In the last turns of a sealed game nobody may have had anything to tell.
      const told = played.turns.map((_, turn) => `reports/game-${number}-turn-${turn + 1}.json`);
      const reports = told.map((path) => (files.has(path) ? json(text(files.get(path)), path).reports : []));
      found.push({ number, reports, ...played });
    }
    return found;
  }

  /** Who has which seat at the time of an entry. */
  const holders = (entries, seq) => entries.reduce((found, { type, body, seq: at }) => type === "substituted" && at <= seq ? { ...found, [body.seat]: body.player } : found, entries[0].body.players);

  /**
   * How the match ended, by the transcript; null while it goes on.
   * @param {Map<string, Uint8Array>} files
   * @returns {?{winners: string[], seat: number, scores: number[], reason: string}} winners: names, none where all share; seat: of the only one
   */
  function outcome(files) {
    const entries = text(files.get("transcript.jsonl")).split("\n").filter(Boolean).map((line) => json(line, "transcript.jsonl")), { type, body, seq } = entries[entries.length - 1];
    if (type !== "closed") return null;
    const players = holders(entries, seq), winners = body.winners.length < body.scores.length ? body.winners : [];
    return { ...body, winners: winners.map((seat) => players[seat].name), seat: winners.length === 1 ? winners[0] - 1 : -1 };
  }

  return { Wrong, must, utf8, text, bytesOf, hex, sha256, unpacked, unzip, json, canonical, field, games, holders, outcome };
})();
