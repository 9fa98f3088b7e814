// Orders to choose from, below the place to write: those that go on as the line with the cursor begins, few at a time.

(() => {
  const FEW = 20, notation = document.getElementById("notation"), offered = document.getElementById("offered");
  const offers = [...new Set([...document.getElementById("offers").options].map(({ value }) => value))];
  const fitting = (said) => offers.filter((offer) => offer.toLowerCase().startsWith(said.toLowerCase()));

  /** Orders, or as many of the first words of each as leave few of them, but more than one. */
  function shortened(found) {
    let few = [];
    for (let words = 1; few.join() !== found.join(); words++) {
      const longer = [...new Set(found.map((offer) => offer.split(/(?=[ -])/).slice(0, words).join("")))];
      if (few.length > 1 && longer.length > FEW) return few;
      few = longer;
    }
    return few;
  }

  /** What goes on as the line with the cursor begins; if nothing does, what begins as no other line does. */
  function list() {
    const { value, selectionStart: at } = notation, from = value.lastIndexOf("\n", at - 1) + 1, end = `${value}\n`.indexOf("\n", at);
    const said = value.slice(from, end).trimStart(), others = `${value.slice(0, from)}${value.slice(end)}`.split("\n");
    const going = fitting(said).filter((offer) => offer !== said);
    const found = said && going.length ? fitting(said) : offers, few = shortened(found);
    const whole = (offer) => few.join() === found.join() || fitting(offer).length === 1;
    const open = few.filter((offer) => found !== offers || !others.some((other) => (whole(offer) ? other === offer : other.startsWith(offer))));
    offered.replaceChildren(...(open.length ? open : few).flatMap((offer) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: whole(offer) ? offer : `${offer} …`, style: "margin:3px;min-width:44px;min-height:44px;padding:6px 12px;font:inherit" });
      button.addEventListener("click", () => {
        const next = whole(offer) && !offer.endsWith(" ") && end === value.length ? "\n" : "";
        notation.setRangeText(`${offer}${next}`, from, end, "end");
        if (matchMedia("(hover: hover)").matches) notation.focus();  // elsewhere a keyboard would cover the list
        list();
      });
      return [button, " "];
    }));
  }

  for (const kind of ["input", "keyup", "click"]) notation.addEventListener(kind, list);
  list();
})();
