// Who saw a match beside its server: proofs that an entry is in the server's log, and the cosignatures of those who saw
// that log (docs/witnesses.md; C2SP tlog-proof, signed-note, tlog-cosignature). Whom to believe is the reader's to say.

const WITNESS = (() => {
  const { must, utf8, text, bytesOf } = BUNDLE, { ed25519, holds, hex, unhex } = VERIFY;
  const LOG = 1, COSIGNATURE = 4, HASHES = 63, SIGNATURES = 16;
  // Names have no blanks of Unicode. A script's `\s` has U+FEFF in addition, and not U+0085.
  const NAME = "[^+\\x00-\\x20\\x7f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]{1,253}";
  const KEY = new RegExp(`^(${NAME})\\+([0-9a-f]{8})\\+([A-Za-z0-9+/=]+)$`, "u"), LINE = new RegExp(`^— (${NAME}) ([A-Za-z0-9+/]{8,6800}={0,2})$`, "u");
  const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(parts.flatMap((part) => [...part]))));
  const base64 = (bytes) => { let made = ""; for (const byte of bytes) made += String.fromCharCode(byte); return btoa(made); };
  const same = (one, other) => hex(one) === hex(other);

  /** The octets that base64 writes in the one way there is; null for anything else. */
  function octets(written) {
    try { const found = bytesOf(written); return base64(found) === written ? found : null; } catch { return null; }
  }

  const keyId = async (name, kind, raw) => (await sha256(utf8(`${name}\n`), [kind], raw)).slice(0, 4);

  /**
   * The key of a witness, written name+hash+key; raises Wrong.
   * @typedef {{name: string, id: Uint8Array, raw: Uint8Array, written: string}} Key
   * @param {string} written
   * @returns {Promise<Key>}
   */
  async function key(written) {
    const [, name, hash, encoded] = written.match(KEY) || [], content = encoded ? octets(encoded) : null;
    must(content && content.length === 33 && content[0] === COSIGNATURE, say("{key} is no key of a witness: it is written name+hash+key", { key: written }));
    const raw = content.slice(1), id = await keyId(name, COSIGNATURE, raw);
    must(hex(id) === hash, say("{key}: the hash in it is not that of its name and content", { key: written }));
    return { name, id, raw, written };
  }

  /** What a signed note says, and its signatures; raises Wrong. */
  function note(written) {
    const end = written.lastIndexOf("\n\n"), lines = written.slice(end + 2).split("\n");
    must(end >= 0 && ![...written].some((char) => char < " " && char !== "\n") && lines.pop() === "" && lines.length > 0 && lines.length <= SIGNATURES, say("it is no signed note"));
    const signatures = lines.map((line) => {
      const [, name, encoded] = line.match(LINE) || [], content = encoded ? octets(encoded) : null;
      must(content && content.length > 4, say("it is no signed note"));
      return { name, id: content.slice(0, 4), content: content.slice(4) };
    });
    const said = written.slice(0, end + 1), [origin, size, root, rest] = said.split("\n");
    const hash = root === undefined ? null : octets(root);
    must(rest === "" && said.split("\n").length === 4 && /^(0|[1-9][0-9]{0,14})$/.test(size) && hash && hash.length === 32, say("it is no checkpoint"));
    return { said, origin, size: Number(size), root: hash, signatures };
  }

  /**
   * A proof that a leaf is in a log; raises Wrong.
   * @param {string} written
   * @returns {{index: number, hashes: Uint8Array[], said: string, origin: string, size: number, root: Uint8Array, signatures: Object[]}}
   */
  function proof(written) {
    must(!/\p{Surrogate}/u.test(written), say("it is no proof of a log"));
    const end = written.indexOf("\n\n"), [title, ...lines] = written.slice(0, Math.max(end, 0)).split("\n");
    if (lines.length && lines[0].startsWith("extra ")) lines.shift();
    const [, index] = (lines.shift() || "").match(/^index (0|[1-9][0-9]{0,14})$/) || [], hashes = lines.map(octets);
    must(title === "c2sp.org/tlog-proof@v1" && index !== undefined && hashes.length <= HASHES && hashes.every((hash) => hash && hash.length === 32), say("it is no proof of a log"));
    return { index: Number(index), hashes, ...note(written.slice(end + 2)) };
  }

  /** Whether a leaf has this place in the tree of a checkpoint (RFC 9162, 2.1.3.2). Numbers may be beyond 32 bits. */
  async function leads({ index, hashes, size, root }, leaf) {
    if (index >= size) return false;
    const half = (value) => Math.floor(value / 2), parent = (left, right) => sha256([1], left, right);
    let number = index, last = size - 1, found = await sha256([0], leaf);
    for (const beside of hashes) {
      if (!last) return false;
      if (number % 2 || number === last) {
        found = await parent(beside, found);
        while (!(number % 2) && number) { number = half(number); last = half(last); }
      } else found = await parent(found, beside);
      number = half(number); last = half(last);
    }
    return !last && same(found, root);
  }

  /** What a key signed under a note: the octets of its signature; null where there is none, or one does not hold. */
  async function by(name, id, raw, length, message, signatures) {
    const own = signatures.filter((one) => one.name === name && same(one.id, id)), imported = own.length ? await ed25519(raw) : null;
    for (const { content } of own) if (content.length !== length || !await holds(imported, content.slice(-64), utf8(message(content)))) return null;
    return own.length ? own[0].content : null;
  }

  const timeOf = (content) => content.slice(0, 8).reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);

  const statement = ({ server, match }, seq, head) => utf8(`pbem head 1\nserver ${server}\nmatch ${match}\nseq ${seq}\nhead ${head}\n`);

  /**
   * A match as its bundle has it, once the bundle holds.
   * @param {Map<string, Uint8Array>} files
   * @returns {{server: string, match: string, key: string, heads: string[]}}
   */
  function match(files) {
    const entries = text(files.get("transcript.jsonl")).split("\n").filter(Boolean), { server, match, server_key: key } = JSON.parse(entries[0]).body;
    return { server, match, key, closed: JSON.parse(entries.at(-1)).type === "closed", heads: text(files.get("heads.txt")).split("\n").filter(Boolean).map((line) => line.split(" ")[1]) };
  }

  /**
   * What the bulletins of a letter, or of those in it, say of matches: proofs of the log, and signed heads.
   * @param {string} raw the letter's source
   * @returns {{server: string, match: string, seq: number, proof?: string, head?: string, signature?: string}[]}
   */
  function letter(raw) {
    const found = [];
    for (const [, packed] of raw.matchAll(/^X-Pbem-Bulletin:([^\n]*(?:\n[ \t][^\n]*)*)/gim)) {
      let bulletin = null;
      try { bulletin = JSON.parse(text(bytesOf(packed.replace(/[^A-Za-z0-9+/=]/g, "")))); } catch { continue; }
      for (const item of bulletin && Array.isArray(bulletin.items) ? bulletin.items : []) {
        const about = { server: String(bulletin.server), match: String(item && item.match) };
        if (item && item.about === "log" && Number.isSafeInteger(item.seq) && typeof item.proof === "string") found.push({ ...about, seq: item.seq, proof: item.proof });
        if (item && item.head && Number.isSafeInteger(item.head.seq)) found.push({ ...about, seq: item.head.seq, head: String(item.head.head), signature: String(item.head.signature) });
      }
    }
    return found;
  }

  /** Raises Wrong unless the proof shows the bundle's own entry in its server's log; what was proved. */
  async function proved(about, { seq, proof: written }) {
    const { server, key: raw, heads } = about, found = proof(written);
    const own = await by(server, await keyId(server, LOG, unhex(raw)), unhex(raw), 64, () => found.said, found.signatures);
    must(own && found.origin === server, say("its checkpoint is not signed with this server's key"));
    must(seq >= 1 && seq <= heads.length, say("the bundle ends with entry {last}: ask for a newer one, or its end was cut off", { last: heads.length }));
    must(await leads(found, statement(about, seq, heads[seq - 1])), say("it does not lead to this bundle's entry: it was altered, or the server told another story"));
    return found;
  }

  /** Entries for which the server signed other heads: than the bundle has, in two letters, or after the match was closed. */
  async function others(about, shown) {
    const bundle = new Set(), letters = new Set(), closed = new Set(), later = new Map(), imported = await ed25519(unhex(about.key));
    for (const { seq, head, signature } of shown) {
      if (seq < 1 || about.heads[seq - 1] === head) continue;
      if (!/^[0-9a-f]{64}$/.test(head) || !/^[0-9a-f]{128}$/.test(signature) || !await holds(imported, unhex(signature), statement(about, seq, head))) continue;
      if (seq <= about.heads.length) bundle.add(seq);
      else if ((later.get(seq) || head) !== head) letters.add(seq);
      else if (about.closed) closed.add(seq);
      later.set(seq, head);
    }
    return { bundle: [...bundle], letters: [...letters], closed: [...closed] };
  }

  /**
   * Who saw what.
   * @param {{server: string, match: string, key: string, closed: boolean, heads: string[]}} about
   * @param {{server: string, match: string, seq: number, proof?: string, head?: string, signature?: string}[]} shown
   * @param {Key[]} keys of those who are believed
   * @returns {Promise<{seen: {name: string, seq: number, time: string}[], unseen: string[], faults: string[], stories: {bundle: number[], letters: number[], closed: number[]}, proofs: number}>}
   *   faults: proofs that show nothing, and why; stories: entries of which the server signed two, and those after the end
   */
  async function look(about, shown, keys) {
    const best = new Map(), faults = new Set(), ours = shown.filter(({ server, match }) => server === about.server && match === about.match);
    let proofs = 0;
    for (const one of ours.filter(({ proof }) => proof !== undefined)) {
      try {
        const { said, signatures } = await proved(about, one);
        proofs++;
        for (const { name, id, raw, written } of keys) {
          const content = await by(name, id, raw, 72, (made) => `cosignature/v1\ntime ${timeOf(made)}\n${said}`, signatures), before = best.get(written);
          if (!content) continue;
          const time = timeOf(content);
          if (!before || one.seq > before.seq || (one.seq === before.seq && time < before.time)) best.set(written, { name, seq: one.seq, time });
        }
      } catch (error) {
        faults.add(say("A proof of entry {seq} shows nothing: {reason}.", { seq: one.seq, reason: error.message }));
      }
    }
    const stories = await others(about, ours.filter(({ head }) => head !== undefined));
    const seen = [...best.values()].map(({ name, seq, time }) => ({ name, seq, time: time < 8640000000000n ? new Date(Number(time) * 1000).toISOString().replace(".000Z", "Z") : `${time} s` }));
    return { seen, unseen: keys.filter(({ written }) => !best.has(written)).map(({ name }) => name), faults: [...faults], stories, proofs };
  }

  return { key, proof, leads, match, letter, look };
})();
