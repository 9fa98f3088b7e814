"""What a signed letter said: from raw bytes to the form that a match understands, at the desk and at verification.

This module joins rooms that may not know each other: reading (mail), signatures (identity) and the life of a match.
No store, no effect. Implements protocol.md, "Identity".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from pbem import identity
from pbem.config.limits import Limits
from pbem.games import Refused
from pbem.identity import Verdict
from pbem.mail import commands
from pbem.mail.message import Unreadable, read
from pbem.mail.one_reading import doubt
from pbem.match.changed import replace
from pbem.match.documents import Evidence, Opening, Receipt, Withdrawal
from pbem.match.replay import Sentence, UnvouchedError
from pbem.match.signed import Section, SignedForm, at_reply_address
from pbem.match.step import Environment, Step
from pbem.match.stored_orders import DEFAULT
from pbem.match.terms import Terms
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase
from pbem.proof import key_changes
from pbem.proof.bundle import LIMITS
from pbem.proof.mailbox_evidence import place as place_of
from pbem.proof.mailbox_evidence import vouched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pbem.identity import Key
    from pbem.mail.commands import Command
    from pbem.mail.message import Letter
    from pbem.match.keys import KeyChange
    from pbem.match.replay import Proving
    from pbem.match.state import Match, Place
    from pbem.proof.bundle import Bundle

__all__ = [
    "VOCABULARY",
    "Heard",
    "Letters",
    "form",
    "heard",
    "misdated",
    "said",
    "shown",
    "signed_agreement",
    "words",
]

VOCABULARY = identity.Vocabulary(tuple(commands.COMMANDS), commands.FIELDS)
"""The words by which a signed form is found in a letter."""

_SHOWN: Final = Limits(message_bytes=64 << 20, message_lines=1_000_000)
"""Wider than a server's: as UTF-8, what it took may have three times as many octets."""

