// SSH signatures: PROTOCOL.sshsig of OpenSSH, over an Ed25519 key, made and checked. What signs is handed in; the
// private key is not seen here.

const SSHSIG = (() => {
  const KIND = "ssh-ed25519", HASH = "sha512", DIGESTS = { sha512: "SHA-512", sha256: "SHA-256" };
  const ARMOR = /-----BEGIN SSH SIGNATURE-----([A-Za-z0-9+/=\s]*)-----END SSH SIGNATURE-----/;
  const utf8 = (text) => new TextEncoder().encode(text), textOf = (bytes) => new TextDecoder().decode(bytes);

  function joined(...parts) {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => { whole.set(part, at); return at + part.length; }, 0);
    return whole;
  }

  const string = (bytes) => joined(new Uint8Array([bytes.length >>> 24, bytes.length >>> 16, bytes.length >>> 8, bytes.length].map((byte) => byte & 255)), bytes);
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const blob = (raw) => joined(string(utf8(KIND)), string(raw));

  /** A public key as a line of `authorized_keys`. */
  const line = (raw) => `${KIND} ${base64(blob(raw))} pbem@browser`;

  /**
   * The text with the signature beneath it, as `ssh-keygen -Y sign -n pbem@SERVER` makes it.
   * @param {string} text @param {string} server
   * @param {Uint8Array} raw the public key's 32 bytes
   * @param {(told: Uint8Array) => Promise<Uint8Array>} sign
   */
  async function signed(text, server, raw, sign) {
    const namespace = utf8(`pbem@${server}`), magic = utf8("SSHSIG"), none = new Uint8Array();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", utf8(text)));
    const made = await sign(joined(magic, string(namespace), string(none), string(utf8(HASH)), string(digest)));
    const whole = joined(magic, new Uint8Array([0, 0, 0, 1]), string(blob(raw)), string(namespace), string(none), string(utf8(HASH)), string(joined(string(utf8(KIND)), string(made))));
    return text + ["-----BEGIN SSH SIGNATURE-----", ...base64(whole).match(/.{1,70}/g), "-----END SSH SIGNATURE-----", ""].join("\n");
  }

  function split(bytes) {
    const length = (bytes[0] << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3];
    return [bytes.subarray(4, 4 + length), bytes.subarray(4 + length)];
  }

  /**
   * @typedef {Object} Read what a signature says of itself
   * @property {string} key in base64, as `authorized_keys` has it @property {string} kind @property {Uint8Array} raw
   * @property {string} namespace @property {string} hash @property {Uint8Array} signature
   */

  /** @returns {Read} from the base64 of an armor */
  function read(armor) {
    const blob = Uint8Array.from(atob(armor.replace(/\s/g, "")), (char) => char.charCodeAt(0));
    const [key, rest] = split(blob.subarray(10)), [namespace, after] = split(rest), [, hashed] = split(after), [hash, left] = split(hashed);
    const [kind, tail] = split(key), [signature] = split(left);
    return { key: base64(key), kind: textOf(kind), raw: split(tail)[0], namespace: textOf(namespace), hash: textOf(hash), signature: split(split(signature)[1])[0] };
  }

  /** Whether a signature is of a kind that is checked here. */
  const isKnown = ({ kind, hash }) => kind === KIND && Object.hasOwn(DIGESTS, hash);

  /** A text without the runs behind which the pattern's group finds what it wants: in a time as long as the text. */
  const cut = (text, runs) => text.replace(runs, (run, end) => (end === undefined ? run : end));

  /** What mail programs may have changed around a signed text and leave for us to undo. */
  const readings = (said) => {
    const lines = said.replace(/\r\n/g, "\n"), clean = cut(cut(lines, /[ \t\u00a0]+(\n|$)?/g), /\n+($)?/g).replace(/^\n+/, "");
    return new Set([said, lines, lines.replace(/\n$/, ""), `${clean}\n`, clean, `${clean}\n`.replace(/\n/g, "\r\n")]);
  };

  /**
   * The first of some texts that a signature holds under, in the reading that was signed; null where there is none.
   * @param {Read} found of a kind that is known @param {string[]} texts
   */
  async function under({ raw, namespace, hash, signature }, texts) {
    if (!ED25519.isPoint(raw)) return null;
    const key = await ED25519.key(raw);
    for (const said of texts.flatMap((one) => [...readings(one)])) {
      const digest = new Uint8Array(await crypto.subtle.digest(DIGESTS[hash], utf8(said)));
      if (await ED25519.holds(key, signature, joined(utf8("SSHSIG"), string(utf8(namespace)), string(new Uint8Array()), string(utf8(hash)), string(digest)))) return said;
    }
    return null;
  }

  return { ARMOR, line, signed, read, isKnown, under };
})();
