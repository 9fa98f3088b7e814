// Who saw a match beside its server: proofs that an entry is in the server's log, and the cosignatures of those who saw
// that log (docs/witnesses.md; C2SP tlog-proof, signed-note, tlog-cosignature). Whom to believe is the reader's to say.

const WITNESS = (() => {
  const { must, utf8, text, bytesOf, json, hex } = BUNDLE, { ed25519, holds, unhex, leaves, binary } = VERIFY;
  const LOG = 1, COSIGNATURE = 4, HASHES = 63, SIGNATURES = 16, TIMED = 72;
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
    for (const { content } of own) if (content.length !== length || (length === TIMED && timeOf(content) >= 1n << 63n) || !await holds(imported, content.slice(-64), utf8(message(content)))) return null;
    return own.length ? own[0].content : null;
  }

  const timeOf = (content) => content.slice(0, 8).reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);

  const statement = ({ server, match }, seq, head) => utf8(`pbem head 1\nserver ${server}\nmatch ${match}\nseq ${seq}\nhead ${head}\n`);

  /**
   * A match as its bundle has it, once the bundle holds.
   * @typedef {{server: string, match: string, key: string, closed: boolean, restored: number[], heads: string[]}} About
   * @returns {About} restored: entries that tell of a restored backup
   */
  function match(files) {
    const entries = text(files.get("transcript.jsonl")).split("\n").filter(Boolean).map((line) => json(line, "transcript.jsonl")), { server, match, server_key: key } = entries[0].body;
    const restored = entries.filter(({ type }) => type === "restored").map(({ seq }) => seq);
    return { server, match, key, closed: entries.at(-1).type === "closed", restored, heads: text(files.get("heads.txt")).split("\n").filter(Boolean).map((line) => line.split(" ")[1]) };
  }

  /** A letter as it is, its texts with their encodings undone, and those of letters in it. */
  function* texts(raw, depth = 0) {
    yield raw;
    for (const { file, type, content } of leaves(binary(utf8(raw)))) {
      if (type === "message/rfc822" && depth < 5) yield* texts(text(content), depth + 1);
      else if (type === "text/html") yield text(content).replace(/<(?:br|\/?p|\/?div|\/?tr|\/?pre)\b[^<>]*>/gi, "\n").replace(/<[^<>]*>/g, "").replace(/&nbsp;/g, " ");
      else if (!file) yield text(content);
    }
  }

  const isSeq = (value) => Number.isSafeInteger(value) && /^[0-9]{1,9}$/.test(String(value));

  /** What bulletins say, for programs. */
  function* bulletins(said) {
    for (const [, packed] of said.matchAll(/^X-Pbem-Bulletin:([^\n]*(?:\n[ \t][^\n]*)*)/gim)) {
      let bulletin = null;
      try {
        must(packed.replace(/\s/g, "").length % 4 === 0, "");
        bulletin = json(text(bytesOf(packed)), "X-Pbem-Bulletin");
      } catch { continue; }
      for (const item of bulletin && Array.isArray(bulletin.items) ? bulletin.items : []) {
        if (!item || typeof item.match !== "string") continue;
        const about = { server: String(bulletin.server), match: item.match };
        if (item.about === "log" && isSeq(item.seq) && typeof item.proof === "string") yield { ...about, seq: item.seq, proof: item.proof };
        if (item.head && isSeq(item.head.seq)) yield { ...about, seq: item.head.seq, head: String(item.head.head), signature: String(item.head.signature) };
      }
    }
  }

  const HEX = (length) => `([0-9a-f](?:\\s*[0-9a-f]){${length - 1}})`;
  const HEAD = new RegExp(`\\b(m[0-9]{1,9})\\b([^:]{0,300}):\\s+head\\s+${HEX(64)}\\s+signature\\s+${HEX(128)}`, "g");

  /** The signed heads in a text for people, in any language: of the numbers before a head, the signature tells which is its entry's. */
  function* heads(said) {
    for (const [, match, words, head, signature] of said.replace(/^[ \t]*(?:[>|][ \t]?)+/gm, "").matchAll(HEAD)) {
      for (const [number] of words.matchAll(/(?<![\w.-])[0-9]{1,9}(?![\w-]|\.\w)/g)) yield { server: null, match, seq: Number(number), head: head.replace(/\s/g, ""), signature: signature.replace(/\s/g, "") };
    }
  }

  const NOTE = /^[^\n]{1,253}\n[0-9]{1,15}\n[A-Za-z0-9+/]{43}=\n\n(?:— [^\n]{1,7100}\n){1,16}/gmu;

  /** The signed notes in a text, such as the two that prove that a log forked. */
  function* notes(said) {
    for (const [note] of `${said}\n`.replace(/\r\n/g, "\n").replace(/^[ \t]*(?:[>|][ \t]?)+/gm, "").matchAll(NOTE)) yield { server: null, match: null, note };
  }

  /**
   * What a letter, or a file of letters, says of matches, for programs and for people: proofs of the log, its notes, and signed heads.
   * @typedef {{server: ?string, match: ?string, seq?: number, proof?: string, note?: string, heads?: string[], head?: string, signature?: string, logged?: boolean}} Shown
   *   server is null where the text of a signature alone names it; heads: all that stand beside a proof, signed or not
   * @returns {Shown[]}
   */
  function letter(raw) {
    return raw.split(/^(?=From )/m).flatMap((one) => {
      const all = [...texts(one)].flatMap((said) => [...bulletins(said), ...heads(said), ...notes(said)]), found = [...new Map(all.map((item) => [JSON.stringify(item), item])).values()];
      return found.map((item) => item.proof === undefined ? item : { ...item, heads: found.filter(({ seq, head }) => head !== undefined && seq === item.seq).map(({ head }) => head) });
    });
  }

  /** Whether a checkpoint is of the server's log, and signed with its key. */
  async function isOwn({ server, key: raw }, { said, origin, signatures }) {
    return origin === server && await by(server, await keyId(server, LOG, unhex(raw)), unhex(raw), 64, () => said, signatures) !== null;
  }

  /** The sizes at which the server signed two logs, whatever match the letters are about that show them. */
  async function forked(about, shown) {
    const roots = new Map(), sizes = new Set();
    for (const one of shown) {
      if (one.proof === undefined && one.note === undefined) continue;
      let found = null;
      try { found = one.note === undefined ? proof(one.proof) : note(one.note); } catch { continue; }
      const root = hex(found.root), known = roots.get(found.size);
      if (root === known || !await isOwn(about, found)) continue;
      if (known === undefined) roots.set(found.size, root);
      else sizes.add(found.size);
    }
    return [...sizes];
  }

  /** Raises Wrong unless the proof is of the server's log; what it says, and which of these heads it shows there. */
  async function logged(about, seq, written, shown) {
    const { heads } = about, found = proof(written);
    must(await isOwn(about, found), say("its checkpoint is not signed with this server's key"));
    const others = [];
    for (const head of new Set(shown)) if (/^[0-9a-f]{64}$/.test(head) && head !== heads[seq - 1] && await leads(found, statement(about, seq, head))) others.push(head);
    return { ...found, others };
  }

  /** Raises Wrong unless the proof shows the bundle's own entry. */
  async function proves(about, seq, found) {
    const { heads } = about;
    must(seq >= 1 && seq <= heads.length, say("the bundle ends with entry {last}: ask for a newer one, or its end was cut off", { last: heads.length }));
    must(await leads(found, statement(about, seq, heads[seq - 1])), say("it does not lead to this bundle's entry: it was altered, or the server told another story"));
  }

  /** Entries for which the server signed other heads, or has them in its log: than the bundle has, in two letters, or after the match was closed. */
  async function others(about, shown) {
    const bundle = new Set(), letters = new Set(), closed = new Set(), later = new Map(), imported = await ed25519(unhex(about.key));
    for (const { seq, head, signature, logged } of shown) {
      if (about.heads[seq - 1] === head) continue;
      if (!logged && !(/^[0-9a-f]{64}$/.test(head) && /^[0-9a-f]{128}$/.test(signature) && await holds(imported, unhex(signature), statement(about, seq, head)))) continue;
      if (seq >= 1 && seq <= about.heads.length) bundle.add(seq);
      else if (!logged && (later.get(seq) || head) !== head) letters.add(seq);
      else if (about.closed) closed.add(seq);
      if (!logged) later.set(seq, head);
    }
    return { bundle: [...bundle], letters: [...letters], closed: [...closed] };
  }

  /**
   * Who saw what; `keys` are of those who are believed.
   * @returns {Promise<{seen: {name: string, seq: number, time: string}[], unseen: string[], faults: string[], stories: {bundle: number[], letters: number[], closed: number[]}, forks: number[], proofs: number}>}
   *   faults: proofs that show nothing, and why; stories: entries of which the server signed two, and those after the end; forks: the sizes of its log that it signed twice
   */
  async function look(about, shown, keys) {
    const best = new Map(), faults = new Set(), ours = shown.filter(({ server, match }) => (server === null || server === about.server) && match === about.match), told = ours.filter(({ head }) => head !== undefined);
    let proofs = 0;
    for (const one of ours.filter(({ proof }) => proof !== undefined)) {
      try {
        const found = await logged(about, one.seq, one.proof, one.heads || []), { said, signatures } = found;
        told.push(...found.others.map((head) => ({ seq: one.seq, head, logged: true })));
        if (found.others.length) continue;
        await proves(about, one.seq, found);
        proofs++;
        for (const { name, id, raw, written } of keys) {
          const content = await by(name, id, raw, TIMED, (made) => `cosignature/v1\ntime ${timeOf(made)}\n${said}`, signatures), before = best.get(written);
          if (!content) continue;
          const time = timeOf(content);
          if (!before || one.seq > before.seq || (one.seq === before.seq && time < before.time)) best.set(written, { name, seq: one.seq, time });
        }
      } catch (error) {
        faults.add(say("A proof of entry {seq} shows nothing: {reason}.", { seq: one.seq, reason: error.message }));
      }
    }
    const stories = await others(about, told), forks = await forked(about, shown);
    const seen = [...best.values()].map(({ name, seq, time }) => ({ name, seq, time: time < 253402300800n ? new Date(Number(time) * 1000).toISOString().replace(".000Z", "Z") : `${time} s` }));
    return { seen, unseen: keys.filter(({ written }) => !best.has(written)).map(({ name }) => name), faults: [...faults], stories, forks, proofs };
  }

  return { key, proof, leads, match, letter, look };
})();
