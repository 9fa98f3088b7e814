// The page at home: what `pbem play` finds is drawn here, and what is pressed here it does. Everything that is signed is
// read back first, in the words of the referee's own rules.

(() => {
  const first = JSON.parse(byId("data").textContent).first;
  const SOON = 200, AGAIN = 3000, IN_VAIN = 3, OFFERED = { draw: say("a draw"), annul: say("to annul the match") }, TOUCH = say("Touch your phone, computer or security key.");
  /** What is said while `pbem play` waits for it. */
  const WAITS = { "the server on this machine": say("A server of your own begins: this may take a few seconds."), "the house": say("The house gets ready: this may take a few seconds.") };
  const quitting = new AbortController();
  let latest = null, number = 0, here = null, drawn = "", shown = null, stopped = false, busy = false, touched = 0, asking = false, conditions = [], announced = null;

  // Asking `pbem play`

  async function asked(path, options) {
    const answer = await fetch(path, options);
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  }

  const post = (name, wanted) => asked(name, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted) });

  const of = (name, place = here) => `${name}?account=${encodeURIComponent(place.account)}&match=${place.match}`;

  /** Have something done; what is wrong is said, and null returned. `again`: what takes longer than an answer is asked for until it is done. */
  async function act(name, wanted, again = false) {
    document.body.setAttribute("aria-busy", "true");
    tell(say("One moment ..."));
    try {
      let found = await post(name, wanted);
      if (again) while (found.later) found = await post(name, wanted);
      tell(found.error || (found.later ? say("It takes longer than usual; it appears here when it is done.") : ""));
      return found.error || found.later ? null : found;
    } catch (error) {
      tell(say("pbem play does not answer: {reason}.", { reason: error.message }));
      return null;
    } finally {
      document.body.removeAttribute("aria-busy");
    }
  }

  const tell = (text) => { byId("state").textContent = text; };
  const show = (id, shown) => { byId(id).hidden = !shown; };
  const button = (words, press, chief = false) => make("button", { type: "button", class: chief ? "chief" : "", onclick: press }, words);

  /** What arrives appears by itself: one question waits at a time, while somebody looks. */
  async function listen() {
    for (let failed = 0; ;) {
      if (stopped) return;
      if (document.hidden && !byId("bell").checked) {
        await new Promise((seen) => { document.addEventListener("visibilitychange", seen, { once: true }); });
      }
      let news = null;
      try { news = await asked(`news?after=${number}`, { signal: quitting.signal, cache: "no-store" }); }  // the cache would have two tabs wait in a row
      catch {
        failed += 1;
        if (failed === IN_VAIN) quit();  // another program may have the port by now: it is told nothing more
        if (!quitting.signal.aborted) tell(say("pbem play does not answer: was it stopped in its terminal?"));
        await new Promise((rested) => { setTimeout(rested, AGAIN); });
        continue;
      }
      failed = 0;
      if (news.latest.stopped) { end(); return; }
      if (news.number !== number) { ({ number, latest } = news); queueMicrotask(() => { draw(); touch(latest.wanted); }); }  // apart: a fault in it is reported, and the next question is asked
    }
  }

  // In words

  const named = (other) => (other.program ? say("{name} (a program)", other) : other.name || say("(free)"));
  /** The other players first: on a phone, the end is cut off. */
  const titled = (found) => say("{match} with {others}: {title}", { ...found, others: found.others.map(named).join(", ") });

  function until(deadline) {
    if (!deadline) return "";
    const { lang } = document.documentElement, [day, clock] = [{ dateStyle: "full" }, { timeStyle: "short" }].map((style) => new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, style).format(new Date(deadline))), time = `${day}, ${clock}`;  // as in letters
    return new Date(deadline) < new Date() ? say(", until {time}, which is over", { time }) : say(", until {time}", { time });
  }

  /** How a match stands, in a sentence: as `pbem play` says it. */
  function whose(found) {
    if (found.phase === "proposed") return found.accepted ? say("proposed; others have not agreed yet") : say("proposed: do you agree?");
    const begins = { open: say("on the open list"), declined: say("declined"), withdrawn: say("withdrawn") }[found.phase];
    if (begins) return begins;
    if (found.phase === "closed") return ended(found);
    const what = found.phase === "playing" ? say("turn {turn}", found) : say("setup of game {game}", found);
    const move = found.accused ? say("your agent has stopped") : found.reveal ? say("the server asks for your secrets")
      : found.asked ? say("your move") : { ready: say("yours is not sent yet"), sent: say("yours is on its way"), bounced: say("yours came back: send it again"), done: say("yours stands; waiting for the others") }[found.sent] || say("waiting for the others");
    const offers = found.offers.map((offer) => say("; {offer} offered", { offer: OFFERED[offer] || offer }));
    return [`${what}: ${move}`, until(found.deadline), found.unused ? say("; what you had sent does not count") : "", found.paused ? say("; paused") : "", ...offers,
      found.stored.length ? say("; stored: {places}", { places: found.stored.map(({ turn }) => placed(turn)).join(", ") }) : ""].join("");
  }

  /** How a match ended: the player's own score first. */
  function ended({ outcome, winner, player, players, seat, scores }) {
    if (!outcome) return say("over");
    const own = seat - 1, mine = outcome.winners.includes(seat), other = { player: players.find((_, at) => at !== own), winner };
    const who = !winner ? say("over: a draw") : winner === player ? say("over: you won") : mine ? say("over: {winner} won", other) : say("over: you lost to {winner}", other);
    const gave = outcome.reason !== "resignation" ? "" : players.length > 2 || !winner ? say(" (a player resigned)") : mine ? say(" ({player} resigned)", other) : say(" (you resigned)");
    return [who, scores.length ? `, ${[scores[own], ...scores.filter((_, at) => at !== own)].join(" : ")}` : "", gave].join("");
  }

  const placed = (turn) => (turn ? say("turn {turn}", { turn }) : say("default orders"));

  // Drawing

  /** Draw anew where something changed; the place of the keyboard stays. */
  function fill(id, key, ...children) {
    if (byId(id).dataset.key === key) return;
    byId(id).dataset.key = key;
    redraw(byId(id), ...children);
  }

  function draw() {
    const told = latest.told.join("\n");
    if (byId("told").textContent !== told) { byId("told").textContent = told; byId("told").scrollTop = byId("told").scrollHeight; }
    byId("troubles").textContent = latest.troubles.join(" ");
    const waits = WAITS[latest.waiting] || "";
    if (waits || Object.values(WAITS).includes(byId("state").textContent)) tell(waits);
    fill("accounts", JSON.stringify(latest.accounts), latest.accounts.map(account));
    show("of-account", latest.accounts.length);
    for (const id of ["whose", "announced"]) fill(id, latest.accounts.map(({ account }) => account).join(" "), latest.accounts.map(({ account }) => make("option", {}, account)));
    announce(latest.accounts.flatMap(({ matches }) => matches.filter(isMine)));
    // A tournament that was announced here is shown as soon as the server has named it.
    const named = announced && cups(announced.account).find(({ tournament }) => !announced.before.includes(tournament));
    if (named) {
      location.hash = `${announced.account}/${named.tournament}`;
      announced = null;
    }
    show("answer", latest.answer);
    byId("answer").textContent = latest.answer;
    if (here) open();
  }

  const isMine = (found) => found.asked || (found.phase === "proposed" && !found.accepted);

  /** Whose move it is, on the tab: in its title, as a dot on its icon, and with a notice and a sound for those who want them. */
  function announce(mine) {
    const title = mine.length ? say("Your move - {match}", mine[0]) : "pbem", dot = mine.length ? "<circle cx='12' cy='4' r='4' fill='#f2a33c'/>" : "";
    byId("all-title").textContent = latest.accounts.some(({ matches }) => matches.length) ? say("Your matches") : say("Which game?");
    byId("icon").href = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='#1d55c4'/><path d='M4 12V6h4v6zM8 9h4v3H8z' fill='#fff'/>${dot}</svg>`)}`;
    if (document.title === title) return;
    document.title = title;
    if (!mine.length || !byId("bell").checked || !document.hidden) return;
    const audio = new AudioContext(), tone = audio.createOscillator();
    tone.frequency.value = 660;
    tone.connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.15);
    try { new Notification(title, { body: titled(mine[0]), tag: title }).addEventListener("click", () => window.focus()); } catch { /* browsers of phones have none for pages: the sound has to do */ }
  }

  byId("bell").addEventListener("change", () => { if (byId("bell").checked && globalThis.Notification) Notification.requestPermission(); });

  /** The boards of a match, small; anew after each turn. */
  const miniature = (account, { match, phase, game, turn }) => (["playing", "closed"].includes(phase) ? make("img", { src: `${of("miniature", { account, match })}&at=${phase}-${game}-${turn}`, alt: "", loading: "lazy" }) : "");

  function account(found) {
    const rows = found.matches.map((one) => make("tr", {}, make("td", { class: "thumb" }, miniature(found.account, one)), make("th", { scope: "row" }, make("a", { href: `#${found.account}/${one.match}`, "data-name": `${found.account} ${one.match}` }, titled(one)),
      make("span", { class: isMine(one) ? "mine" : "small" }, whose(one)))));
    return make("section", {}, make("h2", {}, found.registered ? found.account : say("{account} (not registered yet)", found)),
      found.alarms.map((alarm) => make("p", { class: "bad", role: "alert" }, say("ALARM {match}: {said}", alarm))),
      rows.length ? make("div", { class: "scroll" }, make("table", { class: "due wide" }, make("tbody", {}, rows))) : make("p", {}, say("No matches yet.")), tournaments(found));
  }

  // Tournaments

  const cup = (found) => say("{tournament}: {title}, {format}", found);

  /** How the player stands in a tournament, in a sentence. */
  function placing(found) {
    const games = found.running ? say("; your games under way: {running}", found) : "";
    if (found.phase === "ended") return found.place ? say("over: you are number {place} of {of}", found) : say("over");
    if (found.place) return say("you are number {place} of {of}", found) + games;
    const so = found.phase === "open" ? say("players so far: {entrants}", found) + until(found.closes) : say("being played; players: {entrants}", found);
    return found.entered ? say("{so}; you are in", { so }) : so;
  }

  function tournaments(found) {
    const rows = found.tournaments.map((one) => make("tr", {}, make("th", { scope: "row" }, make("a", { href: `#${found.account}/${one.tournament}`, "data-name": `${found.account} ${one.tournament}` }, cup(one))), make("td", {}, placing(one))));
    return rows.length ? make("div", { class: "scroll" }, make("table", { class: "due wide" }, make("caption", {}, say("Tournaments")), make("tbody", {}, rows))) : "";
  }

  /** The points of each meeting, which leads to the match if it is one of the player's. */
  const meetings = (cells, own) => cells.flatMap(({ match, points, annulled }, at) => {
    const shown = annulled ? "!" : points ?? (match ? "…" : "–");
    return [at ? " " : "", own.includes(match) ? make("a", { href: `#${here.account}/${match}`, title: match }, shown) : make("span", { title: match }, shown)];
  });

  function group(lines, number, all) {
    const crossed = lines.some(({ cells }) => cells.length), own = latest.accounts.filter(({ account }) => account === here.account).flatMap(({ matches }) => matches.map(({ match }) => match));
    const head = [say("place"), say("player"), ...(crossed ? lines.map((_, at) => at + 1) : []), say("games"), say("points")].map((words) => make("th", { scope: "col" }, words));
    const rows = lines.map(({ name, player, out, cells, played, points }, at) => make("tr", {}, make("td", {}, at + 1),
      make("th", { scope: "row" }, name, player === name ? "" : say(" (now {player})", { player }), out ? say(" (out)") : ""), ...cells.map((each) => make("td", {}, meetings(each, own))), make("td", {}, played), make("td", {}, points)));
    const title = all.length > 1 ? say("Group {number}", { number: number + 1 }) : say("The table");
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, make("table", { class: "due wide" }, make("caption", {}, title), make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)));
  }

  const cups = (account) => latest.accounts.filter((found) => found.account === account).flatMap((found) => found.tournaments);

  function drawTournament(found) {
    const may = found.phase === "open" || found.format === "ladder";
    shown = found;
    byId("tournament-title").textContent = cup(found);
    byId("tournament-standing").textContent = placing(found);
    redraw(byId("table"), found.table.map(group));
    for (const id of ["enter", "team-of"]) show(id, may && !found.entered && found.phase !== "ended");
    show("leave", found.entered && found.phase !== "ended");
    byId("tournament-invites").textContent = found.phase === "open" ? say("Others enter by a letter to the server that says: {words}", { words: `enter ${found.tournament}` }) : "";
    byId("tournament-terms").textContent = found.terms;
  }

  async function takePart(what, title) {
    const place = here, { tournament, hash } = shown, team = what === "enter" ? byId("team").value.trim() : "";
    const words = what === "enter" ? `enter ${tournament} ${hash}${team ? ` team ${team}` : ""}` : `leave ${tournament}`;
    const careful = what === "enter" ? say("It accepts all your matches in it, by the terms that you see here. The others who enter get your letter, with your address.") : "";
    if (await sure(title, [words], careful)) sent(await act("take-part", { account: place.account, tournament, what, hash, team }));
  }

  /** The line of a match or a tournament in the list. */
  const line = (place) => latest.accounts.filter(({ account }) => account === place.account).flatMap(({ matches, tournaments }) => [...matches, ...tournaments]).find(({ match, tournament }) => (match || tournament) === place.match);

  /** A match or a tournament: asked for again whenever its line has changed, or, of a tournament, a letter has come. */
  async function open() {
    const place = here, [name, prefix] = place.match.startsWith("t") ? ["tournament", "tournament-"] : ["match", ""];
    const known = line(place), key = JSON.stringify([place, known, prefix && latest.told.length]);
    if (!known || key === drawn) return;
    drawn = key;
    const found = await asked(of(name, place)).catch((error) => ({ error: error.message }));
    if (place !== here) return;
    if (!found[name]) {
      tell(found.error || say("It takes longer than usual; it appears here when it is done."));
      drawn = "";
      setTimeout(() => { if (place === here) open(); }, AGAIN);  // no news may come
      return;
    }
    const anew = !shown;
    if (anew) byId("some").value = "";
    if (prefix) drawTournament(found);
    else drawMatch(found, place);
    show(prefix ? "tournament" : "one", true);
    if (anew) byId(`${prefix}title`).focus();
    fill(`${prefix}letters`, key, [...found.letters].reverse().map(([subject, text]) => make("details", {}, make("summary", {}, subject), make("pre", { class: "told", tabindex: "0" }, text))));
  }

  function drawMatch(found, place) {
    const running = found.phase === "setup" || found.phase === "playing";
    const moment = [found.phase, found.game, found.turn, found.hash];
    if (shown && String(shown) !== String(moment)) tell("");
    shown = moment;
    byId("title").textContent = titled(found);
    byId("whose-move").textContent = whose(found);
    redraw(byId("warned"), found.accused ? make("p", { class: "bad" }, found.accused) : "");
    redraw(byId("decide"), decisions(found));
    byId("terms").textContent = found.terms;
    show("terms", found.terms);
    show("playing", found.board || running);
    show("board", found.board);
    if (found.board) frame(`${of(found.board)}${found.position}`);
    compose(found);
    show("over", found.phase === "closed");
    show("anew", practised(place));
    show("rematch", found.rematch && !practised(place));
    byId("anew").dataset.game = byId("rematch").dataset.game = found.rules;
    byId("rematch").dataset.words = found.rematch;
    for (const id of ["lesson", "rules"]) byId(id).href = `${id}?game=${encodeURIComponent(found.rules)}`;
    show("lesson", byId("games").querySelector(`[href="lesson?game=${CSS.escape(found.rules)}"]`));
    byId("picture").href = of("picture");
    show("picture", found.bundle);
    redraw(byId("stored"), found.stored.flatMap(stored));
    byId("form").textContent = [found.yours || found.unused, ...found.refused].join("\n");
    show("yours", found.yours || found.unused);
    show("talk", running);
    show("some-of", found.others.length > 1);
    byId("some").placeholder = found.others.map(({ name }) => name).join(" ");
    redraw(byId("sentences"), running ? sentences(found) : "");
    redraw(byId("talked"), found.talk.map(([player, text, alone]) => make("p", {}, make("b", {}, alone ? say("{player}, to some alone", { player }) : player), make("span", {}, text))));
    show("proof", found.bundle);
    byId("replay").href = of("replay");
  }

  function decisions(found) {
    const words = (what, label, chief) => button(label, () => sentence(what, "", label), chief);
    if (found.phase === "proposed" && !found.accepted) return [words("accept", say("Accept"), true), words("decline", say("Decline"))];
    if (["proposed", "open"].includes(found.phase)) return [words("withdraw", say("Withdraw it"))];
    return [found.reveal ? words("reveal", say("Reveal your secrets"), true) : null, found.accused ? words("take-back", say("Go on anyway")) : null,
      found.claim ? words("claim", say("Claim the game")) : null,
      ...found.offers.flatMap((offer) => ["accept", "decline"].map((word) => {
        const what = { offer: OFFERED[offer] || offer }, label = word === "accept" ? say("Accept: {offer}", what) : say("Refuse: {offer}", what);
        return button(label, () => sentence(offer, word, label));
      }))];
  }

  function stored({ turn, state, form }) {
    const how = { ready: say("not sent yet"), sent: say("on its way"), bounced: say("came back: send it again"), done: say("stored"), here: say("it waits on this machine alone") }[state], label = say("Take it back");
    return [make("p", { class: "row" }, `${placed(turn)}: ${how}`, button(label, () => sentence("clear", turn ? `turn ${turn}` : "default", label))), make("pre", { class: "told", tabindex: "0" }, form)];
  }

  const sentences = (found) => [["draw", "offer", say("Offer a draw")], ["annul", "offer", say("Offer to annul the match")], ["extend", "3d", say("Give three days more")],
    found.sealed ? null : ["clear", "", say("Take back what you sent")], ["resign", "", say("Resign the game")], ["resign", "match", say("Resign the match")]]
    .filter(Boolean).map(([what, word, label]) => button(label, () => sentence(what, what === "draw" && some() ? `${word} for ${some()}` : word, label)));

  /** The players whom a draw or a message is for, if it is not for all. */
  const some = () => (byId("some-of").hidden ? "" : byId("some").value.split(/[\s,]+/).filter(Boolean).join(" "));

  // The board, in a frame as high as what is on it

  function frame(address) {
    const old = byId("board"), { of: before = "" } = old.dataset;
    if (before === address) return;
    const [page] = address.split("#"), fresh = page === before.split("#")[0] && address.includes("#") ? old : old.cloneNode();
    fresh.dataset.of = fresh.src = address;
    if (fresh === old) return;
    fresh.addEventListener("load", () => fit(fresh));
    old.replaceWith(fresh);  // in the old one somebody could write on, for another match, until the new page is there
  }

  /** As soon as it grows, and not later, when what is below it would slip away from under a press. */
  function fit(element) {
    const { body } = element.contentDocument;
    body.classList.add("held");  // without what sends letters
    new ResizeObserver(() => {
      const high = body.scrollHeight + 2;
      if (high > 2 && Math.abs(element.offsetHeight - high) > 8) element.style.height = `${high}px`;
    }).observe(body);
  }

  setInterval(() => {
    const early = byId("when").value, legal = onBoard("form") && onBoard("form").value;
    byId("hand-over").disabled = !(early || legal);
    for (const id of ["undo", "redo"]) byId(id).disabled = !onBoard(id) || onBoard(id).disabled;
    const brief = !early && onBoard("brief") ? onBoard("brief").textContent : "";
    if (byId("brief").textContent !== brief) byId("brief").textContent = brief;
  }, SOON);

  for (const id of ["undo", "redo"]) byId(id).addEventListener("click", () => onBoard(id).click());

  const onBoard = (id) => (byId("board").contentDocument ? byId("board").contentDocument.getElementById(id) : null);

  function compose(found) {
    const early = found.phase === "playing" && found.next > 0;
    show("bar", found.phase === "setup" || found.phase === "playing");
    show("advance", early);
    const options = [[true, "", found.composing ? say("for turn {turn}, which is due", found) : say("in advance: choose a turn")], [early, "later", say("for a later turn")], [early && found.default, "default", say("whenever I miss a turn (default orders)")]].filter(([may]) => may);
    byId("later").min = found.next;
    conditions = found.conditions;
    fill("when", [found.match, found.turn, ...options.map(([, value]) => value)].join(" "), options.map(([, value, words]) => make("option", { value }, words)));
    choose();
  }

  /** Orders for another turn than the one that is due are written, beside the composer. */
  function choose() {
    const early = byId("when").value;
    show("early", early);
    show("conditional", early && conditions.length);
    show("later-of", early === "later");
    if (Number(byId("later").value) < byId("later").min) byId("later").value = byId("later").min;
  }

  // Conditions: a list, from which the text is made as one could write it

  /** A branch with a choice of conditions, what they ask about, and the orders that the composer holds. */
  function branch() {
    const spelt = { spellcheck: "false", autocapitalize: "off" };
    const row = make("li", {}, make("select", { "aria-label": say("condition") }, conditions.map(({ form, words }) => make("option", { value: form }, say("if {condition}", { condition: words })))), " ",
      make("input", { size: 6, "aria-label": say("what the condition asks about"), ...spelt }), " ",
      make("label", {}, say("then"), " ", make("input", { size: 12, value: (onBoard("notation") && onBoard("notation").value) || "", ...spelt })), " ",
      button(say("Remove"), () => { row.remove(); written(); }));
    byId("branches").append(row);
    written();
    row.querySelector("select").focus();
  }

  function written() {
    const rows = [...byId("branches").children], last = byId("else-orders").value.trim();
    show("else-of", rows.length);
    const branches = rows.map((row) => {
      const [which, orders] = [...row.querySelectorAll("input")].map(({ value }) => value.trim());
      return `if ${row.querySelector("select").value.replace("…", which)} then ${orders}`;
    });
    byId("early-orders").value = [...branches, ...(rows.length && last ? [last] : [])].join("\nelse ");
  }

  byId("add-branch").addEventListener("click", branch);
  byId("conditional").addEventListener("input", written);

  /** Nothing is written any more. */
  function forget() {
    redraw(byId("branches"));
    for (const id of ["early-orders", "else-orders", "later"]) byId(id).value = "";
    show("else-of", false);
  }

  byId("when").addEventListener("change", () => {
    choose();
    if (byId("when").value && !byId("early-orders").value) byId("early-orders").value = onBoard("notation").value;
  });

  // Signing: read back, asked once

  /** One thing at a time is put to the player: else a question took the place of another, and its answer counted for both. */
  async function alone(work) {
    if (busy) return;
    busy = true;
    try { await work(); } finally { busy = false; }
  }

  /** Ask once; whether the player says yes. */
  function sure(title, lines, careful = "", yes = say("Sign and send")) {
    byId("sure-title").textContent = title;
    byId("yes").textContent = yes;
    byId("read-back").replaceChildren(...lines.map((words) => make("li", {}, words)));
    byId("careful").textContent = careful;
    show("careful", careful);
    byId("sure").returnValue = "";
    byId("sure").showModal();
    return new Promise((answered) => { byId("sure").addEventListener("close", () => answered(byId("sure").returnValue === "yes"), { once: true }); });
  }

  byId("sure").addEventListener("keydown", (event) => { if (event.repeat) event.preventDefault(); });  // a key that was held answers nothing

  /** Have a passkey sign what pbem play wants signed: at once after a press of its owner's, or else when its owner agrees. */
  async function touch(wanted) {
    if (!wanted && asking) byId("sure").close("");
    if (!wanted || wanted.number === touched || (!navigator.userActivation.isActive && byId("sure").open)) return;
    const { number, key, text, server } = wanted, answer = { number };
    touched = number;
    try {
      asking = !navigator.userActivation.isActive;
      if (asking && !await sure(say("Sign this with your passkey"), text.split("\n").filter(Boolean))) throw new Error(say("you did not want to"));
      tell(TOUCH);
      const passkey = PASSKEY.read(key), made = await SSHSIG.signed(text, server, passkey, (told) => PASSKEY.sign(passkey, told));
      answer.armor = made.slice(text.length);
    } catch (error) { answer.error = error.message; }
    asking = false;
    await post("touched", answer).catch(() => null);
    if (byId("state").textContent === TOUCH) tell("");  // what came of it is said by what wanted the signature
  }

  const sent = (found) => { if (found) tell(found.kept ? say("It waits on this machine alone until it is due.") : found.sent ? say("Sent. The server's answer appears here.") : say("Not sent yet: it is kept, and tried again.")); };

  const sentence = (what, word, label) => alone(async () => {
    const moment = shown, place = here;
    if (moment && await sure(label, [`${what} ${place.match} ${word}`.trim()])) sent(await act("say", { ...place, what, word, shown: moment }));
  });

  byId("hand-over").addEventListener("click", () => alone(async () => {
    const moment = shown, place = here, early = byId("when").value;
    if (!moment || (early === "later" && !byId("later").reportValidity())) return;
    const text = early ? byId("early-orders").value : onBoard("notation").value, final = !early && Boolean(onBoard("final") && onBoard("final").checked);
    const turn = { later: byId("later").valueAsNumber, default: 0 }[early] ?? null, [phase, game, due] = moment;
    const found = await act("judge", { ...place, text, turn });
    if (!found || place !== here) return;
    if (found.faults) { tell(found.faults.join(" ")); return; }
    const careful = [turn !== null && line(place).sealed ? say("It waits on this machine alone; when it is due, it is signed and sent by itself.") : "", found.unused.length ? say("Unused: {unused}.", { unused: found.unused.join(", ") }) : "", found.example ? say("Careful: this is the example in the letters, and your opponent has read it, too.") : "",
      found.doubts.length ? say("Careful: {doubts}.", { doubts: found.doubts.join("; ") }) : "",
      found.now.length ? say("In turn {turn}, which is being played, they would not be legal: {faults}", { turn: due, faults: found.now.join(" ") }) : ""].filter(Boolean).join(" ");
    const setup = phase === "setup", what = setup ? say("setup of game {game}", { game }) : turn === 0 ? say("whenever I miss a turn") : say("turn {turn}", { turn: turn ?? due });
    const title = `${place.match}, ${what}: ${setup ? say("Your setup") : say("You order")}`;
    const words = found.words.length ? found.words : [say("nothing")];
    if (!await sure(title, final && !setup ? [...words, say("final: I will not change it")] : words, careful)) return;
    const done = await act("send", { ...place, text, final, turn, shown: moment });
    sent(done);
    if (done && early) {
      forget();
      byId("when").selectedIndex = 0;
      choose();
    }
    if (done && done.words) await sure(say("Keep these words"), done.words.split("\n"));
  }));

  /** What a form asks for, one thing at a time. */
  const submitted = (id, work) => byId(id).addEventListener("submit", (event) => { event.preventDefault(); alone(() => work(event.target)); });

  submitted("press", async () => {
    const place = here, word = byId("said").value, to = some();
    if (!await sure(`${place.match}: ${to || say("To the other players")}`, [word])) return;
    const found = await act("say", { ...place, what: "press", word, to });
    sent(found);
    if (found) byId("said").value = "";
  });

  byId("verify").addEventListener("click", async () => {
    const place = here, found = await act("verify", place);
    if (found && place === here) { byId("proved").className = `told ${found.holds ? "good" : "bad"}`; byId("proved").textContent = found.said; }
  });

  // The list, and what begins there

  const practised = ({ account }) => latest.accounts.some((one) => one.account === account && one.guest);

  for (const id of ["games", "over"]) byId(id).addEventListener("click", async ({ target }) => {
    if (!target.dataset.game || target.id === "rematch") return;
    const buttons = document.querySelectorAll("[data-game]");
    for (const one of buttons) one.disabled = true;
    const found = await act("practise", { game: target.dataset.game }, true);
    for (const one of buttons) one.disabled = false;
    if (found) location.hash = `${found.account}/${found.match}`;
  });

  byId("rematch").addEventListener("click", ({ target }) => alone(async () => {
    const { words } = target.dataset, { account } = here;
    if (await sure(say("Propose a match"), words.split("\n").filter(Boolean))) sent(await act("new", { account, what: "new", word: words }));
  }));

  submitted("propose", async (form) => {
    const given = new FormData(form), head = given.get("opponents").trim() ? `${given.get("game")} with ${given.get("opponents")}` : given.get("game");
    if (await sure(say("Propose a match"), [head, ...given.get("options").split("\n").filter(Boolean)])) sent(await act("new", { account: given.get("account"), what: "new", word: `${head}\n${given.get("options")}` }));
  });

  byId("closes").min = new Date(Date.now() + 864e5).toISOString().slice(0, 10);
  submitted("announce", async (form) => {
    const { account, game, format, closes, pace, most, keys, once } = Object.fromEntries(new FormData(form));
    const lines = [game, `format: ${format}`, `closes: ${closes}`, `pace: ${pace}d`, `keys: ${keys}`, ...(most ? [`entrants: ${most}`] : []), ...(format === "swiss" || once === "0" ? [] : [`at-once: ${once}`])];
    if (!await sure(say("Announce a tournament"), lines)) return;
    const before = cups(account).map(({ tournament }) => tournament), found = await act("announce", { account, word: lines.join("\n") });
    announced = found && { account, before };
    sent(found);
  });

  submitted("take-part", () => takePart("enter", say("Enter the tournament")));
  byId("leave").addEventListener("click", () => alone(() => takePart("leave", say("Leave the tournament"))));
  byId("again").addEventListener("click", async () => sent(await act("ask", { account: here.account, what: "ask", word: `tournament ${here.match}` })));

  submitted("look", async () => sent(await act("ask", { account: byId("whose").value, what: "ask", word: `tournament ${byId("looked").value}` })));

  byId("who").addEventListener("click", async () => sent(await act("ask", { account: byId("whose").value, what: "ask", word: "list open" })));

  submitted("register", async (form) => {
    const { holder, ...given } = Object.fromEntries(new FormData(form));
    byId("password").value = "";
    if (holder === "passkey") {
      try { given.passkey = (await PASSKEY.make(given.account)).copy; }
      catch (error) { tell(say("Nothing was made or opened: {reason}.", { reason: error.message })); return; }
    }
    if (await act("register", { ...given, new_key: holder === "new", key: holder === "none" ? "" : given.key })) tell(say("The letter is on its way; the answer appears here."));
  });

  byId("stop").addEventListener("click", () => alone(async () => {
    if (!await sure(say("Stop pbem play?"), [say("Your matches stay as they are, and their deadlines run on.")], "", say("Stop"))) return;
    stopped = true;
    quitting.abort();
    await post("stop", {}).catch(() => null);
    end();
  }));

  function quit() {
    stopped = true;
    sessionStorage.clear();  // drafts hold secrets, and whoever listens at this port later could read them
  }

  function end() {
    quit();
    byId("sure").close("");
    show("at-home", false);
    byId("stop").disabled = true;
    show("ended", true);
    byId("ended-title").focus();
    tell("");
  }

  // Where one is: the part of the address behind the #

  function go() {
    const [, account, match] = /^#(.+)\/([mt][0-9]+)$/.exec(decodeURIComponent(location.hash)) || [];
    here = match ? { account, match } : null;
    drawn = "";
    shown = null;
    show("all", !here);
    show("tournament", false);
    show("one", false);  // until it is drawn: what another match left there must not be pressed for this one
    byId("sure").close("");
    byId("proved").textContent = "";
    forget();
    tell("");
    if (here && latest) open();
    const wanted = byId("games").querySelector(`[data-game="${CSS.escape(location.hash.replace("#play-", ""))}"]`);  // from the end of its lesson
    if (wanted) { history.replaceState(null, "", "#"); wanted.click(); }
    if (!here) byId("all-title").focus();
  }

  addEventListener("hashchange", go);
  if (first && !location.hash) history.replaceState(null, "", `#${first}`);
  go();
  listen();
})();
