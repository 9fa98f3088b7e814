"""The desk at work: the next letter from the inbox becomes effect, answers and reports in one transaction.

What strangers wrote is read, judged and parsed before; what is to be said is put into words after it was decided, and
neither while the store is locked: see `Database.decide` and `Beforehand`.

Errors are split by whose fault they are: a player's is answered by mail, ours is logged with a reference and the
letter tried again, three times in all, then set aside. Automatic mail is stored and never answered. Implements
design.md, "The way of a letter", and reliability.md, promises 1 to 4.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from pbem.desk.answer import Answer, Caller, refusal
from pbem.desk.answers import Answers, Unplaced
from pbem.desk.archive import Archive
from pbem.desk.beforehand import Beforehand, NotYetRead
from pbem.desk.clerk import Clerk, Out, escaped
from pbem.desk.courier import Courier
from pbem.desk.housekeeping import Housekeeping
from pbem.desk.keys import KeyLife
from pbem.desk.mailbox import Awaited, Mailboxes
from pbem.desk.operator import Operator
from pbem.desk.optout import OptOut
from pbem.desk.postmaster import Postmaster
from pbem.desk.snapshots import Snapshots, fingerprint
from pbem.desk.strangers import EACH, Strangers, enough
from pbem.desk.table import commit
from pbem.desk.timekeeper import Timekeeper
from pbem.games import Fault, Refused
from pbem.identity import Verdict
from pbem.mail import commands
from pbem.mail.letter import Letter, Unreadable, automatic
from pbem.match import pace
from pbem.match.life import Step, World
from pbem.match.transcript import digest
from pbem.phrase import Phrase
from pbem.points import passing
from pbem.reader import AT_HAND, Asked, InProcess, ReaderError
from pbem.store.daily import Daily
from pbem.store.database import OvertakenError, StoreError, moment, stamp
from pbem.store.held import Held
from pbem.store.inbox import Inbox
from pbem.store.keychanges import KeyChanges
from pbem.store.lookups import Lookups
from pbem.store.matches import Matches
from pbem.store.outbox import Outbox
from pbem.store.people import People
from pbem.store.players import Players
from pbem.store.snapshots import SnapshotRows
from pbem.store.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.config import Config
    from pbem.desk.mailbox import Proof
    from pbem.desk.out import Draft
    from pbem.identity import Key
    from pbem.mail.commands import Command, Reading
    from pbem.mail.compose import Composer
    from pbem.points import Points
    from pbem.reader import Found, Reader, Understood
    from pbem.store.database import Database
    from pbem.store.inbox import InboxRow, Stranded
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Token
    from pbem.store.vault import Vault

__all__ = ["Desk"]

T = TypeVar("T")

_IN_ONE_GO = 4
"""How many times in a row letters are handled while the next few are read, before their answers are sent."""

_SENDERS = 4096
"""Of how many senders it is kept in mind which keys their letters were last judged by."""

_PER_TICK = 100
"""How many matches the clock looks at in one go, so that letters need not wait for it."""

_UNHEARD = timedelta(seconds=30)
"""When the clock looks again at a match whose deadline is over, while letters wait that may have come before it."""

_TRY_AGAIN = timedelta(hours=1)
"""When the clock looks again at a match over which it stumbled."""

_ANEW = 5
"""How often a decision is made before its letters are given back: others change what it stands on all the time."""

_COMMANDS = 20
"""How many commands of one letter are answered."""

_BULKY = 5
"""How many of them may bring sheets, reports, transcripts and rules."""

_BLOCKS = 10_000
"""How many characters its setups and orders may have together: a game judges them while the store is locked."""

_ANSWER = 1024 * 1024
"""How many octets an answer may have with what is attached; of the rest it is said that it was left out."""

_NO_EFFECT = frozenset({"refused", "again", "again_mailbox", "substitute_form", "whole_sentence"})
"""The answers to commands that changed nothing."""

_ECHO = 4000
"""How many characters of a command are echoed."""

_UNSIGNED = 50
"""How many unsigned letters a day an address gets answers to: anybody can write in its name."""

_UNVOUCHED = "nobody vouches for the sender, not answered"

_SHORT = Phrase("[pbem] Your letter")
"""The subject of an answer that repeats nothing."""

_STEPS = 5
"""How often a day, at the most, the operator is told of steps of the clock."""

_ASIDE = 10
"""How often a day, at the most, the operator is told that a letter was set aside: strangers may send many such."""

_REGRETS = 3
"""How often a day, at the most, an address is told that a letter from there was set aside."""

_NOTICES = 10
"""How often a day, at the most, an address is told that a letter in its name was refused."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """A letter in hand, and the keys by which it is judged ahead of its turn, if any."""

    row: InboxRow
    keys: list[Key] | None


@dataclass(frozen=True, slots=True)
class _Told:
    """A command, and what is told of it: put into words when its letter is."""

    echo: str
    draft: Draft
    write: Callable[[Draft], str]

    @property
    def text(self) -> str:
        """What stands beneath the command."""
        return self.write(self.draft).strip("\n")


class Desk:
    """The desk of a server, on its own connection to the store; keys and randomness are handed in."""

    def __init__(  # noqa: PLR0913, PLR0917 - the outside world, all of it handed in
        self,
        config: Config,
        database: Database,
        vault: Vault,
        signing_key: Ed25519PrivateKey,
        composer: Composer,
        random: Callable[[int], bytes],
        reader: Reader | None = None,
        points: Points = passing,
    ) -> None:
        self._config = config
        self._version = f"pbem {version('pbem')}"
        self._points = points
        self._reader = reader or InProcess(config.limits)
        self._before = Beforehand(self._reader, database)
        self._database = database
        self._inbox = Inbox(database, vault)
        self._players = Players(database)
        self._people = People(database)
        self._server_key = signing_key.public_key().public_bytes_raw().hex()
        self._archive = Archive(
            Matches(database, vault),
            self._people,
            config.server,
            signing_key.sign,
            self._server_key,
            Snapshots(SnapshotRows(database, vault), fingerprint()),
        )
        self._time = Timekeeper(database, self._players, self._archive.matches, config.clock.outage)
        self._outbox = Outbox(database, vault)
        self._today = Daily(database).count
        self._lookups = Lookups(database)
        self._mailboxes = Mailboxes(
            config, Tokens(database), self._lookups, random, self._before.vouch, composer.sub_address
        )
        self._strangers = Strangers(self._mailboxes, self._today, config.limits.answers_to_strangers)
        self._clerk = Clerk(
            composer,
            self._outbox,
            self._players,
            self._people,
            self._archive,
            random,
            self._mailboxes,
            Held(database, vault),
            config.operator,
            config.pages,
            config.language,
        )
        self._postmaster = Postmaster(
            config,
            self._outbox,
            self._players,
            self._archive,
            self._clerk,
            self._today,
            self._before.bounce,
            self._world,
            self._time,
        )
        self._operator = Operator(
            config.operator,
            database,
            self._decide,
            self._archive,
            self._players,
            self._clerk,
            self._today,
            self._world,
            lambda: random(6).hex(),
        )
        self._optout = OptOut(self._people, self._mailboxes, self._clerk, self._reply, _SHORT)
        self._courier = Courier(self._outbox, self._archive, self._clerk, self._world)
        self._housekeeping = Housekeeping(config, database, self._decide, self._clerk, self._today, database.room)
        self._random = random
        self._keys = KeyLife(
            config,
            self._players,
            KeyChanges(database, vault),
            self._archive,
            self._clerk,
            self._world,
            self._today,
            self._people,
            self._before,
            self._mailboxes,
        )
        self._in_hand: list[int] = []
        """The letters that are leased; those of a call that broke off are given back by the next one."""
        self._probable: OrderedDict[str, list[Key]] = OrderedDict()
        """The keys that were last offered for an address; which they are now is looked up when it matters."""
        self._answers = Answers(
            config.server,
            self._players,
            self._archive,
            self._clerk,
            self._world,
            self._people,
            config.clock,
            self._time,
            self._before.parse_key,
            self._mailboxes,
            self._keys,
            self._today,
        )
        self._log: Any = structlog.get_logger("desk")

    def _world(self, now: datetime) -> World:
        return World(
            now,
            self._random,
            self._version,
            self._server_key,
            calendar=lambda player: self._time.calendar(player, now),
            outages=cache(self._time.outages),
        )

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox, a few in one decision while the next few are read; how many.

        Never raises but for a store that fails, or a reader that cannot even be started.
        """
        while self._in_hand:
            self._inbox.give_back(self._in_hand[-1])
            self._in_hand.pop()
        self.obey(now)
        self._beat(now)
        self._reader.get_ready()  # without one no letter's attempts are spent
        handled = 0
        try:
            taken = self._take_in_hand(now)
            for left in reversed(range(_IN_ONE_GO)):
                handled += len(taken)
                taken = self._handle_some(taken, now, more=left > 0) if taken else []
        finally:
            self._before.forget()
        if not handled:
            self._set_aside(now)
        return handled

    def _take_in_hand(self, now: datetime, *, fresh: bool = False) -> list[_Taken]:
        """Lease the next letters, only `fresh` ones perhaps, and begin to have them read."""
        rows = self._inbox.lease_some(AT_HAND, now, fresh=fresh)
        if not rows:
            return []
        self._in_hand += [row.id for row in rows]
        self._points("letter leased")
        taken = [_Taken(row, self._probable_keys(row)) for row in rows]
        asked = [Asked(one.row.raw, one.keys, one.row.received) for one in taken]
        self._reader.ask(asked, self._config.server)
        return taken

    def _handle_some(self, taken: Sequence[_Taken], now: datetime, *, more: bool) -> list[_Taken]:
        """Give letters their effect in one decision, while `more` are read: those."""
        found = self._reader.found()
        for one in taken:
            if one.row.suspect:
                self._inbox.begin_alone(one.row.id, now)
        self._points("letter read")
        # Who failed before comes alone: it may take everything down with it that is in hand.
        more = more and not any(one.row.alone for one in taken)
        following = self._take_in_hand(now, fresh=True) if more else []
        self._before.forget()
        for one, read in zip(taken, found, strict=True):
            if isinstance(read.letter, Letter) and one.keys is not None and read.understood is not None:
                self._before.note(read.letter, one.keys, self._config.server, one.row.received, read.understood)
        outcomes = self._give_effect(list(zip(taken, found, strict=True)), now)
        self._in_hand = [one.row.id for one in following]
        self._points("effects committed")
        for row_id, outcome in outcomes.items():
            if outcome:
                self._log.info("letter handled", inbox=row_id, outcome=outcome)
        return following

    def _give_effect(self, letters: Sequence[tuple[_Taken, Found]], now: datetime) -> dict[int, str]:
        """Give letters their effect together; what became of each, empty if nothing yet."""
        try:
            return self._decide(partial(self._handle_all, letters, now))
        except StoreError:
            raise
        except Exception as error:
            if len(letters) > 1:
                outcomes: dict[int, str] = {}
                for letter in letters:
                    outcomes |= self._give_effect([letter], now)
                return outcomes
            row = letters[0][0].row
            self._failed(row, error)
            return {row.id: ""}

    def _handle_all(self, letters: Sequence[tuple[_Taken, Found]], now: datetime) -> dict[int, str]:
        outcomes = {one.row.id: self._handle_one(one.row, read.letter, now) for one, read in letters}
        if self._before.waits:
            raise NotYetRead
        return outcomes

    def _decide(self, decision: Callable[[], T]) -> T:
        """Make a decision as `Database.decide` does: anew when something was not read yet, or changed meanwhile.

        Nothing is kept in mind of one that did not come to be.
        """
        for left in reversed(range(_ANEW)):
            while True:
                try:
                    return self._database.decide(decision)
                except NotYetRead:
                    self._forget()
                    self._before.find_out()
                except OvertakenError:
                    self._forget()
                    if not left:
                        raise
                    break
                except BaseException:
                    self._forget()
                    raise
        raise AssertionError("the last attempt raises")

    def _forget(self) -> None:
        self._archive.forget()
        self._players.forget()

    def _probable_keys(self, row: InboxRow) -> list[Key] | None:
        """The keys that a letter may be signed with, by its envelope; None for one that failed before."""
        sender = row.envelope.sender
        if row.alone or not sender:
            return None
        if sender not in self._probable:
            self._note_keys(sender, self._keys.offered(sender, self._players.by_address(sender)))
        return self._probable[sender]

    def _note_keys(self, sender: str, keys: list[Key]) -> None:
        self._probable[sender] = keys
        if len(self._probable) > _SENDERS:
            self._probable.popitem(last=False)

    def _handle_one(self, row: InboxRow, letter: Letter | Unreadable | ReaderError, now: datetime) -> str:
        """Give one letter its effect within the decision on several; what became of it, empty if nothing yet."""
        try:
            with self._database.savepoint():
                outcome = self._handle(row, letter, now)
                self._inbox.done(row.id, outcome)
                self._points("effects written")
        except StoreError:
            raise
        except NotYetRead:
            self._forget()  # the letters behind it are looked at, too: what they need is found out with it
        except Awaited as awaited:
            self._lookups.ask(row.id, awaited.names, awaited.tries, now)
            self._inbox.give_back(row.id)
            self._log.info("letter waits for the DNS", inbox=row.id)
        except Exception as error:
            self._failed(row, error)
        else:
            return outcome
        return ""

    def _failed(self, row: InboxRow, error: Exception) -> None:
        """Give a letter back that we failed at."""
        self._forget()
        reference = self._random(6).hex()
        self._log.error("letter failed", inbox=row.id, attempt=row.attempts + 1, reference=reference, exc_info=error)
        self._inbox.release(row.id)

    def _understood(self, letter: Letter, keys: list[Key], row: InboxRow) -> Understood:
        """Who signed a letter, of those whose keys are offered, and what it says."""
        # They may have changed, or be another sender's than the envelope says.
        if letter.sender is not None and letter.sender.lower() == row.envelope.sender.lower():
            self._note_keys(row.envelope.sender, keys)
        return self._before.understand(letter, keys, self._config.server, row.received)

    def obey(self, now: datetime) -> None:
        """Do what the operator ordered. Instructions come before letters: a restored match must stand still first."""
        self._operator.obey(now)

    def tick(self, now: datetime) -> datetime | None:
        """Do what is due: reminders, misses, settled turns, recovered keys, lost letters, housekeeping.

        Says when to be called again.
        """
        if self._outbox.failures():
            self._decide(partial(self._postmaster.tell_failures, now))
        self._beat(now)
        following = self._see_to_late_letters(now)
        for number in self._archive.matches.due(stamp(now), _PER_TICK):
            try:
                self._decide(partial(self._advance, number, now))
                self._points("clock committed")
            except StoreError:
                raise
            except Exception as error:
                reference = self._random(6).hex()
                self._log.error("clock failed", match=number, reference=reference, exc_info=error)
                with self._database.transaction():
                    self._archive.matches.look_at(number, stamp(now + _TRY_AGAIN))
        due = self._archive.matches.next_due()
        recovery = self._recover_keys(now)
        if (digest := self._clerk.next_digest()) is not None and digest <= now:
            self._decide(partial(self._clerk.send_digests, now))
            digest = self._clerk.next_digest()
        kept = self._housekeeping.look(now)
        return min(filter(None, [moment(due) if due else None, recovery, following, digest, kept]), default=None)

    def _see_to_late_letters(self, now: datetime) -> datetime | None:
        """Let clocks stand for letters that are late; when the next one will be."""
        in_time, due, following = self._courier.due(now)
        if in_time:
            with self._database.transaction():
                self._courier.forget(in_time)
        for found in due:
            try:
                self._decide(partial(self._courier.see_to, found, now))
            except StoreError:
                raise
            except Exception as error:
                self._log.error("late letter failed", match=found.match, outbox=found.id, exc_info=error)
                with self._database.transaction():
                    self._outbox.unwatch(found)
        return following

    def _recover_keys(self, now: datetime) -> datetime | None:
        """Carry out the recoveries whose delay is over; when the next one is."""
        due = self._keys.next_due()
        if due is None or due > now:
            return due
        self._decide(partial(self._keys.carry_out, now))
        return self._keys.next_due()

    def _beat(self, now: datetime) -> None:
        self._time.beat(now, self._tell_of_step, self._decide)

    def _tell_of_step(self, last: datetime, now: datetime) -> None:
        """Tell the operator of an outage, or of a clock that was set: from within the server both look alike."""
        self._log.warning("outage, or the clock was set", seconds=int((now - last).total_seconds()))
        if self._config.operator and self._today("steps of the clock", now) <= _STEPS:
            text = self._clerk.draft("letters/clock.txt", last=last, now=now, back=last > now)
            self._clerk.send(self._config.operator, Out(Phrase("[pbem] The time of the server stepped"), text), now)

    def _advance(self, number: int, now: datetime) -> None:
        loaded = self._archive.load(number)
        assert loaded is not None
        match, row = loaded
        heard = self._database.stands_on(self._inbox.heard_until)
        step = Step(match, replace(self._world(now), heard=heard))
        pace.tick(step)
        commit(self._archive, self._clerk, match, row, step)
        if heard is not None and (wakes := step.match.wakes) is not None and wakes <= now:
            self._archive.matches.look_at(number, stamp(now + _UNHEARD))
        self._points("clock written")

    def _set_aside(self, now: datetime) -> None:
        """Set letters aside on which all attempts were spent, and tell the operator."""
        for stranded in self._inbox.stranded():
            reference = self._random(6).hex()
            self._decide(partial(self._set_one_aside, stranded, reference, now))
            self._log.error("letter set aside", inbox=stranded.id, reference=reference)

    def _set_one_aside(self, stranded: Stranded, reference: str, now: datetime) -> None:
        self._inbox.set_aside(stranded.id, reference)
        self._regret(stranded, reference, now)
        count = self._today("letters set aside", now)
        if self._config.operator and count <= _ASIDE:
            facts = {"letter": stranded, "reference": reference, "last": count == _ASIDE}
            text = self._clerk.draft("letters/operator.txt", **facts)
            self._clerk.send(self._config.operator, Out(Phrase("[pbem] A letter was set aside"), text), now)

    def _regret(self, stranded: Stranded, reference: str, now: datetime) -> None:
        """Tell the sender of a letter that was set aside; by its envelope, as nobody reads it any more."""
        sender = stranded.envelope.sender
        if not sender or sender.lower() == self._config.mail_address.lower():
            return
        if self._players.by_address(sender):
            told = self._today(f"set aside {sender.lower()}", now) <= _REGRETS
        else:
            told = self._strangers.may_be_answered(sender, now)
        if told:
            text = self._clerk.draft("letters/set_aside.txt", received=stranded.received, reference=reference)
            self._clerk.send(sender, Out(Phrase("[pbem] A letter of yours was set aside"), text), now)

    def _handle(self, row: InboxRow, letter: Letter | Unreadable | ReaderError, now: datetime) -> str:
        """Give a letter its effect, within the caller's decision; what became of it in a word or two."""
        if isinstance(letter, ReaderError):
            raise letter
        if isinstance(letter, Unreadable):
            return self._unreadable(row, letter, now)
        # Whoever writes to a return path is a machine, whatever else it looks like.
        if bounced := self._postmaster.bounce(row, letter, now):
            return bounced
        reasons = self._automatic(letter, row)
        if reasons:
            return "automatic: " + ", ".join(reasons)
        if letter.sender is None:
            return f"no sender: {letter.from_defect}"
        return self._identify(letter, letter.sender, row, now)

    def _unreadable(self, row: InboxRow, error: Unreadable, now: datetime) -> str:
        """A letter beyond the limits is answered, where its headers say to whom."""
        if error.letter is None:
            return "unreadable"
        if bounced := self._postmaster.bounce(row, error.letter, now):
            return bounced
        if error.letter.sender is None or self._automatic(error.letter, row):
            return "unreadable"
        if not self._strangers.may_be_answered(error.letter.sender, now):
            return f"unreadable; {_UNVOUCHED}"
        text = self._clerk.draft("letters/unreadable.txt", reason=error.reason)
        out = Out(_SHORT, text, language=self._clerk.language_of(None, error.letter))
        self._clerk.send(error.letter.sender, out, now)
        return "unreadable, answered"

    def _automatic(self, letter: Letter, row: InboxRow) -> tuple[str, ...]:
        return automatic(
            letter,
            row.envelope.sender,
            address=self._config.mail_address,
            server=self._config.server,
            hops=self._config.limits.received,
        )

    def _identify(self, letter: Letter, sender: str, row: InboxRow, now: datetime) -> str:
        row = replace(row, received=min(row.received, now))  # the clock may have been set back in between
        player = self._players.by_address(sender)
        understood = self._understood(letter, self._keys.offered(sender, player), row)
        said, reading = understood.heard, understood.reading
        verdict = said.verdict
        found = self._mailboxes.tokens_of(letter, row)
        tokens = tuple(token for token in found if token.came_back(sender, player.name if player else None))
        if verdict.kind == "unknown key" and player is not None and player.level == "mailbox":
            # Who has no key here may sign elsewhere: for us such a letter is an unsigned one.
            verdict = Verdict("none", verdict.reason)
        if verdict.kind not in {"none", "valid"}:
            vouched = bool(tokens) or self._strangers.vouched_for(letter, row)
            return self._refuse_signature(letter, sender, player, verdict, tokens, now, vouched=vouched)
        player, waits = self._keys.writer(sender, player, verdict)
        proof = None
        if verdict.kind == "none":
            proof = self._prove(letter, row, found, player, reading)
        # A key that waits for its challenge may be anybody's. What came back of what was mailed there is not.
        anybodys = verdict.kind == "none" or player is None or waits
        short = False
        if anybodys and not (tokens or self._keys.told(sender, player, reading)):
            short = not self._strangers.vouched_for(letter, row)
            if short and not self._strangers.may_be_answered(sender, now):
                return _UNVOUCHED
            count = 0 if short or reading.optout else self._today(f"unsigned {sender.lower()}", now)
            if count > _UNSIGNED:
                return self._leave_unread(letter, sender, player, now, tell=count == _UNSIGNED + 1)
        # Others have seen what was said before, and can send it.
        seen = self._handled(player, said.words, verdict) if player and not anybodys and said.words else None
        repeated = seen is not None and not tokens and not self._strangers.vouched_for(letter, row)
        if repeated and not self._strangers.may_be_answered(sender, now):
            return f"said before; {_UNVOUCHED}"
        language = self._clerk.language_of(player, letter)
        caller = Caller(
            sender,
            player,
            verdict,
            letter,
            now,
            row.received,
            language,
            proof,
            said.words,
            waits,
            tokens,
            short,
            repeated,
            seen,
        )
        return self._carry_out(caller, reading, row.received)

    def _leave_unread(
        self, letter: Letter, sender: str, player: PlayerRow | None, now: datetime, *, tell: bool
    ) -> str:
        """One unsigned letter too many, perhaps by somebody else: say once how to be read all the same."""
        if tell:
            out = Out("", self._clerk.draft("letters/unread.txt", most=_UNSIGNED))
            out.reply_to = self._mailboxes.write_back(sender, player, now)
            self._reply(letter, sender, out, now)
        return "too many unsigned letters today"

    def _prove(
        self, letter: Letter, row: InboxRow, tokens: list[Token], player: PlayerRow | None, reading: Reading
    ) -> Proof | None:
        """What the letter of somebody without a key proves, where one of its commands asks for that."""
        if player is None:
            wanted = any(
                command.name == "register" and "key" not in command.arguments for command in reading.commands
            )
            tokens = [token for token in tokens if token.purpose == "register"]
            return self._mailboxes.judge(letter, row, tokens, None) if wanted and tokens else None
        wanted = any(commands.COMMANDS[command.name].signed for command in reading.commands)
        wanted = wanted or reading.optout or self._players.unreachable(player.name) is not None
        tokens = [token for token in tokens if token.purpose == "reply"]
        return self._mailboxes.judge(letter, row, tokens, player) if wanted and player.level == "mailbox" else None

    def _refuse_signature(  # noqa: PLR0913, PLR0917 - a letter, and all that is known of it
        self,
        letter: Letter,
        sender: str,
        player: PlayerRow | None,
        verdict: Verdict,
        tokens: tuple[Token, ...],
        now: datetime,
        *,
        vouched: bool,
    ) -> str:
        """Nothing is done and nothing told, but for one notice to the registered address, a few a day."""
        outcome = f"signature {verdict.kind}"
        if not vouched and not self._strangers.may_be_answered(sender, now):
            return f"{outcome}; {_UNVOUCHED}"
        count = 0 if tokens else self._today(f"notices {sender.lower()}", now)
        if count > _NOTICES:
            return outcome
        rows = player.keys if player else [waiting.key for waiting in self._players.challenges(sender)]
        keys = [key.fingerprint for key in rows]
        subject = commands.masked(letter.subject)[:60] if vouched else ""
        text = self._clerk.draft(
            "letters/warning.txt",
            reason=verdict.reason,
            fingerprints=keys,
            subject=subject,
            received=now,
            last=count == _NOTICES,
        )
        out = Out(Phrase("[pbem] A letter in your name was not accepted"), text)
        out.language = self._clerk.language_of(player, None if player else letter)
        home = player.address if player else sender
        out.reply_to = self._mailboxes.go_on(tokens, letter, player, now)
        if count == _NOTICES:
            out.reply_to = self._mailboxes.write_back(home, player, now)
        self._clerk.send(home, out, now)
        return f"{outcome}, noticed"

    def _carry_out(self, caller: Caller, reading: Reading, received: datetime) -> str:
        # By a key that is not the player's yet anybody can sign what the player is going to say.
        signed = caller.words if caller.verdict.kind == "valid" and not caller.waits else ""
        seen = caller.seen
        again = seen.time if seen and seen.effect else None
        proof = caller.proof if caller.proof and caller.proof.holds else None
        # What was here before may be sent by anybody who saw it.
        new = bool((signed and seen is None) or (proof and proof.again is None))
        reached = bool(caller.player and new and self._postmaster.heard(caller.player, received, caller.now))
        if reading.optout and not self._optout.take(caller, proved=new and self._says_its_place(caller, reading)):
            return "stop, unproved"
        wanted, left_out = (enough(reading.commands), []) if caller.short else _to_answer(reading)
        beyond = _beyond(wanted)
        answers = [
            (command, beyond.get(at) or self._answer(caller, command, again, wanted))
            for at, command in enumerate(wanted)
        ]
        if caller.player and signed and again is None:
            effect = reading.optout or any(_used_up(command, answer) for command, answer in answers)
            self._players.handle(caller.player.name, signed, stamp(caller.now), effect=effect)
        used = reached or reading.optout or any(_had_effect(command, answer) for command, answer in answers)
        if proof and proof.again is None and used:
            assert proof.token is not None
            self._mailboxes.use(proof.token, caller.letter, caller.now)
        if caller.player and signed and seen is None and any(map(_obeyed, answers)):
            self._keys.stop(caller)
        if caller.short:
            self._write_short(caller, answers)
        else:
            self._write(caller, replace(reading, ignored=[*reading.ignored, *left_out]), answers)
        return "commands: " + (" ".join(command.name for command in reading.commands) or "none")

    def _says_its_place(self, caller: Caller, reading: Reading) -> bool:
        """Whether a `stop` is of this player here: a signed one must say so, or it is asked about as any other."""
        place = {"server": self._config.server, "player": caller.player.name if caller.player else ""}
        return caller.player is not None and (caller.verdict.kind != "valid" or reading.place == place)

    def _handled(self, player: PlayerRow, words: str, verdict: Verdict) -> HandledRow | None:
        """What became of these words; those from before words were compared are known by their signed bytes."""
        seen = self._players.handled(player.name, words)
        return seen or self._players.handled(player.name, digest(verdict.signed))

    def _answer(self, caller: Caller, command: Command, again: str | None, together: Sequence[Command]) -> Answer:
        needs = commands.COMMANDS[command.name]
        if again is not None and needs.once:
            return Answer("again", {"name": command.name, "when": moment(again)})
        proof = caller.proof
        if proof and proof.holds and proof.again is not None and needs.signed:
            facts = {"name": command.name, "when": moment(proof.again), "match": command.match}
            return Answer("again_mailbox", facts, match=self._answers.place(caller, command))
        try:
            if caller.player is not None and (fault := _unfit_together(command, together)):
                raise Refused(fault)
            with self._database.savepoint():
                return self._answers.answer(caller, command)
        except Unplaced as unplaced:
            self._archive.forget()
            self._players.forget()
            return unplaced.answer
        except Refused as refused:
            self._archive.forget()
            self._players.forget()
            place = self._answers.place(caller, command)
            if place and caller.player and any(fault.rule == "prev" for fault in refused.faults):
                self._operator.unknown_head(
                    caller.player.name, place[1].number, command.fields.get("prev", ""), caller.now
                )
            shift = max(command.block_line - command.line, 0)
            facts = {"faults": [escaped(fault) for fault in refused.faults], "shift": shift, "command": command}
            return Answer("refused", facts, match=place)

    def _write(self, caller: Caller, reading: Reading, answers: list[tuple[Command, Answer]]) -> None:
        """One letter with every command echoed and its answer beneath; letters of their own before it."""
        language = self._clerk.language_of(caller.player, caller.letter)
        out = Out("", "")
        going_on = self._mailboxes.go_on(caller.tokens, caller.letter, caller.player, caller.now)
        for _, answer in answers:
            if answer.match is not None:
                out = self._clerk.thread(*answer.match, Phrase("your letter"))
                break
        asked = next((answer.reply_to for _, answer in answers if answer.reply_to), None)
        out.reply_to = asked or going_on or out.reply_to
        told = []
        for command, answer in answers:
            for letter in answer.letters:
                letter.language = language
                self._clerk.send(caller.address, letter, caller.now)
            out.attachments += answer.attachments
            draft = self._clerk.draft(f"answers/{answer.template}.txt", **answer.facts)
            echo = command.echo if len(command.echo) <= _ECHO else command.echo[:_ECHO] + "\n..."
            told.append(_Told(echo, draft, partial(self._clerk.write, language=language)))
        ignored = [] if reading.optout or caller.repeated else _told_of_ignored(reading)
        html_only = caller.letter.html_only
        out.language = language
        out.room = _ANSWER
        out.text = self._clerk.draft(
            "letters/answer.txt", answers=told, ignored=ignored, stopped=reading.optout, html_only=html_only
        )
        if caller.repeated:
            out.subject = _SHORT
            self._clerk.send(caller.address, out, caller.now)
        else:
            self._reply(caller.letter, caller.address, out, caller.now)

    def _write_short(self, caller: Caller, answers: list[tuple[Command, Answer]]) -> None:
        """Enough to go on with for whoever has this address: perhaps somebody else wrote the letter."""
        out, told = Out(_SHORT, ""), list[_Told]()
        for _, answer in answers:
            if answer.letters:  # the rules of a game: there is no more to say
                (out,) = answer.letters
            else:
                facts = answer.facts
                if "faults" in facts:
                    facts = facts | {"faults": [fault._replace(token=None) for fault in facts["faults"]]}
                draft = self._clerk.draft(f"answers/{answer.template}.txt", **facts)
                told.append(_Told("", draft, partial(self._clerk.write, language=caller.language)))
                out.reply_to = answer.reply_to
        out.language = caller.language
        out.reply_to = out.reply_to or self._mailboxes.write_back(caller.address, caller.player, caller.now)
        out.text = out.text or self._clerk.draft("letters/short.txt", told=told, most=EACH)
        self._clerk.send(caller.address, out, caller.now)

    def _reply(self, letter: Letter, address: str, out: Out, now: datetime) -> None:
        subject = commands.masked(letter.subject).strip() or Phrase("your letter")
        out.language = out.language or self._clerk.language_of(self._players.by_address(address), letter)
        out.subject = subject if subject.lower().startswith("re:") else Phrase("Re: {subject}", subject=subject)
        out.in_reply_to = letter.message_id
        out.references = [*out.references, *letter.references[-10:], *filter(None, [letter.message_id])]
        self._clerk.send(address, out, now)


