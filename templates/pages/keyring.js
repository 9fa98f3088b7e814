// The key in this browser: made here, kept in IndexedDB where nothing can read it out, and, if its owner chose a
// passphrase, a copy of it that only the passphrase opens (PBKDF2 and AES-GCM of Web Cryptography). Or a passkey, of
// which nothing secret is here: the copy says which it is.

/**
 * @typedef {{pbem: string, public: string, iterations: number, salt: string, iv: string, sealed: string}} Copy in hex
 * @typedef {{publicKey: CryptoKey, privateKey: CryptoKey, raw: Uint8Array, copy: ?Copy}} Key
 */
const KEYRING = (() => {
  const ITERATIONS = 600000;
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const bytes = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));

  /** Something done with what is kept here: the key, and the servers that its owner trusts. */
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

  async function sealing(passphrase, salt, iterations, use) {
    const typed = await crypto.subtle.importKey("raw", new TextEncoder().encode(passphrase.normalize("NFKC")), "PBKDF2", false, ["deriveKey"]);
    return crypto.subtle.deriveKey({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, typed, { name: "AES-GCM", length: 256 }, false, [use]);
  }

  /** @returns {Promise<Copy>} */
  async function sealed(secret, raw, passphrase) {
    const salt = crypto.getRandomValues(new Uint8Array(16)), iv = crypto.getRandomValues(new Uint8Array(12));
    const cipher = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await sealing(passphrase, salt, ITERATIONS, "encrypt"), secret);
    return { pbem: "key 1", public: hex(raw), iterations: ITERATIONS, salt: hex(salt), iv: hex(iv), sealed: hex(cipher) };
  }

  async function lasting() {
    try { return Boolean(navigator.storage && navigator.storage.persist && await navigator.storage.persist()); } catch { return false; }
  }

  /** From now on the private half can be used, and not read. */
  async function settled(secret, publicKey, copy) {
    const privateKey = await crypto.subtle.importKey("pkcs8", secret, "Ed25519", false, ["sign"]);
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)), key = { publicKey, privateKey, raw, copy };
    await keep((store) => store.put(key, "player"));
    return { key, lasting: await lasting() };
  }

  /** A new key; with a passphrase there is a copy of it. Says too whether the browser promises to keep it. */
  async function make(passphrase) {
    const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
    const secret = await crypto.subtle.exportKey("pkcs8", pair.privateKey), raw = await crypto.subtle.exportKey("raw", pair.publicKey);
    return settled(secret, pair.publicKey, passphrase ? await sealed(secret, raw, passphrase) : null);
  }

  /** Have a passkey known here. */
  async function adopt(key) {
    await keep((store) => store.put(key, "player"));
    return { key };
  }

  /** The key in a copy; raises an Error in words. */
  async function open(text, passphrase) {
    let copy = null;
    try { copy = JSON.parse(text); } catch { copy = null; }
    if (typeof copy === "string") return adopt(PASSKEY.read(copy));
    if (!copy || copy.pbem !== "key 1" || !(copy.iterations > 0 && copy.iterations < 1e8)) throw new Error(say("this is not a copy of a key"));
    const lock = await sealing(passphrase, bytes(copy.salt), copy.iterations, "decrypt");
    let secret;
    try { secret = await crypto.subtle.decrypt({ name: "AES-GCM", iv: bytes(copy.iv) }, lock, bytes(copy.sealed)); }
    catch { throw new Error(say("the passphrase does not open this copy")); }
    return settled(secret, await crypto.subtle.importKey("raw", bytes(copy.public), "Ed25519", true, ["verify"]), copy);
  }

  /** @returns {Promise<?(Key|Passkey)>} the key that is kept here */
  async function kept() {
    const found = await keep((store) => store.get("player")).catch(() => null);
    if (!found || found.raw) return found || null;
    return { ...found, copy: null, raw: new Uint8Array(await crypto.subtle.exportKey("raw", found.publicKey)) };
  }

  /** The strings of a signature; raises an Error in words. */
  const sign = async (key, told) => (key.passkey ? PASSKEY.sign(key, told) : SSHSIG.strings("ssh-ed25519", new Uint8Array(await crypto.subtle.sign("Ed25519", key.privateKey, told))));

  /** A text with the signature beneath it; "" where there is none. `tell` is given what its reader must do, and what went wrong. */
  async function signed(key, text, server, tell) {
    tell(key.passkey ? say("Touch your phone, computer or security key.") : "");
    try {
      const made = await SSHSIG.signed(text, server, key, (told) => sign(key, told)), [, armor] = made.slice(text.length).match(SSHSIG.ARMOR);
      if (await SSHSIG.under(SSHSIG.read(armor), [text]) !== null) return made;
      throw new Error(say("its signature proves nothing"));
    } catch (error) {
      tell(say("Nothing was signed: {reason}.", { reason: error.message }));
      return "";
    }
  }

  return { keep, make, adopt, open, kept, signed };
})();
