// The board on which one plays: a letter in, a signed letter out. What happened last is played on it first; then it is
// one's move, or one waits. The state is what the letter told its reader; the notation is the one source of what is drawn
// and judged. Nothing is fetched and nothing is sent: the page's policy forbids both.

/**
 * What the script of a game, rules/GAME.js, says of a setup, by the options that are not the default, and of orders, by the view in a report.
 * @typedef {{rule: string, token: ?string, message: string, at: number, missing: ?(boolean|string)}} Fault by ruling; at: where in the text; missing: nothing is wrong, but this, or something, is not there yet
 * @typedef {{faults: Fault[], text: string}} Judged text is the canonical one if there are no faults
 */
const COMPOSER = (() => {
  const LONGEST = 1900, SHOWN = 12, PACE = 2400; // milliseconds that one board's part of a turn is looked at
  // In the page at home, drafts are this tab's alone: whoever listens at its port later could read what is kept.
  const drafts = parent === window ? localStorage : sessionStorage;
  /** @type {?Draft} */
  let draft = null;
  let state = null, judged = null, asking = null, key = null, signed = "", unsignedWanted = false, least = 0, playing = 0;

  // Bringing in a letter

  async function ask(found, to) {
    if (await KEYRING.keep((store) => store.get(`home ${to}`)).catch(() => undefined)) return begin(found);
    asking = { found, to };
    byId("work").hidden = byId("bar").hidden = true;
    byId("ask").hidden = false;
    byId("asked").textContent = say("This says that you are {player} in match {match} at {server}, and that your letters go to {to}. Anybody can make such a link. Do you play there?", { ...found, to });
    byId("trust").focus();
    return undefined;
  }

  byId("trust").addEventListener("click", () => {
    const { found, to } = asking;
    KEYRING.keep((store) => store.put(true, `home ${to}`)).catch(() => undefined);
    attempt(() => found, begin);
  });

  /** Whether all numbers are such as games have: anybody can make a letter or a link, and the page counts up to them. */
  const moderate = (found) => (typeof found === "number" ? Math.abs(found) < 10000
    : typeof found !== "object" || found === null || Object.values(found).every(moderate));

  function bring(found) {
    if (!found || !["position 1", "setup 1"].includes(found.pbem)) throw new Error(say("it is neither a position nor a setup"));
    if (found.rules !== FACTS.name) throw new Error(say("it belongs to another game: {game}", { game: String(found.rules) }));
    if (found.sealed) throw new Error(say("the match is sealed; install pbem, and play it with `pbem play`"));
    if (found.pbem === "position 1" && !found.view) throw new Error(say("it does not say how the game stands"));
    if (!moderate(found) || (RULES.fits && !RULES.fits(found))) throw new Error(say("no game is as large as that"));
    const to = HOME.foreign(found);
    return to ? ask(found, to) : begin(found);
  }

  function attempt(read, work = bring) {
    return Promise.resolve().then(read).then(work).then(() => { byId("loaded").textContent = say("Read."); }, (error) => {
      byId("load").open = true;
      byId("loaded").textContent = say("This cannot be used: {reason}.", { reason: error.message });
    });
  }

  const file = (found) => attempt(async () => REPORT.read(await found.text()));
  byId("bring").addEventListener("click", () => attempt(() => REPORT.read(byId("pasted").value)));
  byId("file").addEventListener("change", (event) => file(event.target.files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const [found] = event.dataTransfer.files, text = event.dataTransfer.getData("text");
    if (found) file(found);
    else if (text) attempt(() => REPORT.read(text));
  });
  const practise = () => begin({ pbem: "setup 1", rules: FACTS.name, seat: 1, options: {}, practice: true });
  byId("practise").addEventListener("click", practise);
  const linked = () => attempt(async () => {
    try { return await REPORT.inflated(location.hash.slice(1)); } catch { throw new Error(say("the link is cut off, or not whole")); }
  });
  addEventListener("hashchange", () => { if (location.hash.length > 1) linked(); });

  /** What is kept in this browser, and of this game: to go on with. */
  function recall() {
    const kept = DRAFT.kept(drafts).filter(({ found }) => found.rules === FACTS.name);
    byId("kept").replaceChildren(...kept.slice(0, SHOWN).map(({ found }) => make("button", { type: "button", onclick: () => attempt(() => found) },
      found.pbem === "setup 1" ? say("{match}: setup of game {game}", found) : say("{match}: turn {turn}", found))));
    return kept.map(({ found }) => found);
  }

  // Working on it

  const isSetup = () => state.pbem === "setup 1";
  const waits = () => !isSetup() && !state.view.entitled;
  const judge = (text) => (isSetup() ? RULES.setup(state.options, state.seat, text) : waits() ? { faults: [], text: "", list: [] } : RULES.orders(state.view, text));

  function begin(found) {
    asking = null;
    const later = found.practice ? null : DRAFT.later(drafts, found);
    draft = found.practice ? DRAFT.begin(found) : DRAFT.resume(drafts, found);
    state = draft.found;
    signed = ""; unsignedWanted = false; least = 0;
    byId("ask").hidden = byId("unsigned").hidden = true;
    byId("work").hidden = false;
    byId("work").className = isSetup() ? "setup" : "";
    byId("load").open = false;
    byId("to").textContent = state.address || "";
    if (state.server) byId("server").value = state.server;
    if (!state.practice) byId("where").textContent = say("Match {match} at {server}, game {game}; you are {player}, seat {seat}.", state);
    if (byId("begin")) byId("begin").hidden = !state.practice;
    byId("task").textContent = state.practice ? say("Try it: your setup") : isSetup() ? say("Your setup") : waits() ? say("You wait for the others") : say("Your orders for turn {turn}", state);
    byId("about").textContent = state.practice ? say("You would play seat 1, by the default options. There is nothing to send: try what you like.") : about(later);
    byId("send").hidden = byId("mail").hidden = Boolean(state.practice) || waits();
    byId("bar").hidden = byId("orders").hidden = byId("written").hidden = waits();
    byId("final").parentElement.hidden = byId("ahead").hidden = isSetup();
    delete byId("boards").dataset.side; // what is to be done begins on the first one
    const first = GAME.begin(state, write);
    if (first && !draft.text && !draft.past.length) draft = { ...draft, text: first };
    update();
    happened();
    byId("task").setAttribute("tabindex", "-1");
    if (!state.practice) byId("task").focus();
  }

  /** Who plays against whom, until when. */
  function about(later) {
    const others = (state.names || []).filter((_, at) => at + 1 !== state.seat), parts = [];
    if (others.length) parts.push(say("You play against {names}.", { names: others.join(", ") }));
    if (state.deadline) parts.push(say("Due by {time}.", { time: state.deadline }));
    if (later) parts.push(say("This is an old letter: you have turn {turn} here already.", later));
    return parts.join(" ");
  }

  /** What happened last, in a line and in words, and on the boards: first on one, then on the other. */
  function happened() {
    const [headline, ...words] = (state.events || "").split("\n\n"), [side] = [byId("boards").dataset.side];
    byId("news").textContent = headline.replace(/\s+/g, " ");
    byId("last").replaceChildren(words.length ? make("details", {}, make("summary", {}, say("What happened in turn {turn}, in words", { turn: state.turn - 1 })), make("pre", { class: "told" }, words.join("\n\n"))) : "");
    byId("again").hidden = !state.reports || !state.reports.length;
    clearTimeout(playing);
    if (byId("again").hidden) return;
    const others = [...byId("boards").querySelectorAll("section.aside")].filter((section) => !section.getClientRects().length).map((section) => section.dataset.seat);
    scene();
    const next = () => { if (!others.length) { showSide(byId("boards"), side); return; } showSide(byId("boards"), others.shift()); playing = setTimeout(next, PACE); };
    if (others.length && !still()) playing = setTimeout(next, PACE);
  }

  const scene = () => SCENE.show(byId("boards"), state && state.reports ? GAME.acts(state) : [], true);
  byId("again").addEventListener("click", happened);
  byId("boards").addEventListener("turned", () => { if (!draft.past.length) scene(); });
  for (const kind of ["pointerdown", "keydown"]) byId("work").addEventListener(kind, () => clearTimeout(playing)); // who touches the board has seen enough

  /** New notation from a click; drawn anew even where it is the same, for what is chosen may be another. */
  function write(text) {
    draft = DRAFT.write(draft, text);
    update();
  }

  function update() {
    const text = draft.text;
    if (byId("notation").value !== text) byId("notation").value = text;
    byId("final").checked = draft.final;
    byId("undo").disabled = !draft.past.length;
    byId("redo").disabled = !draft.future.length;
    signed = ""; unsignedWanted = false;
    byId("unsigned").hidden = true;
    judged = judge(text);
    GAME.draw(state, text, judged, byId("controls"), byId("boards"), byId("given"));
    verdict(!text.trim());
    if (waits()) byId("form").value = "";
    if (state.practice || waits()) return;
    DRAFT.keep(drafts, draft, Date.now());
    form();
  }

  /** What the rules say of it. What is only missing as yet is no fault, and nothing ordered is no good news. */
  function verdict(blank) {
    const wrong = judged.faults.filter((fault) => !fault.missing), all = judged.faults.length, missing = judged.faults.map((fault) => fault.missing).filter((name) => name !== true).join(", ");
    const [tone, brief, list] = wrong.length
      ? ["bad", wrong.length === 1 ? say("one thing is against the rules") : say("{count} things are against the rules", { count: wrong.length }), wrong]
      : all ? ["open", blank ? (isSetup() ? say("nothing is placed yet") : say("nothing is ordered yet")) : missing ? say("not complete yet: {missing}", { missing }) : say("not complete yet"), []]
        : blank ? ["open", say("no orders: you would do nothing"), []]
          : !state.practice && DRAFT.stands(draft) ? ["good", draft.sent ? say("this is what you sent last") : say("these orders stand already"), []]
            : ["good", isSetup() ? say("a legal setup") : say("legal orders"), []];
    byId("verdict").className = byId("brief").className = tone;
    byId("brief").textContent = brief;
    byId("verdict").replaceChildren(make("p", {}, `${brief[0].toUpperCase()}${brief.slice(1)}${list.length ? ":" : "."}`),
      list.length ? make("ul", {}, list.slice(0, SHOWN).map((fault) => make("li", {}, fault.message, " ", ruling(fault.rule)))) : "");
  }

  // The letter

  const revision = () => Math.max(DRAFT.revision(draft), least);

  /** Notation within the columns of a letter; a line stays one where the notation has lines. */
  const wrapped = (text) => text.split("\n").map((line) => line.replace(/(.{1,70})(?: |$)/g, "$1\n").trimEnd()).join("\n");

  /** The form. What is signed stands on one line where the notation lets it: some phones lose line ends on the way. */
  function unsigned(signing = false) {
    const where = isSetup() ? `setup ${state.match} game ${state.game}` : `orders ${state.match} turn ${state.turn}`;
    const said = { ...state, rev: revision() }, head = [where, ...FORMS.fields[isSetup() ? "setup" : "orders"].map((name) => `${name} ${said[name]}`)];
    if (!isSetup() && draft.final) head.push("final");
    const text = judged.written || judged.text, body = signing && GAME.oneLine ? text.split("\n").join(" ") : wrapped(text);
    return [...head, body || "# none", "end"].join("\n") + "\n";
  }

  const link = (address, subject, text) => `mailto:${address}?subject=${encodeURIComponent(subject)}${text ? `&body=${encodeURIComponent(text.replace(/\n/g, "\r\n"))}` : ""}`;

  function form() {
    const legal = !judged.faults.length, mail = byId("mail"), text = legal ? signed || unsigned() : "";
    byId("form").value = text;
    byId("rev").value = String(revision());
    byId("copy").disabled = !text;
    mail.textContent = key ? say("Sign and open letter") : say("Open letter");
    if (!legal) { mail.removeAttribute("href"); mail.setAttribute("aria-disabled", "true"); return; }
    const subject = isSetup() ? `[pbem ${state.match}] setup, game ${state.game}` : `[pbem ${state.match}] orders, turn ${state.turn}`;
    const whole = link(state.address, subject, text);
    mail.href = whole.length < LONGEST ? whole : link(state.address, subject, "");
    mail.removeAttribute("aria-disabled");
  }

  async function copied(text, otherwise) {
    byId("form").select();
    try { await navigator.clipboard.writeText(text); return say("Copied."); }
    catch { return document.execCommand("copy") ? say("Copied.") : otherwise; }
  }

  /** One press: signed, where there is a key; then the letter is opened, and what it said is kept as sent. */
  async function send(event) {
    event.preventDefault();
    if (judged.faults.length || waits()) return;
    if (!key && !unsignedWanted && !HOME.keyless(state.address)) {
      byId("unsigned").hidden = false;
      byId("anyway").focus();
      return;
    }
    if (key && !signed) {
      const text = unsigned(true);
      const made = await KEYRING.signed(key, text, state.server, (words) => { byId("sent").textContent = words; });
      if (!made || text !== unsigned(true)) return; // something else may have been decided before the touch
      signed = made;
      form();
    }
    const whole = byId("mail").href.includes("&body=");
    const told = whole ? say("A letter was opened: send it there.") : await copied(byId("form").value, say("Copy the text above into the letter."));
    byId("sent").textContent = whole ? told : say("It is too long for a link. {copied} Paste it into the letter that was opened.", { copied: told });
    location.href = byId("mail").href;
    draft = DRAFT.opened(draft, revision());
    DRAFT.keep(drafts, draft, Date.now());
    verdict(!draft.text.trim());
  }

  byId("mail").addEventListener("click", send);
  byId("anyway").addEventListener("click", (event) => {
    unsignedWanted = true;
    byId("unsigned").hidden = true;
    send(event);
  });

  byId("notation").addEventListener("input", () => write(byId("notation").value));
  byId("final").addEventListener("change", () => { draft = { ...draft, final: byId("final").checked }; update(); });
  byId("rev").addEventListener("change", () => { least = Number(byId("rev").value) || 0; signed = ""; form(); });
  byId("copy").addEventListener("click", async () => { byId("sent").textContent = await copied(byId("form").value, say("Copy the selected text.")); });
  byId("undo").addEventListener("click", () => { draft = DRAFT.undo(draft); update(); });
  byId("redo").addEventListener("click", () => { draft = DRAFT.redo(draft); update(); });
  addEventListener("keydown", (event) => {
    const inText = /^(TEXTAREA|INPUT)$/.test(document.activeElement.tagName) && document.activeElement.type !== "checkbox";
    if (!draft || inText || !(event.ctrlKey || event.metaKey)) return;
    const back = event.key === "z" && !event.shiftKey, on = event.key === "y" || (event.key === "Z" && event.shiftKey);
    if (!back && !on) return;
    event.preventDefault();
    byId(back ? "undo" : "redo").click();
  });

  if (location.hash.length > 1 && location.hash !== "#signing") linked();
  else {
    const [newest] = recall();
    if (newest) attempt(() => newest);
    else {
      practise();
      byId("random").click(); // a board to try, with something on it
    }
  }
  recall();

  return {
    /** There is a key now, or none. */
    keyed(found) {
      key = found;
      if (draft && !state.practice) { signed = ""; byId("unsigned").hidden = true; form(); }
    },
    link,
  };
})();
