// SSH signatures: PROTOCOL.sshsig and PROTOCOL.u2f of OpenSSH, made and checked. What signs is handed in; no private key
// is seen here.

const SSHSIG = (() => {
  const ED25519_KEY = "ssh-ed25519", TOUCHED_ED25519 = "sk-ssh-ed25519@openssh.com", TOUCHED_P256 = "sk-ecdsa-sha2-nistp256@openssh.com", WEBAUTHN = `webauthn-${TOUCHED_P256}`;
  /** The kinds of keys whose signatures are checked here, each with their algorithms. */
  const ALGORITHMS = { [ED25519_KEY]: [ED25519_KEY], [TOUCHED_ED25519]: [TOUCHED_ED25519], [TOUCHED_P256]: [TOUCHED_P256, WEBAUTHN] };
  const P256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }, PRESENT = 1, ATTESTED = 64, EXTENDED = 128;
  /** What a key that is touched belongs to: a name of ssh-keygen, or, for a passkey, the host of its pages. */
  const APPLICATION = /^(?:ssh:[!-~]{0,100}|(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;
  const HASH = "sha512", DIGESTS = { sha512: "SHA-512", sha256: "SHA-256" };
  const ARMOR = /-----BEGIN SSH SIGNATURE-----([A-Za-z0-9+/=\s]*)-----END SSH SIGNATURE-----/;
  const utf8 = (text) => new TextEncoder().encode(text), ascii = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const digest = async (name, bytes) => new Uint8Array(await crypto.subtle.digest(name, bytes));

  function joined(...parts) {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => { whole.set(part, at); return at + part.length; }, 0);
    return whole;
  }

  const string = (bytes) => joined(new Uint8Array([bytes.length >>> 24, bytes.length >>> 16, bytes.length >>> 8, bytes.length].map((byte) => byte & 255)), bytes);
  const base64 = (bytes) => btoa(ascii(bytes)), base64url = (bytes) => base64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  /** Strings of RFC 4251 (5.), of texts and of octets. */
  const strings = (...fields) => joined(...fields.map((field) => string(typeof field === "string" ? utf8(field) : field)));

  /** A public key as SSH writes it. */
  const written = (kind, raw, application) => strings(kind, ...(kind === TOUCHED_P256 ? ["nistp256"] : []), raw, ...(kind === ED25519_KEY ? [] : [application]));

  const kindOf = (key) => (key.passkey ? TOUCHED_P256 : ED25519_KEY), blob = (key) => written(kindOf(key), key.raw, key.host);

  /** A public key as a line of `authorized_keys`. */
  const line = (key) => `${kindOf(key)} ${base64(blob(key))} pbem@browser`;

  /** What a key signs. */
  const told = async (text, namespace, hash) => joined(utf8("SSHSIG"), strings(namespace, "", hash, await digest(DIGESTS[hash], utf8(text))));

  /**
   * The text with the signature beneath it, as `ssh-keygen -Y sign -n pbem@SERVER` makes it.
   * @param {string} text @param {string} server @param {Key|Passkey} key
   * @param {(told: Uint8Array) => Promise<Uint8Array>} sign makes the strings of a signature: algorithm, value ...
   */
  async function signed(text, server, key, sign) {
    const namespace = `pbem@${server}`, made = await sign(await told(text, namespace, HASH));
    const whole = joined(utf8("SSHSIG"), new Uint8Array([0, 0, 0, 1]), strings(blob(key), namespace, "", HASH, made));
    return text + ["-----BEGIN SSH SIGNATURE-----", ...base64(whole).match(/.{1,70}/g), "-----END SSH SIGNATURE-----", ""].join("\n");
  }

  /** The first string of some octets, and the rest; raises an Error. */
  function split(bytes) {
    const length = (bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]) >>> 0;
    if (bytes.length < 4 + length) throw new RangeError("cut off");
    return [bytes.subarray(4, 4 + length), bytes.subarray(4 + length)];
  }

  /** All strings that some octets consist of; raises an Error. */
  function taken(bytes) {
    const found = [];
    for (let one, rest = bytes; rest.length; found.push(one)) [one, rest] = split(rest);
    return found;
  }

  /**
   * @typedef {Object} Read what a signature says of itself
   * @property {string} key in base64, as `authorized_keys` has it @property {string} kind @property {Uint8Array} raw of Ed25519, or the point
   * @property {string} application to which a key that is touched belongs
   * @property {string} namespace @property {string} hash @property {string} algorithm @property {Uint8Array} value
   * @property {Uint8Array} tail what follows the value
   */

  /** @returns {?Read} from the base64 of an armor; null where it is damaged */
  function read(armor) {
    try {
      const text = armor.replace(/\s/g, ""), whole = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
      const [key, namespace, reserved, hash, signature, ...more] = taken(whole.subarray(10));
      const [kind, ...fields] = taken(key), [algorithm, made] = split(signature), [value, tail] = split(made);
      const none = new Uint8Array(), [raw = none, application = none] = ascii(kind) === TOUCHED_P256 ? fields.slice(1) : fields;
      if (ascii(whole.subarray(0, 10)) !== "SSHSIG\0\0\0\u0001" || reserved.length || more.length || base64(whole) !== text) return null;
      return { key: base64(key), kind: ascii(kind), raw, application: ascii(application), namespace: ascii(namespace), hash: ascii(hash), algorithm: ascii(algorithm), value, tail };
    } catch { return null; }
  }

  /** Whether a signature is of a kind that is checked here. */
  const isKnown = ({ kind, algorithm, hash }) => Object.hasOwn(ALGORITHMS, kind) && ALGORITHMS[kind].includes(algorithm) && Object.hasOwn(DIGESTS, hash);

  const isPoint = (raw) => raw.length === 65 && raw[0] === 4 && crypto.subtle.importKey("raw", raw, P256, false, ["verify"]).then(() => true, () => false);

  /** Whether a key can prove anything. @param {Read} found of a kind that is known */
  const isSound = async ({ key, kind, raw, application }) => key === base64(written(kind, raw, application)) && (kind === TOUCHED_P256 ? isPoint(raw) : ED25519.isPoint(raw))
    && (kind === ED25519_KEY || (APPLICATION.test(application) && (kind === TOUCHED_P256 || application.startsWith("ssh:"))));

  /** A number of an ECDSA signature in 32 octets, out of its shortest form; raises an Error. */
  function number(mpint) {
    const digits = mpint[0] ? mpint : mpint.subarray(1);
    if (!digits.length || mpint[0] & 128 || (!mpint[0] && !(digits[0] & 128))) throw new RangeError("no shortest form");
    return joined(new Uint8Array(32 - digits.length), digits);
  }

  /** A text without the runs behind which the pattern's group finds what it wants: in a time as long as the text. */
  const cut = (text, runs) => text.replace(runs, (run, end) => (end === undefined ? run : end));

  /** A name, and the link to it that a mail program put there. Why each: pbem/linked_names.py. */
  const NAME = "(?:mailto:|https?://)?([!-+\\--:=?-~]{1,320}?)/?", TO = "(?:mailto:|https?://)";
  const LINKED = new RegExp(`(?<![^\\s,;])(?:(${NAME})(?: |(\\n))?<(?:${TO}|(?=[^\\s<>]*@))\\2/?>|\\[(${NAME})\\]\\(${TO}\\5/?\\))(?![^\\s,;.:])`, "gi");

  /** A text whose white space is blanks and LF, without the links that repeat names; a line end before one stays, or goes where lines are joined. */
  const unlinked = (text, joined = false) => text.replace(LINKED, joined ? "$1$4" : "$1$3$4");

  /** What mail programs may have changed around a signed text and leave for us to undo. */
  const readings = (said) => {
    const lines = said.replace(/\r\n/g, "\n"), clean = (text) => cut(cut(text, /[ \t\u00a0]+(?:(\n|$)|)/g), /\n+(?:($)|)/g).replace(/^\n+/, "");
    // A file of Windows begins with a byte order mark; a pipe adds a line end, or a blank and one.
    const files = [clean(lines), clean(unlinked(lines, true))].flatMap((text) => ["\n", "\r\n"].flatMap((end) => [end, "", `${end}\r\n`, "\r\n", " \r\n"].map((last) => `${text.replace(/\n/g, end)}${last}`)));
    return new Set([said, lines, lines.replace(/\n$/, ""), ...files, ...files.map((text) => `\ufeff${text}`)]);
  };

  /** What says of octets whether a key signed them itself; raises an Error for a signature that nothing holds under. */
  async function bare({ kind, raw, value }) {
    if (kind !== TOUCHED_P256) {
      const key = await ED25519.key(raw);
      return (said) => ED25519.holds(key, value, said);
    }
    const key = await crypto.subtle.importKey("raw", raw, P256, false, ["verify"]), numbers = taken(value).map(number);
    if (numbers.length !== 2) throw new RangeError("not two numbers");
    return (said) => crypto.subtle.verify(P256, key, joined(...numbers), said);
  }

  /** Whether a passkey may sign on a page: one of its very host. Other keys sign on none. */
  function isOf(application, origin) {
    const page = origin.replace(/:[1-9][0-9]{0,4}$/, "");
    return application.startsWith("ssh:") ? !origin : page === `https://${application}` || (application === "localhost" && page === "http://localhost");
  }

  /** The same of one that wants a touch; a passkey's browser quotes the octets in its client data. Rules and reasons: pbem/identity/security_keys.py. */
  async function touched({ application, algorithm, tail }, holds) {
    const [flags] = tail, rest = taken(tail.subarray(5)), none = new Uint8Array(), isPasskey = algorithm === WEBAUTHN;
    const [origin, client, extensions] = isPasskey ? rest : [none, none, none], page = ascii(origin), written = ascii(client);
    if (tail.length < 5 || rest.length !== (isPasskey ? 3 : 0) || !(flags & PRESENT) || flags & ATTESTED || Boolean(flags & EXTENDED) !== Boolean(extensions.length)) throw new RangeError("no such signature");
    if (isPasskey !== Boolean(page) || !isOf(application, page)) throw new RangeError("another page");
    const head = joined(await digest("SHA-256", utf8(application)), tail.subarray(0, 5), extensions);
    return async (said) => {
      const quoted = `{"type":"webauthn.get","challenge":"${base64url(said)}","origin":"${page}"`;
      if (isPasskey && (!written.startsWith(quoted) || written.startsWith(',"crossOrigin":true', quoted.length))) return false;
      return holds(joined(head, await digest("SHA-256", isPasskey ? client : said)));
    };
  }

  /** What says of octets whether a signature holds over them; null where it holds over none. */
  async function checker(found) {
    try {
      const holds = await bare(found);
      if (found.kind !== ED25519_KEY) return await touched(found, holds);
      return found.tail.length ? null : holds;
    } catch { return null; }
  }

  /**
   * The first of some texts that a signature holds under, in the reading that was signed; null where there is none.
   * @param {Read} found of a kind that is known @param {string[]} texts
   */
  async function under(found, texts) {
    const holds = await isSound(found) ? await checker(found) : null;
    if (holds) for (const said of texts.flatMap((one) => [...readings(one)])) if (await holds(await told(said, found.namespace, found.hash))) return said;
    return null;
  }

  return { ARMOR, joined, strings, taken, line, signed, read, isKnown, isSound, unlinked, under };
})();