_UNCLEAR = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""What some programs take for the end of a line or of the text, and others for nothing, or for a blank."""


def form(command: Command) -> SignedForm:
    """The form that a command holds: its place and its block."""
    given = command.arguments
    turn = given.get("turn", command.number("turn"))
    return SignedForm(
        server=command.fields.get("server"),
        player=command.fields.get("player"),
        prev=command.fields.get("prev"),
        rev=command.rev,
        game=given.get("game", command.number("game")),
        turn=DEFAULT if given.get("default") else turn,
        final=given.get("final", False),
        text=command.block or "",
        sections=tuple(Section(*section) for section in command.sections),
    )


class Letters:
    """The letters of a bundle as a source for a replay: each signature is checked, nothing is trusted."""

    def __init__(self, papers: Mapping[str, bytes]) -> None:
        self.papers = papers
        self._effects: set[tuple[object, ...]] = set()
        """What each letter has brought about so far."""
        self._tokens: dict[str, tuple[bytes, str, str]] = {}
        """The letter that each reply address let count, what that was about, and when it came."""

    def paper(self, path: str) -> bytes | None:
        """The file of this path in the bundle."""
        try:
            return self.papers[path]
        except KeyError:
            return None

    def form(
        self,
        match: Match,
        kind: str,
        seat: int,
        letter: bytes,
        paper: Proving | None,
        evidence: bytes,
        received: str,
    ) -> SignedForm:
        """What the letter said, after checking that it is the player's; raises ValueError if it is not."""
        waited = not isinstance(paper, Sentence | None)
        reading = self._read(match, seat, letter, paper, evidence, waited=waited)
        if isinstance(paper, Receipt) and paper.by_default:
            kind = "default orders"
        elif isinstance(paper, Withdrawal) and paper.by_default:
            kind = "clear default"
        self._judge_once(match, kind, seat, letter, paper, evidence, received)
        if len(reading) > 1 and kind in commands.COMMANDS and commands.COMMANDS[kind].alone:
            raise ValueError(f"holds more than its `{kind}`")
        found = [command for command in reading if _fits(command, match, kind, seat) and not command.faults]
        if isinstance(paper, Receipt | Withdrawal | Opening):
            found = [command for command in found if command.rev in {paper.rev, None if evidence else paper.rev}]
        if kind == "agreed" and not evidence:  # the hash of an `accept` stands for the place
            found = [one for one in found if one.name == "accept" or {"server", "player"} <= one.fields.keys()]
        if not found:
            raise ValueError(f"holds no `{kind}` for this place")
        if kind in _SUBMITTED and _withdraws(reading, match, kind):
            raise ValueError(f"holds `{kind}` and its own `clear`")
        forms = [form(command) for command in found]
        if evidence:
            forms = [at_reply_address(form, match, seat) for form in forms]
        if len(forms) == 1:
            return forms[0]
        if evidence and isinstance(paper, Sentence | Withdrawal):
            stood = (form for form in forms if _stood(replace(form, rev=form.rev or paper.rev), match, seat, paper))
        else:
            stood = (form for form in forms if _stood(form, match, seat, paper))
        return next(stood, forms[-1])

    def _judge_once(
        self, match: Match, kind: str, seat: int, letter: bytes, paper: Proving | None, evidence: bytes, received: str
    ) -> None:
        """Check that no letter has one effect twice, no reply address serves two letters, and dates are possible."""
        if fault := misdated(_opened(letter), datetime.fromisoformat(received)):
            raise ValueError(str(fault))
        turn = match.turn if match.phase == "playing" else 0
        rev = paper.rev if isinstance(paper, Withdrawal | Sentence) else 0
        effect = (letter, kind, seat, match.game, turn, rev)
        if effect in self._effects:
            raise ValueError("this letter had this effect before")
        self._effects.add(effect)
        if evidence:
            vouching = Evidence.read(evidence.decode())
            if vouching.received != received:
                raise ValueError("its evidence names another time")
            use = (letter, vouching.place, received)
            before = self._tokens.setdefault(vouching.token, use)
            if before[0] != use[0]:
                raise ValueError("its reply address let another letter count before")
            if before != use:
                raise UnvouchedError("names another place or time than where this letter counted before")

    def unused(self, match: Match, seat: int, letter: bytes, receipt: Receipt, evidence: bytes) -> None:
        """Check that orders sent in advance, or by a player who resigned, could not be played; raises ValueError."""
        kind = "default orders" if receipt.by_default else "orders"
        reading = self._read(match, seat, letter, receipt, evidence, waited=True, former=True)
        if receipt.player != match.name(seat):
            raise ValueError(f"its receipt names {receipt.player}")
        self._judge_once(match, f"unused {kind}", seat, letter, receipt, evidence, receipt.received)
        if _withdraws(reading, match, kind):
            raise ValueError(f"holds `{kind}` and its own `clear`")
        found = [form(one) for one in reading if _fits(one, match, kind, seat) and not one.faults]
        if not receipt.by_default and match.left.get(seat) != match.turn:
            found = [form for form in found if _in_advance(form, match, evidence)]
        if evidence:
            found = [at_reply_address(replace(one, rev=one.rev or receipt.rev), match, seat) for one in found]
        found = [form for form in found if form.rev == receipt.rev and _storable(form, match, seat)]
        if not found:
            raise ValueError(f"holds no `{kind}` for this place that could be stored")
        if not match.players[seat - 1].counts(receipt.level, receipt.key, match.prev):
            return
        assert match.position is not None
        if match.position.due.get(seat, 0) is not None:
            return
        try:
            match.rules.order(match.position, seat, found[0].text)
        except Refused:
            return
        raise ValueError("these orders are legal, and were not used")

    def _read(
        self,
        match: Match,
        seat: int,
        letter: bytes,
        paper: Proving | None,
        evidence: bytes,
        *,
        waited: bool,
        former: bool = False,
    ) -> list[Command]:
        """The commands of a letter, after checking that it is the player's; raises ValueError.

        A letter that waited was judged when it came; one with immediate effect, by the keys of that moment.
        `former` keys count if the question is why something no longer counts.
        """
        player = match.players[seat - 1]
        if evidence:
            level, (key, text) = "mailbox", self._vouched(match, seat, letter, evidence, waited=waited, former=former)
        else:
            keys = player.keys_at(match.prev) if waited else player.keys
            if former:
                keys = (*player.keys, *(key for _, key in player.former))
            level, (key, text) = "key", self._signed(match, seat, letter, keys)
        if isinstance(paper, Receipt | Withdrawal) and (paper.level, paper.key) != (level, key):
            raise ValueError("the receipt names another level or key")
        return commands.parse(text).commands

    @staticmethod
    def _vouched(
        match: Match, seat: int, letter: bytes, content: bytes, *, waited: bool, former: bool
    ) -> tuple[str, str]:
        """The basis of a letter at level `mailbox`, and its text; it counts only for a player without a key."""
        player, vouching = match.players[seat - 1], Evidence.read(content.decode())
        if match.terms.keys == "demanded":
            raise ValueError("is not signed, and this match demands a signature by a key")
        if not (player.mailbox and (former or player.mailbox_at(match.prev))):
            raise ValueError(f"{player.name} has a key, and this letter is not signed with it")
        if (vouching.server, vouching.player) != (match.server, player.name):
            raise ValueError("the evidence belongs to another server or player")
        if match.seq and vouching.match != match.id:  # a proposal answers a letter of no match
            raise ValueError("the evidence belongs to another match")
        try:
            found = _opened(letter)
        except Unreadable as error:
            raise ValueError(f"cannot be read: {error}") from error
        sender = (found.sender or "").lower()
        if player.named is None or sender != player.named.address:
            raise ValueError(f"does not come from the mailbox of {player.name}")
        if fault := vouched(found, vouching, match, waited=waited):
            raise ValueError(f"it is not vouched for: {fault}")
        return vouching.key, found.text or ""

    @staticmethod
    def _signed(match: Match, seat: int, letter: bytes, keys: Iterable[Mapping[str, str]]) -> tuple[str, str]:
        """The key that signed a letter, and the signed text."""
        try:
            # Expiry was judged at receipt; a bundle is verified at any time after, and does not say when that was.
            verdict = identity.judge(_opened(letter), _all_listed(keys), match.server, words=VOCABULARY)
            text = said(verdict) if verdict.kind == "valid" else ""
        except Unreadable as error:
            raise ValueError(f"cannot be read: {error}") from error
        if verdict.kind != "valid":
            raise ValueError(f"the signature of {match.name(seat)} does not hold: {verdict.reason}")
        return verdict.key or "", text

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Check that the letters of a key change prove it; raises ValueError."""
        player = match.players[seat - 1]
        for who, raw in change.letters.items():
            keys = _all_listed(player.keys if who == "old" else change.added)
            try:
                letter = read(raw)
                verdict = identity.judge(letter, keys, match.server, words=VOCABULARY)
                found = commands.parse(said(verdict)).commands if verdict.kind == "valid" else []
            except Unreadable as error:
                raise ValueError(f"the {who} key's letter cannot be read: {error}") from error
            if verdict.kind != "valid":
                raise ValueError(f"the signature of {player.name}'s {who} key does not hold: {verdict.reason}")
            spoken = key_changes.Spoken(letter, verdict, found)
            if not key_changes.says(spoken, who, change, player, match.server):
                raise ValueError(f"the letter signed by the {who} key does not say so")


_SUBMITTED = ("setup", "orders", "default orders")
"""What may be withdrawn by `clear`."""


def _withdraws(reading: list[Command], match: Match, kind: str) -> bool:
    """Whether a letter withdraws what it brings."""
    wanted = {"setup": "clear", "orders": "clear", "default orders": "clear default"}[kind]
    return any(_fits(command, match, wanted, 0) and not command.faults for command in reading)


def _stood(form: SignedForm, match: Match, seat: int, paper: Proving | None) -> bool:
    """Whether the desk accepted this form in a letter that holds several: the refused ones count for nothing.

    Of forms with one revision, the desk accepts the first legal one; an opening itself says which setup it was.
    """
    if isinstance(paper, Sentence):
        return form.rev == paper.rev and not _at(match).misplaced(form, seat, None, **match.place)
    if isinstance(paper, Withdrawal):
        playing = match.phase == "playing"
        place: Place = {"turn": paper.turn} if playing else {"game": match.game}
        return not _at(match).misplaced(form, seat, None, in_advance=playing, **place)
    if paper is None:
        return True
    if (form.server, form.player) != (match.server, match.name(seat)) or form.prev is None:
        return False
    if not (match.printed(form.prev) if isinstance(paper, Receipt) else form.prev == match.prev):
        return False
    try:
        if isinstance(paper, Receipt):
            assert match.position is not None
            match.rules.order(match.position, seat, form.text)
            return True
        assert match.options is not None
        return match.rules.setup(match.options, seat, form.text).text == paper.setup
    except Refused:
        return False


def _in_advance(form: SignedForm, match: Match, evidence: bytes) -> bool:
    """Whether a form came before its turn was due, by the head that it cites and the letter that it answers."""
    if evidence and Evidence.read(evidence.decode()).place == place_of(match.game, match.turn):
        return False
    if form.prev is None:
        return bool(evidence)
    return any(turn.prev == form.prev for turn in islice(match.turns, match.turn - 1))


def _storable(form: SignedForm, match: Match, seat: int) -> bool:
    """Whether the desk could have stored a form for the turn that is due now, or as default orders."""
    if form.turn == DEFAULT and match.terms.miss != "default":
        return False
    if _at(match).misplaced(form, seat, None, in_advance=True, turn=form.turn):
        return False
    assert match.position is not None
    return not match.rules.ahead(match.position, seat, form.turn or DEFAULT, form.text)


def _at(match: Match) -> Step:
    """A step of this match in which nothing happens, to judge where a form belongs."""
    return Step(match, Environment(datetime.min.replace(tzinfo=UTC), bytes, "", ""))


EARLY, LATE = timedelta(days=1), timedelta(days=10)
"""How far the date that a letter bears may lie after its receipt, for clocks that are wrong; and before it: mail is
tried for five days, and written before."""


def misdated(letter: Letter, received: datetime) -> Phrase | None:
    """Why a letter's date cannot be true, given the time of its receipt; an unreadable date is ignored."""
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


