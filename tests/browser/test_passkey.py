"""Passkeys on the page, by Chromium's own authenticator in software: a touch signs, and stock ssh-keygen agrees."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from browser.test_replay import verified as proved
from browser.waiting import until
from in_a_box.referee import ANN, SERVER, Referee, attachment, confirming, form_in, new
from in_a_box.sealed_seats import document
from machines.post_office import PBEM
from playing.random_players import PLAYERS

from pbem.games import rules
from pbem.identity import ssh
from pbem.mail.message import read_letter
from pbem.pages import Home, composer, fragment
from pbem.pages.match_page import replay
from pbem.proof import bundle
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from in_a_box.referee import Mailbox
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import CDPSession, ConsoleMessage, Page


HOME = Home(SERVER, f"pbem@{SERVER}")
HOST = "pages.play.example"
PAGES = f"https://{HOST}/pbem/"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
SIGNED = "document.getElementById('{}').value.includes('END SSH SIGNATURE')"
CONFIRM = f"confirm ann\nserver {SERVER}\nchallenge tYw4\nend\n"


def is_wrong(said: ConsoleMessage) -> bool:
    """True if a browser complains. Chromium wants RSA keys allowed, too, whose signatures OpenSSH does not know."""
    return said.type in {"error", "warning"} and "pubKeyCredParams" not in said.text


class Device:
    """A browser of its own, on the server's pages, with an authenticator that is touched when it asks."""

    def __init__(self, page: Page, html: str, address: str = PAGES) -> None:
        page.context.route("**/*", lambda asked: asked.fulfill(body=html, content_type="text/html; charset=utf-8"))
        self.page = page
        page.goto(address)
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("WebAuthn.enable")
        self.id = ""
        self.plug_in()

    def plug_in(self) -> None:
        self.id = str(
            self._session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})["authenticatorId"]
        )

    def tell(self, what: str, **words: bool) -> None:
        """Have the authenticator do something from now on."""
        self._session.send(f"WebAuthn.{what}", {"authenticatorId": self.id, **words})

    def make(self) -> str:
        """A passkey; the line of it."""
        self.page.locator("#signing > summary").click()
        self.page.locator("#make-passkey").click()
        until(self.page, "document.getElementById('public').value")
        return str(self.page.locator("#public").input_value())

    def sign(self, text: str) -> str:
        """A text, pasted and signed."""
        self.ask(text)
        until(self.page, SIGNED.format("other"))
        return str(self.page.locator("#other").input_value())

    def ask(self, text: str) -> None:
        self.page.locator("#other").fill(text)
        self.page.locator("#sign-other").click()

    def told(self, words: str) -> None:
        until(self.page, f"document.getElementById('signed-other').textContent.includes({json.dumps(words)})")


@pytest.fixture
def device(chromium: Chromium) -> Iterator[Callable[..., Device]]:
    """Begin a browser; in the end no script failed, and nothing was asked for but the pages themselves."""
    wrong: list[str] = []
    contexts = []

    def device(html: str, address: str = PAGES, width: int = 1100) -> Device:
        context = chromium.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if is_wrong(said) else None)
        return Device(page, html, address)

    yield device
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    referee = Referee(tmp_path)
    referee.config = msgspec.structs.replace(referee.config, pages=PAGES)
    referee.open_desk()
    yield referee
    referee.close()


def holds_for_ssh_keygen(folder: Path, signed: str, line: str) -> bool:
    """True if stock ssh-keygen verifies a text with its signature beneath it."""
    text, mark, armor = signed.partition(ssh.BEGIN)
    (folder / "allowed").write_text(f"ann {line}\n")
    (folder / "sig").write_text(mark + armor)
    words = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "ann", "-n", f"pbem@{SERVER}", "-s", "sig"]
    return subprocess.run(words, input=text.encode(), cwd=folder, capture_output=True, check=False).returncode == 0


