// What the scripts of the pages find in a browser and QuickJS does not have: text, digests, signatures, inflating. Whatever
// is hard is answered by javascript.py, in hexadecimal digits. There is no document and no window here.

const WINDOW = (() => {
  const { decoded, digest, is_point, verifies, inflated } = globalThis;
  const octets = (source) => new Uint8Array(source.buffer || source, source.byteOffset || 0, source.byteLength);

  class TextEncoder {
    encode(text) { return Uint8Array.from(unescape(encodeURIComponent(text.toWellFormed())), (char) => char.charCodeAt(0)); }
  }

  class TextDecoder {
    decode(bytes) { return decoded(bytes.toHex()); }
  }

  const subtle = {
    async digest(name, bytes) { return Uint8Array.fromHex(digest(name, octets(bytes).toHex())).buffer; },
    async importKey(format, raw, name) {
      if (name.namedCurve && !is_point(octets(raw).toHex())) throw new TypeError("no point of the curve");
      return { format, name, raw: octets(raw).toHex() };
    },
    async verify(name, key, signature, said) { return verifies(name.name || name, key.raw, octets(signature).toHex(), octets(said).toHex()); },
  };

  class Blob {
    constructor([bytes]) { this.bytes = bytes; }
    stream() { return { pipeThrough: ({ through }) => through(this.bytes) }; }
  }

  class DecompressionStream {
    through(bytes) {
      const found = inflated(bytes.toHex());
      if (found === null) throw new TypeError("what cannot be inflated");
      return Uint8Array.fromHex(found);
    }
  }

  class Response {
    constructor(bytes) { this.bytes = bytes; }
    async arrayBuffer() { return this.bytes.buffer; }
  }

  return { TextEncoder, TextDecoder, crypto: { subtle }, Blob, DecompressionStream, Response };
})();

Object.assign(globalThis, WINDOW);
