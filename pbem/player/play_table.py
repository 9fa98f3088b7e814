"""A player's table: the account, its letters, and all that a player does with them. A terminal or a page shows it.

Actions return types, and hand to the `Front` what comes of letters meanwhile (`results`); nothing is printed here.
Which letters are believed, and what they say, is in `correspondence`. Implements docs/playing.md.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pbem.games import Refused
from pbem.match.view import OVER
from pbem.phrase import Phrase
from pbem.player import mail_in, mail_out, signing, trial_server
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.judge import meant
from pbem.player.correspondence.standings import Impossible
from pbem.player.known import MatchKnown
from pbem.player.memory import Memory
from pbem.player.player_modes import agent_of, matches_like
from pbem.player.results import PlayResult, ToldLine, line_of, lines
from pbem.tournament.tournament_terms import TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from pbem.match.view import MatchView
    from pbem.player.account_file import Account, Places
    from pbem.player.correspondence.judge import Judged
    from pbem.player.memory import SentForm
    from pbem.player.refereed_matches import KeptHere, Prepared, RefereedMatches
    from pbem.player.results import Say
    from pbem.player.sealed_agent import Agent
    from pbem.player.server_letter import Event
    from pbem.proof.prove import Proof


_SOON, _LOOK = 0.1, 1.0  # seconds between two looks into the mailbox: at first, and at most

Moment = tuple[str, int, int, str]
"""The moment of a match for which something is signed: its phase, game, turn, and the hash of its terms."""


def moment(standing: MatchView) -> Moment:
    """The moment at which a match stands so."""
    return standing.phase, standing.game, standing.turn, standing.hash


class Front(Protocol):
    """Where a table is shown: a terminal, or a page."""

    def show(self, result: PlayResult | Refused) -> None:
        """Show what came of letters, or of an action under way."""

    def passphrase(self, prompt: str, /) -> str:
        """Ask for the passphrase of a key."""

    def touch(self) -> None:
        """Ask for a touch of the security key."""

    def signed(self, key: signing.SigningKey, text: bytes, namespace: str, /) -> str:
        """The signature of a text by a passkey, which only a browser can make; raises `CannotSign`."""

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Show for what the table waits, for as long as this lasts."""


class Unanswered(PlayResult, frozen=True):
    """A letter that left, and that the server has not answered in time."""

    form: SentForm

    def told(self, _: Say) -> Iterator[ToldLine]:
        """How the answer is fetched."""
        yield ToldLine(Phrase("No answer yet; `pbem play` fetches it when it comes."))


class Hindered(PlayResult, frozen=True):
    """A sealed match in which the agent cannot do what is due, and why."""

    match: str
    why: str

    def told(self, say: Say) -> Iterator[ToldLine]:
        """Why."""
        yield ToldLine(f"{self.match}: {line_of(self.why, say)}", loud=True)


class Verified(PlayResult, frozen=True):
    """The proof of a match from its latest bundle and all letters about it."""

    match: str
    proof: Proof

    def told(self, say: Say) -> Iterator[ToldLine]:
        """The verdict, and the letters that contradict it."""
        match, last = self.match, self.proof.checks[-1]
        if not last.holds:
            failed = Phrase("{match}: the proof FAILS: {found}")
            failed = failed if last.holds is False else Phrase("{match}: the proof is OPEN: {found}")
            yield ToldLine(failed.given(match=match, found=line_of(last.found, say)), loud=True)
            return
        for accused in self.proof.accusing:
            for finding in accused.findings:
                subject, found = line_of(accused.kept.subject), line_of(finding.found, say)
                yield ToldLine(f"{match}: {subject}: {finding.standing}: {found}", loud=True)
        if self.proof.accusing:
            yield ToldLine(Phrase("{match}: your letters contradict the bundle.", match=match), loud=True)
            return
        verified = Phrase("{match}: verified: {checks} checks hold, and {letters} of your letters agree.")
        agreeing = sum(letter.standing == "agrees" for letter in self.proof.letters)
        yield ToldLine(verified.given(match=match, checks=len(self.proof.checks), letters=agreeing))


