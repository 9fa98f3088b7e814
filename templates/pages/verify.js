// A bundle checked in the browser, from its own bytes: the chain, the server's signatures, commitments, receipts,
// reports, records, and players' Ed25519 signatures where the letter is plain text. Each check names what fails and where.

const VERIFY = (() => {
  const utf8 = (text) => new TextEncoder().encode(text), text = (bytes) => new TextDecoder().decode(bytes);
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const unhex = (digits) => Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));
  const sha256 = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
  const string = (bytes) => joined([bytes.length >>> 24, bytes.length >>> 16, bytes.length >>> 8, bytes.length].map((byte) => byte & 255), bytes);

  class Wrong extends Error {}
  const must = (holds, reason) => { if (!holds) throw new Wrong(reason); };

  /** The files of a zip archive that compresses nothing, by its central directory. */
  function unzip(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), files = new Map();
    let end = bytes.length - 22;
    while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
    must(end >= 0, "not a bundle: no list of files");
    let at = view.getUint32(end + 16, true);
    for (let count = view.getUint16(end + 10, true); count > 0; count--) {
      must(view.getUint32(at, true) === 0x02014b50 && view.getUint16(at + 10, true) === 0, "not stored as a bundle stores it");
      const size = view.getUint32(at + 24, true), named = view.getUint16(at + 28, true), local = view.getUint32(at + 42, true);
      const name = text(bytes.subarray(at + 46, at + 46 + named));
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      must(!files.has(name), `${name} is there twice`);
      files.set(name, bytes.subarray(start, start + size));
      at += 46 + named + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return files;
  }

  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value && typeof value === "object") return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  async function chain(files) {
    must(files.has("transcript.jsonl"), "transcript.jsonl is missing");
    const entries = [];
    let head = "0".repeat(64);
    for (const line of text(files.get("transcript.jsonl")).trimEnd().split("\n")) {
      const entry = JSON.parse(line), seq = entries.length + 1;
      must(canonical(entry) === line, `entry ${seq} is not written as entries are`);
      must(entry.seq === seq, `entry ${seq} bears the number ${entry.seq}`);
      must(entry.prev === head, `entry ${seq} does not follow the entry before it`);
      head = await sha256(utf8(`pbem entry 1\n${line}`));
      entries.push({ ...entry, head });
    }
    return entries;
  }

  const ed25519 = (raw) => crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);

  async function server(files, entries) {
    const { server, match, server_key: key } = entries[0].body, lines = text(files.get("heads.txt") || new Uint8Array()).trimEnd().split("\n");
    const imported = await ed25519(unhex(key));
    must(lines.length === entries.length, "heads.txt does not have one line for each entry");
    for (const [at, entry] of entries.entries()) {
      const [seq, head, signature] = lines[at].split(" ");
      must(Number(seq) === entry.seq && head === entry.head, `heads.txt: entry ${entry.seq}: not the head of this entry`);
      const said = utf8(`pbem head 1\nserver ${server}\nmatch ${match}\nseq ${seq}\nhead ${head}\n`);
      must(await crypto.subtle.verify("Ed25519", imported, unhex(signature), said), `entry ${entry.seq}: the server's signature does not hold`);
    }
    return key;
  }

  const field = (paper, name) => (text(paper).split("\n").find((line) => line.startsWith(`${name} `)) || "").slice(name.length + 1);

  /** Every paper that entries name by its hash, with the letters that those name in turn. */
  async function papers(files, entries) {
    const count = { openings: 0, receipts: 0, reports: 0, records: 0, letters: 0 };
    const check = async (path, hash, seq, optional) => {
      if (!files.has(path)) { must(optional, `entry ${seq}: ${path} is missing`); return null; }
      must(await sha256(files.get(path)) === hash, `entry ${seq}: ${path} is not what the transcript names`);
      count[path.split("/")[0]]++;
      return files.get(path);
    };
    const revealed = new Set(entries.filter((entry) => entry.type === "revealed").map((entry) => entry.body.game));
    const letters = [];
    const letter = async (paper, path, seat, seq) => {
      await check(path, field(paper, "mail"), seq, false);
      letters.push({ path, seat });
    };
    for (const { type, body, seq } of entries) {
      const open = !revealed.has(body.game);
      if (type === "commitments") {
        for (const [seat, hash] of Object.entries(body.commitments)) {
          const paper = await check(`openings/game-${body.game}-seat-${seat}.txt`, hash, seq, open);
          if (!paper) continue;
          must(field(paper, "rules") === entries[0].body.rules && field(paper, "seat") === seat && field(paper, "game") === String(body.game),
            `entry ${seq}: the opening of seat ${seat} speaks of another game`);
          await letter(paper, `letters/game-${body.game}-setup-seat-${seat}.eml`, seat, seq);
        }
      } else if (type === "turn") {
        const name = `game-${body.game}-turn-${body.turn}`;
        await check(`reports/${name}.json`, body.reports, seq, open);
        for (const [seat, hash] of Object.entries(body.shown)) await check(`reports/${name}-seat-${seat}.json`, hash, seq, open);
        for (const [seat, hash] of Object.entries(body.orders)) {
          const paper = await check(`receipts/${name}-seat-${seat}.txt`, hash, seq, open);
          if (paper) await letter(paper, `letters/${name}-seat-${seat}.eml`, seat, seq);
        }
      } else if (type === "revealed") {
        await check(`records/game-${body.game}.pbem.toml`, body.record, seq, false);
      }
    }
    return { count, letters };
  }

  function split(bytes) {
    const length = (bytes[0] << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3];
    return [bytes.subarray(4, 4 + length), bytes.subarray(4 + length)];
  }

  /** Whether one of the player's keys signed the letter's text; null where this page cannot tell. */
  async function signed(letter, namespace, keys) {
    const raw = text(letter), at = raw.search(/\r?\n\r?\n/), head = raw.slice(0, at), body = raw.slice(at).replace(/^\r?\n\r?\n/, "");
    if (/^content-type:(?!\s*text\/plain)/im.test(head) || /^content-transfer-encoding:\s*(base64|quoted-printable)/im.test(head)) return null;
    const found = body.match(/-----BEGIN SSH SIGNATURE-----([\s\S]*?)-----END SSH SIGNATURE-----/);
    if (!found) return null;
    const blob = bytesOf(found[1].replace(/\s/g, ""));
    const [key, rest] = split(blob.subarray(10)), [space, after] = split(rest), [, hashed] = split(after), [hash, left] = split(hashed), [signature] = split(left);
    const [kind, tail] = split(key);
    if (text(kind) !== "ssh-ed25519") return null;
    const raw32 = split(tail)[0], name = { sha512: "SHA-512", sha256: "SHA-256" }[text(hash)];
    must(text(space) === namespace && keys.some((known) => known === btoa(String.fromCharCode(...key))), "is signed with a key that is not the player's");
    const imported = await ed25519(raw32), made = split(split(signature)[1])[0];
    const before = body.slice(0, found.index), lines = before.replace(/\r\n/g, "\n");
    for (const said of new Set([before, lines, lines.trim() + "\n", lines.trim()])) {
      const digest = new Uint8Array(await crypto.subtle.digest(name, utf8(said)));
      const told = joined(utf8("SSHSIG"), string(space), string([]), string(hash), string(digest));
      if (await crypto.subtle.verify("Ed25519", imported, made, told)) return true;
    }
    return null; // mail programs rewrap: `pbem verify` knows how
  }

  async function players(files, entries, letters) {
    const first = entries[0].body, keys = {};
    for (const { type, body } of entries) {
      if (type === "agreed") for (const [seat, player] of Object.entries(body.players)) keys[seat] = [...player.keys];
      if (type === "keys") keys[String(body.seat)].push(...body.added);
    }
    let held = 0;
    const open = [];
    for (const { path, seat } of letters) {
      const own = keys[seat].map((key) => key.public.split(/\s+/)[1]);
      let verdict;
      try { verdict = await signed(files.get(path), `pbem@${first.server}`, own); }
      catch (error) { throw new Wrong(`${path} ${error.message}`); }
      if (verdict) held++; else open.push(path);
    }
    return { held, open };
  }

  /** The checks one after the other, each {holds, said}; ends at the first that fails. */
  async function* run(base64) {
    let name = "bundle";
    try {
      const files = unzip(bytesOf(base64));
      yield { holds: true, said: `bundle: ${files.size} files` };
      name = "chain";
      const entries = await chain(files);
      yield { holds: true, said: `chain: ${entries.length} entries, unbroken; head ${entries[entries.length - 1].head}` };
      name = "server";
      const key = await server(files, entries);
      yield { holds: true, said: `server: ${entries.length} heads signed by the Ed25519 key ${key}` };
      name = "papers";
      const { count, letters } = await papers(files, entries);
      yield { holds: true, said: `papers: ${count.openings} commitments open, ${count.receipts} receipts, ${count.reports} reports, ${count.records} records and ${count.letters} letters are what the transcript names` };
      name = "players";
      const { held, open } = await players(files, entries, letters);
      for (const player of Object.values(entries[0].body.players)) yield { holds: true, said: `player ${player.name}: ${player.keys.map((each) => `${each.format} ${each.fingerprint}`).join(", ")}` };
      yield { holds: true, said: `players: ${held} letters signed with these keys${open.length ? `; ${open.length} cannot be judged here (pbem verify can): ${open.slice(0, 3).join(", ")}${open.length > 3 ? ", …" : ""}` : ""}` };
    } catch (error) {
      yield { holds: false, said: `${name}: ${error.message}` };
    }
  }

  return { run, bytesOf };
})();
