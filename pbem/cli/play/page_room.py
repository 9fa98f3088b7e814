"""`pbem play --browser`: all of `pbem play` on a page of this machine, whose buttons do what the commands do.

One thread, that of the command, uses mailboxes and memories; `pbem.player.page_port` serves what comes of it. What a
command would print is told on the page, too. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import io
import os
import queue
import re
import signal
import sys
import time
from collections import deque
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from pbem import durable
from pbem.cli.play import register
from pbem.cli.play.display import tournament_terms
from pbem.cli.play.event_text import proved
from pbem.cli.play.foundation import NOT_LEGAL, PlayTable, demand_unchanged, state, troubles
from pbem.cli.play.page_views import (
    ComposedRequest,
    MatchRequest,
    PageViews,
    PractiseRequest,
    RegisterRequest,
    SentenceRequest,
    TakingPartRequest,
    TouchedRequest,
)
from pbem.cli.play.register import open_account
from pbem.cli.programs import TOUCH
from pbem.cli.telling import clean, harmless, spoken
from pbem.games import BUILT_IN, Refused
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.identity import ssh
from pbem.identity.verdict import BadSignature
from pbem.letters.render import Templates
from pbem.pages import home_page
from pbem.phrase import Phrase
from pbem.player import PlayerTrouble
from pbem.player.account_file import Account, BadAccount, split
from pbem.player.correspondence.judge import in_words
from pbem.player.correspondence.standings import Impossible
from pbem.player.page_port import LatestNews, PageAnswer, PagePort, WorkQueue, as_json
from pbem.player.play_facts import account_facts
from pbem.player.signing import CannotSign
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.json_object import JsonObject
    from pbem.player.account_file import Places
    from pbem.player.memory import SentForm
    from pbem.player.signing import SigningKey


_SOON, _LOOK, _AGAIN = 0.1, 1.0, 30.0  # seconds between two looks: after something came, at most, after trouble
_NEWS = 20.0  # seconds that a page waits for news
_WORK = 25.0  # and for what it asked for
_TOUCH = 60.0  # and for the touch of a passkey
_LATER = Phrase("It takes longer than usual.")
_NOTHING = Phrase("Nothing was signed or sent.")
_LINES = 60  # of what was told
_USED = Phrase(
    "This address was used up: it opens the page once. Go to the tab that it opened. If you did not open it, somebody"
    " else on this machine did: press Ctrl-C in the terminal, and start `pbem play --browser` again."
)


def run(table: PlayTable, match: str = "") -> None:
    """Serve the page for a table's account, or for all if it names none, and open it in the browser at a match."""
    first = f"{table.account.id}/{match}" if match else ""
    language = _language(os.environ)
    room = PlayRoom(table.folders, first, language)
    names = table.folders.accounts
    tables = [table] if table.name or match else [PlayTable(table.folders, name, 0.0) for name in names]
    port = PagePort(os.urandom, room, Templates().of(language).say(_USED))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with room.afterwards:
            for one in tables:
                room.afterwards.callback(one.afterwards.close)
                if wrong := tried(partial(room.seat, one)):
                    click.echo(wrong, err=True)
            click.echo(f"Your matches are on a page, until you press Ctrl-C here, or Stop there:\n\n    {port.url}\n")
            click.launch(port.url)
            room.work.run(room.look)
    except KeyboardInterrupt:
        click.echo("Stopped.")
    finally:
        room.news.tell({"stopped": True})  # no tab may go on asking this port: it may be another's next
        port.stop()


def _language(environment: Mapping[str, str]) -> str:
    """The language of this user, as far as the page speaks it: a player's installation may have English alone."""
    named = environment.get("LC_ALL") or environment.get("LC_MESSAGES") or environment.get("LANG") or ""
    tag = named.partition(".")[0].partition("_")[0]
    return tag if tag in LANGUAGES and find_spec("babel") else ENGLISH


