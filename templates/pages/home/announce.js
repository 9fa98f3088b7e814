// The form that announces a tournament: its fields become the lines of the letter.

(() => {
  const form = document.getElementById("announce"), said = document.getElementById("announced-so");
  const value = (id) => document.getElementById(id).value;

  document.getElementById("announcing").addEventListener("toggle", async () => {
    const { latest } = await (await fetch("news?after=0", { cache: "no-store" })).json();
    document.getElementById("announced").replaceChildren(...latest.accounts.map(({ account }) => make("option", {}, account)));
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const format = value("cup-format"), lines = [value("cup-game"), `format: ${format}`, `closes: ${value("closes")}`, `pace: ${value("cup-pace")}d`];
    if (format !== "swiss" && value("at-once") !== "0") lines.push(`at-once: ${value("at-once")}`);
    said.textContent = say("One moment ...");
    const wanted = { account: value("announced"), word: lines.join("\n") };
    const answer = await fetch("announce", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted) });
    const found = answer.ok ? await answer.json() : { error: `${answer.status}` };
    said.textContent = found.error || say("Sent. The server's answer has its number, such as t3: your friends enter it by that.");
  });
})();