def said(verdict: Verdict, read: Callable[[bytes], Letter] = read) -> str:
    """The text that a signature covers, in its one form, read only from the signed bytes.

    `read` reads those that are a MIME entity; raises `Unreadable` when they are a letter beyond the limits.
    """
    return _one_form(verdict, read(verdict.signed) if verdict.entity else None)


def _one_form(verdict: Verdict, entity: Letter | None) -> str:
    """Decoded, as commands are read: line ends LF, blanks plain, nothing invisible, none at the ends of lines."""
    text = verdict.signed.decode("utf-8", "replace") if entity is None else entity.text or ""
    return "\n".join(line.rstrip() for line in commands.clean(text).split("\n"))


class Heard(msgspec.Struct, frozen=True):
    """A letter as it counts at receipt."""

    verdict: Verdict
    text: str
    """What commands are read from."""
    words: str = ""
    """SHA-256 of what was signed, whatever its dress; empty where nothing is."""


def heard(letter: Letter, verdict: Verdict, read: Callable[[bytes], Letter] = read) -> Heard:
    """What a judged letter says; its verdict is `refused` if other programs might read the signed bytes differently.

    Only for receipt: letters accepted before are verified by the verdict.
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
    """What a signed text says to the players who are shown it, each key of its signer as public text.

    The server at receipt and the others' programs call this alike, over the same octets: no letter counts that the
    others would read differently. Raises `BadKey`.
    """
    parsed = [_parsed(public) for public in keys]
    try:
        letter = read(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + content, _SHOWN)
    except Unreadable as error:
        return Heard(Verdict("refused", error.reason), "")
    verdict = identity.judge(letter, parsed, server, words=VOCABULARY)
    if verdict.kind != "valid":
        return Heard(verdict, "")
    text = said(verdict)
    return Heard(verdict, text, words(text))


def _unclear(verdict: Verdict, entity: Letter | None) -> Phrase | None:
    """Why the signed bytes are not the same text for everybody, if so."""
    # A text signature of OpenPGP holds whether lines end in CR or LF (RFC 9580 5.2.1.2), in the headers, too.
    around = verdict.signed.decode("latin-1")
    text: str | None = ""
    if entity is None:
        text = _strictly(verdict.signed)
    elif entity.plain is not None:
        text = entity.plain.unaltered
    if text is None:
        return Phrase("The signed text is not in the character set that its letter declares: send it as UTF-8.")
    odd = _UNCLEAR.search(text) or re.search(r"\r(?!\n)|\0", around)
    if odd is None:
        return None
    return Phrase(
        "The signed text contains a character that programs read in different ways, {name}: remove it, and sign"
        " it again.",
        name=f"U+{ord(odd[0]):04X}",
    )


def _strictly(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def words(text: str, files: Iterable[bytes] = ()) -> str:
    """The hash by which the same words are recognised: of a text as `said` gives it, and of keys signed with it."""
    lines = [text.strip("\n"), *(sha256_hex(b" ".join(content.split())) for content in files)]
    return sha256_hex("\n".join(lines).encode("utf-8", "replace"))


_opened = lru_cache(maxsize=4)(read)
"""A letter of a bundle, which several questions are asked about one after the other."""


@lru_cache(maxsize=256)
def _parsed(public: str) -> Key:
    """A key as the transcript lists it, cached from the previous letter; it counts."""
    return replace(identity.parse_key(public), state="pinned")


def signed_agreement(found: Bundle, seat: int) -> str:
    """What the key of a seat signed when it agreed, in a bundle that holds; nothing at level `mailbox`."""
    keys = found.entries[0].body["players"][str(seat)]["keys"]
    letter = found.papers[f"letters/agreed-seat-{seat}.eml"]
    server = str(found.entries[0].body["server"])
    try:
        verdict = identity.judge(_opened(letter), _all_listed(keys), server, words=VOCABULARY)
        return said(verdict) if verdict.kind == "valid" else ""
    except (Unreadable, ValueError):
        return ""


def _all_listed(keys: Iterable[Mapping[str, str]]) -> list[Key]:
    """One player's listed keys; raises ValueError if there are more than anybody has."""
    keys = tuple(keys)  # each may be tried
    if len(keys) > LIMITS.keys:
        raise ValueError(f"more than {LIMITS.keys} keys count for it")
    return [_listed(key) for key in keys]


