// A player's draft of a form: what is written, what can be undone, and what was sent; kept in the browser, one a match.
// Storage is handed in. Nothing here judges notation or knows of a document.

/**
 * @typedef {{text: string, final: boolean}} Written
 * @typedef {Object} Draft
 * @property {Object<string, *>} found what a letter asked for: docs/attachments.md
 * @property {string} text @property {boolean} final
 * @property {string[]} past @property {string[]} future
 * @property {?{text: string, final: boolean, rev: number}} sent the last letter that was opened
 */
const DRAFT = (() => {
  const PREFIX = "pbem match ", STEPS = 200;
  const named = ({ server, match }) => `${PREFIX}${server} ${match}`;
  const same = (one, other) => ["pbem", "server", "match", "game", "turn", "seat", "player"].every((name) => one[name] === other[name]);
  const order = ({ game, turn = 0 }) => game * 100000 + turn;
  const alike = (one, other) => one.text.trim() === other.text.trim() && one.final === other.final;

  /** @returns {Draft} of what a letter asks; it begins with what stands already */
  function begin(found) {
    const standing = found.standing || { orders: "", final: false };
    return { found, text: standing.orders, final: Boolean(standing.final), past: [], future: [], sent: null };
  }

  function write(draft, text) {
    if (text === draft.text) return draft;
    return { ...draft, text, past: [...draft.past, draft.text].slice(-STEPS), future: [] };
  }

  const undo = (draft) => (draft.past.length
    ? { ...draft, text: draft.past[draft.past.length - 1], past: draft.past.slice(0, -1), future: [draft.text, ...draft.future] } : draft);
  const redo = (draft) => (draft.future.length
    ? { ...draft, text: draft.future[0], past: [...draft.past, draft.text], future: draft.future.slice(1) } : draft);

  /** The revision that a letter must cite: the same letter again keeps its own, another one gets a higher one. */
  function revision({ found, sent, text, final }) {
    const least = found.rev || 1;
    if (!sent) return least;
    return alike(sent, { text, final }) ? sent.rev : Math.max(least, sent.rev + 1);
  }

  /** Whether this very text was sent from here, or stands by the letter. */
  function stands({ found, sent, text, final }) {
    const last = sent || (found.standing && { text: found.standing.orders, final: Boolean(found.standing.final) });
    return Boolean(last) && alike(last, { text, final });
  }

  const opened = (draft, rev) => ({ ...draft, sent: { text: draft.text, final: draft.final, rev } });

  function stored(storage, name) {
    try { return JSON.parse(storage.getItem(name)); } catch { return null; }
  }

  /** All that is kept, the last touched first. */
  function kept(storage) {
    let names = [];
    try { names = Array.from({ length: storage.length }, (_, at) => storage.key(at)); } catch { return []; }
    return names.filter((name) => name.startsWith(PREFIX)).map((name) => stored(storage, name)).filter((draft) => draft && draft.found)
      .sort((one, other) => other.at - one.at);
  }

  /** Keep a draft; one of a later turn of its match is not overwritten. False where nothing can be kept. */
  function keep(storage, draft, now) {
    if (later(storage, draft.found)) return false;
    try { storage.setItem(named(draft.found), JSON.stringify({ ...draft, at: now })); return true; } catch { return false; }
  }

  /** What is kept of a later turn of the match, if anything. */
  function later(storage, found) {
    const other = stored(storage, named(found));
    return other && other.found && order(other.found) > order(found) ? other.found : null;
  }

  /** The draft for what a letter asks: the one that is kept of this very turn, else a new one. */
  function resume(storage, found) {
    const other = stored(storage, named(found));
    if (!other || !other.found || !same(other.found, found)) return begin(found);
    const draft = { ...other };
    delete draft.at;
    const newer = (found.rev || 1) >= (draft.found.rev || 1) ? found : draft.found;
    const untouched = !draft.past.length && !draft.sent;
    return untouched ? begin(newer) : { ...draft, found: newer };
  }

  return { begin, write, undo, redo, revision, stands, opened, kept, keep, later, resume };
})();
