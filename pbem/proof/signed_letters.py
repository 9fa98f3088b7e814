"""Signed letters: from raw bytes to the form that a match understands, at the desk and at verification.

This module joins rooms that may not know each other: reading (mail), signatures (identity) and the life of a match.
No store, no effect. Implements protocol.md, "Identity".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

import msgspec

from pbem import identity
from pbem.config.limits import Limits
from pbem.games import Refused
from pbem.identity import Verdict
from pbem.mail import commands
from pbem.mail.message import Unreadable, read_letter
from pbem.mail.one_reading import doubt
from pbem.match.changed import replace
from pbem.match.documents import Evidence, Opening, Receipt, Withdrawal
from pbem.match.remaking import Sentence, UnvouchedError
from pbem.match.step import at_reply_address, misplaced
from pbem.match.terms import Terms, hash_of_tournament
from pbem.match.transcript import TranscriptError, sha256_hex
from pbem.phrase import Phrase
from pbem.proof import key_changes, one_letter
from pbem.proof.bundle import LIMITS
from pbem.proof.mailbox_evidence import marks, signed_detail, vouched
from pbem.proof.mailbox_evidence import place as place_of
from pbem.requests import (
    DEFAULT,
    Accept,
    Clear,
    Enter,
    Propose,
    Resign,
    Sections,
    SignedForm,
    SubmitOrders,
    SubmitSetup,
    Substitute,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pbem.identity import Key
    from pbem.mail.commands import AnyCommand
    from pbem.mail.message import Letter
    from pbem.match.pinned_keys import KeyChange, Player
    from pbem.match.remaking import Proving
    from pbem.match.state import Match
    from pbem.match.step import Signed
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle
    from pbem.requests import AnyForm, InMatch, Requested

VOCABULARY = identity.Vocabulary(tuple(commands.COMMANDS), commands.FIELDS)
"""The words by which a signed form is found in a letter."""

_SHOWN: Final = Limits(message_bytes=1 << 20)
"""Hardly wider than those of most servers, for the others' programs read every text of a game again and again: in
UTF-8, an accepted text may have three times as many octets."""

UNCLEAR: Final = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that some programs read as the end of a line or of the text, and others as a blank, or not at all."""


