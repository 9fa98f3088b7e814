// Orders to choose from, below the place to write: those that go on as the line with the cursor begins.

(() => {
  const SHOWN = 60, notation = document.getElementById("notation"), offered = document.getElementById("offered");
  const offers = [...document.getElementById("offers").options].map(({ value }) => value);

  /** The line with the cursor: where it begins and ends in the text, and what it says. */
  function line() {
    const { value, selectionStart: at } = notation, from = value.lastIndexOf("\n", at - 1) + 1, end = `${value}\n`.indexOf("\n", at);
    return { from, end, said: value.slice(from, end).trimStart() };
  }

  /** Those that begin so; or all, where the line is one of them, or nothing begins so. */
  function fitting(said) {
    const found = offers.filter((offer) => offer.toLowerCase().startsWith(said.toLowerCase()));
    return found.length && !offers.includes(said) ? found : offers;
  }

  function choose(offer) {
    const { from, end } = line();
    notation.setRangeText(offer, from, end, "end");
    notation.focus();
    list();
  }

  function list() {
    offered.replaceChildren(...fitting(line().said).slice(0, SHOWN).flatMap((offer) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: offer, style: "margin:2px;padding:6px 10px;font:inherit" });
      button.addEventListener("click", () => choose(offer));
      return [button, " "];
    }));
  }

  for (const kind of ["input", "keyup", "click"]) notation.addEventListener(kind, list);
  list();
})();
