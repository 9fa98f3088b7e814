// What a player brings in, read: a report's JSON, a letter's source, or a letter's visible text with the link in it.
// Forms that a letter asks to be signed are found here too. Nothing here knows of a document.

const REPORT = (() => {
  const fromBase64 = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/").replace(/[^A-Za-z0-9+/]/g, "")), (char) => char.charCodeAt(0));

  /** What a link to the composer carries behind its #: raw deflate (RFC 1951) in base64url. */
  async function inflated(text) {
    const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(new TextDecoder().decode(new Uint8Array(await new Response(stream).arrayBuffer())));
  }

  /** A link in a text that people read; mail programs quote lines, and break long ones where they like. */
  async function linked(text) {
    for (const [, rest] of text.matchAll(/\.html#([A-Za-z0-9_-]{20}[\s\S]*)/g)) {
      let packed = "";
      for (const line of rest.split(/\r?\n/)) {
        const [word] = line.replace(/^[>\s]+/, "").match(/^[A-Za-z0-9_-]*/);
        if (!word) break;
        packed += word;
        try { return await inflated(packed); } catch { continue; }
      }
    }
    return null;
  }

  /** Quoted-printable undone (RFC 2045, 6.7). */
  const unquoted = (text) => new TextDecoder().decode(Uint8Array.from(text.replace(/=\r?\n/g, "").replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16))), (char) => char.charCodeAt(0)));

  function attached(text) {
    for (const part of text.split(/^--.*$/m)) {
      if (!/name="?[^"\n]*(position|setup)\.json/i.test(part)) continue;
      const body = part.split(/\r?\n\r?\n/).slice(1).join("\n");
      if (/encoding:\s*base64/i.test(part)) return JSON.parse(new TextDecoder().decode(fromBase64(body)));
      return JSON.parse(/encoding:\s*quoted-printable/i.test(part) ? unquoted(body) : body);
    }
    return null;
  }

  /** What a report or a request tells a program, out of whatever was brought; raises an Error in words. */
  async function read(text) {
    const trimmed = text.trim();
    if (trimmed.startsWith("{")) {
      try { return JSON.parse(trimmed); } catch { throw new Error(say("it is cut off, or not whole")); }
    }
    const found = attached(text) || await linked(text) || await linked(unquoted(text.replace(/[^\x20-\x7e\r\n]/g, "?")));
    if (found) return found;
    throw new Error(say("there is no position.json or setup.json in it, and no link to this page"));
  }

  const FORM = /^(?:(?:confirm|setup|orders|recover|resign|key|substitute|move)\b[^\n]*\n(?:(?!end$)[^\n]*\n)+end|accept m[0-9]+ [0-9a-f]{64})$/gm;

  /** The forms in a letter's text that want a signature, each as it is to be signed. */
  function forms(text) {
    const plain = text.replace(/\r\n?/g, "\n").split("\n").map((line) => line.replace(/^(?:> ?)+/, "").trimEnd()).join("\n");
    const from = /^(?:confirm|setup|orders|recover|resign|key|substitute|move|accept)\b/m;
    return from.test(plain) ? [...plain.matchAll(FORM)].map(([form]) => `${form}\n`) : [];
  }

  return { read, inflated, forms };
})();
