"""Passkeys on the page, by Chromium's own authenticator in software: a touch signs, and stock ssh-keygen agrees."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import time
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from browser.test_replay import verified as proved
from browser.waiting import until
from in_a_box.referee import ANN, SERVER, Referee, attachment
from in_a_box.sealed_seats import document
from machines import post_office
from machines.by_hand import Letter, Player, agree, new_player, register
from machines.post_office import PBEM, PostOffice, Servers
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


class Toucher(Player):
    """A player who has nothing but a mailbox, and a passkey on the server's pages."""

    device: Device

    def send(self, text: str, *, answering: Letter | None = None, sign: bool = True) -> None:
        super().send(self.device.sign(text) if sign else text, answering=answering, sign=False)

    def compose(self, found: dict[str, Any], text: str, letter: Letter) -> None:
        """Send what is written on the board, as the letter that one press signs and opens."""
        page = self.device.page
        page.goto(f"{PAGES}#{fragment(found)}")
        page.wait_for_selector("#work:not([hidden])")
        page.locator("#notation").fill(text)
        with page.expect_request(lambda asked: asked.url.startswith("mailto:")) as asked:
            page.locator("#mail").click()
        (told,) = parse_qs(urlsplit(asked.value.url).query)["body"]
        self.send(told.replace("\r\n", "\n"), answering=letter, sign=False)


def act(person: Player, letter: Letter, random: Random) -> bytes | None:
    """Do what a letter asks for; the bundle, if it is the last one."""
    if "the match is closed" in letter.text:
        return letter.attachment(".pbem.zip")[1]
    found = document(letter.message)
    if found is None or (found["pbem"] == "position 1" and not found["view"]["entitled"]):
        return None
    player, judge = PLAYERS[found["rules"]], rules(found["rules"])
    kind = "setup" if found["pbem"] == "setup 1" else "orders"
    if kind == "setup":
        text = player.setup(random, judge.options(found["options"], 2), found["seat"])
    else:
        text = player.orders(random, found["view"])
    if isinstance(person, Toucher):
        person.compose(found, text, letter)
    else:
        person.send(letter.filled(kind, text), answering=letter)
    return None


def played(ann: Toucher, bob: Player) -> bytes:
    """All of a match, which bob proposes; its bundle."""
    agree([bob, ann], "dueling-masters", "max_turns: 4")
    random, end = Random("passkey"), time.monotonic() + post_office.PATIENCE
    while time.monotonic() < end:
        for person in (ann, bob):
            while not person.arrivals.empty():
                if (found := act(person, Letter(person.arrivals.get()), random)) is not None:
                    return found
        time.sleep(0.05)
    raise TimeoutError("the match does not end")


def test_a_whole_match_by_touch_is_proved_by_everybody(
    device: Callable[..., Device], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the real daemon, from the registration to the bundle; each signature is one of stock ssh-keygen."""
    monkeypatch.setattr(post_office, "CONFIG", f'pages = "{PAGES}"\n{post_office.CONFIG}')
    office = PostOffice(tmp_path)
    with office.opened():
        office.box(f"operator@{SERVER}")
        ann, bob = (kind(**vars(new_player(name, office))) for kind, name in ((Toucher, "ann"), (Player, "bob")))
        assert isinstance(ann, Toucher)
        ann.device = device(composer("dueling-masters", HOME))
        line, page = ann.device.make(), ann.device.page
        office.servers = servers = Servers(tmp_path, office.port, "pbem.sqlite")
        try:
            page.locator("#name").fill("ann")
            (told,) = parse_qs(urlsplit(str(page.locator("#register").get_attribute("href"))).query)["body"]
            ann.send(told.replace("\r\n", "\n"), sign=False)
            challenge = ann.wait("To prove that the key")
            ann.send(challenge.form("confirm").replace("NAME", "ann"), answering=challenge)
            ann.wait("You are registered as ann.")
            register(bob)
            content = played(ann, bob)
            servers.stop()
        finally:
            servers.kill()
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
