// A passkey: a phone, a computer or a security key signs with it after a touch, for pages of one host alone (WebAuthn
// level 2). It is asked for what an SSH key would sign, and its answer is written as OpenSSH writes it: PROTOCOL.u2f.

/**
 * @typedef {{passkey: Uint8Array, raw: Uint8Array, host: string, copy: string}} Passkey its name for its device, and its point; the copy, its line with that name behind it, holds no secret
 */
const PASSKEY = (() => {
  const ES256 = -7, POINT = 65, SIGNED = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com";

  /** Why there can be no passkey on this page; "" where there can. */
  function hindrance() {
    if (location.protocol === "file:") return say("This page is a file, and passkeys belong to a host: only a page that a server publishes can make one.");
    if (!isSecureContext || /^[0-9.]+$|:|\.$/.test(location.hostname)) return say("Passkeys work only on pages that are served over https, under a name.");
    return globalThis.PublicKeyCredential ? "" : say("This browser knows no passkeys.");
  }

  /** What the authenticator answers; raises an Error in words. */
  async function asked(question) {
    try { return await question(); }
    catch (error) {
      throw new Error(error.name === "NotAllowedError" ? say("nobody touched it in time, it was cancelled, or the passkey is not at hand") : error.message.replace(/\.$/, ""), { cause: error });
    }
  }

  /** A new passkey, which its owner's list will call by this name. @returns {Promise<Passkey>} */
  async function make(name) {
    const id = location.hostname, user = { id: crypto.getRandomValues(new Uint8Array(16)), name, displayName: name };
    const wanted = { rp: { id, name: id }, user, challenge: crypto.getRandomValues(new Uint8Array(32)), pubKeyCredParams: [{ type: "public-key", alg: ES256 }], authenticatorSelection: { residentKey: "preferred" } };
    const { rawId, response } = await asked(() => navigator.credentials.create({ publicKey: wanted }));
    const spki = response.getPublicKeyAlgorithm() === ES256 && response.getPublicKey();
    if (!spki) throw new Error(say("your device makes no key of this kind"));
    const key = { passkey: new Uint8Array(rawId), raw: new Uint8Array(spki).slice(-POINT), host: id };
    return { ...key, copy: `${SSHSIG.line(key)} ${btoa(String.fromCharCode(...key.passkey))}` };
  }

  /** The passkey of a copy; raises an Error in words. @returns {Passkey} */
  function read(copy) {
    const [, blob, , name] = copy.split(" "), octets = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const [, , raw, application] = SSHSIG.taken(octets(blob)), host = String.fromCharCode(...application);
    if (host !== location.hostname) throw new Error(say("this passkey belongs to {host}, and signs only on pages of that host", { host }));
    return { passkey: octets(name), raw, host, copy };
  }

  /** The two numbers of a signature in DER (RFC 3279, 2.2.3): an INTEGER is an mpint there. */
  const numbers = (der) => [der.subarray(4, 4 + der[3]), der.subarray(6 + der[3])];

  /** The strings of a signature; raises an Error in words. */
  async function sign({ passkey, host }, told) {
    const wanted = { rpId: host, challenge: told, allowCredentials: [{ type: "public-key", id: passkey }] };
    const { response } = await asked(() => navigator.credentials.get({ publicKey: wanted }));
    const [data, client, der] = [response.authenticatorData, response.clientDataJSON, response.signature].map((part) => new Uint8Array(part));
    return SSHSIG.joined(SSHSIG.strings(SIGNED, SSHSIG.strings(...numbers(der))), data.subarray(32, 37), SSHSIG.strings(location.origin, client, data.subarray(37)));
  }

  return { hindrance, make, read, sign };
})();
