"""The result of an event: the next match, entries of the transcript, documents to keep, notices to the seats.

A `Step` begins with a match and the environment of its moment; the events and what players send (`submissions`)
advance it. Here is the signed letter, too, that brings a form, and the place that a form names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import msgspec
from msgspec.structs import replace

from pbem.games import Fault, Refused, refuse
from pbem.match.documents import SetAside, Trace
from pbem.match.notices import NOTICES
from pbem.match.seat_clock import Calendar
from pbem.match.transcript import Entry, sha256_hex, written
from pbem.phrase import Phrase
from pbem.requests import DEFAULT, Clear, SignedForm, SubmitOrders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.match.pinned_keys import Player
    from pbem.match.seat_clock import Clock, Stop
    from pbem.match.state import Match, MatchPlace, Submission
    from pbem.requests import AnyForm, Requested


class Signed(msgspec.Struct, frozen=True):
    """The signed letter that brought a form: its raw bytes, its level and the fingerprint of its key.

    At level `mailbox`, the evidence replaces the signature, and `key` names its basis.
    """

    raw: bytes
    level: str
    key: str
    received: str
    """The time of its arrival, UTC to the second, as papers write it."""
    evidence: bytes = b""
    rev: int = 0
    """The revision of the reply address that stood for the whole form of an agreement; 0: the letter has the form."""
    pasted: str = ""
    """The signed text with its signature beneath, where both are text: what other players can check themselves."""

    @property
    def evidence_hash(self) -> str:
        """SHA-256 of the evidence; empty where a key signed."""
        return sha256_hex(self.evidence) if self.evidence else ""

    @property
    def hash(self) -> str:
        """SHA-256 of the letter as it was received."""
        return sha256_hex(self.raw)


def here(match: Match, seat: int, rev: int | None, request: Requested) -> SignedForm[Requested]:
    """The form of a request at the present place in the match, as this seat names it."""
    playing = match.phase == "playing"
    return SignedForm(
        request,
        match.server,
        match.name(seat),
        match.prev,
        rev,
        game=None if playing else match.game,
        turn=match.turn if playing else None,
    )


def at_reply_address(form: SignedForm[Requested], match: Match, seat: int) -> SignedForm[Requested]:
    """A form at level `mailbox` with its place completed from the address that it answers.

    A missing revision stays missing.
    """
    place = here(match, seat, None, form.request)
    return replace(
        form,
        server=form.server or place.server,
        player=form.player or place.player,
        prev=form.prev or place.prev,
        game=form.game or place.game,
        turn=place.turn if form.turn is None else form.turn,
    )


HIGHEST = 999_999_999
"""The highest revision that a paper can name."""


class Unresolved(Exception):
    """The rules of another package did not resolve a turn; the message says why."""


class Environment(msgspec.Struct, frozen=True):
    """The environment of a step: the time, random bytes from the operating system, and the server's identity."""

    now: datetime
    random: Callable[[int], bytes]
    version: str
    server_key: str
    calendar: Callable[[str], Calendar] = lambda _: Calendar()
    """The wall clock and the vacations of a player, by name."""
    oldest_unhandled: datetime | None = None
    """The arrival of the oldest letter that is not handled; None: all are. No deadline after it is missed yet."""
    is_past: bool = False
    """True if the players' clocks are only known as far as the transcript tells of them."""
    outages: Callable[[datetime], Sequence[Stop]] = lambda _: ()
    """The times in which the server was out of reach, of those that ended after a moment."""
    rehearse: Callable[[Match, Callable[[], object]], None] = lambda _match, _turn: None
    """Tries a turn by the rules of another package, before it has any effect; raises `Unresolved`."""

    @property
    def time(self) -> str:
        """The time as entries write it: UTC to the second."""
        return written(self.now)

    def salt(self, _path: str = "") -> str:
        """64 hex digits that nobody can guess, for the paper of this path."""
        return self.random(32).hex()

    def reply_salt(self, match: Match, path: str, _game: int) -> str:
        """The secret of the next reply addresses, for the paper of this path; empty if nobody plays by mailbox."""
        return self.salt(path) if any(player.mailbox for player in match.players) else ""

    def hidden_replies(self, _match: Match, _game: int) -> dict[str, str]:
        """The hash of the secret for a game's setups, as the next entry names it, if it is not shown yet."""
        return {}

    def chain(self, _path: str) -> str:
        """The secret of a game with dice or cards, for the paper of this path; empty if only the server has it."""
        return self.random(32).hex()

    def link(self, match: Match) -> str:
        """The link of what chance deals next, as the transcript shows it."""
        raise NotImplementedError(f"{match.id} has no secret")

    def begins(self, _match: Match) -> bool:
        """True if a game begins here as soon as it can; a replay may end before it."""
        return True

    def set_aside(self, _match: Match, _what: str) -> Sequence[tuple[int, SetAside]] | None:
        """The papers set aside by then, by seat, if a trace of them exists already."""
        return None


