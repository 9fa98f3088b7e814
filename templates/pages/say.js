// What the pages say, in their reader's language. A message is its own English sentence, with the names of facts in
// braces, as a Phrase of the program has them; what a page's language says instead is in the page, as `messages`.

const say = (() => {
  const element = globalThis.document ? document.getElementById("messages") : null;
  /** @type {Object<string, string>} */
  const known = element ? JSON.parse(element.textContent) : globalThis.MESSAGES || {};
  return (text, facts = {}) => (known[text] || text).replace(/\{([a-z_]+)\}/g, (place, name) => (name in facts ? facts[name] : place));
})();
