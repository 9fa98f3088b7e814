// The papers of a sealed match, as their receiver writes them out and everybody hashes them: docs/bundle.md. What they
// hold is handed in; nothing here knows of a game, of secrets or of a document.

/** @typedef {{server: string, match: string, game: number, seat: number, player: string}} Place */
const PAPERS = (() => {
  const utf8 = (text) => new TextEncoder().encode(text);
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const bytes = (digits) => Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));
  const sha256 = async (text) => hex(await crypto.subtle.digest("SHA-256", utf8(text)));
  const lines = (values) => values.map(([name, value]) => `${name} ${value}\n`).join("");

  /** A paper: its name, the lines behind the player by name and in order, and what it holds; no setup has a turn. */
  function paper(name, place, turn, values, told) {
    const where = ["server", "match", "game"].map((each) => [each, place[each]]);
    const who = [["seat", place.seat], ["player", place.player]];
    return [`pbem sealed ${name} 1\n`, lines([...where, ...(name === "setup" ? [] : [["turn", turn]]), ...who, ...values]), [name, ...told, "end"].join("\n"), "\n"].join("");
  }

  /**
   * What keeps a hash from being guessed: it follows from the seed, so that the seed and the texts make every paper again.
   * @param {string} seed in hex @param {Place} place @param {number} turn @param {string} what
   */
  async function salt(seed, place, turn, what) {
    const label = `pbem salt 1\nserver ${place.server}\nmatch ${place.match}\ngame ${place.game}\nseat ${place.seat}\nturn ${turn}\nwhat ${what}\n`;
    const key = await crypto.subtle.importKey("raw", bytes(seed), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return hex(await crypto.subtle.sign("HMAC", key, utf8(label)));
  }

  const held = (text) => (text ? text.split("\n") : []);
  const setup = (place, rules, salt, text) => paper("setup", place, 0, [["rules", rules], ["salt", salt]], held(text));
  const orders = (place, turn, setup, salt, text) => paper("orders", place, turn, [["setup", setup], ["salt", salt]], held(text));

  return { hex, utf8, sha256, salt, paper, setup, orders };
})();
