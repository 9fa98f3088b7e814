// Stepping through a match, and checking its bundle. All is drawn from the bundle in the page: nothing is fetched.

/**
 * What the script of a game, replay/GAME.js, has for this page; a position is whatever the game makes of it.
 * @typedef {{corner?: string, columns: string[], rows: string[], called: (row: string, column: string) => string, square: (name: string) => ?Shown}} Panel
 * @typedef {{label: string, square: string, text: string[], tone: string}} Told
 * @typedef {Object} Game
 * @property {(game: Object) => Object} begin the position before the first turn, from a record
 * @property {(before: Object, given: Object<string, string>, reports: Object[]) => Object} turn the position after one
 * @property {(position: Object, reader?: number) => {seat: number, panels: Panel[]}[]} boards seat 0: everybody's; as a
 *   reader knew it, or as it was
 * @property {(before: Object, given: Object<string, string>, reports: Object[], reader?: number) => Act[]} acts what is drawn of a turn
 * @property {(reports: Object[], names: string[], reader?: number) => [string, Told[], string?][]} told title, lines, and
 *   words for none
 * @property {boolean} secret whether its players knew less than all
 * @property {string} legend what signs mean
 * @property {(position: Object) => number[]} materiel what is left to each seat
 * @property {string} counted what that counts
 * @property {(position: Object) => [string, number, number][][]} shots of each seat: weapon, fired, hit
 * @property {(text: string) => string} orders as one line
 */