def _listed(key: Mapping[str, str]) -> Key:
    """A key as the transcript lists it; raises ValueError if its fingerprint names another key."""
    found = _parsed(key["public"])
    if (found.format, found.fingerprint) != (key["format"], key["fingerprint"]):
        raise ValueError(f"the key {key['fingerprint']} is not the one that stands beside it")
    return found


def _agrees(command: Command, match: Match, seat: int) -> bool:
    """Whether the command proposes exactly these terms, or accepts them by their hash."""
    if command.name == "accept":
        return (command.match, command.arguments.get("hash")) == (match.id, match.rules_hash)
    place = {"server": match.server, "player": match.name(seat)}
    if command.name != "new" or seat != 1 or any(command.fields.get(k, v) != v for k, v in place.items()):
        return False
    terms, lines = match.terms, {key: text for key, text in command.options.items() if key != "seats"}
    named = command.arguments.get("players", ())
    wanted = command.options.get("seats", str(min(match.rules.seats))).strip()
    if not wanted.isdecimal() or len(terms.players) != max(len(named) + 1, int(wanted)):
        return False
    if any(name not in {other, ""} for name, other in zip(named, terms.players[1:], strict=False) if "@" not in name):
        return False
    try:
        proposed = Terms.propose(command.arguments["rules"], lines, terms.players, terms.settling)
    except Refused:
        return False
    # Which rulings are the newest was for the server to know, where the letter names none. Matches from before there
    # was the choice have clocks that stand.
    edition = proposed.edition if "rules" in lines else terms.edition
    stands = "unreachable" not in lines and terms.unreachable == "stands"
    return replace(proposed, edition=edition, unreachable="stands" if stands else proposed.unreachable) == terms


