// Ed25519 signatures, held against a key. Points of small order, and numbers written in a second way, prove nothing,
// whatever a browser makes of them (RFC 8032 5.1): as pbem/identity/ed25519_points.py has it.

const ED25519 = (() => {
  const FIELD = 2n ** 255n - 19n, ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
  const EIGHTH = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
  const SMALL = [0n, 1n, FIELD - 1n, EIGHTH, FIELD - EIGHTH];
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const little = (bytes) => BigInt(`0x${hex([...bytes].reverse())}`);

  /** Whether a key, or the first half of a signature, can prove anything. */
  const isPoint = (bytes) => {
    const y = bytes.length === 32 ? little(bytes) & (2n ** 255n - 1n) : FIELD;
    return y < FIELD && !SMALL.includes(y);
  };

  /** The key of these 32 bytes, which are a point. */
  const key = (raw) => crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);

  const holds = async (key, signature, said) => signature.length === 64 && isPoint(signature.subarray(0, 32))
    && little(signature.subarray(32)) < ORDER && crypto.subtle.verify("Ed25519", key, signature, said);

  return { isPoint, key, holds };
})();
