// What only its owner knows of a sealed game: the seed of all salts, the setup, and the orders of each turn. Kept in this
// browser before a hash of it leaves. Storage is handed in; nothing here knows of a document.

/**
 * @typedef {Object} Secrets as the note to self holds them: docs/playing.md
 * @property {Object<string, string>} after by turn the head that a commitment, not yet opened, was made after
 * @property {number} game @property {string} match
 * @property {Object<string, string>} orders by turn
 * @property {string} pbem @property {string} player @property {number} seat
 * @property {string} seed in hex @property {string} server @property {string} setup
 * @property {?{turn: number, text: string, after: string}[]} tried here alone: what letters were made of, sent or not
 * @property {?Object<string, *>[]} told here alone: the steps that letters told
 * @property {?boolean} revealed here alone: whether a letter was made that reveals them
 * @property {?Object<string, string>} heads here alone: the heads that letters showed, by the number of steps that they told
 */
const SECRETS = (() => {
  const PREFIX = "pbem secrets ";
  const named = ({ server, match, game, seat }) => `${PREFIX}${server} ${match} ${game} ${seat}`;
  const place = ({ server, match, game, seat, player }) => ({ server, match, game, seat, player });
  const fits = (secrets, found) => Boolean(secrets) && secrets.pbem === "secrets 1" && /^[0-9a-f]{64}$/.test(secrets.seed)
    && ["server", "match", "game", "seat", "player"].every((name) => secrets[name] === found[name]);

  /** @returns {Secrets} of a game that begins */
  const begin = (found, seed) => ({ after: {}, game: found.game, match: found.match, orders: {}, pbem: "secrets 1", player: found.player, seat: found.seat, seed, server: found.server, setup: "" });

  /** @returns {?Secrets} what is kept of the game that a letter speaks of */
  function kept(storage, found) {
    try {
      const secrets = JSON.parse(storage.getItem(named(found)));
      return fits(secrets, found) ? secrets : null;
    } catch { return null; }
  }

  /** With a text that a letter may have bound: of several, the server's next letter tells which was sent. */
  const tried = (secrets, turn, text, after) => ({ ...secrets, tried: [...(secrets.tried || []).filter((each) => each.turn >= turn - 1 && !(each.turn === turn && each.text === text && each.after === after)), { turn, text, after }] });

  /** What goes into the note. */
  function noted(secrets) {
    const found = { ...secrets };
    delete found.tried;
    delete found.told;
    delete found.heads;
    delete found.revealed;
    return found;
  }

  /** Keep them, and see that they are kept: no hash may leave before. Raises an Error in words. */
  function keep(storage, secrets) {
    const text = JSON.stringify(secrets);
    try { storage.setItem(named(secrets), text); } catch { /* told below */ }
    if (storage.getItem(named(secrets)) !== text) throw new Error(say("this browser stores nothing: a sealed match cannot be played in it"));
  }

  return { begin, kept, keep, tried, noted, place };
})();
