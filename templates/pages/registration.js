// The key in this browser, and the letters that begin with it: made or brought in, registered, proved. Whatever else a
// letter wants signed is signed here too.

(() => {
  const NAME = new RegExp(`^${FORMS.written.player}$`);
  /** @type {?(Key|Passkey)} */
  let key = null;
  const hindrance = PASSKEY.hindrance(), [joined] = (new URLSearchParams(location.search).get("join") || "").match(new RegExp(`^${FORMS.written.match}$`)) || [""];

  function show(found) {
    key = found;
    byId("public").value = key ? SSHSIG.line(key) : "";
    byId("make").disabled = Boolean(key);
    byId("make-passkey").disabled = Boolean(key || hindrance);
    const save = byId("save-key");
    save.hidden = !(key && key.copy);
    if (key && key.copy) save.href = URL.createObjectURL(new Blob([JSON.stringify(key.copy)], { type: "application/json" }));
    register();
    COMPOSER.keyed(key);
  }

  async function settle(made, done) {
    try {
      const { key: found, lasting } = await made();
      show(found);
      byId("passphrase").value = "";
      const where = key.passkey ? say("The copy holds no secret: it tells another browser which passkey is yours.") : lasting ? say("The browser promises to keep it until you remove it.") : say("The browser may delete it when storage runs low.");
      byId("keyed").textContent = `${done} ${where} ${key.copy ? say("Save the copy as well.") : ""}`;
    } catch (error) {
      byId("keyed").textContent = say("Nothing was made or opened: {reason}.", { reason: error.message });
    }
  }

  byId("make").addEventListener("click", () => settle(() => KEYRING.make(byId("passphrase").value), say("The key is made. Now register with it.")));
  byId("make-passkey").addEventListener("click", () => settle(async () => KEYRING.adopt(await PASSKEY.make(byId("name").value.trim() || "pbem")), say("The passkey is made. Now register with it.")));
  byId("open-key").addEventListener("change", async (event) => {
    const text = await event.target.files[0].text();
    event.target.value = "";
    await settle(() => KEYRING.open(text, byId("passphrase").value), say("The key is here."));
  });

  /** The letter that registers: with the key, if there is one. */
  function register() {
    const name = byId("name").value.trim(), letter = byId("register");
    const to = HOME.server && HOME.server.address, ready = NAME.test(name) && to;
    byId("add").disabled = !(ready && key);
    if (!ready) { letter.removeAttribute("href"); letter.setAttribute("aria-disabled", "true"); return; }
    letter.href = COMPOSER.link(to, "[pbem] register", `register ${name}${joined && ` ${joined}`}\n${byId("public").value}\n`.trimEnd() + "\n");
    letter.removeAttribute("aria-disabled");
  }

  /** The letter that adds this key to an account: an older key of its owner, elsewhere, signs it. */
  byId("add").addEventListener("click", () => {
    byId("other").value = `key add\n${byId("public").value}\nserver ${HOME.server.server}\nplayer ${byId("name").value.trim()}\nend\n`;
    byId("signed-other").textContent = say("Sign this text with your older key, on the device that has it, and send it from there. Then paste the answer here, and sign it with the new key.");
  });

  byId("name").addEventListener("input", register);
  byId("name").parentElement.parentElement.hidden = !HOME.server;

  /** The one form of a pasted letter that wants a signature, signed, and a letter with it. */
  byId("sign-other").addEventListener("click", async () => {
    const said = byId("signed-other"), pasted = byId("other").value, forms = REPORT.forms(pasted);
    const text = forms.length ? forms[0] : `${pasted.replace(/\r\n/g, "\n").trim()}\n`;
    const server = (text.match(/^server (\S+)$/m) || [])[1] || byId("server").value.trim();
    byId("mail-other").hidden = true;
    if (!key) { said.textContent = say("First make a key, or open a copy of yours."); return; }
    if (pasted.includes("-----BEGIN SSH SIGNATURE")) { said.textContent = say("It is signed already."); return; }
    if (!server) { said.textContent = say("The form names no server: enter the one that it is for, such as play.example."); return; }
    if (HOME.server && server !== HOME.server.server) { said.textContent = say("This page is only for {server}.", { server: HOME.server.server }); return; }
    const made = await KEYRING.signed(key, text, server, (words) => { said.textContent = words; });
    if (!made || byId("other").value !== pasted) return;
    byId("other").value = made;
    if (HOME.server) {
      byId("mail-other").href = COMPOSER.link(HOME.server.address, `[pbem] ${text.split("\n")[0].slice(0, 40)}`, byId("other").value);
      byId("mail-other").hidden = false;
    }
    said.textContent = say("Signed: send all of it in a letter.");
  });

  if (joined) {  // an invitation leads here: to the key first, and the letter that registers joins that match
    byId("joining").textContent = say("You answer the invitation to match {match}: make a passkey or a key, choose a name, and send the letter. It joins the match, too.", { match: joined });
    byId("signing").open = true;
    byId("signing").scrollIntoView();
  }
  byId("no-passkey").textContent = hindrance;
  if (HOME.server) byId("server").value = HOME.server.server;
  KEYRING.kept().then(show, () => show(null));
})();