class ReadBack(NamedTuple):
    """What a text is taken for, before it is signed."""

    text: str
    judged: Judged
    refused: Refused | None = None
    """The faults of what was written, if the text is only what was probably meant."""


class PlayTable:
    """The table of one account. Each of its parts is opened when first needed."""

    def __init__(
        self, folders: Places, name: str, front: Front, patience: float = 0.0, secrets: Path | None = None
    ) -> None:
        self.folders = folders
        self.name = name
        self.front = front
        self.patience = patience
        self.secrets = secrets
        """The folder of the secrets of sealed matches, if they are not beside the memory."""
        self.afterwards = ExitStack()
        self.unproved: set[str] = set()
        """Subjects of letters that cannot be judged before the server's key is known."""
        self._hindered: dict[str, str] = {}
        self._serves = False

    @cached_property
    def account(self) -> Account:
        """The account."""
        return self.folders.load(self.name)

    def meant_by(self, match: str) -> list[str]:
        """The accounts that a match alone can mean: those that play it, one at home only if no other does."""
        usual, playing = self.folders.usual, [name for name in self.folders.accounts if self._plays(name, match)]
        return [name for name in playing if name in usual] or playing or usual

    def _plays(self, account: str, match: str) -> bool:
        file = self.folders.memory(account)
        if not file.exists():
            return False
        with closing(Memory(file)) as memory:
            return memory.standing(match) is not None

    def turn_to(self, match: str) -> None:
        """Take the account that plays a match, unless one is named, or several do."""
        if not self.name and len(meant := self.meant_by(match)) == 1:
            self.name = meant[0]

    @property
    def at_home(self) -> bool:
        """True if the account is one of the trial server, which this machine runs."""
        return self.account.server == trial_server.SERVER

    @cached_property
    def key(self) -> signing.SigningKey:
        """The player's key; its private half is opened when something is signed."""
        return signing.read(
            Path(self.account.key).expanduser(),
            self._ask_passphrase,
            self._ask_touch,
        )

    @cached_property
    def letters(self) -> Correspondence:
        """The correspondence of the account."""
        memory = Memory(self.folders.memory(self.account.id))
        self.afterwards.callback(memory.close)
        return Correspondence(self.account, memory, self._sign if self.account.key else None, os.urandom)

    @cached_property
    def agent(self) -> Agent:
        """The agent that plays sealed matches."""
        return agent_of(self.letters, self.secrets or self.folders.secrets(self.account.id))

    @cached_property
    def source(self) -> mail_in.MailSource:
        """The mailbox of the account."""
        source = mail_in.source(self.account)
        self.afterwards.callback(source.close)
        return source

    # A page takes tables over from the terminal: whoever is the front then is asked.

    def _ask_passphrase(self, prompt: str) -> str:
        return self.front.passphrase(prompt)

    def _ask_touch(self) -> None:
        self.front.touch()

    def _sign(self, text: bytes, namespace: str) -> str:
        return self.front.signed(self.key, text, namespace) if self.key.is_passkey else self.key.sign(text, namespace)

    def now(self) -> datetime:
        """The time by this machine's clock."""
        return datetime.now(UTC)

    # Letters come and go.

    def fetch(self) -> list[Event]:
        """Take in the letters that have come, and do what they ask for by themselves."""
        events = list(mail_in.fetch(self.letters, self.source, self.now))
        events += self.agent.hear(events, self.now())
        for event in events:
            self._show(event)
        self.unproved = {event.subject for event in events if event.kind == "unpinned"}
        # A match whose game has ended by these letters is verified.
        memory = self.letters.memory
        for name in dict.fromkeys(event.match for event in events if event.kind == "news"):
            ended = len(self.letters.matches.standing(name).ended)
            if ended and memory.bundle(name) and memory.known(MatchKnown, name).proved != ended:
                self.front.show(self.verify(name))
                with memory.noting(MatchKnown, name) as known:
                    known.proved = ended
        if (self.letters.registration.confirm(self.now()) is not None) | self._act():
            self.send()
        # At home nothing happens unless the server runs, and to start it takes longer than everything else.
        waits = any(not one.asked and one.phase not in OVER for one in self.letters.matches.standings)
        if waits or self.letters.memory.in_state("sent"):
            self._serve()
        return events

    def _serve(self) -> None:
        """Have the trial server at work until this table is left, if the account is there and waits for it."""
        if self.at_home and not self._serves:
            self._serves = True
            with self.front.waiting("the server on this machine"):
                self.afterwards.enter_context(trial_server.running())

    def _show(self, result: PlayResult) -> None:
        """Show what came of a letter: of those that never leave this machine, only what is wrong."""
        if not self.at_home or any(line.loud for line in lines(result)):
            self.front.show(result)

    def _act(self) -> bool:
        """Prepare what needs no decision in sealed matches, and show which orders in advance count now."""
        prepared = self.agent.act(self.now())
        for followed in self.agent.followed:
            self.front.show(followed)
        self.agent.followed.clear()
        for match, why in self.agent.hindered.items() - self._hindered.items():
            self.front.show(Hindered(match, why))
        self._hindered = self.agent.hindered
        return bool(prepared)

    def send(self) -> bool:
        """Send all letters that are ready; returns whether none is left."""
        complete = True
        if self.letters.outbox.unsent():
            self._serve()
        for result in mail_out.flush(self.letters, lambda form: mail_out.send(self.account, form)):
            self._show(result)
            complete &= isinstance(result, mail_out.LetterSent)
        return complete

    def wait(self, until: Callable[[], bool], what: str) -> bool:
        """Look for letters until something has come; returns whether it came in time. Ctrl-C ends the wait alone."""
        self._serve()
        end, pause = time.monotonic() + self.patience, _SOON
        try:
            while True:
                self.fetch()
                if (found := until()) or time.monotonic() >= end:
                    return found
                with self.front.waiting(what):
                    time.sleep(min(pause, max(0.0, end - time.monotonic())))
                pause = min(2 * pause, _LOOK)
        except KeyboardInterrupt:
            return False

    def settle(self, form: SentForm) -> str:
        """Send a letter, and wait for the server's answer; returns the letter's state then."""
        if self.send() and self.patience:
            self.wait(lambda: self.state(form) not in {"ready", "sent"}, "the server's answer")
        if (state := self.state(form)) in {"ready", "sent"}:
            self.front.show(Unanswered(form))
        return state

    def state(self, form: SentForm) -> str:
        """The present state of a letter of the player's."""
        found = self.letters.memory.by_message_id(form.message_id)
        return found.state if found else "ready"

    def verify(self, match: str) -> Verified:
        """Verify the latest bundle of a match, and compare all its letters with it; raises `Impossible`."""
        proof = prove(self.letters.memory, match)
        if proof is None:
            raise Impossible("No bundle of {match} has come: it comes when a game has ended.", match=match)
        return Verified(match, proof)

    # Moments.

    def demand_unchanged(self, match: str, shown: Moment | None) -> None:
        """Raise `Impossible` unless a match is at the moment that the player was shown: a letter may have come."""
        if moment(self.letters.matches.standing(match)) != shown:
            raise Impossible(
                "A letter about {match} came while you looked; nothing was signed. Look again.", match=match
            )

    def mode(self, standing: MatchView) -> RefereedMatches:
        """The matches in the mode of this one."""
        return matches_like(standing, self.agent)

    def is_due(self, standing: MatchView) -> bool:
        """True if a match waits for this player to decide on a setup or orders."""
        return self.mode(standing).asks(standing)

    def turn_due(self, standing: MatchView) -> int:
        """The turn that is being played: in a sealed match, the one of the steps that came."""
        return self.mode(standing).turn(standing)

    def is_later(self, standing: MatchView, turn: int) -> bool:
        """True if this turn is not the one for which orders are due, so that they would wait."""
        return self.mode(standing).is_later(standing, turn)

    def waits_here(self, standing: MatchView, turn: int | None) -> bool:
        """True if orders for this turn (None: the one that is due) wait on this machine alone."""
        return turn is not None and self.mode(standing).keeps_secrets

    # Setups and orders.

    def judge(self, standing: MatchView, text: str, turn: int | None = None) -> Judged:
        """Judge the setup or the orders that are due, or orders for another turn; raises `Refused`, `Impossible`."""
        if turn is None and standing.phase == "setup":
            return self.letters.judge.setup(standing.match, text)
        return self.mode(standing).judge(standing.match, text, turn)

    def read(self, standing: MatchView, texts: Sequence[str], turn: int | None = None) -> ReadBack:
        """Read the first legal one of these texts: words may be in one line, or each in its own.

        Capitals that decide nothing are mended; another likely meaning is only proposed. Otherwise the fewest faults
        are raised.
        """
        refusals = []
        for text in texts:
            try:
                return ReadBack(text, self.judge(standing, text, turn))
            except Refused as refused:
                refusals.append(refused)
        fewest = min(refusals, key=lambda refused: len(refused.faults))
        guesses = (meant(standing.rules, lambda text: self.judge(standing, text, turn), text) for text in texts)
        likely = next(filter(None, guesses), None)
        if likely is None:
            raise fewest
        capitals = likely.lower().split() == texts[0].lower().split()
        return ReadBack(likely, self.judge(standing, likely, turn), None if capitals else fewest)

    def hand_over(
        self, standing: MatchView, text: str, *, final: bool = False, turn: int | None = None
    ) -> Prepared | KeptHere:
        """Prepare the setup or orders that are due, or orders for another turn, which wait here in a sealed match."""
        mode, match, now = self.mode(standing), standing.match, self.now()
        if turn is None and standing.phase == "setup":
            return mode.set_up(match, text, now)
        return mode.order(match, text, now, final=final, turn=turn)

    # Sentences.

    def say(self, match: str, what: str, word: str = "", *, readers: str = "") -> SentForm:
        """Prepare a command beside orders; `word` is what follows the match, `readers` who gets press.

        Raises `Impossible`.
        """
        letters, now, words = self.letters, self.now(), f"{what} {match} {word}".strip()
        match what:
            case "accept":
                return letters.accept(match, now)
            case "reveal":
                return self.agent.reveal(match, now)
            case "press":
                sent = letters.tell(f"press {match}{readers}", now, match=match, text=word)
                letters.memory.talked(match, letters.account.name, word, alone=" to " in readers)
                return sent
            case "join" | "decline" | "withdraw":
                return letters.tell(words, now, match=match)
            case "resign":
                whole = "match" if word == "match" else f"game {letters.matches.standing(match).game}"
                return letters.say(match, f"resign {match} {whole}", now)
            case "draw" | "annul" | "extend" | "claim":
                return letters.say(match, words, now)
        raise Impossible("{what}: the page has no such command.", what=what)

    def demand_announceable(self, game: str, lines: Iterable[str]) -> None:
        """Raise `Refused` if the server would not announce a tournament with these option lines."""
        options = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        TournamentTerms.propose(game, options, timedelta()).demand_open(self.now())

    def clear(self, standing: MatchView, turn: int | None = None) -> SentForm | None:
        """Prepare the withdrawal of what is due, or of orders for another turn; None: they waited here alone."""
        return self.mode(standing).clear(standing.match, self.now(), turn)

    def take_back(self, match: str) -> bool:
        """Go on in a sealed match, whatever the agent holds there; what else does not hold is shown."""
        for event in self.agent.take_back(match, self.now()):
            self.front.show(event)
        self._act()
        return self.send()


def prove(memory: Memory, match: str) -> Proof | None:
    """Verify the latest bundle of a match, by the known server key; None if none has come.

    It is compared with every letter about the match, as by `pbem verify --against`.
    """
    from pbem.proof import prove as proving  # few commands prove anything

    found = memory.bundle(match)
    if found is None:
        return None
    return proving.prove(found, memory.account().server_key, memory.letters(match), match)