(() => {
  const PACE = 2200; // milliseconds a turn
  const REASONS = {
    rules: say("by the rules"), resignation: say("resignation"), forfeit: say("forfeit"), abandoned: say("abandoned"), agreement: say("by agreement"), annulled: say("annulled"),
    "agreed length": say("agreed length"), false: say("gave false information"), "not revealed": say("revealed nothing"),
  };
  const because = (reason) => (Object.hasOwn(REASONS, reason) ? REASONS[reason] : reason);
  let data = null, outcome = null, games = [], game = null, at = 0, steps = [], reader = 0, playing = 0, run = 0;

  /** The positions of a game, the start first. */
  function played(one) {
    const found = [GAME.begin(one)];
    one.turns.forEach((given, turn) => found.push(GAME.turn(found[turn], given, one.reports[turn])));
    return found;
  }

  const name = (seat) => game.seats[seat].name;

  function events() {
    const left = game.left.filter(({ turn }) => turn === at + 1).map(({ seat }) => make("p", {}, say("Then {player} left, and the others played on.", { player: name(seat - 1) })));
    if (!at) return [make("p", {}, say("The setups are in.")), ...left];
    const given = Object.entries(game.turns[at - 1]).filter(([seat]) => !reader || Number(seat) === reader).map(([seat, text]) => make("li", {}, make("b", {}, `${name(seat - 1)}: `), make("code", {}, GAME.orders(text))));
    const told = GAME.told(game.reports[at - 1], game.seats.map((seat) => seat.name), data.sealed ? 0 : reader).map(([title, lines, none = say("nothing")]) => [
      title ? make("h3", {}, title) : null,
      lines.length ? make("ul", { class: "told" }, lines.map((line) => make("li", { class: `told-${line.tone || "plain"}` },
        make("b", {}, `${line.label}${line.square ? " " + line.square : ""}`), " ", line.text.map((words, row) => [row ? make("br") : null, words])))) : make("p", {}, none),
    ]);
    return [...told.flat().filter(Boolean), make("h3", {}, reader ? say("The orders of {player}", { player: name(reader - 1) }) : say("The orders")), make("ul", { class: "told" }, given), ...left];
  }

  /** What players wrote to all in this turn; and what whoever made this page, who has no name, has to say about it. */
  function press() {
    const said = data.press.filter((one) => one.game === game.number && Math.min(one.turn, steps.length - 1) === at);
    return [[say("What was written to all"), said.filter(({ by }) => by)], [say("Comments, by whoever made this page"), said.filter(({ by }) => !by)]]
      .flatMap(([title, some]) => (some.length ? [make("h3", {}, title), ...some.map(({ by, text }) => make("blockquote", {}, by ? make("b", {}, by) : null, make("pre", {}, text)))] : []));
  }

  /** The turn that decided this game, as whoever made the page found it; 0: none. */
  const decisive = () => data.decisive[game.number] || 0;

  /** What happened in this turn, over the boards: `moving` if it happens now. */
  function scene(moving) {
    const acts = at ? GAME.acts(steps[at - 1], game.turns[at - 1], game.reports[at - 1], data.sealed ? 0 : reader) : [];
    SCENE.show(byId("boards"), acts, moving);
  }

  function draw(moving = false) {
    const scores = GAME.materiel(steps[at]);
    byId("turn").max = steps.length - 1;
    byId("turn").value = at;
    const where = say("turn {turn} of {turns}", { turn: at, turns: steps.length - 1 });
    byId("at").textContent = !at ? say("before the first turn") : reader ? where : `${where}: ${scores.map((score, seat) => `${name(seat)} ${score}`).join(", ")} (${GAME.counted})`;
    sides(byId("boards"), GAME.boards(steps[at], reader).map((board) => {
      const title = !board.seat ? say("The board") : reader && reader !== board.seat ? say("{player}, as {reader} knew it", { player: name(board.seat - 1), reader: name(reader - 1) }) : name(board.seat - 1);
      return { seat: board.seat, title, drawn: drawBoard(title, board.panels) };
    }).sort((one, other) => Number(one.seat === data.seat) - Number(other.seat === data.seat)));
    scene(moving);
    byId("events").replaceChildren(...events());
    byId("press").replaceChildren(...press());
    for (const [id, , turn] of STEPS) byId(id).disabled = turn() === at || turn() < 0 || turn() >= steps.length;
    chart();
    byId("shots").replaceChildren(...shots());
    byId("secrets").hidden = byId("chart").hidden = byId("shots").hidden = Boolean(reader);
    for (const button of byId("readers").children) button.setAttribute("aria-pressed", String(Number(button.dataset.seat) === reader));
    const here = `#game-${game.number}-turn-${at}${reader ? `-seat-${reader}` : ""}`;
    byId("here").setAttribute("href", here);
    if (location.hash !== here) try { history.replaceState(null, "", here); } catch { /* a file that may not: the link says it */ }
  }

  /** The game, turn and reader that the address names; the last game's decisive turn where it names none. */
  function addressed() {
    const [, number, turn, seat] = location.hash.match(/^#game-([0-9]+)-turn-([0-9]+)(?:-seat-([0-9]+))?$/) || [];
    const chosen = games.find((one) => one.number === Number(number)) || games[games.length - 1];
    reader = GAME.secret && Number(seat) <= chosen.seats.length ? Number(seat) : 0;
    open(chosen);
    go(turn === undefined ? (!data.seat && decisive()) || steps.length - 1 : Number(turn), turn === undefined);
  }

  const turns = (count) => (count === 1 ? say("1 turn") : say("{count} turns", { count }));

  const numbers = (scores) => scores.join(say(" to "));
  /** A result, the only winner's number first; "" where nobody won, or all share. */
  const won = (winners, seat, scores) => (winners.length > 1 ? say("{winners} share it, {scores}", { winners: winners.join(say(" and ")), scores: numbers(scores) })
    : winners.length ? say("{winner} won, {scores}", { winner: winners[0], scores: numbers([scores[seat], ...scores.filter((_, other) => other !== seat)]) }) : "");

  /** The names of those who won a game, and not all share. */
  const winnersOf = ({ winner, winners }) => (winners || (winner ? [winner] : [])).map((seat) => name(seat - 1));

  /** How the match ended, or else this game: it may be another's than its last game, or end without one. */
  function end() {
    const { winners, seat, scores } = outcome || { winners: winnersOf(game.result), seat: game.result.winner - 1, scores: game.result.scores };
    const own = winners.length === 1 && data.seat, ordered = (first) => ({ scores: numbers([scores[first], ...scores.filter((_, other) => other !== first)]) });
    return own ? (own === seat + 1 ? say("You won, {scores}", ordered(seat)) : say("You lost, {scores}", ordered(own - 1))) : won(winners, seat, scores) || say("Nobody won, {scores}", { scores: numbers(scores) });
  }

  function readers() {
    const choices = [[say("as it was"), 0], ...game.seats.map((seat, number) => [say("as {player} knew it", { player: seat.name }), number + 1])];
    byId("readers").hidden = !GAME.secret;
    byId("readers").replaceChildren(...choices.map(([words, seat]) => make("button", { type: "button", "data-seat": seat, "aria-pressed": "false", onclick: () => { reader = seat; draw(); } }, words)));
  }

  function play(on) {
    clearInterval(playing);
    playing = on ? setInterval(() => { if (at < steps.length - 1) go(at + 1); else play(false); }, PACE) : 0;
    byId("play").setAttribute("aria-pressed", String(on));
    byId("play").textContent = on ? say("pause") : say("play");
  }

  // Charts: materiel over all turns of the match, and what was hit by which weapon up to this turn.

  const WIDE = 640, HIGH = 230, LEFT = 34, RIGHT = 150, TOP = 14, BOTTOM = 30;
  let every = [];
  const before = () => every.slice(0, games.indexOf(game)).flat().length;

  function chart() {
    const most = Math.max(1, ...every.flat(2)), length = every.flat().length, names = games[0].seats.map((seat) => seat.name), parts = [];
    const x = (step) => LEFT + (WIDE - LEFT - RIGHT) * (step / Math.max(1, length - 1)), y = (count) => TOP + (HIGH - TOP - BOTTOM) * (1 - count / most);
    const now = before() + at, counted = every.flat()[now];
    for (const count of new Set([0, Math.round(most / 2), most])) {
      parts.push(svg("line", { class: "rule", x1: LEFT, x2: WIDE - RIGHT, y1: y(count), y2: y(count) }), svg("text", { x: LEFT - 8, y: y(count) + 4, "text-anchor": "end" }, String(count)));
    }
    let step = 0;
    every.forEach((steps, number) => {
      if (number) parts.push(svg("line", { y1: TOP, y2: HIGH - BOTTOM, x1: x(step - 0.5), x2: x(step - 0.5), class: "between" }));
      const every = Math.ceil(steps.length / Math.max(2, Math.floor(14 / games.length)));
      steps.forEach((_, turn) => { if (turn % every === 0) parts.push(svg("text", { x: x(step + turn), y: HIGH - BOTTOM + 18, "text-anchor": "middle", class: number === games.indexOf(game) && turn === at ? "here" : "" }, String(turn))); });
      names.forEach((_, seat) => parts.push(svg("polyline", { points: steps.map((counts, turn) => `${x(step + turn).toFixed(1)},${y(counts[seat]).toFixed(1)}`).join(" "), class: `line line${seat + 1}` })));
      step += steps.length;
    });
    parts.push(svg("line", { y1: TOP, y2: HIGH - BOTTOM, x1: x(now), x2: x(now), class: "now" }));
    const heights = names.map((_, seat) => seat).sort((one, other) => counted[other] - counted[one]);
    let low = 0;
    for (const seat of heights) {
      low = Math.max(low + 20, y(counted[seat]) + 5);
      parts.push(svg("circle", { cx: x(now), cy: y(counted[seat]), r: 5, class: `dot line${seat + 1}` }), svg("line", { class: `line line${seat + 1}`, x1: WIDE - RIGHT + 12, x2: WIDE - RIGHT + 40, y1: low - 5, y2: low - 5 }), svg("text", { class: "name", x: WIDE - RIGHT + 46, y: low }, `${names[seat].slice(0, 12)} ${counted[seat]}`));
    }
    const course = (steps, seat) => say("from {first} to {last}", { first: steps[0][seat], last: steps[steps.length - 1][seat] });
    const said = names.map((who, seat) => who + " " + every.map((steps) => course(steps, seat)).join(say(", then "))).join("; ");
    const title = games.length > 1 ? say("{counted}, over {games} games", { counted: GAME.counted, games: games.length }) : say("{counted}, over {turns}", { counted: GAME.counted, turns: turns(steps.length - 1) });
    byId("chart").replaceChildren(make("p", {}, title[0].toUpperCase() + title.slice(1)), svg("svg", { class: "chart", role: "img", viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-label": `${title}: ${said}` }, parts));
  }

  function shots() {
    const all = GAME.shots(steps[at]);
    if (!all.some((weapons) => weapons.length)) return [];
    const most = Math.max(...all.flat().map(([, tried]) => tried));
    const bar = (tried, hit) => svg("svg", { viewBox: "0 0 120 10", preserveAspectRatio: "none", class: "meter", role: "img", "aria-label": say("{hit} of {tried}", { hit, tried }) },
      svg("rect", { width: 120 * tried / most, height: 10, class: "tried" }), svg("rect", { width: 120 * hit / most, height: 10, class: "hits" }));
    const rows = all.flatMap((weapons, seat) => weapons.map(([weapon, tried, hit]) => make("tr", {},
      make("th", { scope: "row" }, name(seat)), make("td", {}, weapon), make("td", {}, String(tried)), make("td", {}, String(hit)), make("td", {}, bar(tried, hit)))));
    const heads = [say("player"), say("weapon"), say("fired"), say("hits"), say("hits of shots")].map((word) => make("th", { scope: "col" }, word));
    return [make("table", { class: "due shots" }, make("caption", {}, say("Hits by weapon, up to this turn")), make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows))];
  }

  function open(chosen) {
    game = chosen;
    steps = played(game);
    at = 0;
    for (const button of byId("games").children) button.setAttribute("aria-pressed", String(Number(button.dataset.game) === game.number));
    const players = game.seats.map((seat) => seat.name).join(say(" and ")), reason = because(outcome ? outcome.reason : game.result.reason), length = turns(steps.length - 1);
    const { winner, scores } = game.result, winners = winnersOf(game.result), result = won(winners, winner - 1, scores) || say("nobody won, {scores}", { scores: numbers(scores) });
    const each = say("Game {game}: {result} ({reason}).", { game: game.number, result, reason: because(game.result.reason) });
    const apart = games.length > 1 || !outcome || outcome.reason !== game.result.reason || outcome.winners.join() !== winners.join();
    byId("end").textContent = end();
    byId("about").textContent = [apart ? say("{title}: {players}.", { title: data.title, players }) : say("{title}: {players}, {length}.", { title: data.title, players, length }), ...(outcome ? [say("How it ended: {reason}.", { reason })] : []), ...(apart ? [each] : [])].join(" ");
    const turned = decisive();
    byId("decisive").hidden = !turned;
    byId("decisive").onclick = () => go(turned, true);
    if (turned) byId("decisive").textContent = say("The decisive turn: {turn}", { turn: turned });
    byId("setups").replaceChildren(...game.seats.flatMap((seat) => [make("h3", {}, seat.name), make("pre", {}, seat.setup)]));
    byId("legend").textContent = `${say("Yellow frames: what this turn changed.")} ${GAME.legend}`;
    readers();
    draw();
  }

  const go = (turn, moving = turn === at + 1) => { at = Math.max(0, Math.min(turn, steps.length - 1)); draw(moving); };
  /** The steps through a game: its button, its key, the turn that it leads to. */
  const STEPS = [["first", "Home", () => 0], ["back", "ArrowLeft", () => at - 1], ["next", "ArrowRight", () => at + 1], ["last", "End", () => steps.length - 1]];
  for (const [id, , turn] of STEPS) byId(id).addEventListener("click", () => go(turn()));
  byId("turn").addEventListener("input", (event) => go(Number(event.target.value)));
  byId("play").addEventListener("click", () => { if (!playing && at === steps.length - 1) go(0); play(!playing); });
  addEventListener("resize", () => { if (steps.length) scene(false); });
  byId("boards").addEventListener("turned", () => scene(true));
  byId("badge").addEventListener("click", (event) => {
    event.preventDefault();
    byId("truth").open = true;
    byId("truth").scrollIntoView();
  });
  addEventListener("hashchange", () => { if (games.length && location.hash.startsWith("#game-") && location.hash !== byId("here").getAttribute("href")) addressed(); });
  addEventListener("keydown", (event) => {
    const [, , turn] = STEPS.find(([, key]) => key === event.key) || [];
    if (!turn || !steps.length || event.ctrlKey || event.altKey || event.metaKey || document.activeElement === byId("turn")) return;
    event.preventDefault();
    go(turn());
  });

  async function verify() {
    const list = make("ul"), mine = ++run;
    byId("proof").replaceChildren(list);
    badge("open", `${say("being checked here")} …`);
    const marks = new Map([[true, ["good", say("ok")]], [null, ["open", say("open")]], [false, ["bad", say("FAILED")]]]), found = [];
    for await (const check of VERIFY.run(data.bundle, data.forms)) {
      if (mine !== run) return;
      const [tone, word] = marks.get(check.holds);
      list.append(make("li", { class: tone }, `${word}  ${check.said}`));
      found.push(check.holds);
    }
    const holds = found.includes(false) ? false : found.includes(null) ? null : true;
    byId("proof").append(make("p", { class: marks.get(holds)[0] }, holds ? say("Everything that can be checked here holds.")
      : holds === null ? say("Everything that can be checked here holds; pbem verify checks the rest.") : say("This does not hold.")));
    badge(marks.get(holds)[0], holds === null ? say("checked here: what can be checked holds") : holds ? `✓ ${say("checked here: it holds")}` : `✗ ${say("checked here: it does not hold")}`);
    if (holds === false) byId("truth").open = true;
    else {
      files = BUNDLE.unzip(await BUNDLE.unpacked(data.bundle));
      await witnesses();
    }
  }

  // Who saw the match beside its server.

  let files = null, kept = [], looked = 0;

  async function witnesses() {
    const mine = ++looked, said = [], keys = [];
    for (const written of new Set(byId("believed").value.split(/\s+/).filter(Boolean))) {
      try { keys.push(await WITNESS.key(written)); }
      catch (error) { said.push(["bad", error.message]); }
    }
    const about = WITNESS.match(files), last = about.heads.length, own = (data.logged || []).map((one) => ({ ...one, server: about.server, match: about.match }));
    const { seen, unseen, faults, stories, forks, proofs } = await WITNESS.look(about, [...own, ...kept], keys);
    if (mine !== looked) return;
    const wrong = said.length;
    for (const seq of stories.bundle) said.push(["bad", say("A letter shows another entry {seq} than this bundle, and the server signed both: it told two stories. Keep the letter.", { seq })]);
    for (const seq of stories.letters) said.push(["bad", say("Letters show two different entries {seq}, and the server signed both: it told two stories. Keep the letters.", { seq })]);
    for (const seq of stories.closed) said.push(["bad", say("A letter shows an entry {seq}, and the server signed it, although the match was closed with entry {last}: it told two stories. Keep the letter.", { seq, last })]);
    for (const size of forks) said.push(["bad", say("Letters show two different logs of {size} entries, and the server signed both: its log forked, or began anew from a backup. Keep the letters.", { size })]);
    const told = said.length > wrong;
    if (told || wrong || faults.length) byId("witnesses").open = true;
    if (told && about.restored.length) said.push(["open", say("The bundle says that the server was restored from a backup (entry {entries}); pbem verify --against compares all that letters bring.", { entries: about.restored.join(", ") })]);
    for (const { name: witness, seq, time } of seen) said.push(["good", seq < last
      ? say("{witness} saw entry {seq} of {last} by {time} at the latest; nothing here shows that it saw what came after.", { witness, seq, last, time })
      : say("{witness} saw entry {seq} of {last}, the last one, by {time} at the latest.", { witness, seq, last, time })]);
    for (const witness of unseen) said.push(["open", say("{witness}: nothing here shows that it saw an entry of this match.", { witness })]);
    if (!keys.length && proofs) said.push(["open", say("There is a proof here, but you have not named a witness that you believe.")]);
    if (!proofs && !faults.length && !told) said.push(["open", kept.length || own.length ? say("None of the letters you loaded proves anything about this match.") : say("Nothing on this page shows that anybody besides the server saw this match. This does not mean that the server did anything wrong: it may have no witnesses, or the proofs may be in players' letters.")]);
    for (const fault of faults) said.push(["bad", fault]);
    byId("seen").replaceChildren(make("ul", {}, said.map(([tone, words]) => make("li", { class: tone }, words))));
  }

  byId("believed").addEventListener("input", () => { if (files) witnesses(); });
  byId("letters").addEventListener("change", async (event) => {
    const brought = await Promise.all([...event.target.files].map((file) => file.text()));
    kept = brought.flatMap(WITNESS.letter);
    if (files) await witnesses();
  });

  function badge(tone, words) {
    byId("badge").className = `badge ${tone}`;
    byId("badge").textContent = words;
  }

  byId("verify").addEventListener("click", verify);

  async function begin() {
    data = JSON.parse(byId("data").textContent);
    byId("believed").value = (data.witnesses || []).join("\n");
    const bytes = await BUNDLE.unpacked(data.bundle);
    byId("save").href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
    byId("save").setAttribute("download", `${document.title.split(" ")[0]}.pbem.zip`);
    const held = BUNDLE.unzip(bytes);
    outcome = BUNDLE.outcome(held);
    games = BUNDLE.games(held).map((one) => ({ ...one, sealed: data.sealed }));
    every = games.map((one) => played(one).map(GAME.materiel));
    for (const each of games) byId("games").append(make("button", { type: "button", "data-game": each.number, onclick: () => open(each) }, say("game {game}", { game: each.number })));
    byId("games").hidden = games.length < 2;
    if (games.length) addressed();
    else { byId("steps").hidden = byId("drawn").hidden = byId("readers").hidden = byId("decisive").hidden = true; byId("end").textContent = outcome ? end() : ""; byId("about").textContent = outcome ? `${say("No game of this match was revealed.")} ${say("How it ended: {reason}.", { reason: because(outcome.reason) })}` : say("No game of this match is revealed yet."); }
  }

  byId("cut").hidden = true;
  begin().then(verify, (error) => {
    byId("steps").hidden = byId("drawn").hidden = byId("readers").hidden = byId("decisive").hidden = true;
    byId("about").textContent = say("This file is damaged: the match in it cannot be read ({reason}). Get the file again from where you got it; this says nothing about who played how.", { reason: error.message });
    return data ? verify().catch(() => badge("bad", `✗ ${say("damaged")}`)) : badge("bad", `✗ ${say("damaged")}`);
  });
})();