def test_a_touch_signs_as_stock_ssh_keygen_verifies(device: Callable[..., Device], tmp_path: Path) -> None:
    here = device(composer("spaceships", HOME))
    line = here.make()
    signed = here.sign(CONFIRM)
    assert signed.startswith(CONFIRM)
    assert holds_for_ssh_keygen(tmp_path, signed, line)
    assert not holds_for_ssh_keygen(tmp_path, signed.replace("tYw4", "tYw5"), line)
    found = ssh.read_signature(signed.removeprefix(CONFIRM))
    assert ssh.verify(found, ssh.parse(line), CONFIRM.encode())
    assert found.device is not None
    assert found.device.origin == f"https://{HOST}"


def mail(referee: Referee, person: Mailbox, text: str) -> None:
    """Send a text as it is: it was signed on the page."""
    referee.deliver(referee.raw(person, text), person.address)


def mailed(page: Page, press: str) -> str:
    """The text of the letter that a press on a button opens in the mail program."""
    with page.expect_request(lambda asked: asked.url.startswith("mailto:")) as asked:
        page.locator(press).click()
    (told,) = parse_qs(urlsplit(asked.value.url).query)["body"]
    return str(told).replace("\r\n", "\n")


def move(referee: Referee, person: Mailbox, random: Random, page: Page | None) -> None:
    """Send the setup or the orders that are due, from the board of a page, which signs them, or from the form."""
    found = next(found for letter in reversed(person.letters) if (found := document(letter)))
    player, judge = PLAYERS[found["rules"]], rules(found["rules"])
    kind = "setup" if found["pbem"] == "setup 1" else "orders"
    if kind == "setup":
        text = player.setup(random, judge.options(found["options"], 2), found["seat"])
    else:
        text = player.orders(random, found["view"])
    if page is None:
        referee.send(person, person.filled(kind, text))
        return
    page.goto(f"{PAGES}#{fragment(found)}")
    page.wait_for_selector("#work:not([hidden])")
    page.locator("#notation").fill(text)
    mail(referee, person, mailed(page, "#mail"))


