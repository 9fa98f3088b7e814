// The papers of a sealed match, as their receiver writes them out and everybody hashes them: docs/bundle.md. What they
// hold is handed in; nothing here knows of a game or of a document.

/** @typedef {{server: string, match: string, game: number, seat: number, player: string}} Place */
const PAPERS = (() => {
  const utf8 = (text) => new TextEncoder().encode(text);
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const sha256 = async (text) => hex(await crypto.subtle.digest("SHA-256", utf8(text)));
  const lines = (values) => values.map(([name, value]) => `${name} ${value}\n`).join("");

  /** A paper: its name, the lines behind the player by name and in order, and what it holds; no setup has a turn. */
  function paper(name, place, turn, values, told) {
    const where = ["server", "match", "game"].map((each) => [each, place[each]]);
    const who = [["seat", place.seat], ["player", place.player]];
    return [`pbem sealed ${name} 1\n`, lines([...where, ...(name === "setup" ? [] : [["turn", turn]]), ...who, ...values]), [name, ...told, "end"].join("\n"), "\n"].join("");
  }

  return { sha256, paper };
})();
