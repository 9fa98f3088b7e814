// The signed resignation that ended a sealed game: who signed it, and for which place. A server could invent one to get
// the secrets of a game that goes on. Storage is handed in; nothing here knows of a document.

const RESIGNATION = (() => {
  const PREFIX = "pbem signers ";
  const named = ({ server, match, player }) => `${PREFIX}${server} ${match} ${player}`;

  /** The opponent's keys as a letter tells them, those that this page can check; null where it tells of none. */
  function told(found) {
    const keys = (found.sealed.keys || {})[3 - found.seat];
    return Array.isArray(keys) ? keys.map((key) => String(key).split(" ")).filter(([kind]) => SSHSIG.isKind(kind)).map(([, key]) => key) : null;
  }

  /** Keep the opponent's keys as the first letter of a match tells them. One that asks for a reveal would vouch for itself. */
  function remember(storage, found) {
    const keys = told(found);
    if (!keys || found.sealed.owes[0] === "reveal" || storage.getItem(named(found)) !== null) return;
    try { storage.setItem(named(found), JSON.stringify(keys)); } catch { /* then the page asks its owner */ }
  }

  /** @returns {?string[]} the opponent's keys that this browser remembers */
  const remembered = (storage, found) => JSON.parse(storage.getItem(named(found)));

  /** Whether a signed text is this player's resignation of this game or of the match, in this turn, after this head. */
  function isOfPlace(said, found, player, turn, after) {
    const words = SSHSIG.unlinked(said.replace(/\r\n/g, "\n")).trim().toLowerCase().split(/\s+/), [command, match, what, game] = words, whole = what === "match";
    const given = words.slice(whole ? 3 : 4, -1), names = given.filter((_, at) => at % 2 === 0), field = (name) => given[2 * names.indexOf(name) + 1];
    const wanted = { server: found.server, player, turn: String(turn), prev: after }, known = [...Object.keys(wanted), "rev"];
    return command === "resign" && match === found.match && (whole || (what === "game" && game === String(found.game))) && words.at(-1) === "end"
      && given.length % 2 === 0 && new Set(names).size === names.length && names.every((name) => known.includes(name))
      && Object.entries(wanted).every(([name, value]) => names.includes(name) && field(name) === value);
  }

  /** The head that it must cite: that of the last step, or, before any, of the letter that asked for the first; "" where it is not known, or was told for less. */
  function after(found, heads) {
    const { steps } = found.sealed, head = steps.length ? steps.at(-1).head : heads[0];
    return Object.entries(heads).some(([count, other]) => Number(count) < steps.length && other === head) ? "" : head || "";
  }

  /**
   * Why it is not proved that a player gave up a game that goes on by what was told; "" where it is.
   * @param {?string[]} own keys in this browser @param {?string[]} others the opponent's, as this browser remembers them
   * @param {Object<string, string>} heads those after which one's own letters were made, by the number of steps told
   * @param {number} turn that is due by what was told
   */
  async function doubt(found, own, others, heads, turn) {
    const text = found.sealed.resignation;
    if (typeof text !== "string") return say("According to the letters so far, the game continues. Reveal your secrets only if it ended in another way, such as a resignation.");
    const isOwn = (text.match(/\bplayer\s+(\S+)/i) || [])[1] === found.player, keys = isOwn ? own : others, player = isOwn ? found.player : found.names[2 - found.seat];
    const doubtful = (reason) => say("The letter says that {player} resigned, but {reason}. Reveal your secrets only if you know that the game is over.", { player, reason });
    const armor = text.match(SSHSIG.ARMOR), signature = armor && SSHSIG.read(armor[1]);
    if (keys && !keys.length || !signature || !SSHSIG.isKnown(signature)) return doubtful(say("this page cannot check such a signature"));
    if (!keys) return doubtful(say("this browser knew no key of that player before this letter"));
    const signed = keys.includes(signature.key) && signature.namespace === `pbem@${found.server}`;
    const said = signed ? await SSHSIG.under(signature, [text.slice(0, armor.index)]) : null;
    const holds = said !== null && !text.slice(armor.index + armor[0].length).trim() && isOfPlace(said, found, player, turn, after(found, heads));
    return holds ? "" : doubtful(say("what came with this letter is not signed with a key that this browser knows, or not for this place in the game"));
  }

  return { remember, remembered, doubt };
})();