class PlayRoom:
    """The views and actions of the page for some accounts. Its methods run in the command's thread, or ask it."""

    def __init__(self, folders: Places, first: str, language: str) -> None:
        self.work = WorkQueue()
        self.news = LatestNews({"accounts": []})
        self.afterwards = ExitStack()
        self._folders = folders
        self._first = first
        self._language = language
        self._templates = Templates().of(language)
        self._tables: dict[str, PlayTable] = {}
        self._told: deque[str] = deque(maxlen=_LINES)
        self._next: dict[str, float] = {}
        """The time to look again for the letters of an account, after trouble."""
        self._asked: tuple[PlayTable, SentForm] | None = None
        self._answered = ""
        self._pause = _SOON
        self._wanted: JsonObject = {}
        """The text that a passkey is to sign, if there is one."""
        self._touches: queue.SimpleQueue[TouchedRequest] = queue.SimpleQueue()
        self._views = PageViews(self._templates, language)
        self._acts: Mapping[str, tuple[type[msgspec.Struct], Callable[[Any], JsonObject]]] = {
            "judge": (ComposedRequest, self._judge),
            "send": (ComposedRequest, self._send),
            "say": (SentenceRequest, self._say),
            "ask": (SentenceRequest, self._ask_server),
            "new": (SentenceRequest, self._propose),
            "take-part": (TakingPartRequest, self._take_part),
            "practise": (PractiseRequest, self._practise),
            "register": (RegisterRequest, self._register),
            "verify": (MatchRequest, self._verify),
        }

    # The thread of the command.

    def seat(self, table: PlayTable) -> str:
        """Play at a table, too: its key asks for a passphrase now, or never. Returns the account's name."""
        name = table.account.id
        if table.account.key:
            table.key.unlock()
        self._tables[name] = table
        table.touch, table.browser = self._touch, self._signed_there
        return name

    def _touch(self) -> None:
        """Ask for a touch, at once: the page hears of everything else when the work is done."""
        self._told.append(self._templates.say(TOUCH))
        self.news.tell(self._overview())
        click.echo(TOUCH, sys.__stderr__)

    def _table(self, name: str) -> PlayTable:
        """A new table for an account, while the page is open."""
        table = PlayTable(self._folders, name, 0.0)
        table.passphrase, table.browser = _no_passphrase, self._signed_there
        self.afterwards.callback(table.afterwards.close)
        return table

    def _signed_there(self, key: SigningKey, text: bytes, namespace: str) -> str:
        """Have the page sign with a passkey; raises `CannotSign`."""
        number = int(self._wanted.get("number", 0)) + 1
        server = namespace.removeprefix("pbem@")
        self._wanted = {"number": number, "key": key.public, "text": text.decode(), "server": server}
        self.news.tell(self._overview())
        try:
            while (answer := self._touches.get(timeout=_TOUCH)).number != number:
                pass  # of a page that was asked before
        except queue.Empty:
            raise CannotSign("Nobody touched the passkey; nothing was signed.") from None
        finally:
            self._wanted = {"number": number}
            self.news.tell(self._overview())
        try:
            holds = ssh.verify(ssh.read(answer.armor), ssh.parse(key.public), text)
        except BadSignature:
            holds = False
        if not holds:
            raise CannotSign(
                "Nothing was signed: {reason}.", reason=answer.error or Phrase("the signature does not hold")
            )
        return answer.armor

    def look(self) -> float:
        """Look for letters, and tell what there is; returns the seconds until the next look."""
        self._pause = min(2 * self._pause, _LOOK)
        with self._overheard():
            for name, table in self._tables.items():
                if time.monotonic() < self._next.get(name, 0.0):
                    continue
                wrong = tried(partial(self._look, table), self._templates.say)
                if wrong or table.letters.memory.in_state("ready"):
                    self._next[name] = time.monotonic() + _AGAIN
                if wrong and wrong not in self._told:
                    click.echo(wrong)
            if wrong := tried(lambda: self.news.tell(self._overview()), self._templates.say):
                click.echo(wrong)
                self._pause = _LOOK
        return self._pause

    def _look(self, table: PlayTable) -> None:
        if table.fetch():
            self._pause = _SOON
        table.send()
        if self._asked and self._asked[0] is table and state(table.letters, self._asked[1]) == "done":
            self._asked, self._answered = None, clean(table.letters.memory.last_text())

    def _overview(self) -> JsonObject:
        accounts = [account_facts(table.letters, table.agent, table.now()) for table in self._tables.values()]
        wanted = self._wanted if "text" in self._wanted else None
        return {"accounts": accounts, "told": list(self._told), "answer": self._answered, "wanted": wanted}

    @contextmanager
    def _overheard(self) -> Iterator[None]:
        """Tell the page, too, what is printed."""
        heard = io.StringIO()
        try:
            with spoken(self._templates.say), redirect_stdout(heard), redirect_stderr(heard):
                yield
        finally:
            lines = heard.getvalue().rstrip().splitlines()
            self._told.extend(lines)
            for line in lines:
                click.echo(line)

    # What is shown.

    def show(self, name: str, asked: Mapping[str, str]) -> PageAnswer | None:
        """The page or the facts of a name."""
        if name == "":
            return PageAnswer(home_page(self._first, self._language).encode())
        if name == "news":
            after = asked.get("after", "")
            number, latest = self.news.after(int(after) if re.fullmatch("[0-9]{1,9}", after) else 0, _NEWS)
            return as_json({"number": number, "latest": latest})
        view = self._views.named.get(name)
        if view is None or not {"account", "match"} <= asked.keys():
            return None
        found = self._ask(lambda: view(self._of(asked["account"]), asked["match"]))
        if isinstance(found, PageAnswer) or name in {"match", "tournament"}:
            return found if isinstance(found, PageAnswer) else as_json(found)
        return PageAnswer(
            str(found.get("error") or self._templates.say(_LATER)).encode(), "text/plain; charset=utf-8", framed=True
        )

    def _of(self, account: str) -> PlayTable:
        if account not in self._tables:
            raise BadAccount("There is no account {account} here.", account=account)
        return self._tables[account]

    # What is done.

    def act(self, name: str, asked: JsonObject) -> PageAnswer | None:
        """Do what a press of a button asks for."""
        if name == "stop":
            self._touches.put(TouchedRequest(int(self._wanted.get("number", 0)), error="stopped"))
            self.work.stop()
            return as_json({})
        if name == "touched":
            try:
                self._touches.put(msgspec.convert(asked, TouchedRequest))
            except msgspec.ValidationError:
                return None
            return as_json({})
        if name not in self._acts:
            return None
        kind, work = self._acts[name]
        try:
            wanted = msgspec.convert(asked, kind)
        except msgspec.ValidationError:
            return None
        return as_json(self._ask(lambda: work(wanted)))

    def _ask(self, work: Callable[[], object]) -> Any:
        """Have something done by the one thread; what is wrong comes back in words."""
        found: list[object] = []

        def do() -> object:
            with self._overheard():
                wrong = tried(lambda: found.append(work()), self._templates.say)
            self._pause = _SOON
            self._next.clear()
            return {"error": wrong} if wrong else found[0]

        try:
            return self.work.ask(do, _WORK)
        except TimeoutError:
            return {"later": True}

    def _judge(self, asked: ComposedRequest) -> JsonObject:
        table = self._of(asked.account)
        standing = table.letters.matches.standing(asked.match)
        say = self._templates.say
        setup = standing.phase == "setup"
        try:
            judged = (
                table.letters.judge.setup(asked.match, asked.text)
                if setup
                else table.judged(standing, asked.text, asked.turn)
            )
        except Refused as refused:
            return {"faults": [say(fault.message) for fault in refused.faults]}
        words: Sequence[str] = judged.text.splitlines() if setup else in_words(standing.rules, judged)
        return {
            "words": [say(one) for one in words],
            "unused": [say(one) for one in judged.unused],
            "example": judged.example,
            "doubts": [say(one) for one in judged.doubts],
            "now": [say(fault.message) for fault in judged.faults],
        }

    def _send(self, asked: ComposedRequest) -> JsonObject:
        table, words = self._of(asked.account), ""
        demand_unchanged(table, asked.match, asked.shown)
        standing = table.letters.matches.standing(asked.match)
        if standing.phase == "setup":
            _, words = table.set_up(standing, asked.text)
        elif table.order(standing, asked.text, final=asked.final, turn=asked.turn) is None:
            return {"kept": True}
        return {"sent": table.send(), "words": words}

    def _say(self, asked: SentenceRequest) -> JsonObject:
        table, match = self._of(asked.account), asked.match
        if asked.what != "press":  # words go at any time; everything else is for the moment that was shown
            if asked.shown is None:
                raise Impossible(
                    "{what}: nobody was shown {match}; nothing was signed. Look again.", what=asked.what, match=match
                )
            demand_unchanged(table, match, asked.shown)
        early = asked.what == "clear" and asked.word
        if early and table.letters.matches.standing(match).sealed:
            table.agent.forget(match, _early(asked.word))
            return {"kept": True}
        if asked.what == "take-back":
            table.take_back(match)
        else:
            _prepared(table, match, asked.what, " ".join(asked.word.split()))
        return {"sent": table.send()}

    def _ask_server(self, asked: SentenceRequest) -> JsonObject:
        table = self._of(asked.account)
        self._answered, self._asked = "", (table, table.letters.ask(" ".join(asked.word.split()), table.now()))
        return {"sent": table.send()}

    def _propose(self, asked: SentenceRequest) -> JsonObject:
        table = self._of(asked.account)
        head, _, options = asked.word.partition("\n")
        table.letters.tell(" ".join(f"new {head}".split()), table.now(), text=options)
        return {"sent": table.send()}

    def _take_part(self, asked: TakingPartRequest) -> JsonObject:
        table, words = self._of(asked.account), f"{asked.what} {asked.tournament}"
        if asked.what == "enter":
            _, hash_ = tournament_terms(table.letters, asked.tournament, self._templates)
            if hash_ != asked.hash:
                raise Impossible(
                    "The terms of {tournament} are others than you saw; nothing was signed.",
                    tournament=asked.tournament,
                )
            words += f" {hash_}" + (f" team {asked.team}" if asked.team else "")
        table.letters.tell(words, table.now())
        return {"sent": table.send()}

    def _practise(self, asked: PractiseRequest) -> JsonObject:
        if asked.game not in BUILT_IN:
            raise Impossible("{game} is no game that programs play.", game=asked.game)
        table = self._tables.get(register.ACCOUNT) or self._table(register.ACCOUNT)
        table.patience = register.PATIENCE
        standing = register.begin_to_play(table, asked.game)
        return {"account": self.seat(table), "match": standing.match}

    def _register(self, asked: RegisterRequest) -> JsonObject:
        name, server = split(asked.account)
        given = msgspec.structs.asdict(asked) | {"server_address": asked.server_address or f"pbem@{server}"}
        del given["account"], given["password"], given["new_key"], given["passkey"]
        if asked.passkey:
            path = self._folders.passkey(asked.account, asked.passkey)
            durable.replace(path, f"{asked.passkey}\n".encode())
            given["key"] = str(path)
        made = Account(name=name, server=server, **given)
        if asked.password:
            _keep_password(asked.password_file, asked.password)
        table = self._table(made.id)
        open_account(table, made, new_key=asked.new_key)
        return {"account": self.seat(table)}

    def _verify(self, asked: MatchRequest) -> JsonObject:
        heard = io.StringIO()
        with redirect_stdout(heard), redirect_stderr(heard):
            holds = proved(self._of(asked.account).letters, asked.match)
        return {"holds": holds, "said": heard.getvalue()}


