// Whose letters a page writes. Anybody can make a link: an address in it is believed only where it is the server's own,
// and what goes into a text to be signed is one word of its kind, and no line of somebody else's.

const HOME = (() => {
  const baked = globalThis.document ? document.getElementById("data") : null;
  /** The server that this page is for: its name, mail address and delimiter; null where it was made for none. */
  const server = baked ? JSON.parse(baked.textContent) : null;
  const WORDS = { server: /^[a-z0-9.-]+$/, match: new RegExp(`^${FORMS.written.match}$`), player: new RegExp(`^${FORMS.written.player}$`), prev: /^[0-9a-f]{64}$/ };
  const NUMBERS = ["game", "turn", "rev", "seat"];

  const plain = (found) => Object.entries(WORDS).every(([name, word]) => typeof found[name] === "string" && word.test(found[name]))
    && NUMBERS.every((name) => found[name] === undefined || Number.isInteger(found[name]));

  /** The mailbox that letters go to, without the detail of a sub-address; "" where this is no plain address. */
  function mailbox(address, delimiter) {
    const parts = /^([a-z0-9._=+-]+)@([a-z0-9.-]+)$/.exec(address);
    return parts ? `${delimiter ? parts[1].split(delimiter)[0] : parts[1]}@${parts[2]}` : "";
  }

  /** Refuse what would send letters elsewhere; the mailbox that the player is to be asked about, or "". */
  function foreign(found, home = server) {
    if (!plain(found)) throw new Error(say("it does not read as one of the server's own"));
    const to = mailbox(found.address, home ? home.delimiter : "+");
    if (home && (to !== home.address || found.server !== home.server)) {
      throw new Error(say("its letters would go to {address}, for {server}, but this page is only for {home}", { address: String(found.address), server: found.server, home: home.address }));
    }
    if (!home && to.split("@")[1] !== found.server) {
      throw new Error(say("its letters would go to {address}, which is not an address of {server}", { address: String(found.address), server: found.server }));
    }
    return home ? "" : to;
  }

  /** Whether a reply address holds a single-use token: its reader has no key. */
  function keyless(address, home = server) {
    const local = String(address).split("@")[0], delimiter = home ? home.delimiter : "+";
    return delimiter !== "" && local.split(delimiter).slice(1).join("+").includes(".");
  }

  return { server, foreign, keyless };
})();
