// SSH signatures: PROTOCOL.sshsig of OpenSSH, over an Ed25519 key. What signs is handed in; the key is not seen here.

const SSHSIG = (() => {
  const KIND = "ssh-ed25519", HASH = "sha512";
  const utf8 = (text) => new TextEncoder().encode(text);

  function joined(...parts) {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => { whole.set(part, at); return at + part.length; }, 0);
    return whole;
  }

  const string = (bytes) => joined(new Uint8Array([bytes.length >>> 24, bytes.length >>> 16, bytes.length >>> 8, bytes.length].map((byte) => byte & 255)), bytes);
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const blob = (raw) => joined(string(utf8(KIND)), string(raw));

  /** A public key as a line of `authorized_keys`. */
  const line = (raw) => `${KIND} ${base64(blob(raw))} pbem@browser`;

  /**
   * The text with the signature beneath it, as `ssh-keygen -Y sign -n pbem@SERVER` makes it.
   * @param {string} text @param {string} server
   * @param {Uint8Array} raw the public key's 32 bytes
   * @param {(told: Uint8Array) => Promise<Uint8Array>} sign
   */
  async function signed(text, server, raw, sign) {
    const namespace = utf8(`pbem@${server}`), magic = utf8("SSHSIG"), none = new Uint8Array();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", utf8(text)));
    const made = await sign(joined(magic, string(namespace), string(none), string(utf8(HASH)), string(digest)));
    const whole = joined(magic, new Uint8Array([0, 0, 0, 1]), string(blob(raw)), string(namespace), string(none), string(utf8(HASH)), string(joined(string(utf8(KIND)), string(made))));
    return text + ["-----BEGIN SSH SIGNATURE-----", ...base64(whole).match(/.{1,70}/g), "-----END SSH SIGNATURE-----", ""].join("\n");
  }

  return { line, signed };
})();