def test_a_whole_match_by_touch_is_proved_by_everybody(
    device: Callable[..., Device], referee: Referee, tmp_path: Path
) -> None:
    """From the registration to the bundle; each signature is one of stock ssh-keygen."""
    here = device(composer("dueling-masters", HOME))
    line, page = here.make(), here.page
    ann, bob = referee.person("ann"), referee.registered("bob")
    page.locator("#name").fill("ann")
    (told,) = parse_qs(urlsplit(str(page.locator("#register").get_attribute("href"))).query)["body"]
    referee.send(ann, told.replace("\r\n", "\n"), sign=False)
    mail(referee, ann, here.sign(confirming(ann)))
    assert "You are registered as ann." in ann.text
    referee.send(bob, new(bob, "dueling-masters", "ann", options="max_turns: 4\nsettle: 0"))
    mail(referee, ann, here.sign(form_in(ann.text, "accept", lines=1)))
    random = Random("passkey")
    while (match := referee.match()).phase != "closed":
        if match.asked(match.names.index("ann") + 1):
            move(referee, ann, random, page)
        else:
            move(referee, bob, random, None)
    content = attachment(ann.find("the end"), ".pbem.zip")
    path = tmp_path / "m1.pbem.zip"
    path.write_bytes(content)
    done = subprocess.run([PBEM, "verify", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = bundle.read(content)
    said = proved(device(replay(found)).page)
    assert said[-1] == "Everything that can be checked here holds."
    assert [line for line in said[:-1] if not line.startswith("ok")] == []
    mine = {name: paper for name, paper in found.papers.items() if re.match(r"letters/.*seat-2\.eml", name)}
    assert len(mine) > 3
    for raw in mine.values():
        assert holds_for_ssh_keygen(tmp_path, str(read_letter(raw).text).replace("\r\n", "\n"), line)
    verified(content)


NOBODY = "nobody touched it in time, it was cancelled, or the passkey is not at hand"


def test_what_was_not_touched_signs_nothing_and_may_be_pressed_again(
    device: Callable[..., Device], referee: Referee
) -> None:
    """Cancelled, taken away, or lying: the letter stays as it is."""
    ann, _ = referee.agreed("settle: 0")
    here = device(composer("spaceships", HOME))
    here.make()
    for wrong, words in (
        ("isBadUP", "its signature proves nothing"),
        ("isBogusSignature", "its signature proves nothing"),
    ):
        here.tell("setResponseOverrideBits", **{wrong: True})
        here.ask(CONFIRM)
        here.told(words)
        assert here.page.locator("#other").input_value() == CONFIRM
    here.tell("setResponseOverrideBits")
    here.tell("setUserVerified", isUserVerified=False)
    found = json.loads(attachment(ann.find("your setup"), "setup.json"))
    page = here.page
    page.goto(f"{PAGES}#{fragment(found)}")
    page.wait_for_selector("#work:not([hidden])")
    page.locator("#notation").fill(ANN)
    page.locator("#mail").click()
    until(page, f"document.getElementById('sent').textContent.includes({json.dumps(NOBODY)})")
    assert "BEGIN SSH" not in page.locator("#form").input_value()
    here.tell("setUserVerified", isUserVerified=True)
    page.locator("#mail").click()
    until(page, SIGNED.format("form"))
    here.tell("removeVirtualAuthenticator")
    here.plug_in()
    here.ask(CONFIRM)
    here.told(NOBODY)


def test_a_passkey_of_another_host_is_none_here(
    device: Callable[..., Device], referee: Referee, tmp_path: Path
) -> None:
    """Neither on the page, nor at the server; one of this host is known again by its copy, which holds no secret."""
    elsewhere = device(composer("spaceships", HOME), "https://other.example/")
    line = elsewhere.make()
    ann = referee.person("ann")
    referee.send(ann, f"register ann\n{line}\n", sign=False)
    assert "This passkey is for other.example" in ann.text
    here = device(composer("spaceships", HOME))
    copies: list[Path] = []
    for one in (elsewhere, here):
        if one is here:
            here.make()
        with one.page.expect_download() as saved:
            one.page.locator("#save-key").click()
        copies.append(tmp_path / f"{len(copies)}.json")
        saved.value.save_as(copies[-1])
    assert json.loads(copies[1].read_text()).startswith(here.page.locator("#public").input_value())
    page = device(composer("spaceships", HOME)).page
    page.locator("#signing > summary").click()
    page.locator("#open-key").set_input_files(copies[0])
    until(page, "document.getElementById('keyed').textContent.includes('this passkey belongs to other.example')")
    assert not page.locator("#public").input_value()
    page.locator("#open-key").set_input_files(copies[1])
    until(page, "document.getElementById('public').value")
    assert page.locator("#public").input_value() == here.page.locator("#public").input_value()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("file", "This page is a file"),
        ("http://pages.play.example/", "over https"),
        ("http://127.0.0.1/", "under a name"),
        ("https://192.0.2.1/", "under a name"),
        ("old", "This browser knows no passkeys"),
    ],
)
def test_where_there_can_be_none_the_page_says_why(
    address: str, why: str, device: Callable[..., Device], opened: Callable[..., Page]
) -> None:
    """It makes an ordinary key instead."""
    html = composer("spaceships", HOME)
    if address == "old":
        html = html.replace("globalThis.PublicKeyCredential", "globalThis.NoSuchThing")
        digest = base64.b64encode(
            hashlib.sha256(re.findall("<script>(.*?)</script>", html, re.DOTALL)[0].encode()).digest()
        )
        html = re.sub("script-src '[^']*'", f"script-src 'sha256-{digest.decode()}'", html)
    page = opened(html) if address == "file" else device(html, PAGES if address == "old" else address).page
    page.locator("#signing > summary").click()
    assert page.locator("#make-passkey").is_disabled()
    assert why in page.locator("#no-passkey").inner_text()
    if not address.startswith("http://pages"):  # there the browser has no cryptography at all
        page.locator("#make").click()
        until(page, "document.getElementById('public').value.startsWith('ssh-ed25519 ')")