def _clears(command: Command, match: Match, *, default: bool) -> bool:
    """Whether a `clear` is for what is due here, or for default orders."""
    given = form(command)
    if default:
        return given.turn == DEFAULT
    if match.phase == "setup":
        return given.game in {match.game, None} and given.turn is None
    return given.turn in {match.turn, None}


_OF_GAMES = ("setup", "seal", "reveal")
_OF_TURNS = ("orders", "step")
"""Kinds of letters that are known by the game, or the turn, that they are for."""

PLACED = ("extend", "claim", "draw", "annul")
"""Kinds of letters that may say their place, and then must say it right."""


def _sentence(command: Command) -> str:
    """What a command `substitute` says."""
    given = command.arguments
    words = ["substitute", given.get("name", ""), "for", given.get("leaver", ""), given.get("hash", "")]
    return " ".join(filter(None, words))


def _fits(command: Command, match: Match, kind: str, seat: int) -> bool:
    """Whether the command is of this kind and for the present place in the match."""
    given = command.arguments
    if kind == "agreed":
        return _agrees(command, match, seat)
    if command.match != match.id:
        return False
    if kind in {"clear", "clear default"}:
        return command.name == "clear" and _clears(command, match, default=kind == "clear default")
    if kind in _OF_GAMES:
        return command.name == kind and given.get("game") == match.game
    if kind == "default orders":
        return command.name == "orders" and given.get("default", False)
    if kind in _OF_TURNS:
        return command.name == kind and given.get("turn") == match.turn
    player = match.name(seat)
    place = {"server": match.server, "player": player, "prev": match.prev}
    if kind.startswith(PLACED) and any(command.fields.get(key, value) != value for key, value in place.items()):
        return False
    if kind.startswith("extend "):
        return command.name == "extend" and given.get("time") == int(kind.split()[1])
    if kind == "claim" or kind.startswith(("draw ", "annul ")):
        return " ".join(filter(None, [command.name, given.get("word")])) == kind
    if kind.startswith("substitute "):
        return command.name == "substitute" and place.items() <= command.fields.items() and _sentence(command) == kind
    if command.name != "resign":
        return False
    return given.get("whole", False) if kind == "resign match" else given.get("game") == match.game