class Document(msgspec.Struct, frozen=True):
    """A file of the match's evidence, by its path in the bundle; `seat` may see it before it opens, if any."""

    path: str
    content: bytes
    opens_with: int = 0
    """The game whose reveal opens it to all; with one that is revealed, or 0, it is open at once."""
    seat: int | None = None

    def __repr__(self) -> str:
        return f"Document({self.path!r})"  # what is in it may be secret


class Notice(msgspec.Struct, frozen=True):
    """Something to tell a seat: the kind names the letter's template; the match is as it was at that moment."""

    kind: str
    seat: int
    match: Match
    facts: Mapping[str, Any] = {}


class Step(msgspec.Struct):
    """The match after an event, and all results of the event, in order."""

    match: Match
    world: Environment
    entries: list[Entry] = msgspec.field(default_factory=list)
    papers: list[Document] = msgspec.field(default_factory=list)
    notices: list[Notice] = msgspec.field(default_factory=list)
    submitted: list[tuple[int, int, int, Submission]] = msgspec.field(default_factory=list)
    """Submissions that count without a new letter: game, turn and seat, and the submission."""

    def demand_key(self, signed: Signed) -> None:
        """Refuse a letter at level `mailbox` if the terms demand keys."""
        if signed.level == "mailbox" and self.match.terms.keys == "demanded":
            says = Phrase("this match demands a signature by a key; `help signing` says how")
            raise Refused(Fault("keys", None, says))

    def file_letter(self, name: str, letter: bytes, evidence: bytes, opens_with: int, seat: int | None) -> None:
        """Keep a player's letter and, if it is not signed, the evidence that vouches for it."""
        self.papers.append(Document(f"letters/{name}.eml", letter, opens_with, seat))
        if evidence:
            self.papers.append(Document(f"evidence/{name}.txt", evidence, opens_with, seat))

    def file_mailbox(self, seat: int, player: Player) -> None:
        """Keep the paper about the mailbox that the next entry pins, if it pins one."""
        if player.named is not None:
            path = f"evidence/mailbox-{self.match.seq + 1}-seat-{seat}.txt"
            self.papers.append(Document(path, player.named.text().encode(), 0, seat))

    def file_trace(self, what: str, opens_with: int) -> dict[str, str]:
        """File what was set aside up to the next entry, to open with this game; returns how the entry names it.

        The files are what was withdrawn, or could not be played; at the end of a game also withdrawn default orders.
        """
        match = self.match
        found = self.world.set_aside(match, what)
        if found is None:
            found = [(seat, aside) for seat, sent in sorted(match.submissions.items()) for aside in sent.aside]
            # Who is no longer asked, because somebody else left, need not have ordered.
            asked = {*match.choosing, *match.left}
            found = [(seat, one) for seat, one in found if seat in asked or not one.unused_default]
            for seat in match.seats if what == "end" and match.phase == "playing" else ():
                if stored := match.stored.get((seat, DEFAULT)):
                    found += [(seat, aside) for aside in stored.aside]
        path = f"traces/game-{match.game}-{what}.txt"
        place = (match.server, match.id, match.game, match.turn)
        trace = Trace.of(place, self.world.salt(path), (aside for _, aside in found)).text().encode()
        for _, aside in found:
            self.papers.append(Document(aside.path, aside.paper.encode(), opens_with))
            self.file_letter(aside.stem, aside.letter, aside.evidence, opens_with, None)
        self.papers.append(Document(path, trace, opens_with))
        return {"trace": sha256_hex(trace)}

    def named(self, signed: Signed) -> JsonObject:
        """The parts of an entry's body that name its letter."""
        named: JsonObject = {"mail": signed.hash}
        if signed.evidence:
            named |= {"level": "mailbox", "evidence": signed.evidence_hash}
        return named | {"received": signed.received}

    def sentence(self, what: str, seat: int, form: AnyForm, signed: Signed, player: str = "") -> JsonObject:
        """Take a sentence that takes effect at once: keep its letter, and return how the next entry names it.

        It must name the present place, and is obeyed once. Before a game begins, its letter belongs
        to what is revealed already: nothing of the game to come is in it. Raises `Refused`.
        """
        match = self.match
        self.demand_key(signed)
        before = 0 if player else match.sentence_revs.get((seat, what), 0)
        faults = misplaced(match, form, seat, None, player=player, **match.place)
        if form.rev is not None and form.rev <= before:
            faults.append(Fault("rev", f"rev {form.rev}", _USED_UP.given(rev=before)))
        refuse(faults)
        opens_with = match.game if match.phase == "playing" and match.play.hides else match.last_revealed
        self.file_letter(f"{what}-{match.seq + 1}-seat-{seat}", signed.raw, signed.evidence, opens_with, seat)
        self.match = replace(match, sentence_revs={**match.sentence_revs, (seat, what): form.rev or 1})
        return self.named(signed) | {"rev": form.rev}

    def append_entry(self, kind: str, body: JsonObject) -> Entry:
        """Append the next entry to the transcript."""
        match = self.match
        entry = Entry(match.seq + 1, match.head, self.world.time, kind, body)
        self.entries.append(entry)
        self.match = replace(match, seq=entry.seq, head=entry.head, time=entry.time)
        return entry

    def set_clock(self, seat: int, clock: Clock) -> None:
        """Give a seat this clock."""
        self.match = replace(self.match, clocks={**self.match.clocks, seat: clock})

    def notify(self, kind: str, actor: int = 0, /, **facts: object) -> None:
        """Send a notice to the seats that the table of notices names: all, or all but the `actor`."""
        but = {"all": 0, "others": actor}[NOTICES[kind].to]
        self.notices.extend(Notice(kind, seat, self.match, facts) for seat in self.match.seats if seat != but)


