// The letters of a sealed match, made from what all were told and from one's own secrets: seal, step, reveal. What the
// server tells is checked on the way: papers against their hashes, openings against commitments, own steps against own
// secrets. Nothing here knows of a document or of storage.

const STEPS = (() => {
  const HASH = /^[0-9a-f]{64}$/, WIDTH = 72, { opens, papers } = FACTS.sealed;
  const place = (found, seat = found.seat) => ({ ...SECRETS.place(found), seat, player: seat === found.seat ? found.player : found.names[seat - 1] });

  const replayed = (found, steps = found.sealed.steps, look = undefined) => FOLD.fold(FOLD.agreed(found.options, found.names.length), steps, look);
  const ownOf = (found, secrets, table) => SEALED.own(found.seat, secrets.setup, secrets.orders, table);

  /** A section of a letter, in lines that no mail program breaks. */
  const wrapped = (line) => line.replace(/(.{1,72})(?: |$)/g, "$1\n").trimEnd();
  const section = (words, lines) => [wrapped(words.join(" ")), ...(lines ? [...lines.map(wrapped), "done"] : [])].filter(Boolean).join("\n");
  const noted = (note) => (note ? [["note", ...note.match(new RegExp(`.{1,${WIDTH}}`, "g"))].join("\n")] : []);
  const head = (form, found, where) => [`${form} ${found.match} game ${found.game}${where}`, ...FORMS.fields[form].map((name) => `${name} ${found[name]}`)];
  const whole = (...parts) => [...parts, "end"].flat().join("\n") + "\n";

  // Papers of one's own

  async function setupPaper(found, secrets, text) {
    return PAPERS.setup(place(found), found.sealed.terms, await PAPERS.salt(secrets.seed, place(found), 0, "setup"), text);
  }

  const commitment = async (found, secrets, text = secrets.setup) => PAPERS.sha256(await setupPaper(found, secrets, text));

  async function ordersHash(found, secrets, turn, text) {
    const salt = await PAPERS.salt(secrets.seed, place(found), turn, "orders");
    return PAPERS.sha256(PAPERS.orders(place(found), turn, await commitment(found, secrets), salt, text));
  }

  /** The paper of one's own step: the values of its head, and its hash. */
  async function made(found, secrets, steps, turn, step, lines, after) {
    const { name, heads } = papers[step], own = { turn, seat: found.seat, step, lines };
    const values = {
      ...FOLD.bound(found.sealed, own), ...FOLD.cites(steps, own), after,
      orders: heads.includes("orders") ? await ordersHash(found, secrets, turn, secrets.orders[turn] || "") : "",
      salt: heads.includes("salt") ? await PAPERS.salt(secrets.seed, place(found), turn, name) : "",
    };
    return { values, hash: await PAPERS.sha256(FOLD.written(place(found), own, values)) };
  }

  // What is told, checked

  /** Refuse what is not of the form of a sealed match's documents: raises an Error in words. */
  function plain(found) {
    const { terms, steps, commitments } = found.sealed, hashes = (list) => Boolean(list) && Array.from({ length: found.names.length }, (_, at) => list[at + 1]).every((hash) => HASH.test(hash));
    const position = found.pbem !== "setup 1", listed = Array.isArray(found.names) && found.names.every((name) => typeof name === "string");
    if (!HASH.test(terms) || !found.options || !listed || (position && !(Array.isArray(steps) && steps.every(FOLD.isStep) && hashes(commitments)))) {
      throw new Error(say("it does not read as one of the server's own"));
    }
  }

  /** Check what a letter tells of a game: raises an Error in words where it does not hold. */
  async function check(found, secrets) {
    const { steps } = found.sealed;
    if (secrets.setup && await commitment(found, secrets) !== found.sealed.commitments[found.seat]) throw new Error(say("the commitment that it shows for your setup is not yours"));
    await FOLD.check(found.sealed, steps, ({ seat }) => place(found, seat));
    for (const [at, before] of (secrets.told || []).slice(0, steps.length).entries()) {
      const now = steps[at], same = ["turn", "seat", "step"].every((name) => now[name] === before[name]) && now.lines.join("\n") === before.lines.join("\n");
      if (!same || (now.paper && before.paper && now.paper !== before.paper)) throw new Error(say("turn {turn}: it contradicts an earlier letter about seat {seat}", before));
    }
    return replayed(found, steps, (table, { turn, seat, step, lines }) => {
      if (seat !== found.seat || step === "commit") return;
      if (SEALED.lines(ownOf(found, secrets, table), table, step).join("\n") !== lines.join("\n")) throw new Error(say("turn {turn}: the step that it shows as yours is not yours", { turn }));
    });
  }

  /** The secrets with what a letter told, and the head that it showed, to hold later ones against. */
  function heard(found, secrets) {
    const before = secrets.told || [], { steps } = found.sealed;
    const told = steps.map(({ turn, seat, step, lines, paper }, at) => ({ turn, seat, step, lines, paper: paper || (before[at] || {}).paper }));
    return { ...secrets, told: [...told, ...before.slice(told.length)], heads: { ...secrets.heads, [steps.length]: found.prev } };
  }

  /** The secrets with the setup and the orders to which one is bound: of several that were tried, those that were sent. */
  async function bound(found, secrets) {
    const { steps, commitments } = found.sealed, tries = secrets.tried || [];
    let settled = secrets;
    for (const { turn, text } of tries) if (turn === 0 && await commitment(found, secrets, text) === commitments[found.seat]) settled = { ...settled, setup: text };
    const last = steps.findLast((each) => each.seat === found.seat && ["commit", opens].includes(each.step));
    if (!last || !last.paper) return settled;
    const { turn } = last, now = { turn, text: settled.orders[turn], after: settled.after[turn] };
    for (const one of [now, ...tries.filter((each) => each.turn === turn)]) {
      if (one.text === undefined) continue;
      const tried = { ...settled, orders: { ...settled.orders, [turn]: one.text }, after: { ...settled.after, [turn]: one.after } };
      if (await paperOf(found, tried, turn).catch(() => "") === last.paper) return tried;
    }
    throw new Error(say("turn {turn}: this browser does not know the orders that you committed to", last));
  }

  /** The hash of the paper that one's orders of a turn are opened by. */
  async function paperOf(found, secrets, turn) {
    const before = found.sealed.steps.filter((each) => each.turn < turn), table = replayed(found, before);
    const lines = SEALED.lines(ownOf(found, secrets, table), table, opens);
    return (await made(found, secrets, found.sealed.steps, turn, opens, lines, secrets.after[turn])).hash;
  }

  // Letters

  /** The letter that commits to a setup. */
  async function seal(found, secrets, rev, note) {
    return whole(...head("seal", { ...found, rev }, ""), `commitment ${await commitment(found, secrets)}`, ...noted(note));
  }

  /** The table as far as one's own steps of the next letter go, before orders are needed; and those steps. */
  function answered(found, secrets, table) {
    const steps = [];
    let own = ownOf(found, secrets, table);
    while (true) {
      const [step] = SEALED.owed(table, found.seat);
      if (!step || SEALED.asks(own, table)) return { table, own, steps, asks: Boolean(step) };
      const lines = SEALED.lines(own, table, step);
      steps.push({ turn: table.turn, seat: found.seat, step, lines });
      table = SEALED.enter(table, found.seat, step, lines);
      own = ownOf(found, secrets, table);
    }
  }

  /** All steps that one owes, in a letter; the secrets know the orders that it needs. `after`: by turn, as the letter binds them. */
  async function step(found, secrets, table, note) {
    const parts = [], told = [...found.sealed.steps], { steps } = answered(found, secrets, table);
    for (const each of steps) {
      const { turn, step } = each, committed = told.some((one) => one.turn === turn && one.seat === found.seat && one.step === "commit");
      if (step === "commit") {
        const now = replayed(found, told), lines = SEALED.lines(ownOf(found, secrets, now), now, opens);
        const { hash } = await made(found, secrets, told, turn, opens, lines, found.prev);
        parts.push(section([step, hash]));
        told.push({ ...each, paper: hash });
        continue;
      }
      const { values, hash } = await made(found, secrets, told, turn, step, each.lines, committed ? secrets.after[turn] : found.prev);
      parts.push(section([step, ...papers[step].values.map((name) => values[name])], each.lines));
      told.push({ ...each, paper: hash });
    }
    return whole(...head("step", found, ` turn ${table.turn}`), ...parts, ...noted(note));
  }

  /** The letter that reveals everything once the game is over. */
  function reveal(found, secrets) {
    const turns = Object.keys(secrets.orders).map(Number).sort((one, other) => one - other);
    return whole(...head("reveal", found, ""), `seed ${secrets.seed}`, section(["setup"], secrets.setup.split("\n")),
      ...turns.map((turn) => section(["orders", turn], secrets.orders[turn].split("\n"))));
  }

  return { plain, check, heard, bound, answered, replayed, seal, step, reveal };
})();
