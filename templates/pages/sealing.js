// Sealed matches on the composer's page: what has to be known before one can go on, the six words, and the letters.
// No hash leaves before what it stands for is kept here.

/**
 * @typedef {Object} Sealed what is to be done with a letter of a sealed match
 * @property {Object<string, *>} found with the view and the turn of one's own side, if orders are asked for
 * @property {boolean} asks whether orders are to be decided on @property {boolean} anew whether they may still be decided anew
 * @property {string} doubt why a letter should not be made lightly: what it reveals may not be known yet, or all was revealed; or ""
 * @property {Step[]} steps what the letter will tell before that
 */
const SEALING = (() => {
  const byId = (id) => document.getElementById(id), LOCK = "note";
  const stored = (name) => KEYRING.keep((store) => store.get(name)).catch(() => undefined);
  /** @type {?Lock} */
  let lock = null;
  /** @type {?Secrets} */
  let secrets = null;
  let waiting = null;

  function told(text) {
    byId("code").hidden = false;
    byId("code-said").textContent = text;
  }

  /** What the page says of the six words: whether there are any, and what they are for. */
  function worded() {
    byId("draw-words").hidden = byId("use-words").hidden = byId("words").parentElement.hidden = Boolean(lock);
    told(lock ? say("Each letter carries a note to yourself: your secrets, encrypted with your six words. The server cannot read it, and sends it back.")
      : say("Each letter can carry a note to yourself: your secrets, encrypted with six words. With these words you can continue in another browser. Draw them and write them down; without them, whatever this browser loses is lost."));
  }

  async function locked(made) {
    lock = made;
    await KEYRING.keep((store) => store.put(lock, LOCK));
  }

  byId("draw-words").addEventListener("click", async () => {
    const words = NOTE.words();
    byId("draw-words").disabled = true;
    await locked(await NOTE.lock(words));
    byId("draw-words").disabled = false;
    byId("words").value = words;  // who sees them has them in use
    byId("draw-words").hidden = byId("use-words").hidden = true;
    told(say("Write these six words down now, and do not keep them on this machine. They are stored nowhere else."));
  });

  byId("use-words").addEventListener("click", async () => {
    const words = NOTE.read(byId("words").value);
    if (!words) { told(say("These are not six words.")); return; }
    if (!waiting) { await locked(await NOTE.lock(words)); worded(); return; }
    const { found, resolve } = waiting, { note } = found.sealed;
    try {
      const made = await NOTE.lockOf(words, note);
      secrets = await NOTE.open(made, note, SECRETS.place(found));
      SECRETS.keep(localStorage, secrets);
      await locked(made);
    } catch (error) { told(say("This cannot be used: {reason}.", { reason: error.message })); return; }
    waiting = null;
    worded();
    resolve();
  });

  /** Have the secrets of a game: those kept here, those in the note, or new ones before a first setup. */
  async function recalled(found) {
    const { note } = found.sealed;
    waiting = null;
    lock = await stored(LOCK) || null;
    secrets = SECRETS.kept(localStorage, found);
    byId("words").value = "";
    worded();
    if (secrets) return;
    if (note && lock && NOTE.fits(lock, note)) {
      secrets = await NOTE.open(lock, note, SECRETS.place(found));
      SECRETS.keep(localStorage, secrets);
    } else if (note) {
      byId("words").parentElement.hidden = byId("use-words").hidden = false;
      byId("draw-words").hidden = true;
      told(say("The secrets of this game are not in this browser, but in the note that came with this letter. Type your six words."));
      byId("words").focus();
      await new Promise((resolve) => { waiting = { found, resolve }; });
    } else if (found.pbem === "setup 1") secrets = SECRETS.begin(found, PAPERS.hex(crypto.getRandomValues(new Uint8Array(32))));
    else throw new Error(say("the secrets of this game are neither in this browser nor in a note"));
  }

  async function ownKeys() {
    const key = await KEYRING.kept();
    return key && [SSHSIG.line(key).split(" ")[1]];
  }

  /** @returns {Promise<Sealed>} raises an Error in words */
  async function enter(found) {
    STEPS.plain(found);
    await recalled(found);
    if (found.pbem === "setup 1") {
      RESIGNATION.remember(localStorage, found);
      return { found, asks: true, anew: false, doubt: "", steps: [] };
    }
    secrets = await STEPS.bound(found, secrets);
    const table = await STEPS.check(found, secrets);
    RESIGNATION.remember(localStorage, found);
    if (found.sealed.owes[0] === "reveal") {
      const doubt = table.over ? "" : await RESIGNATION.doubt(found, await ownKeys(), RESIGNATION.remembered(localStorage, found), secrets.heads || {}, table.turn);
      return { found, asks: false, anew: false, doubt, steps: [] };
    }
    const doubt = secrets.revealed ? say("This browser wrote a letter that reveals your secrets of this game, but now the game continues. If you sent it, send nothing more: whoever made you reveal them knows your orders. Keep all letters, and ask your opponent and the operator.") : "";
    const { own, steps, asks, ...after } = STEPS.answered(found, secrets, table), turn = after.table.turn;
    const told = found.sealed.steps.some((each) => each.seat === found.seat && each.turn === decided(steps));
    if (!asks && !steps.length) throw new Error(say("you have nothing to do in turn {turn}", { turn: table.turn }));
    return { found: asks ? { ...found, turn, view: SEALED.view(own, after.table) } : { ...found, turn: decided(steps) || found.turn }, asks, anew: !asks && Boolean(decided(steps)) && !told, doubt, steps };
  }

  /** The turn whose orders some steps make known or bind. */
  const decided = (steps) => (steps.findLast(({ step }) => !["answers", "flash"].includes(step)) || { turn: 0 }).turn;

  const note = () => (lock ? NOTE.seal(lock, SECRETS.noted(secrets)) : "");

  /** The letter, ready to be signed: what it binds is kept before it is made. `text`: the setup or the orders decided on. */
  async function letter(found, asks, text, rev) {
    if (found.pbem === "setup 1") {
      secrets = SECRETS.tried({ ...secrets, setup: text }, 0, text, "");
      SECRETS.keep(localStorage, secrets);
      return STEPS.seal(found, secrets, rev, await note());
    }
    if (found.sealed.owes[0] === "reveal") {
      secrets = { ...secrets, revealed: true };
      SECRETS.keep(localStorage, secrets);
      return STEPS.reveal(found, secrets);
    }
    secrets = STEPS.heard(found, secrets);
    if (asks) secrets = SECRETS.tried({ ...secrets, orders: { ...secrets.orders, [found.turn]: text }, after: { [found.turn]: found.prev } }, found.turn, text, found.prev);
    const table = STEPS.replayed(found);
    for (const { turn, step } of STEPS.answered(found, secrets, table).steps) if (step === FACTS.sealed.opens) secrets = { ...secrets, orders: { [turn]: "", ...secrets.orders } };
    SECRETS.keep(localStorage, secrets);
    return STEPS.step(found, secrets, table, await note());
  }

  /** Forget the orders that were decided on for what a letter asks; they stay among those that were tried. */
  function anew(steps) {
    const orders = { ...secrets.orders };
    delete orders[decided(steps)];
    secrets = { ...secrets, orders };
    SECRETS.keep(localStorage, secrets);
  }

  return { enter, letter, anew, hide: () => { byId("code").hidden = true; } };
})();
