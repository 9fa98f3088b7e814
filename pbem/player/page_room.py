"""`pbem play --browser`: all of `pbem play` on a page of this machine, whose buttons do what the commands do.

One thread, that of the command, uses mailboxes and memories; `page_port` serves it, and `page_views` has what is
shown. Each account is a `PlayTable`, whose results are told on the page. Implements docs/playing.md, "In the
browser".
"""

from __future__ import annotations

import os
import queue
import re
import sqlite3
import time
from collections import deque
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pbem import durable
from pbem.games import BUILT_IN, GAMES, Refused
from pbem.identity import ssh
from pbem.identity.verdict import BadSignature
from pbem.letters.render import Templates
from pbem.pages import home_page, lesson_page, page, rules_page
from pbem.phrase import Phrase, clean
from pbem.player import PlayerTrouble, beginning
from pbem.player.account_file import Account, BadAccount, split
from pbem.player.correspondence.judge import in_words
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.opponent import is_played
from pbem.player.page_port import LatestNews, PageAnswer, PagePort, WorkQueue, as_json
from pbem.player.page_views import (
    ComposedRequest,
    MatchRequest,
    PageViews,
    PractiseRequest,
    RegisterRequest,
    SentenceRequest,
    TakingPartRequest,
    TouchedRequest,
)
from pbem.player.play_facts import account_facts, tournament_terms
from pbem.player.play_table import Front, PlayTable
from pbem.player.refereed_matches import KeptHere
from pbem.player.results import in_a_sentence, lines
from pbem.player.signing import TOUCH, CannotSign
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from pbem.json_object import JsonObject
    from pbem.player.account_file import Places
    from pbem.player.memory import SentForm
    from pbem.player.results import PlayResult
    from pbem.player.signing import SigningKey


_SOON, _LOOK, _AGAIN = 0.1, 1.0, 30.0  # seconds between two looks: after something came, at most, after trouble
_NEWS = 20.0  # seconds that a page waits for news
_WORK = 25.0  # and for what it asked for
_TOUCH = 60.0  # and for the touch of a passkey
_LATER = Phrase("It takes longer than usual.")
_LINES = 60  # of what was told