def _used_up(command: Command, answer: Answer) -> bool:
    """Whether this was a command that the same words cannot give again, and was obeyed."""
    return commands.COMMANDS[command.name].once and answer.template not in _NO_EFFECT


def _unfit_together(command: Command, together: Sequence[Command]) -> Fault | None:
    """Why a command must not stand in one letter with the others, if so: its letter is shown to other players."""
    needs = commands.COMMANDS[command.name]
    others = [other for other in together if other is not command]
    if needs.alone and others:
        return Fault(command.name, None, Phrase("opponents get this letter: send nothing else in it"))
    matches = {one.match for one in together if one.match}
    if needs.shown != "never" and len(matches) > 1:
        return Fault(command.name, command.match, Phrase("one match a letter: this letter names several"))
    if needs.shown == "at once" and any(_is_secret(other) for other in others):
        return Fault(command.name, None, Phrase("opponents get this letter: send nothing secret in it"))
    if command.name == "clear" and any(_withdraws(command, other) for other in others):
        return Fault(command.name, command.match, Phrase("this letter brings what it withdraws: send one of the two"))
    if any(other.name == "clear" and _withdraws(other, command) for other in others):
        return Fault(command.name, command.match, Phrase("this letter withdraws what it brings: send one of the two"))
    return None


def _is_secret(command: Command) -> bool:
    needs = commands.COMMANDS[command.name]
    return needs.secret or needs.body == "text"


