// The note to self: what a player must not lose, sealed under six words, which travels with each letter and comes back
// with each answer. The server keeps it unread: docs/playing.md. Nothing here knows of a document.

/** @typedef {{key: CryptoKey, salt: Uint8Array}} Lock made of the words, which are nowhere kept */
const NOTE = (() => {
  const ITERATIONS = 600000, SALT = 16, NONCE = 12, TAG = 16, PIECE = 1024, WORDS = 6;
  // Proquints (Wilkerson 2009): sixteen bits a word that can be said, so that no list of words must be here.
  const CONSONANTS = "bdfghjklmnprstvz", VOWELS = "aiou";
  const word = (bits) => CONSONANTS[bits >> 12] + VOWELS[bits >> 10 & 3] + CONSONANTS[bits >> 6 & 15] + VOWELS[bits >> 4 & 3] + CONSONANTS[bits & 15];

  /** Six new words: 96 bits. They are drawn, for whoever holds the note may try all that somebody would think of. */
  const words = () => Array.from(crypto.getRandomValues(new Uint16Array(WORDS)), word).join(" ");

  /** Six words as they were written down; "" where there are not six. */
  function read(text) {
    const found = text.toLowerCase().match(/[a-z]+/g) || [];
    return found.length === WORDS ? found.join(" ") : "";
  }

  /** @returns {Promise<Lock>} what these words lock and open */
  async function lock(words, salt = crypto.getRandomValues(new Uint8Array(SALT))) {
    const typed = await crypto.subtle.importKey("raw", PAPERS.utf8(words), "PBKDF2", false, ["deriveKey"]);
    const key = await crypto.subtle.deriveKey({ name: "PBKDF2", hash: "SHA-256", salt, iterations: ITERATIONS }, typed, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
    return { key, salt };
  }

  const label = (place) => PAPERS.utf8(["pbem note 1", ...["server", "match", "game", "seat", "player"].map((name) => `${name} ${place[name]}`), ""].join("\n"));

  async function through(stream, bytes) {
    return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  }

  /**
   * The same JSON as long as others, for server and opponent see how long a note is: blanks stand before it, in a
   * stored block (RFC 1951, 3.2.4).
   */
  function padded(deflated) {
    const over = (SALT + NONCE + TAG + 5 + deflated.length) % PIECE, blanks = over && PIECE - over;
    const head = [0, blanks & 255, blanks >> 8, ~blanks & 255, ~blanks >> 8 & 255];
    return new Uint8Array([...head, ...new Uint8Array(blanks).fill(32), ...deflated]);
  }

  /** The note, in base64; "" where there is too much for one. */
  async function seal({ key, salt }, secrets) {
    const iv = crypto.getRandomValues(new Uint8Array(NONCE));
    const packed = padded(await through(new CompressionStream("deflate-raw"), PAPERS.utf8(JSON.stringify(secrets))));
    const cipher = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: label(secrets) }, key, packed));
    const whole = [...salt, ...iv, ...cipher];
    return whole.length > FORMS.note ? "" : btoa(String.fromCharCode(...whole));
  }

  /** The octets of a note; none where it is no base64. */
  function parts(note) {
    try { return Uint8Array.from(atob(note), (char) => char.charCodeAt(0)); } catch { return new Uint8Array(); }
  }

  /** Whether a lock was made with the salt of this note. */
  const fits = ({ salt }, note) => salt.every((byte, at) => byte === parts(note)[at]);

  /** The lock that these words make for a note. */
  const lockOf = (words, note) => lock(words, parts(note).slice(0, SALT));

  /** What a note of this place holds; raises an Error in words. */
  async function open({ key }, note, place) {
    const all = parts(note), iv = all.slice(SALT, SALT + NONCE);
    let packed;
    try { packed = await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData: label(place) }, key, all.slice(SALT + NONCE)); }
    catch { throw new Error(say("these words do not open the note")); }
    return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), new Uint8Array(packed))));
  }

  return { words, read, lock, lockOf, fits, padded, seal, open };
})();
