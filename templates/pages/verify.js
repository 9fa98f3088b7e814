// A bundle checked in the browser, from its own bytes: the chain, the server's signatures, commitments, receipts,
// reports, records, and players' signatures, of the kinds of SSH that sshsig.js knows. Each check names what fails and where. What a
// browser cannot check is said by each check that leaves something open.

const VERIFY = (() => {
  const { Wrong, must, utf8, text, json, canonical, field, holders, hex, sha256 } = BUNDLE;
  const unhex = (digits) => Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));

  const proper = (raw, sound = ED25519.isPoint(raw)) => must(sound, say("the key {key} is none under which a signature proves anything", { key: hex(raw) }));
  const ed25519 = (raw) => {
    proper(raw);
    return ED25519.key(raw);
  };
  const { holds } = ED25519;

  /** The lines of a file, each of which has its end. */
  function linesOf(files, path) {
    must(files.has(path), say("{path} is missing", { path }));
    const lines = text(files.get(path)).split("\n");
    must(lines.pop() === "", say("{path} does not end with a line", { path }));
    return lines;
  }

  async function chain(files) {
    const entries = [];
    let head = "0".repeat(64);
    for (const line of linesOf(files, "transcript.jsonl")) {
      const seq = entries.length + 1;
      let entry;
      try {
        entry = json(line, say("transcript.jsonl: entry {seq}", { seq }));
      } catch (error) {
        throw error instanceof Wrong ? error : new Wrong(say("entry {seq} cannot be read", { seq }));
      }
      must(canonical(entry) === line, say("entry {seq} is not written as entries are", { seq }));
      must(entry.seq === seq, say("entry {seq} bears the number {number}", { seq, number: entry.seq }));
      must(entry.prev === head, say("entry {seq} does not follow the entry before it", { seq }));
      head = await sha256(utf8(`pbem entry 1\n${line}`));
      entries.push({ ...entry, head });
    }
    const { bundle, server, match, terms, rules } = entries[0].body;
    must(bundle === FORMS.version, say("a bundle of version {version}, which this page cannot read", { version: bundle }));
    must(await sha256(utf8(`pbem terms 1\n${canonical({ server, match, terms })}`)) === rules, say("entry 1: the hash of the agreed rules is not that of the terms"));
    return entries;
  }

  async function server(files, entries) {
    const { server, match, server_key: key } = entries[0].body, lines = linesOf(files, "heads.txt");
    const imported = await ed25519(unhex(key));
    must(lines.length === entries.length, say("heads.txt does not have one line for each entry"));
    for (const [at, entry] of entries.entries()) {
      const [seq, head, signature] = lines[at].split(" ");
      must(Number(seq) === entry.seq && head === entry.head, say("heads.txt: entry {seq}: not the head of this entry", { seq: entry.seq }));
      const said = utf8(`pbem head 1\nserver ${server}\nmatch ${match}\nseq ${seq}\nhead ${head}\n`);
      must(await holds(imported, unhex(signature), said), say("entry {seq}: the server's signature does not hold", { seq: entry.seq }));
    }
    return key;
  }

  /** Every paper that entries name by its hash, with the letters that those name in turn; `cut`: letters are left out. */
  async function papers(files, entries, cut) {
    const count = { openings: 0, receipts: 0, steps: 0, withdrawals: 0, traces: 0, reports: 0, records: 0, letters: 0, evidence: 0 }, letters = [];
    const named = new Set(["transcript.jsonl", "heads.txt", "commitments.sha256"]), commitments = [];
    const revealed = new Set(entries.filter((entry) => entry.type === "revealed").map((entry) => entry.body.game));
    const running = entries.find((entry) => entry.type === "commitments" && !revealed.has(entry.body.game));
    const begun = entries.filter(({ type }) => type === "commitments" || type === "sealed").length; // games
    const closed = entries.at(-1).type === "closed";
    const unshown = (game) => !closed && !revealed.has(game); // what was asked for may still be answered
    const hidden = (seq) => running !== undefined && seq > running.seq;
    const check = async (path, hash, seq, optional) => {
      named.add(path);
      if (!files.has(path)) { must(optional, say("entry {seq}: {path} is missing", { seq, path })); return null; }
      must(await sha256(files.get(path)) === hash, say("entry {seq}: {path} is not what the transcript names", { seq, path }));
      count[path.split("/")[0]]++;
      return files.get(path);
    };
    const letter = async (name, hash, evidence, seat, seq, optional, kind = "") => {
      await check(`letters/${name}.eml`, hash, seq, cut || optional);
      if (evidence) await check(`evidence/${name}.txt`, evidence, seq, cut || optional);
      letters.push({ name, seat: String(seat), seq, evidence: Boolean(evidence), kind });
    };
    const mailbox = async (seat, player, seq) => {
      if (player.mailbox) await check(`evidence/mailbox-${seq}-seat-${seat}.txt`, player.mailbox, seq, cut || hidden(seq));
    };
    // The secret of the reply addresses for what is asked for, for players without a key.
    const replies = async (hash, name, seq, open) => {
      if (!hash) return;
      const path = `evidence/replies-${name}.txt`, { server, match } = entries[0].body, paper = await check(path, hash, seq, cut || open);
      const salt = paper && field(paper, "salt");
      must(!paper || /^[0-9a-f]{64}$/.test(salt) && text(paper) === `pbem replies 1\nserver ${server}\nmatch ${match}\nsalt ${salt}\n`, say("entry {seq}: {path} is not what the transcript names", { seq, path }));
    };
    // What could not be played waited for a turn: it came before that was asked for; default orders, before a miss without which the turn never came.
    const waited = (path, paper, list) => {
      const [, game, what, kind, seat] = path.match(/game-(\d+)-(setup|default|turn-\d+)-(withdrawn|unused)-seat-(\d+)-/) || [];
      const of = (type, turn) => entries.find((entry) => entry.type === type && String(entry.body.game) === game && (turn === undefined || entry.body.turn === turn));
      const { reason, turns } = list.endsWith("-end") && of("ended") ? of("ended").body : {}, turn = Number((what || "").slice(5)), opened = turn === 1 ? of("commitments") : of("turn", turn - 1);
      if (what === "default") return kind === "withdrawn" || (reason !== "rules" && entries.some(({ type, body }) => type === "missed" && String(body.game) === game && String(body.seat) === seat && body.turn === turns + 1));
      return !turn || ((turns === undefined || (reason !== "rules" && turn === turns + 1)) && (kind === "withdrawn" || Boolean(opened) && field(paper, "received") <= opened.time));
    };
    // What was set aside: a list of papers by their hashes, each of which names its letter.
    const trace = async (name, hash, seq, optional) => {
      const list = hash && await check(`traces/${name}.txt`, hash, seq, optional);
      for (const [, listed, path] of list ? text(list).matchAll(/^([0-9a-f]{64})  ([a-z]+\/[a-z0-9-]+\.txt)$/gm) : []) {
        const paper = await check(path, listed, seq, optional), stem = path.slice(path.indexOf("/") + 1, -4);
        must(!paper || waited(path, paper, name), say("entry {seq}: {path} was not set aside there", { seq, path }));
        if (paper) await letter(stem, field(paper, "mail"), field(paper, "evidence"), field(paper, "seat"), seq, optional, "aside");
      }
    };
    // What a sealed match commits to and tells: a list of commitments, and the letters, of which one may bring several steps.
    const commit = async (path, hash, seq) => {
      const found = files.has(path);
      if (found && !commitments.includes(`${hash}  ${path}\n`)) { await check(path, hash, seq, false); commitments.push(`${hash}  ${path}\n`); }
    };
    let brought = "";
    for (const { type, body, seq } of entries) {
      const open = !revealed.has(body.game);
      if (type === "agreed") {
        for (const [seat, { mail, evidence }] of Object.entries(body.letters)) await letter(`agreed-seat-${seat}`, mail, evidence, seat, seq, false);
        for (const [seat, player] of Object.entries(body.players)) await mailbox(seat, player, seq);
        await replies(body.proposal, "game-0", seq, false);
        await replies(body.replies, "game-1", seq, unshown(1));
      } else if (type === "commitments") {
        await trace(`game-${body.game}-setup`, body.trace, seq, open);
        await replies(body.replies, seq, seq, open);
        for (const [seat, hash] of Object.entries(body.commitments)) {
          const path = `openings/game-${body.game}-seat-${seat}.txt`, paper = await check(path, hash, seq, open);
          if (!paper) continue;
          commitments.push(`${hash}  ${path}\n`);
          must(field(paper, "rules") === entries[0].body.rules && field(paper, "seat") === seat && field(paper, "game") === String(body.game),
            say("entry {seq}: the opening of seat {seat} speaks of another game", { seq, seat }));
          await letter(`game-${body.game}-setup-seat-${seat}`, field(paper, "mail"), field(paper, "evidence"), seat, seq, open);
        }
      } else if (type === "sealed") {
        await trace(`game-${body.game}-setup`, body.trace, seq, false);
        for (const [seat, hash] of Object.entries(body.receipts)) {
          const paper = await check(`receipts/game-${body.game}-setup-seat-${seat}.txt`, hash, seq, false);
          await letter(`game-${body.game}-seal-seat-${seat}`, field(paper, "mail"), "", seat, seq, false);
          await commit(`openings/game-${body.game}-seat-${seat}.txt`, body.commitments[seat], seq);
        }
      } else if (type === "step") {
        if (brought !== body.mail) await letter(`step-${seq}-seat-${body.seat}`, body.mail, "", body.seat, seq, false);
        if (body.path) {
          must(files.has(body.path), say("entry {seq}: {path} is missing", { seq, path: body.path }));
          await commit(body.path, body.paper, seq);
          const orders = field(files.get(body.path), "orders");
          if (orders) await commit(`openings/game-${body.game}-turn-${body.turn}-seat-${body.seat}.txt`, orders, seq);
        }
      } else if (type === "turn") {
        const name = `game-${body.game}-turn-${body.turn}`;
        await trace(name, body.trace, seq, open);
        await replies(body.replies, seq, seq, open);
        await check(`reports/${name}.json`, body.reports, seq, open);
        for (const [seat, hash] of Object.entries(body.shown)) await check(`reports/${name}-seat-${seat}.json`, hash, seq, open);
        for (const [seat, hash] of Object.entries(body.orders || {})) {
          const paper = await check(`receipts/${name}-seat-${seat}.txt`, hash, seq, open);
          if (paper) await letter(`${name}-seat-${seat}`, field(paper, "mail"), field(paper, "evidence"), seat, seq, open, field(paper, "orders"));
        }
      } else if (type === "ended" || type === "closed") {
        await trace(`game-${body.game || begun + 1}-end`, body.trace, seq, false);
      } else if (type === "revealed") {
        await check(`records/game-${body.game}.pbem.toml`, body.record, seq, false);
        await replies(body.replies, `game-${body.game + 1}`, seq, unshown(body.game + 1));
      } else if (type === "keys") {
        for (const [who, hash] of Object.entries(body.letters)) await check(`letters/keys-${seq}-seat-${body.seat}-${who}.eml`, hash, seq, cut || hidden(seq));
      } else if (FORMS.letters[type]) {
        await letter(`${FORMS.letters[type]}-${seq}-seat-${body.seat}`, body.mail, body.evidence, body.seat, seq, hidden(seq));
        if (type === "substituted") await mailbox(body.seat, body.player, seq);
      }
      if (type !== "turn") brought = type === "step" ? body.mail : "";
    }
    must(text(files.get("commitments.sha256") || new Uint8Array()) === commitments.join(""), say("commitments.sha256 is not the list of the commitments"));
    for (const path of files.keys()) must(named.has(path), say("{path} is named by no entry", { path }));
    return { count, letters };
  }

  /** A step of a sealed game as its entry and its paper tell it. */
  function told(files, { seq, body }) {
    const { turn, seat, step, paper, path } = body, lines = path ? text(files.get(path)).split("\n") : [];
    const from = lines.findIndex((line) => line && !line.includes(" ")), values = Object.fromEntries(lines.slice(1, from).map((line) => line.split(" ")));
    const found = { seq, turn, seat, step, paper, ...(path ? { values } : {}), lines: lines.slice(from + 1, -2) };
    must(FOLD.isStep(found) && Boolean(path) === (step !== "commit"), say("entry {seq}: this is no step of such a game", { seq }));
    return found;
  }

  /** Whether the steps of sealed games were owed, cite what they must, open what was committed to, and come to these reports. */
  async function folded(files, entries) {
    const { server, match, rules } = entries[0].body;
    let count = 0;
    for (const { body: { game, options, commitments } } of entries.filter(({ type }) => type === "sealed")) {
      const of = (wanted) => entries.filter(({ type, body }) => type === wanted && body.game === game), steps = of("step").map((entry) => told(files, entry));
      const place = ({ seat, seq }) => ({ server, match, game, seat, player: holders(entries, seq)[seat].name });
      let table;
      try {
        await FOLD.check({ terms: rules, commitments }, steps, place);
        table = FOLD.fold({ ...options, seats: Object.keys(commitments).length }, steps);
      } catch (error) { throw new Wrong(say("game {game}: {reason}", { game, reason: error.message })); }
      const turns = of("turn");
      must(turns.length === table.played.length, say("game {game}: its steps end {turns} turns, and there are {entries} in the transcript", { game, turns: table.played.length, entries: turns.length }));
      for (const [at, { seq }] of turns.entries()) {
        const path = `reports/game-${game}-turn-${at + 1}.json`;
        must(canonical(json(text(files.get(path)), path).reports) === canonical(table.played[at]), say("entry {seq}: {path} does not follow from the steps", { seq, path }));
      }
      count += steps.length;
    }
    return count;
  }

  /** Whether records, from which this page draws, say what openings, reports and the entries of the ends say. */
  function drawn(files, entries) {
    const games = BUNDLE.games(files);
    for (const { number, seats, turns, left, result } of games) {
      const path = `records/game-${number}.pbem.toml`;
      const ended = entries.find((entry) => entry.type === "ended" && entry.body.game === number);
      const winners = result && (result.winner ? [result.winner] : result.winners || (["rules", "agreement"].includes(result.reason) ? seats.map((_, at) => at + 1) : []));
      must(ended && result && canonical(ended.body.winners) === canonical(winners) && canonical(ended.body.scores) === canonical(result.scores) && ended.body.reason === result.reason,
        say("{path}: its result is not that of the entry `ended`", { path }));
      const played = entries.filter((entry) => entry.type === "turn" && entry.body.game === number);
      // What was secret in a sealed game may have ended it sooner, or let nobody choose in what was left.
      const sealed = Boolean(entries[0].body.terms.sealed), count = sealed ? ended.body.turns : played.length;
      must(count === turns.length, say("{path}: {turns} turns, and {entries} in the transcript", { path, turns: turns.length, entries: count }));
      const begun = entries.find(({ type, body }) => (type === "commitments" || type === "sealed") && body.game === number).seq;
      const gone = entries.filter(({ type, seq }) => type === "left" && seq > begun && seq < ended.seq);
      const due = ({ seq }) => played.filter((entry) => entry.seq < seq).length + 1;
      const listed = gone.map((entry) => [due(entry), entry.body.seat]).sort(([one, first], [two, second]) => one - two || first - second);
      must(canonical(listed) === canonical(left.map(({ seat, turn }) => [turn, seat])), say("{path}: not those who left, by the transcript", { path }));
      seats.forEach(({ name, setup }, at) => {
        const opening = text(files.get(`openings/game-${number}-seat-${at + 1}.txt`));
        must(name === holders(entries, ended.seq)[at + 1].name, say("{path}: seat {seat} is another player's", { path, seat: at + 1 }));
        must(opening.slice(opening.indexOf("\nsetup\n")) === `\nsetup\n${setup}\nend\n`, say("{path}: the setup of seat {seat} is not that of its opening", { path, seat: at + 1 }));
      });
      if (sealed) turns.forEach((given, at) => Object.entries(given).forEach(([seat, orders]) => {
        const opening = files.get(`openings/game-${number}-turn-${at + 1}-seat-${seat}.txt`), held = opening ? text(opening) : "\norders\nend\n";
        must(held.slice(held.indexOf("\norders\n")) === `\norders\n${orders && `${orders}\n`}end\n`, say("{path}: the orders of seat {seat} in turn {turn} are not those of their opening", { path, seat, turn: at + 1 }));
      }));
      played.forEach(({ body, seq }, at) => {
        const told = `reports/game-${number}-turn-${at + 1}.json`, { game, turn } = json(text(files.get(told)), told);
        must(game === number && turn === at + 1 && body.turn === turn, say("entry {seq}: the reports are those of another turn", { seq }));
      });
    }
    return games.length;
  }

  /** Whether the match ended as its games say, where they do: if it was played to its length, or ended with its only game, or without a winner. */
  function closed(entries) {
    const { type, seq, body: { winners, scores, reason } } = entries[entries.length - 1], { kind, victory } = entries[0].body.terms;
    if (type !== "closed") return;
    const games = entries.filter((entry) => entry.type === "ended").map(({ body }) => body), last = games[games.length - 1], single = kind === "single";
    const totals = Object.keys(entries[0].body.players).map((_, seat) => games.reduce((sum, game) => sum + game.scores[seat], 0)), most = Math.max(...totals);
    const first = totals.flatMap((total, seat) => (total === most ? [seat + 1] : []));
    const due = reason === "agreed length" ? (single || victory === "last game" ? last.winners : first)
      : single && last && reason === last.reason ? last.winners
        : ["abandoned", "annulled"].includes(reason) || reason.startsWith("operator: ") ? [] : winners;
    must(canonical(winners) === canonical(due) && canonical(scores) === canonical(totals), say("entry {seq}: winner and scores of the match do not follow from its games", { seq }));
  }

  // Players' letters: plain text with the signature beneath it, or a text attachment with its signature beside it.

  const binary = (bytes) => { let made = ""; for (const byte of bytes) made += String.fromCharCode(byte); return made; };
  const fromBinary = (chars) => Uint8Array.from(chars, (char) => char.charCodeAt(0));

  /** Base64 undone; nothing where it is damaged, which makes the file useless and accuses nobody. */
  function decoded(body) {
    try { return atob(body.replace(/[^A-Za-z0-9+/=]/g, "")); } catch { return ""; }
  }

  /** What stands between the lines that are a delimiter and nothing else. */
  function pieces(body, delimiter) {
    const found = [];
    let ended = false;
    for (const line of body.match(/[^\n]*\n|[^\n]+$/g) || []) {
      const rest = line.startsWith(delimiter) ? line.slice(delimiter.length).replace(/[ \t\r\n]+$/, "") : " ";
      if (!ended && !rest) found.push("");
      else if (rest === "--") ended = true;
      else if (!ended && found.length) found.push(found.pop() + line);
    }
    return found.map((piece) => piece.replace(/\r?\n$/, ""));
  }

  /**
   * The leaves of a letter: transfer encodings undone, containers opened (RFC 2045, 2046).
   * @param {string} raw a character for each octet
   * @param {number} depth of containers around it
   * @returns {Generator<{file: string, type: string, content: Uint8Array}>}
   */
  function* leaves(raw, depth = 0) {
    const at = raw.search(/\r?\n\r?\n/), head = (at < 0 ? raw : raw.slice(0, at)).replace(/\r?\n[ \t]+/g, " "), body = at < 0 ? "" : raw.slice(at).replace(/^\r?\n\r?\n/, "");
    const value = (name) => (head.match(new RegExp(`^${name}:(.*)$`, "im")) || ["", ""])[1].trim();
    const boundary = value("content-type").match(/^multipart\/.*boundary=(?:"([^"]*)"|([^\s;]+))/i);
    if (boundary && depth < 8) {
      for (const part of pieces(body, `--${(boundary[1] ?? boundary[2]).trimEnd()}`)) yield* leaves(part, depth + 1);
      return;
    }
    const encoding = value("content-transfer-encoding").toLowerCase();
    const content = encoding === "base64" ? decoded(body)
      : encoding === "quoted-printable" ? body.replace(/(?<![ \t])[ \t]+(?=\r?$)/gm, "").replace(/=\r?\n/g, "").replace(/=([0-9A-F]{2})/gi, (_, pair) => String.fromCharCode(parseInt(pair, 16))) : body;
    const file = `${value("content-disposition")};${value("content-type")}`.match(/(?:file)?name="?([^";]+)"?/i);
    yield { file: file ? file[1].trim() : "", type: value("content-type").split(";")[0].toLowerCase(), content: fromBinary(content) };
  }

  /**
   * The first SSH signature outside of quotes of each leaf of a letter, in base64, with the texts that it may stand under.
   * @param {Uint8Array} letter
   * @returns {Generator<[string, string[]]>}
   */
  function* signatures(letter) {
    const found = [...leaves(binary(letter))].filter(({ file, type }) => file || !type || type === "text/plain");
    for (const { file, content } of found) {
      const said = text(content), isQuoted = (at) => said.slice(said.lastIndexOf("\n", at) + 1, at).trimStart().startsWith(">");
      const armor = [...said.matchAll(new RegExp(SSHSIG.ARMOR, "g"))].find(({ index }) => !isQuoted(index));
      if (!armor) continue;
      const beside = file && !said.slice(0, armor.index).trim();
      yield [armor[1], beside ? found.filter((other) => other.file && `${other.file}.sig` === file).map((other) => text(other.content)) : [said.slice(0, armor.index)]];
    }
  }

  /** Whether a letter is one plain text with one signature, in which nobody can find another: only such letters accuse anybody. */
  function isPlain(letter) {
    const raw = binary(letter), at = raw.search(/\r?\n\r?\n/), fields = raw.slice(0, at).split(/\r?\n(?![ \t])/).filter(Boolean);
    return at >= 0 && raw.split("-----BEGIN ").length === 2 && fields.every((field) => /^[!-9;-~]+:/.test(field)
      && (!/^content-/i.test(field) || /^content-(?:type: text\/plain(?:; charset="?(?:utf-8|us-ascii)"?)?|transfer-encoding: [78]bit)$/i.test(field)));
  }

  /** The text that one of the player's keys signed, if there is any that fits; null where this page cannot tell. */
  async function signed(letter, namespace, keys, fits) {
    const plain = isPlain(letter);
    let other = null;
    for (const [armor, texts] of signatures(letter)) {
      const found = SSHSIG.read(armor), isOwn = found && found.namespace === namespace && keys.includes(found.key);
      must(!plain || !found || isOwn, say("is signed with a key that is not the player's"));
      if (!isOwn || !SSHSIG.isKnown(found)) continue;
      if (plain) proper(found.raw, await SSHSIG.isSound(found));
      const said = await SSHSIG.under(found, texts);
      if (said !== null && fits(said)) return said;
      if (plain) other = said;
    }
    return other; // none: other formats, rewrapped on its way, or beside others: `pbem verify` knows which counts
  }

  /** What mail and people put into words, between or behind them, and nobody reads: docs/bundle.md, 6.3. */
  const bare = (said) => SSHSIG.unlinked(said.replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, "").replace(/\r\n|[\r\v\f\x85\u2028\u2029]/g, "\n").replace(/[^\S\n]|[\x1c-\x1f]/g, " "))
    .split("\n").filter((line) => !/^ *>/.test(line)).join(" ").replace(/(?<![,;.:])[,;.:]+(?=\s|$)/g, " ").replace(/\s+/g, " ");

  /** Whether a signed text may be the orders, the setup or the seal of a place, whatever else is in it. */
  const isOf = (said, match, number) => [...bare(said).matchAll(/\b(?:setup|orders|seal) (m\d+) (?:game|turn) (\d+)/gi)].some((found) => found[1].toLowerCase() === match && Number(found[2]) === number);

  async function players(files, forms, entries, letters, cut) {
    const { server, match, players: agreed } = entries[0].body;
    const keys = Object.fromEntries(Object.entries(agreed).map(([seat, player]) => [seat, [...player.keys]]));
    for (const { type, body } of entries) {
      if (type === "keys") keys[String(body.seat)].push(...body.added);
      if (type === "substituted") keys[String(body.seat)].push(...body.player.keys);
    }
    let held = 0;
    const open = [], missing = [];
    for (const { name, seat, evidence, kind } of letters) {
      const path = cut ? `forms/${name}.txt` : `letters/${name}.eml`, content = cut ? forms[name] && utf8(`\n\n${forms[name]}`) : files.get(path);
      if (!content) { missing.push(path); continue; }
      if (evidence) { open.push(path); continue; }
      const [, wanted] = kind ? [] : name.match(/^game-\d+-turn-(\d+)-/) || name.match(/^game-(\d+)-(?:setup|seal)-/) || [];
      const fits = (words) => !wanted || isOf(words, match, Number(wanted));
      let said;
      try { said = await signed(content, `pbem@${server}`, keys[seat].map((key) => key.public.split(/\s+/)[1]), fits); }
      catch (error) { throw new Wrong(`${path} ${error.message}`); }
      must(said !== null || !cut, say("{path}: the signature does not hold", { path }));
      if (said === null) { open.push(path); continue; }
      must(fits(said), say("{path} is signed, but for another place", { path }));
      held++;
    }
    return { held, open, missing };
  }

  const some = (paths) => `${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ", …" : ""}`;

  /**
   * The checks one after the other; ends at the first that fails.
   * @param {string} base64 the bundle, as raw deflate
   * @param {?Object<string, string>} forms the signed forms of a bundle without letters, by the letters' names
   * @returns {AsyncGenerator<{holds: ?boolean, said: string}>} holds is null for what is left open
   */
  async function* run(base64, forms = null) {
    let failed = (fault) => say("bundle: {fault}", { fault });
    try {
      const cut = Boolean(forms), files = BUNDLE.unzip(await BUNDLE.unpacked(base64));
      yield { holds: true, said: cut ? say("bundle: {files} files; the players' letters are not among them", { files: files.size }) : say("bundle: {files} files", { files: files.size }) };
      failed = (fault) => say("chain: {fault}", { fault });
      const entries = await chain(files);
      yield { holds: true, said: say("chain: {entries} entries, unbroken; head {head}", { entries: entries.length, head: entries[entries.length - 1].head }) };
      failed = (fault) => say("server: {fault}", { fault });
      const key = await server(files, entries);
      yield { holds: true, said: say("server: {heads} heads signed by the Ed25519 key {key}", { heads: entries.length, key }) };
      failed = (fault) => say("papers: {fault}", { fault });
      const { count, letters } = await papers(files, entries, cut);
      yield { holds: true, said: cut ? say("papers: {openings} commitments open, {receipts} receipts, {reports} reports, {records} records are what the transcript names", count)
        : say("papers: {openings} commitments open, {receipts} receipts, {reports} reports, {records} records and {letters} letters are what the transcript names", count) };
      if (entries[0].body.terms.sealed) {
        failed = (fault) => say("steps: {fault}", { fault });
        yield { holds: true, said: say("steps: {steps}, each as it was due; the reports follow from them", { steps: await folded(files, entries) }) };
      }
      failed = (fault) => say("games: {fault}", { fault });
      const games = drawn(files, entries);
      closed(entries);
      yield { holds: true, said: say("games: {games} drawn on this page from these very records and reports", { games }) };
      failed = (fault) => say("players: {fault}", { fault });
      const { held, open, missing } = await players(files, forms || {}, entries, letters, cut);
      const newcomers = entries.filter(({ type }) => type === "substituted").map(({ body }) => body.player);
      for (const { name: player, keys } of [...Object.values(entries[0].body.players), ...newcomers]) {
        const told = keys.map((each) => `${each.format} ${each.fingerprint}`).join(", ") || say("no key, by mailbox");
        yield { holds: true, said: say("player {player}: {keys}", { player, keys: told }) };
      }
      yield { holds: true, said: missing.length ? say("players: {letters} letters signed with these keys; {missing} are not published", { letters: held, missing: missing.length }) : say("players: {letters} letters signed with these keys", { letters: held }) };
      if (open.length) yield { holds: null, said: open.length === 1
        ? say("players: 1 letter that pbem verify can judge, but this page cannot (rewrapped on the way, or signed with a kind of key that only it knows): {names}", { names: some(open) })
        : say("players: {letters} letters that pbem verify can judge, but this page cannot (rewrapped on the way, or signed with a kind of key that only it knows): {names}", { letters: open.length, names: some(open) }) };
    } catch (error) {
      const fault = error instanceof Wrong ? error.message : say("cannot be read: {reason}", { reason: error.message });
      yield { holds: false, said: failed(fault) };
    }
  }

  return { run, ed25519, holds, unhex, leaves, binary };
})();