def tried(work: Callable[[], object], say: Callable[[str], str] = str) -> str:
    """Do something; returns what is wrong, in the words that `say` finds for a phrase, or ""."""
    try:
        with troubles():
            try:
                work()
            except PlayerTrouble as error:  # before it becomes a text of the terminal
                return harmless(say(error.args[0]), kept="\n")
            except Refused as refused:
                faults = [clean(say(fault.message)) for fault in refused.faults]
                return "\n  - ".join([say(NOT_LEGAL), *faults])
    except click.ClickException as error:
        return error.message
    except (click.Abort, SystemExit):
        return say(_NOTHING)
    return ""


def _prepared(table: PlayTable, match: str, what: str, word: str) -> SentForm:
    """The letter of a command beside orders; raises `Impossible`."""
    letters, now, words = table.letters, table.now(), f"{what} {match} {word}".strip()
    match what:
        case "accept":
            return letters.accept(match, now)
        case "reveal":
            return table.agent.reveal(match, now)
        case "press":
            return letters.tell(f"press {match}", now, match=match, text=word)
        case "resign":
            game = letters.matches.standing(match).game
            return letters.say(match, f"resign {match} {word if word == 'match' else f'game {game}'}", now)
        case "join" | "decline" | "withdraw":
            return letters.tell(words, now, match=match)
        case "draw" | "annul" | "extend" | "claim":
            return letters.say(match, words, now)
        case "clear":
            return letters.withdraw(match, _early(word) if word else None, now)
    raise Impossible("{what}: the page has no such command.", what=what)


def _early(word: str) -> int:
    """The later turn that a page names, or `DEFAULT`; raises `Impossible`."""
    if not re.fullmatch("default|turn [0-9]{1,9}", word):
        raise Impossible("{what}: the page has no such command.", what=f"clear {word}")
    return DEFAULT if word == "default" else int(word.removeprefix("turn "))


def _keep_password(name: str, password: str) -> None:
    """Write a password into the file that its owner named, which must not be there yet."""
    if not name:
        raise BadAccount("Name the file into which the password goes.")
    path = Path(name).expanduser()
    try:
        durable.make_folder(path.parent)
        durable.write(path, f"{password}\n".encode(), new=True)
    except OSError as error:
        raise BadAccount(
            "{path}: {strerror}. The password was not kept.", path=path, strerror=error.strerror
        ) from error


def _no_passphrase(prompt: str) -> str:
    raise CannotSign(
        "{prompt} is asked for in the terminal when `pbem play --browser` starts; start it again.", prompt=prompt
    )
