// Around the composer: what it finds legal is handed to `pbem play`, which waits at this page's own address, once.

(() => {
  const button = document.getElementById("hand-over"), said = document.getElementById("handed");
  const inside = (id) => document.getElementById("composer").contentDocument.getElementById(id);

  /** Whether the composer has a form, which it writes for what is legal alone. */
  const legal = () => Boolean(inside("form") && inside("form").value);

  setInterval(() => { if (!button.hidden) button.disabled = !legal(); }, 200);

  button.addEventListener("click", async () => {
    if (!legal()) return;
    const final = Boolean(inside("final") && inside("final").checked);
    try {
      const answer = await fetch(location.pathname, { method: "POST", body: JSON.stringify({ text: inside("notation").value, final }) });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      button.hidden = true;
      said.textContent = "Handed over: go on in the terminal. This page can be closed.";
    } catch (error) {
      said.textContent = `pbem play does not take it: ${error.message}. Does it still wait?`;
    }
  });
})();