class Letters:
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

    def said(
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
        assert match.position is not None
        if match.position.due.get(seat, 0) is not None:
            return
        try:
            match.rules.order(match.position, seat, forms[0].request.text)
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
        forms = [form for form in forms if _agrees(form, match, seat, evidence)]
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
    place = ((name, getattr(wanted, name)) for name in _PLACE)
    return same and all(value is None or getattr(form, name) == value for name, value in place)


_PLACE = ("server", "player", "prev", "rev", "game", "turn")


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
    if isinstance(paper, Sentence):
        return not misplaced(match, form, seat, None, **match.place)
    if isinstance(paper, Withdrawal):
        in_advance = match.phase == "playing"
        return not misplaced(match, form, seat, None, in_advance=in_advance, **match.place_of(paper.turn))
    if not isinstance(form.request, SubmitSetup | SubmitOrders):
        return True
    # A setup or orders: addressed to this place, under a head that this game's letters printed, and legal.
    if (form.server, form.player) != (match.server, match.name(seat)) or form.prev is None:
        return False
    if not (match.printed(form.prev) if isinstance(paper, Receipt) else form.prev == match.prev):
        return False
    try:
        if isinstance(paper, Receipt):
            assert match.position is not None
            match.rules.order(match.position, seat, form.request.text)
            return True
        assert match.options is not None
        assert isinstance(paper, Opening)
        return match.rules.setup(match.options, seat, form.request.text).text == paper.setup
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
    if misplaced(match, form, seat, None, in_advance=True, turn=form.turn):
        return False
    assert match.position is not None
    return not match.rules.ahead(match.position, seat, form.turn or DEFAULT, form.request.text)


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


def said(verdict: Verdict, read: Callable[[bytes], Letter] = read_letter) -> str:
    """The text that a signature covers, in its one normal form, read only from the signed bytes.

    `read` parses signed bytes that are a MIME entity; raises `Unreadable` if that exceeds the limits.
    """
    return _one_form(verdict, read(verdict.signed) if verdict.entity else None)


def _one_form(verdict: Verdict, entity: Letter | None) -> str:
    return _normal(verdict.signed.decode("utf-8", "replace") if entity is None else entity.text or "")


def _normal(text: str) -> str:
    """The text in its normal form: line ends LF, plain blanks, none at line ends, no invisible characters."""
    return "\n".join(line.rstrip() for line in commands.clean(text).split("\n"))


class Heard(msgspec.Struct, frozen=True):
    """A judged letter, as it counts on arrival: the text from which its commands are read."""

    verdict: Verdict
    text: str
    """The text from which commands are read."""
    words: str = ""
    """SHA-256 of the signed words, the same in any MIME encoding; empty if nothing is signed."""


def heard(letter: Letter, verdict: Verdict, read: Callable[[bytes], Letter] = read_letter) -> Heard:
    """A judged letter as it counts; the verdict is `refused` if programs might read the signed bytes differently.

    Only on arrival: later, the verdict decides, so that no accepted letter becomes invalid.
    """
    if verdict.kind != "valid":
        return Heard(verdict, letter.text or "")
    entity: Letter | None = None
    try:
        entity = read(verdict.signed) if verdict.entity else None
        fault = (doubt(entity.root) if entity else None) or _unclear(verdict, entity)
    except Unreadable as error:
        fault = Phrase("The signed letter cannot be read: {reason}.", reason=error.reason)
    if fault is not None:
        return Heard(Verdict("refused", fault, verdict.format), letter.text or "")
    text = _one_form(verdict, entity)
    return Heard(verdict, text, words(text, key_changes.files(entity.parts) if entity else ()))


def shown(content: bytes, keys: Iterable[str], server: str) -> Heard:
    """A signed text as the other players read it; `keys` are the signer's, as public text.

    The server on arrival and the other players' programs both call this, over the same octets, so that no letter
    counts that the others would read differently. Raises `BadKey`.
    """
    parsed = [_parsed(public) for public in keys]
    try:
        letter = read_letter(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + content, _SHOWN)
    except Unreadable as error:
        return Heard(Verdict("refused", error.reason), "")
    verdict = identity.judge(letter, parsed, server, words=VOCABULARY)
    if verdict.kind != "valid":
        return Heard(verdict, "")
    text = said(verdict)
    return Heard(verdict, text, words(text))


def _unclear(verdict: Verdict, entity: Letter | None) -> Phrase | None:
    """The reason why programs may read the signed bytes differently, if there is one."""
    # An OpenPGP text signature verifies with CR or LF as line ends (RFC 9580 5.2.1.2), also within headers.
    around = verdict.signed.decode("latin-1")
    text: str | None = ""
    try:
        if entity is None:
            text = verdict.signed.decode()
        elif entity.plain is not None:
            text = entity.plain.unaltered
    except UnicodeDecodeError:
        text = None
    if text is None:
        return Phrase("The signed text is not in the character set that its letter declares: send it as UTF-8.")
    odd = UNCLEAR.search(text) or re.search(r"\r(?!\n)|\0", around)
    if odd is None:
        return None
    return Phrase(
        "The signed text contains a character that programs read in different ways, {name}: remove it, and sign"
        " it again.",
        name=f"U+{ord(odd[0]):04X}",
    )


def words(text: str, files: Iterable[bytes] = ()) -> str:
    """The hash by which to recognise the same words: of a text as `said` returns it, and of keys signed with it."""
    lines = [text.strip("\n"), *(sha256_hex(b" ".join(content.split())) for content in files)]
    return sha256_hex("\n".join(lines).encode("utf-8", "replace"))


def words_of_entry(text: str) -> str:
    """The hash of what a letter says to a tournament, signed or not, as the tournament's entry names it."""
    return words(_normal(text))


_opened = lru_cache(maxsize=4)(read_letter)
"""A letter of a bundle, parsed once for the several checks in a row that need it."""


@lru_cache(maxsize=256)
def _parsed(public: str) -> Key:
    """A key as the transcript lists it, parsed once for all letters; pinned, so that it counts."""
    return replace(identity.parse_key(public), state="pinned")


def signed_agreement(found: Bundle, seat: int) -> str:
    """The text that a seat signed when it agreed, in a verified bundle; empty at level `mailbox`."""
    keys = found.entries[0].body["players"][str(seat)]["keys"]
    letter = found.papers[f"letters/agreed-seat-{seat}.eml"]
    server = str(found.entries[0].body["server"])
    try:
        return _by_keys(letter, keys, server)[1]
    except (Unreadable, ValueError):
        return ""


def _by_keys(raw: bytes, keys: Iterable[Mapping[str, str]], server: str) -> tuple[Verdict, str]:
    """The verdict on a letter by one player's listed keys, and the signed text; raises `Unreadable` and ValueError.

    Expiry was judged on arrival; a bundle is verified at any time after, and does not say when that was.
    """
    verdict = identity.judge(_opened(raw), _all_listed(keys), server, words=VOCABULARY)
    return verdict, said(verdict) if verdict.kind == "valid" else ""


def _all_listed(keys: Iterable[Mapping[str, str]]) -> list[Key]:
    """One player's listed keys; raises ValueError if there are more than anybody has."""
    keys = tuple(keys)  # each may be tried
    if len(keys) > LIMITS.keys:
        raise ValueError(f"more than {LIMITS.keys} keys count for it")
    return [_listed(key) for key in keys]


def _listed(key: Mapping[str, str]) -> Key:
    """A key as the transcript lists it; raises ValueError if its fingerprint names another key."""
    parsed = _parsed(key["public"])
    if (parsed.format, parsed.fingerprint) != (key["format"], key["fingerprint"]):
        raise ValueError(f"the key {key['fingerprint']} is not the one that stands beside it")
    return parsed


def check_players(entry: Entry) -> None:
    """Check the keys of players that an entry lists: each once, by its fingerprint; who has none has a mailbox."""
    body = entry.body
    listed = body.get("players", {})  # of a tournament's result, a list of names
    named = [*(listed.values() if isinstance(listed, dict) else ()), body.get("player"), body.get("organiser")]
    players = [player for player in named if isinstance(player, dict)]
    try:
        if any(not (player["keys"] or "mailbox" in player) for player in players):
            raise ValueError("a player has neither a key nor a mailbox")
        for keys in (*(player["keys"] for player in players), body.get("added", ())):
            if len({key.fingerprint for key in _all_listed(keys)}) < len(keys):
                raise ValueError("a key is listed twice")
    except ValueError as error:
        raise TranscriptError(entry.seq, None, f"{entry.type}: {error}") from error


def enters(form: AnyForm, match: Match, seat: int, evidence: bytes) -> bool:
    """True if a form enters the tournament of a match, by the hash of its terms, which hold those of the match."""
    asked, held = form.request, match.terms.tournament
    assert held is not None
    if not isinstance(asked, Enter) or not names(form, match.server, match.name(seat), by_mailbox=bool(evidence)):
        return False
    return (asked.tournament, asked.hash) == (held["id"], hash_of_tournament(match.server, held["id"], held["terms"]))


def names(form: AnyForm, server: str, player: str, *, by_mailbox: bool) -> bool:
    """True if a form names this server and this player; at level `mailbox`, its reply address may stand for both."""
    if by_mailbox:
        return form.server in {None, server} and form.player in {None, player}
    return (form.server, form.player) == (server, player)


def _agrees(form: AnyForm, match: Match, seat: int, evidence: bytes) -> bool:
    """True if a form accepts the terms by their hash, which stands for the place, or proposes exactly these."""
    asked = form.request
    if match.terms.tournament is not None:
        return enters(form, match, seat, evidence)
    if isinstance(asked, Accept):
        return asked == Accept(match=match.id, hash=match.rules_hash)
    # The first seat agrees by its own proposal, whose place a reply address may complete.
    if not isinstance(asked, Propose) or seat != 1:
        return False
    if not names(form, match.server, match.name(seat), by_mailbox=bool(evidence)):
        return False
    # Then its seats, the named players (addresses are invited, and may register any name), and all its terms.
    terms, lines = match.terms, {key: text for key, text in asked.options.items() if key != "seats"}
    wanted = asked.options.get("seats", str(min(match.rules.seats))).strip()
    if not wanted.isdecimal() or len(terms.players) != max(len(asked.players) + 1, int(wanted)):
        return False
    named = zip(asked.players, terms.players[1:], strict=False)
    if any(name not in {other, ""} for name, other in named if "@" not in name):
        return False
    try:
        proposed = Terms.propose(asked.rules, lines, terms.players, terms.settling)
    except Refused:
        return False
    # If the letter names no edition, the server chose the newest of its day, and the package that it had.
    edition = proposed.edition if "rules" in lines else terms.edition
    return replace(proposed, edition=edition, rules_package=terms.rules_package) == terms
