// The composer: a report in, a form to sign out. The state is what a report told its reader; the notation is the one
// source of what is drawn and judged. Nothing is fetched and nothing is sent: the page's policy forbids both.

(() => {
  const LONGEST = 1500;
  const byId = (id) => document.getElementById(id);
  let state = null, key = null, signed = null, asking = null;

  // Whose letters these are. Anybody can make a link: an address in it is believed only where it is the server's own.

  const baked = byId("data");
  /** The server that this page is for: its name, mail address and delimiter; null where it was made for none. */
  const home = baked ? JSON.parse(baked.textContent) : null;
  /** What goes into the text to be signed is one word of its kind, and no line of somebody else's. */
  const WORDS = { server: /^[a-z0-9.-]+$/, match: /^m[1-9][0-9]{0,8}$/, player: /^[a-z][a-z0-9_-]{0,31}$/, prev: /^[0-9a-f]{64}$/ };
  const NUMBERS = ["game", "turn", "rev", "seat"];

  const plain = (found) => Object.entries(WORDS).every(([name, word]) => typeof found[name] === "string" && word.test(found[name]))
    && NUMBERS.every((name) => found[name] === undefined || Number.isInteger(found[name]));

  /** The mailbox that letters go to, without the detail of a sub-address; "" where this is no plain address. */
  function mailbox(address, delimiter) {
    const parts = /^([a-z0-9._=+-]+)@([a-z0-9.-]+)$/.exec(address);
    return parts ? `${delimiter ? parts[1].split(delimiter)[0] : parts[1]}@${parts[2]}` : "";
  }

  /** Refuse what would send letters elsewhere; the mailbox that the player is to be asked about, or "". */
  function foreign(found) {
    if (!plain(found)) throw new Error("it does not read as one of the server's own");
    const to = mailbox(found.address, home ? home.delimiter : "+");
    if (home && (to !== home.address || found.server !== home.server)) {
      throw new Error(`its letters would go to ${found.address}, for ${found.server}, and this page is for ${home.address} alone`);
    }
    if (!home && to.split("@")[1] !== found.server) {
      throw new Error(`its letters would go to ${found.address}, which is not at ${found.server}`);
    }
    return home ? "" : to;
  }

  async function ask(found, to) {
    if (await keep((store) => store.get(`home ${to}`)).catch(() => undefined)) return begin(found);
    asking = { found, to };
    byId("work").hidden = true;
    byId("ask").hidden = false;
    byId("asked").textContent = `This says that you are ${found.player} in match ${found.match} at ${found.server}, and that your letters go to ${to}. Anybody can make such a link. Do you play there?`;
    byId("trust").focus();
  }

  byId("trust").addEventListener("click", () => {
    const { found, to } = asking;
    keep((store) => store.put(true, `home ${to}`)).catch(() => undefined);
    begin(found);
  });

  // Bringing in a report

  const fromBase64 = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/").replace(/[^A-Za-z0-9+/=]/g, "")), (char) => char.charCodeAt(0));

  async function inflated(text) {
    const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).text();
  }

  /** The position in a pasted text: the JSON itself, or the attachment in a letter's source. */
  function position(text) {
    const trimmed = text.trim();
    if (trimmed.startsWith("{")) return JSON.parse(trimmed);
    for (const part of text.split(/^--.*$/m)) {
      if (!/name="?[^"\n]*(position|setup)\.json/i.test(part)) continue;
      const body = part.split(/\r?\n\r?\n/).slice(1).join("\n");
      return JSON.parse(/base64/i.test(part) ? new TextDecoder().decode(fromBase64(body)) : body);
    }
    throw new Error("there is no position.json or setup.json in it");
  }

  function bring(found) {
    if (!found || !["position 1", "setup 1"].includes(found.pbem)) throw new Error("it is neither a position nor a setup");
    if (found.rules !== RULES.name) throw new Error(`it is of another game: ${found.rules}`);
    if (found.pbem === "position 1" && !(found.view && found.view.entitled)) throw new Error(`nothing is asked of you in turn ${found.turn}`);
    const to = foreign(found);
    return to ? ask(found, to) : begin(found);
  }

  function attempt(read) {
    Promise.resolve().then(read).then(bring).then(() => { byId("loaded").textContent = "Read."; }, (error) => {
      byId("loaded").textContent = `This cannot be used: ${error.message}.`;
    });
  }

  byId("bring").addEventListener("click", () => attempt(() => position(byId("pasted").value)));
  byId("file").addEventListener("change", (event) => attempt(async () => position(await event.target.files[0].text())));
  byId("practise").addEventListener("click", () => begin({ pbem: "setup 1", rules: RULES.name, seat: 1, options: {}, practice: true }));
  const linked = () => { if (location.hash.length > 1) attempt(async () => JSON.parse(await inflated(location.hash.slice(1)))); };
  addEventListener("hashchange", linked);

  // Working on it

  const isSetup = () => state.pbem === "setup 1";
  const judge = (text) => (isSetup() ? RULES.setup(state.options, state.seat, text) : RULES.orders(state.view, text));

  function begin(found) {
    state = found;
    asking = null;
    byId("ask").hidden = true;
    byId("to").textContent = state.address || "";
    if (state.server) byId("server").value = state.server;
    signed = null;
    byId("work").hidden = false;
    byId("load").open = false;
    byId("where").textContent = state.practice ? "A setup of seat 1 by the default options, for practice: there is nothing to send."
      : `Match ${state.match} at ${state.server}, game ${state.game}; you are ${state.player}, seat ${state.seat}.`;
    byId("task").textContent = isSetup() ? "Your setup" : `Your orders for turn ${state.turn}`;
    byId("send").hidden = Boolean(state.practice);
    byId("rev").value = state.rev || 1;
    byId("final").checked = false;
    byId("final").parentElement.hidden = isSetup();
    byId("notation").value = "";
    GAME.begin(state, write);
    update();
    byId("task").setAttribute("tabindex", "-1");
    byId("task").focus();
  }

  /** New notation from a click. */
  function write(text) {
    byId("notation").value = text;
    update();
  }

  function update() {
    signed = null;
    const text = byId("notation").value, judged = judge(text);
    const blank = !text.trim();
    GAME.draw(state, text, judged, byId("controls"), byId("boards"));
    const verdict = byId("verdict");
    verdict.className = judged.faults.length ? "bad" : "good";
    const count = judged.faults.length;
    verdict.replaceChildren(make("p", {}, count === 0 ? (isSetup() ? "A legal setup." : blank ? "No orders: legal." : "Legal orders.")
      : isSetup() && blank ? "Nothing is placed yet." : `${count} ${count === 1 ? "thing is" : "things are"} not as the rules want it:`));
    if (count && !(isSetup() && blank)) {
      verdict.append(make("ul", {}, judged.faults.slice(0, 12).map((fault) => make("li", {}, `${fault.message} (ruling ${fault.rule})`))));
    }
    if (!state.practice) form(judged);
  }

  function unsigned(judged) {
    const where = isSetup() ? `setup ${state.match} game ${state.game}` : `orders ${state.match} turn ${state.turn}`;
    const head = [where, `server ${state.server}`, `player ${state.player}`, `prev ${state.prev}`, `rev ${Math.max(1, Number(byId("rev").value) || 1)}`];
    if (!isSetup() && byId("final").checked) head.push("final");
    return [...head, ...(judged.text ? [GAME.oneLine ? judged.text.split("\n").join(" ") : judged.text] : []), "end"].join("\n") + "\n";
  }

  function form(judged) {
    const legal = !judged.faults.length;
    const text = legal ? (signed || unsigned(judged)) : "";
    byId("form").value = text;
    byId("copy").disabled = !legal;
    byId("sign").disabled = !(legal && key) || Boolean(signed);
    const subject = isSetup() ? `[pbem ${state.match}] setup, game ${state.game}` : `[pbem ${state.match}] orders, turn ${state.turn}`;
    const link = `mailto:${state.address}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text.replace(/\n/g, "\r\n"))}`;
    const fits = legal && link.length < LONGEST;
    const mail = byId("mail");
    if (fits) { mail.href = link; mail.removeAttribute("aria-disabled"); }
    else { mail.removeAttribute("href"); mail.setAttribute("aria-disabled", "true"); }
    byId("sent").textContent = legal && !fits ? "Too long for such a link: copy the text into a letter." : "";
  }

  byId("notation").addEventListener("input", update);
  byId("final").addEventListener("change", update);
  byId("rev").addEventListener("input", update);
  byId("copy").addEventListener("click", async () => {
    byId("form").select();
    try { await navigator.clipboard.writeText(byId("form").value); byId("sent").textContent = "Copied."; }
    catch { byId("sent").textContent = document.execCommand("copy") ? "Copied." : "Copy the marked text."; }
  });

  // Signing: SSH signatures (PROTOCOL.sshsig of OpenSSH) by an Ed25519 key that never leaves this browser

  const utf8 = (text) => new TextEncoder().encode(text);
  const joined = (...parts) => {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => { whole.set(part, at); return at + part.length; }, 0);
    return whole;
  };
  const string = (bytes) => joined(new Uint8Array([bytes.length >>> 24, bytes.length >>> 16, bytes.length >>> 8, bytes.length].map((byte) => byte & 255)), bytes);
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

  function keep(action) {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("pbem", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const request = action(opening.result.transaction("keys", "readwrite").objectStore("keys"));
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      };
    });
  }

  async function publicBlob() {
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", key.publicKey));
    return joined(string(utf8("ssh-ed25519")), string(raw));
  }

  async function showKey() {
    byId("public").value = key ? `ssh-ed25519 ${base64(await publicBlob())} pbem@browser` : "";
    byId("make").disabled = Boolean(key);
    byId("sign-other").disabled = !key;
    byId("sign").hidden = !key;
    if (state) update();
  }

  byId("make").addEventListener("click", async () => {
    try {
      key = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
      await keep((store) => store.put(key, "player"));
      await showKey();
      byId("keyed").textContent = "Made. Send the public key with register or key add; what then wants a signature is signed here.";
    } catch (error) {
      key = null;
      byId("keyed").textContent = `This browser cannot keep such a key: ${error.message}`;
    }
  });

  /** The text with the signature beneath it, as `ssh-keygen -Y sign -n pbem@SERVER` makes it. */
  async function withSignature(text, server) {
    const namespace = utf8(`pbem@${server}`), sha512 = utf8("sha512"), none = new Uint8Array();
    const magic = utf8("SSHSIG"), digest = new Uint8Array(await crypto.subtle.digest("SHA-512", utf8(text)));
    const told = joined(magic, string(namespace), string(none), string(sha512), string(digest));
    const made = new Uint8Array(await crypto.subtle.sign("Ed25519", key.privateKey, told));
    const blob = joined(magic, new Uint8Array([0, 0, 0, 1]), string(await publicBlob()), string(namespace), string(none), string(sha512), string(joined(string(utf8("ssh-ed25519")), string(made))));
    const lines = base64(blob).match(/.{1,70}/g);
    return text + ["-----BEGIN SSH SIGNATURE-----", ...lines, "-----END SSH SIGNATURE-----", ""].join("\n");
  }

  byId("sign").addEventListener("click", async () => {
    signed = await withSignature(byId("form").value, state.server);
    form(judge(byId("notation").value));
    byId("sent").textContent = "Signed: the text and the letter now carry the signature.";
  });

  byId("sign-other").addEventListener("click", async () => {
    const text = byId("other").value.replace(/\r\n/g, "\n").trim() + "\n", server = (text.match(/^server (\S+)$/m) || [])[1] || byId("server").value.trim();
    if (!server || text.includes("-----BEGIN")) {
      byId("keyed").textContent = server ? "It is signed already." : "The form names no server: say which one it is for, such as play.example.";
      return;
    }
    byId("other").value = await withSignature(text, server);
    byId("keyed").textContent = "Signed: copy the whole of it into a letter.";
  });

  if (home) byId("server").value = home.server;
  keep((store) => store.get("player")).then((found) => { key = found || null; return showKey(); }, () => undefined);
  linked();
})();
