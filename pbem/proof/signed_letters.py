"""The letters of a bundle as the source of a replay: each says what its entry records, and is its player's.

This module joins rooms that may not know each other: reading (mail), signatures (identity) and the life of a match.
No store, no effect. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from pbem import identity
from pbem.games import Refused, parts
from pbem.mail import commands
from pbem.mail.message import Unreadable, read_letter
from pbem.match.documents import Evidence, Opening, Receipt, Withdrawal
from pbem.match.remaking import Sentence, UnvouchedError
from pbem.match.step import at_reply_address, misplaced
from pbem.phrase import Phrase
from pbem.proof import key_changes, one_letter
from pbem.proof.agreement import agrees
from pbem.proof.listed_keys import listed_keys
from pbem.proof.mailbox_evidence import marks, signed_detail, vouched
from pbem.proof.mailbox_evidence import place as place_of
from pbem.proof.normal_form import VOCABULARY, normal_text
from pbem.requests import (
    DEFAULT,
    PLACE,
    Accept,
    Clear,
    Draw,
    Resign,
    Sections,
    SignedForm,
    SubmitOrders,
    SubmitSetup,
    Substitute,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.identity import Verdict
    from pbem.mail.commands import AnyCommand
    from pbem.mail.message import Letter
    from pbem.match.pinned_keys import KeyChange, Player
    from pbem.match.remaking import Proving
    from pbem.match.state import Match
    from pbem.match.step import Signed
    from pbem.proof.bundle import Bundle
    from pbem.requests import AnyForm, InMatch, Requested


class BundleLetters:
    """The letters of a bundle as a source for a replay: each signature is checked, nothing is trusted."""

    def __init__(self, papers: Mapping[str, bytes]) -> None:
        self.papers = papers
        self.used: set[str] = set()
        """The papers that the replay has read; in the end, a bundle must hold no others."""
        self._effects: set[tuple[object, ...]] = set()
        """The effects that letters had so far: none may have the same effect twice."""
        self._places: dict[str, tuple[str, str]] = {}
        """For each used reply address, its letter's place and the time of arrival."""
        self._counted: dict[str, bytes] = {}
        """For each used reply address, and each DKIM signature of a letter that used one, this letter."""

    def paper(self, path: str) -> bytes | None:
        """The file of this path in the bundle."""
        self.used.add(path)
        return self.papers.get(path)

    def proved_form(
        self, match: Match, wanted: SignedForm[Requested], seat: int, signed: Signed, paper: Proving | None
    ) -> SignedForm[Requested]:
        """The form in a letter that makes the wanted request, after a check that the letter is the player's.

        Raises ValueError if it is not.
        """
        # Setups and orders wait for their turn; a sentence takes effect when it comes.
        waited = not isinstance(paper, Sentence | None)
        reading = self._read(match, seat, signed, paper, waited=waited)
        # A revision that the letter does not give is the server's word, and no reason to obey it twice.
        own = [command for command in reading if not command.faults and command.form.rev is not None]
        is_given = isinstance(paper, Withdrawal | Sentence) and _matching(own, match, wanted, seat, signed.evidence)
        rev = wanted.rev if is_given else None
        self._judge_once(match, (wanted.request, wanted.turn, rev), seat, signed)
        if len(reading) > 1 and commands.row_of(wanted.request).alone:
            raise ValueError(f"holds more than its `{commands.row_of(wanted.request).name}`")
        forms = _matching(reading, match, wanted, seat, signed.evidence)
        if not forms:
            raise ValueError(f"holds no `{_name_of(wanted)}` for this place")
        if _withdraws(reading, match, wanted, seat):
            raise ValueError(f"holds `{_name_of(wanted)}` and its own `clear`")
        return next((form for form in forms if _was_accepted(form, match, seat, paper)), forms[-1])

    def _judge_once(self, match: Match, what: tuple[object, ...], seat: int, signed: Signed) -> None:
        """Check that no letter has one effect twice, or in two copies, no reply address serves two, and its date."""
        if fault := misdated(_opened(signed.raw), datetime.fromisoformat(signed.received)):
            raise ValueError(str(fault))
        # The same letter with the same effect at the same place is a replay.
        turn = match.turn if match.phase == "playing" else 0
        effect = (signed.raw, *what, seat, match.game, turn)
        if effect in self._effects:
            raise ValueError("this letter had this effect before")
        self._effects.add(effect)
        # A reply address lets one letter count, at one place, received at one time.
        if signed.evidence:
            vouching = Evidence.read(signed.evidence.decode())
            if vouching.received != signed.received:
                raise ValueError("its evidence names another time")
            for only in (vouching.token, *marks(_opened(signed.raw))):
                if self._counted.setdefault(only, signed.raw) != signed.raw:
                    raise ValueError("its reply address or DKIM signature let another letter count before")
            use = (vouching.place, signed.received)
            if self._places.setdefault(vouching.token, use) != use:
                raise UnvouchedError("names another place or time than where this letter counted before")

    def unused(self, match: Match, seat: int, signed: Signed, receipt: Receipt) -> None:
        """Check that orders sent in advance could not be played; raises ValueError."""
        # First, the letter is this player's, and asks for what the receipt acknowledges.
        turn = DEFAULT if receipt.by_default else match.turn
        wanted = SignedForm(SubmitOrders(match=match.id), rev=receipt.rev, turn=turn)
        reading = self._read(match, seat, signed, receipt, waited=True, former=True)
        if receipt.player != match.name(seat):
            raise ValueError(f"its receipt names {receipt.player}")
        self._judge_once(match, ("unused", turn), seat, signed)
        if _withdraws(reading, match, wanted, seat):
            raise ValueError(f"holds `{_name_of(wanted)}` and its own `clear`")
        # Orders for the turn that is due are judged when they come: only earlier ones can be found illegal now.
        if not receipt.by_default:
            reading = [command for command in reading if _in_advance(command.form, match, signed.evidence)]
        forms = _matching(reading, match, wanted, seat, signed.evidence)
        forms = [form for form in forms if _storable(form, match, seat)]
        if not forms:
            raise ValueError(f"holds no `{_name_of(wanted)}` for this place that could be stored")
        # Then a reason not to use them: the key no longer counts, the seat is not asked, or they are illegal.
        if not match.players[seat - 1].counts(receipt.level, receipt.key, match.prev):
            return
        if seat not in match.choosing:
            return
        try:
            match.orders_of(seat, forms[0].request.text)
        except Refused:
            return
        raise ValueError("these orders are legal, and were not used")

    def _read(
        self,
        match: Match,
        seat: int,
        signed: Signed,
        paper: Proving | None,
        *,
        waited: bool,
        former: bool = False,
    ) -> list[AnyCommand]:
        """The commands of a letter, after a check that it is the player's; raises ValueError.

        A letter that waited was judged when it came; one with immediate effect, by the keys of that moment.
        `former` keys count, too, to find out why a submission no longer counts.
        """
        player = match.players[seat - 1]
        if signed.evidence:
            level, (key, text) = "mailbox", self._vouched(match, seat, signed, waited=waited, former=former)
        else:
            keys = player.keys_at(match.prev) if waited else player.keys
            if former:
                keys = player.ever
            level, (key, text) = "key", signed_text(signed.raw, keys, player.name, match.server)
        reading = commands.parse(text, signed=not signed.evidence)
        if isinstance(paper, Receipt | Withdrawal) and (paper.level, paper.key) != (level, key):
            raise ValueError("the receipt names another level or key")
        if paper is not None and signed.evidence and (reading.short or len(_opened(signed.raw).texts) > 1):
            return _in_one_letter(match, seat, signed, paper.rev)
        return reading.commands

    @staticmethod
    def _vouched(match: Match, seat: int, signed: Signed, *, waited: bool, former: bool) -> tuple[str, str]:
        """The basis of a letter at level `mailbox`, and its text; it counts only for a player without a key."""
        player, vouching = match.players[seat - 1], Evidence.read(signed.evidence.decode())
        if match.terms.keys == "demanded":
            raise ValueError("is not signed, and this match demands a signature by a key")
        if not (player.mailbox and (former or player.mailbox_at(match.prev))):
            raise ValueError(f"{player.name} has a key, and this letter is not signed with it")
        if match.seq and vouching.match != match.id:  # a proposal answers a letter of no match
            raise ValueError("the evidence belongs to another match")
        return vouching.key, vouched_text(signed.raw, vouching, player, match.server, match, waited=waited)

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Check that the letters of a key change prove it; raises ValueError."""
        player = match.players[seat - 1]
        for who, raw in change.letters.items():
            try:
                verdict, text = _by_keys(raw, player.keys if who == "old" else change.added, match.server)
            except Unreadable as error:
                raise ValueError(f"the {who} key's letter cannot be read: {error}") from error
            if verdict.kind != "valid":
                raise ValueError(f"the signature of {player.name}'s {who} key does not hold: {verdict.reason}")
            spoken = key_changes.Spoken(_opened(raw), verdict, commands.parse(text).commands)
            if not key_changes.says(spoken, who, change, player, match.server):
                raise ValueError(f"the letter signed by the {who} key does not say so")


def signed_text(raw: bytes, keys: Iterable[Mapping[str, str]], player: str, server: str) -> tuple[str, str]:
    """The key of a player that signed a letter, and the signed text; raises ValueError."""
    try:
        verdict, text = _by_keys(raw, keys, server)
    except Unreadable as error:
        raise ValueError(f"cannot be read: {error}") from error
    if verdict.kind != "valid":
        raise ValueError(f"the signature of {player} does not hold: {verdict.reason}")
    return verdict.key or "", text


def vouched_text(
    raw: bytes, vouching: Evidence, player: Player, server: str, match: Match | None = None, *, waited: bool = False
) -> str:
    """The text of a letter that counts at level `mailbox`, by this evidence; raises ValueError."""
    if (vouching.server, vouching.player) != (server, player.name):
        raise ValueError("the evidence belongs to another server or player")
    try:
        letter = _opened(raw)
    except Unreadable as error:
        raise ValueError(f"cannot be read: {error}") from error
    sender = (letter.sender or "").lower()
    if player.named is None or sender != player.named.address:
        raise ValueError(f"does not come from the mailbox of {player.name}")
    if fault := vouched(letter, vouching, match, waited=waited):
        raise ValueError(f"it is not vouched for: {fault}")
    return letter.text or ""


def _in_one_letter(match: Match, seat: int, signed: Signed, rev: int) -> list[AnyCommand]:
    """The command that a letter without a form gives at the reply address of this revision, if just one text does."""
    letter, evidence = _opened(signed.raw), Evidence.read(signed.evidence.decode())
    if (evidence.match, evidence.place) != (match.id, place_of(match.game, match.turn)):
        return []
    found = one_letter.counting(match, seat, rev, signed_detail(letter, evidence), letter.texts)
    return [command for _, command in found] if len(found) == 1 else []


_IN_ITS_WORDS = (SubmitSetup, SubmitOrders, Sections)
"""The requests whose words are in their letter, and in no entry."""


def _matching(
    reading: Sequence[AnyCommand], match: Match, wanted: SignedForm[Requested], seat: int, evidence: bytes
) -> list[SignedForm[Requested]]:
    """The faultless forms in a letter that make the wanted request, each with its place completed."""
    forms = [command.form for command in reading if not command.faults]
    if isinstance(wanted.request, Accept):
        forms = [form for form in forms if agrees(form, match, seat, evidence)]
        return cast("list[SignedForm[Requested]]", forms)
    if evidence:
        forms = [at_reply_address(form, match, seat) for form in forms]
        # Last, because the desk does not obey a form without a revision if another form names one.
        forms += [replace(form, rev=wanted.rev) for form in forms if form.rev is None]
    # A form that came back untouched only asks a question, and orders nothing.
    matching = [
        form
        for form in forms
        if _is_wanted(form, wanted) and not (isinstance(form.request, SubmitOrders) and form.request.untouched)
    ]
    return cast("list[SignedForm[Requested]]", matching)


def _is_wanted(form: AnyForm, wanted: AnyForm) -> bool:
    """True if a form makes the wanted request, and names each part of its place."""
    asked = form.request
    if isinstance(asked, _IN_ITS_WORDS):
        same = type(asked) is type(wanted.request) and asked.match == cast("InMatch", wanted.request).match
    else:
        same = asked == wanted.request
    if isinstance(asked, Clear) and form.turn != wanted.turn:  # the `clear` of a setup names no turn
        return False
    place = ((name, getattr(wanted, name)) for name in PLACE)
    return same and all(value is None or getattr(form, name) == value for name, value in place)


def _name_of(wanted: AnyForm) -> str:
    """The wanted request, as faults name it: its command, and its own words."""
    request = wanted.request
    if isinstance(request, Accept):
        return "agreed"
    words = [commands.row_of(request).name]
    if isinstance(request, SubmitOrders) and wanted.turn == DEFAULT:
        words.insert(0, "default")
    elif isinstance(request, Resign):
        words.append("match" if request.whole else "game")
    elif isinstance(request, Substitute):
        words += [request.name, "for", request.leaver, *filter(None, [request.hash])]
    elif isinstance(request, Draw) and request.sharing:
        words += [request.word, "for", *request.sharing]
    elif not isinstance(request, _IN_ITS_WORDS):
        values = (getattr(request, name) for name in request.__struct_fields__ if name != "match")
        words += [str(value) for value in values if value]
    return " ".join(words)


def _withdraws(reading: Sequence[AnyCommand], match: Match, wanted: AnyForm, seat: int) -> bool:
    """True if a letter both submits a setup or orders and withdraws them."""
    if not isinstance(wanted.request, SubmitSetup | SubmitOrders):
        return False
    cleared = SignedForm(Clear(match=match.id), game=wanted.game, turn=wanted.turn)
    forms = [command.form for command in reading if not command.faults]
    # Other readers may take a `clear` without a place to be for the present one.
    return any(_is_wanted(at_reply_address(form, match, seat), cleared) for form in forms)


def _was_accepted(form: AnyForm, match: Match, seat: int, paper: Proving | None) -> bool:
    """True if the desk accepted this form in a letter that holds several: refused ones have no effect.

    Of forms with one revision, the desk accepts the first legal one; an opening itself says which setup it was.
    """
    # A sentence or a withdrawal: the desk refuses it at a wrong place.
    if isinstance(paper, Sentence | Withdrawal):
        place = match.place if isinstance(paper, Sentence) else match.place_of(paper.turn)
        return not misplaced(match, form, seat, None, **place)
    if not isinstance(form.request, SubmitSetup | SubmitOrders):
        return True
    # A setup or orders: addressed to this place, under a head that this game's letters printed, and legal.
    if (form.server, form.player) != (match.server, match.name(seat)) or form.prev is None:
        return False
    if not (match.printed(form.prev) if isinstance(paper, Receipt) else form.prev == match.prev):
        return False
    try:
        if isinstance(paper, Receipt):
            match.orders_of(seat, form.request.text)
            return True
        assert isinstance(paper, Opening)
        return match.setup_of(seat, form.request.text).text == paper.setup
    except Refused:
        return False


def _in_advance(form: AnyForm, match: Match, evidence: bytes) -> bool:
    """True if a form came before its turn was due, by the head that it cites and the letter that it answers."""
    if evidence and Evidence.read(evidence.decode()).place == place_of(match.game, match.turn):
        return False
    if form.prev is None:
        return bool(evidence)
    return any(turn.prev == form.prev for turn in islice(match.turns, match.turn - 1))


def _storable(form: SignedForm[SubmitOrders], match: Match, seat: int) -> bool:
    """True if the desk could have stored a form in advance for the present turn, or as default orders."""
    if form.turn == DEFAULT and match.terms.miss != "default":
        return False
    if misplaced(match, form, seat, None, turn=form.turn):
        return False
    return not parts.ahead(match.rules, match.under_way, seat, form.turn or DEFAULT, form.request.text)


EARLY, LATE = timedelta(days=1), timedelta(days=10)
"""The most by which a letter's date may lie after its arrival, because clocks are wrong, and before it, because mail
servers retry for five days, and the letter was written before that."""


def misdated(letter: Letter, received: datetime) -> Phrase | None:
    """The fault of a date that cannot be true at the time of arrival; an unreadable date is ignored."""
    dates = letter.values("date")
    if len(dates) != 1:
        return None
    try:
        date = parsedate_to_datetime(dates[0])
    except (ValueError, TypeError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    if -LATE <= date - received <= EARLY:
        return None
    return Phrase("it is dated {date}, but came on {day}", date=f"{date:%Y-%m-%d}", day=f"{received:%Y-%m-%d}")


_opened = lru_cache(maxsize=4)(read_letter)
"""A letter of a bundle, parsed once for the several checks in a row that need it."""


def signed_agreement(found: Bundle, seat: int) -> str:
    """The text that a seat signed when it agreed, in a verified bundle; empty at level `mailbox`."""
    keys = found.entries[0].body["players"][str(seat)]["keys"]
    letter = found.papers[f"letters/agreed-seat-{seat}.eml"]
    return _by_keys(letter, keys, found.entries[0].body["server"])[1]


def signed_words(raw: bytes, keys: Iterable[Mapping[str, str]], server: str) -> frozenset[str]:
    """The hashes of the commands in a letter, as answers name them; none if none of these keys signed it."""
    try:
        text = _by_keys(raw, keys, server)[1]
    except (Unreadable, ValueError):
        return frozenset()
    return frozenset(command.words for command in commands.parse(text).commands)


def _by_keys(raw: bytes, keys: Iterable[Mapping[str, str]], server: str) -> tuple[Verdict, str]:
    """The verdict on a letter by one player's listed keys, and the signed text; raises `Unreadable` and ValueError.

    Expiry was judged on arrival; a bundle is verified at any time after, and does not say when that was.
    """
    verdict = identity.judge(_opened(raw), listed_keys(keys), server, words=VOCABULARY)
    return verdict, normal_text(verdict) if verdict.kind == "valid" else ""