def _withdraws(clear: Command, other: Command) -> bool:
    """Whether a `clear` is about what another command of its letter brings."""
    if other.name not in {"setup", "orders"} or clear.match != other.match:
        return False
    given = clear.arguments
    if given.get("default") or other.arguments.get("default"):
        return bool(given.get("default")) == bool(other.arguments.get("default"))
    return given.get("turn", other.arguments.get("turn")) == other.arguments.get("turn")


def _had_effect(command: Command, answer: Answer) -> bool:
    """Whether this was a command that a reply token is used up by, and was obeyed."""
    opened = answer.template == "registered_mailbox"
    return opened or (commands.COMMANDS[command.name].signed and answer.template not in _NO_EFFECT)


def _obeyed(answered: tuple[Command, Answer]) -> bool:
    """Whether a command that is for players alone had its effect."""
    command, answer = answered
    return commands.COMMANDS[command.name].level != "anyone" and answer.template not in {
        "refused",
        "again",
        "whole_sentence",
    }


def _to_answer(reading: Reading) -> tuple[list[Command], list[str]]:
    """The commands to answer, each once, and the first lines of those left out."""
    once: dict[Hashable, Command] = {}
    for command in reading.commands:
        once.setdefault(command.same, command)
    wanted = list(once.values())
    return wanted[:_COMMANDS], [command.echo.partition("\n")[0] for command in wanted[_COMMANDS:]]


def _beyond(wanted: Sequence[Command]) -> dict[int, Answer]:
    """Of the commands to answer, by their places, those that are more than one letter may ask for."""
    found = {}
    bulky = characters = 0
    for at, command in enumerate(wanted):
        form = commands.COMMANDS[command.name]
        bulky += form.bulky
        characters += len(command.block or "") if form.body == "text" else 0
        if form.bulky and bulky > _BULKY:
            found[at] = refusal(command, _TOO_BULKY.given(most=_BULKY))
        elif form.body == "text" and characters > _BLOCKS:
            found[at] = refusal(command, _TOO_LONG.given(most=_BLOCKS))
    return found


_TOO_BULKY = Phrase(
    "a letter brings at most {most} sheets, reports, transcripts and rules: ask for this one in another letter"
)
_TOO_LONG = Phrase("the setups and orders of a letter have at most {most} characters together")


def _told_of_ignored(reading: Reading) -> list[str]:
    """The first lines of what was ignored: enough to recognise it."""
    lines = [line for run in reading.ignored for line in run.splitlines() if line.strip()]
    told = [line.strip()[:70] for line in lines[:10]]
    return [*told, Phrase("... and {count} more lines", count=len(lines) - 10)] if len(lines) > 10 else told