def misplaced(
    match: Match,
    form: AnyForm,
    seat: int,
    before: Submission | None,
    *,
    again: bool = True,
    player: str = "",
    **place: Unpack[MatchPlace],
) -> list[Fault]:
    """The faults of a form's place and revision: another place, or an older revision than before.

    `again` allows the current revision. Orders, and what withdraws them, may cite any head that letters of this game
    printed: they may have been written for a later turn.
    """
    player = player or match.name(seat)
    wanted: dict[str, object] = {"server": match.server, "player": player, "prev": match.prev, **place}
    faults = []
    beside = "turn" if match.phase == "setup" else "game"  # which may be left out
    value, given = getattr(match, beside), getattr(form, beside)
    if beside not in place and given not in {None, value}:
        faults.append(Fault(beside, f"{beside} {given}", _wrong(beside, given, value)))
    of_orders = match.phase == "playing" and isinstance(form.request, SubmitOrders | Clear)
    if of_orders and match.printed(form.prev or ""):
        wanted["prev"] = form.prev
    for key, value in wanted.items():
        given = getattr(form, key)
        if given is None:
            faults.append(Fault(key, None, Phrase("the line `{key} {value}` is missing", key=key, value=value)))
        elif given != value:
            faults.append(Fault(key, f"{key} {given}", _wrong(key, given, value)))
    if form.rev is None:
        faults.append(Fault("rev", None, Phrase("the line with the revision, such as `rev 1`, is missing")))
    elif form.rev > HIGHEST:
        faults.append(Fault("rev", None, Phrase("there is no higher revision than {rev}", rev=HIGHEST)))
    elif before and form.rev < before.rev + (not again):
        faults.append(Fault("rev", f"rev {form.rev}", _USED_UP.given(rev=before.rev)))
    return faults


def again(before: Submission | None, rev: int | None, text: str, *, final: bool = False) -> Submission | None:
    """The existing submission, if exactly the same is sent again; raises if one revision has two contents."""
    if before is None or rev != before.rev:
        return None
    if before.standing and before.text == text and before.final == final:
        return before
    says = Phrase("rev {rev} was used before with other content; use a higher one", rev=before.rev)
    raise Refused(Fault("rev", f"rev {rev}", says))


def _wrong(key: str, given: object, value: object) -> Phrase:
    """The fault of a line of the form at this place."""
    if key == "turn" and isinstance(given, int) and isinstance(value, int) and given < value:
        return Phrase("turn {given} is over; turn {value} is being played", given=given, value=value)
    return Phrase("wrong `{key}`; expected {value}", key=key, value=value)


_USED_UP = Phrase("rev {rev} was used before; use a higher one")