class PlayRoom:
    """The views and actions of the page for some accounts. Its methods run in the command's thread, or ask it.

    `first` is the match that the page shows at first. All that is told on the page is also given to `log`.
    """

    def __init__(self, folders: Places, first: str, language: str, log: Callable[[str], None]) -> None:
        self.work = WorkQueue()
        self.news = LatestNews({"accounts": []})
        self.afterwards = ExitStack()
        self._folders = folders
        self._first = first
        self._log = log
        self._language = language
        self._templates = Templates().of(language)
        self._tables: dict[str, PlayTable] = {}
        self._told: deque[str] = deque(maxlen=_LINES)
        self._troubles: dict[str, str] = {}
        """The trouble of each account at the last look for letters; "" if there was none."""
        self._next: dict[str, float] = {}
        """The time to look again for the letters of an account, after trouble."""
        self._asked: tuple[PlayTable, SentForm] | None = None
        self._answered = ""
        self._pause = _SOON
        self._waiting = ""
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
            "announce": (SentenceRequest, self._announce),
            "take-part": (TakingPartRequest, self._take_part),
            "practise": (PractiseRequest, self._practise),
            "register": (RegisterRequest, self._register),
            "verify": (MatchRequest, self._verify),
        }

    def port(self) -> PagePort:
        """Serve the page at a port of this machine."""
        return PagePort(os.urandom, self, page("home/used", "pbem", (), language=self._language))

    # The thread of the command: the front of each table.

    def table(self, name: str, front: Front | None = None) -> PlayTable:
        """A table for an account, while the page is open."""
        table = PlayTable(self._folders, name, front or self)
        self.afterwards.callback(table.afterwards.close)
        return table

    def seat(self, table: PlayTable) -> str:
        """Play at a table, too: its key asks for a passphrase now, or never. Returns the account's name."""
        name = table.account.id
        if table.account.key:
            table.key.unlock()
        table.front = self
        self._tables[name] = table
        return name

    def show(self, result: PlayResult | Refused) -> None:
        """Tell on the page what came of letters."""
        for line in lines(result, self._templates.say):
            self.tell(line.text)

    def tell(self, line: str) -> None:
        """Tell a line on the page."""
        self._told.append(line)
        self._log(line)

    def passphrase(self, prompt: str, /) -> str:
        """Raise `CannotSign`: the terminal asked for it when the command started, or nobody does."""
        raise CannotSign(
            "{prompt} is asked for in the terminal when `pbem play --browser` starts; start it again.", prompt=prompt
        )

    def touch(self) -> None:
        """Ask for a touch, at once: the page hears of everything else when the work is done."""
        self.tell(self._templates.say(TOUCH))
        self.news.tell(self._overview())

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Tell the page what is waited for, until the next look."""
        if what != self._waiting:
            self._waiting = what
            self.news.tell(self._overview())
        return nullcontext()

    def signed(self, key: SigningKey, text: bytes, namespace: str) -> str:
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
            holds = ssh.verify(ssh.read_signature(answer.armor), ssh.parse(key.public), text)
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
        self._waiting = ""
        for name, table in self._tables.items():
            if time.monotonic() < self._next.get(name, 0.0):
                continue
            wrong = self._troubles[name] = self.tried(partial(self._look, table))
            if wrong or table.letters.memory.in_state("ready"):
                self._next[name] = time.monotonic() + _AGAIN
            if wrong and wrong not in self._told:
                self.tell(wrong)
        if wrong := self.tried(lambda: self.news.tell(self._overview())):
            self.tell(wrong)
            self._pause = _LOOK
        return self._pause

    def _look(self, table: PlayTable) -> None:
        if table.fetch():
            self._pause = _SOON
        table.send()
        if self._asked and self._asked[0] is table and table.state(self._asked[1]) == "done":
            self._asked, self._answered = None, clean(table.letters.memory.last_text())

    def _overview(self) -> JsonObject:
        accounts = [
            account_facts(table.agent, table.now()) | {"guest": name == beginning.ACCOUNT}
            for name, table in self._tables.items()
        ]
        wanted = self._wanted if "text" in self._wanted else None
        troubles = [trouble for trouble in self._troubles.values() if trouble]
        told = {"told": list(self._told), "troubles": troubles, "waiting": self._waiting, "answer": self._answered}
        return {"accounts": accounts, **told, "wanted": wanted}

    def _in_words(self, result: PlayResult | Refused) -> str:
        return "\n".join(line.text for line in lines(result, self._templates.say))

    def tried(self, work: Callable[[], object]) -> str:
        """Do something; returns what is wrong, in words, or ""."""
        say = self._templates.say
        try:
            work()
        except PlayerTrouble as error:
            return clean(say(error.args[0]))
        except Refused as refused:
            return self._in_words(refused)
        except (Contradiction, sqlite3.Error) as error:
            return clean(say(in_a_sentence(error)))
        return ""

    # What is shown.

    def view(self, name: str, asked: Mapping[str, str]) -> PageAnswer | None:
        """The page or the facts of a name."""
        if name == "":
            return PageAnswer(home_page(self._first, is_played, self._language).encode())
        if name == "news":
            after = asked.get("after", "")
            number, latest = self.news.after(int(after) if re.fullmatch("[0-9]{1,9}", after) else 0, _NEWS)
            return as_json({"number": number, "latest": latest})
        if name == "rules" and (game := asked.get("game", "")) in GAMES:
            return PageAnswer(rules_page(game, language=self._language).encode())
        if name == "lesson" and (game := asked.get("game", "")) in BUILT_IN:
            return PageAnswer(lesson_page(game, language=self._language).encode())
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
            wrong = self.tried(lambda: found.append(work()))
            self._pause = _SOON
            self._next.clear()
            return {"error": wrong} if wrong else found[0]

        try:
            return self.work.ask(do, _WORK)
        except TimeoutError:
            return {"later": True}

    def _judge(self, asked: ComposedRequest) -> JsonObject:
        table, say = self._of(asked.account), self._templates.say
        standing = table.letters.matches.standing(asked.match)
        try:
            judged = table.judge(standing, asked.text, asked.turn)
        except Refused as refused:
            return {"faults": [say(fault.message) for fault in refused.faults]}
        setup = standing.phase == "setup"
        return {
            "words": [say(one) for one in (judged.text.splitlines() if setup else in_words(standing.rules, judged))],
            "unused": [say(one) for one in judged.unused],
            "example": judged.example,
            "doubts": [say(one) for one in judged.doubts],
            "now": [say(fault.message) for fault in judged.faults],
        }

    def _send(self, asked: ComposedRequest) -> JsonObject:
        table = self._of(asked.account)
        table.demand_unchanged(asked.match, asked.shown)
        standing = table.letters.matches.standing(asked.match)
        turn = None if standing.phase == "setup" else asked.turn
        prepared = table.hand_over(standing, asked.text, final=asked.final, turn=turn)
        if isinstance(prepared, KeptHere):
            return {"kept": True}
        return {"sent": table.send(), "words": self._in_words(prepared)}

    def _say(self, asked: SentenceRequest) -> JsonObject:
        table, match = self._of(asked.account), asked.match
        if asked.what != "press":  # words go at any time; everything else is for the moment that was shown
            if asked.shown is None:
                raise Impossible(
                    "{what}: nobody was shown {match}; nothing was signed. Look again.", what=asked.what, match=match
                )
            table.demand_unchanged(match, asked.shown)
        word = " ".join(asked.word.split())
        if asked.what == "take-back":
            return {"sent": table.take_back(match)}
        if asked.what == "clear":
            if table.clear(table.letters.matches.standing(match), _early(word) if word else None) is None:
                return {"kept": True}
        else:
            table.say(match, asked.what, word, readers=f" to {asked.to}" if asked.to else "")
        return {"sent": table.send()}

    def _ask_server(self, asked: SentenceRequest) -> JsonObject:
        table = self._of(asked.account)
        self._answered, self._asked = "", (table, table.letters.ask(" ".join(asked.word.split()), table.now()))
        return {"sent": table.send()}

    def _propose(self, asked: SentenceRequest, what: str = "new") -> JsonObject:
        table = self._of(asked.account)
        head, _, options = asked.word.partition("\n")
        table.letters.tell(" ".join(f"{what} {head}".split()), table.now(), text=options)
        return {"sent": table.send()}

    def _announce(self, asked: SentenceRequest) -> JsonObject:
        game, *options = asked.word.splitlines()
        self._of(asked.account).demand_announceable(game, options)
        return self._propose(asked, "tournament new")

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
        if not is_played(asked.game):
            raise Impossible("{game} is no game that programs play.", game=asked.game)
        table = self._tables.get(beginning.ACCOUNT) or self.table(beginning.ACCOUNT)
        table.patience = beginning.PATIENCE
        standing = beginning.begin_to_play(table, asked.game)
        return {"account": self.seat(table), "match": standing.match}

    def _register(self, asked: RegisterRequest) -> JsonObject:
        name, server = split(asked.account)
        given = msgspec.structs.asdict(asked) | {"server_address": asked.server_address or f"pbem@{server}"}
        del given["account"], given["password"], given["new_key"], given["passkey"]
        if asked.passkey:
            path = self._folders.passkey(asked.account, asked.passkey)
            durable.replace(path, f"{asked.passkey}\n".encode())
            given["key"] = str(path)
        if beginning.fill_in_ways(given) and asked.password and not asked.password_file:
            given["password_file"] = str(self._folders.config / f"{asked.account}.password")
        made = Account(name=name, server=server, **given)
        if asked.password:
            # It goes into the file that its owner named, which must not be there yet.
            if not made.password_file:
                raise BadAccount("Name the file into which the password goes.")
            path = Path(made.password_file).expanduser()
            try:
                durable.make_folder(path.parent)
                durable.write(path, f"{asked.password}\n".encode(), new=True)
            except OSError as error:
                raise BadAccount(
                    "{path}: {strerror}. The password was not kept.", path=path, strerror=error.strerror
                ) from error
        table = self.table(made.id)
        self.show(beginning.open_account(table, made, new_key=asked.new_key))
        return {"account": self.seat(table)}

    def _verify(self, asked: MatchRequest) -> JsonObject:
        verified = self._of(asked.account).verify(asked.match)
        return {"holds": verified.proof.holds, "said": self._in_words(verified)}


def _early(word: str) -> int:
    """The later turn that a page names, or `DEFAULT`; raises `Impossible`."""
    if not re.fullmatch("default|turn [0-9]{1,9}", word):
        raise Impossible("{what}: the page has no such command.", what=f"clear {word}")
    return DEFAULT if word == "default" else int(word.removeprefix("turn "))
