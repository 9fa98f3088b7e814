"""The proof: checks a bundle from its first byte to its last, without a server and without a network.

It checks the chain, the server's signatures, every letter's signature and every commitment, and makes every entry
again from the letters and the rules. `signed_letters` decides whether a letter says what its entry records.
Implements protocol.md, "Transcript".
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.games import BUILT_IN, GAMES, rules
from pbem.games.outside import PACKAGES, coded, is_agreed, not_enabled
from pbem.identity import ed25519_points
from pbem.match import events
from pbem.match.dealt import check_chain
from pbem.match.events.turn import Ordered, ordered
from pbem.match.transcript import BrokenChain, Entry, TranscriptError, follow, is_time, sha256_hex, statement
from pbem.match.transcript_replay import begin, replay_transcript
from pbem.phrase import harmless
from pbem.proof import bundle, without_rules
from pbem.proof.listed_keys import check_players
from pbem.proof.named_papers import letter_of, named, named_letter, revealed
from pbem.proof.signed_letters import BundleLetters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.proof.bundle import Bundle

__all__ = ["Check", "Ordered", "Proved", "verify"]


class Check(msgspec.Struct, frozen=True):
    """One check: its subject and result, and the entry and the file that it is about."""

    holds: bool | None
    """None if it is open: it cannot be said here."""
    what: str
    found: str
    seq: int | None = None
    path: str | None = None
    orders: tuple[Ordered, ...] = ()
    """The orders of an entry `turn`, each with its player and the evidence for that."""


class Proved(msgspec.Struct):
    """The results of a verification, for later use; `verify` fills it during its checks."""

    bundle: Bundle | None = None
    match: Match | None = None
    """The match after all entries that are open."""
    notices: list[Notice] = msgspec.field(default_factory=list)
    keep_notices: bool = True
    """True if `notices` are wanted: they hold the match as it was after each turn."""
    server_key: str | None = None

    @property
    def whole(self) -> tuple[Bundle, Match]:
        """The bundle and its match; raises `ValueError` unless all checks held."""
        if self.bundle is None or self.match is None:
            raise ValueError("the bundle does not hold")
        return self.bundle, self.match


def verify(
    content: bytes,
    server_key: str | None = None,
    proved: Proved | None = None,
    *,
    reader: type[BundleLetters] = BundleLetters,
) -> Iterator[Check]:
    """Check a bundle; yields each check, and none after the first that fails or is open.

    `server_key` (64 hex digits) is the server's known key; without it, the key that the bundle itself names is
    used, and the check says so. `proved` gets the results; a `reader` may remember what it read.
    """
    for check in _checks(content, reader, server_key, proved or Proved(keep_notices=False)):
        yield replace(check, what=harmless(check.what), found=harmless(check.found))


def _checks(content: bytes, reader: type[BundleLetters], server_key: str | None, proved: Proved) -> Iterator[Check]:
    try:
        found = bundle.read(content)
        proved.bundle = found
        yield Check(True, "bundle", f"{len(found.papers)} papers, as a bundle is written")
        head = follow(found.entries)
        yield Check(True, "chain", f"{len(found.entries)} entries, unbroken, head {head}")
        match = begin(found.entries[0])
        _formal(found.entries)
        proved.server_key = str(found.entries[0].body.get("server_key"))
        about = partial(statement, match.server, match.id)
        yield Check(True, "server", check_signatures(found, match.server, about, server_key))
        yield from _by_the_rules(found, match, reader, proved)
    except Exception as error:
        yield check_stopped_by(error)


def check_stopped_by(error: Exception) -> Check:
    """The last check of a bundle, of a match or a tournament: the one that ended with this error."""
    match error:
        case bundle.BeyondLimits():
            return Check(False, "limits", str(error))
        case bundle.OtherVersion():
            return Check(None, "version", str(error))
        case bundle.NotABundle():
            return Check(False, "bundle", str(error))
        case BrokenChain():
            return Check(False, "chain", str(error), error.seq)
        case TranscriptError():
            return Check(False, "proof", str(error), error.seq, error.path)
        case _:  # hostile content that nobody thought of proves nothing either
            return Check(False, "proof", f"cannot be checked: {type(error).__name__}: {error}")


def _formal(entries: Sequence[Entry]) -> None:
    """Check that each body has the form of its type, and time never runs backwards."""
    before, generation = "", 1
    seats = len(entries[0].body.get("players", ()))
    for entry in entries:
        events.check(entry, seats)
        check_players(entry)
        if not is_time(entry.time) or entry.time < before:
            raise TranscriptError(entry.seq, None, f"its time, {entry.time}, runs backwards, or is none")
        before = entry.time
        if entry.type == "restored":
            if entry.body["generation"] <= generation:
                raise TranscriptError(entry.seq, None, "`generation`: not a later one")
            generation = entry.body["generation"]
    check_chain(entries)


def check_signatures(
    found: Bundle, server: str, statement: Callable[[int, str], bytes], server_key: str | None
) -> str:
    """Check the server's signatures of all heads; returns what was found in words, or raises `TranscriptError`.

    `statement` makes what is signed about a head, from its number and the head.
    """
    key = str(found.entries[0].body.get("server_key"))
    if server_key is not None and key != server_key.lower():
        raise TranscriptError(1, None, f"the server's key is {key}, not the one that you gave")
    public = bytes.fromhex(key)  # the form of the first entry was checked
    if not ed25519_points.is_sound(public):
        raise TranscriptError(1, None, "the server's key is none under which a signature proves anything")
    for entry, signature in zip(found.entries, found.signatures, strict=True):
        if not ed25519_points.holds(public, signature, statement(entry.seq, entry.head)):
            raise TranscriptError(entry.seq, "heads.txt", "the server's signature of the head does not hold")
    known = "the key that you gave" if server_key else "by its own word; compare with what others know"
    return f"each head signed by {server} with {key} ({known})"


def _by_the_rules(found: Bundle, match: Match, reader: type[BundleLetters], proved: Proved) -> Iterator[Check]:
    """Make every entry again by the rules of the game; where they are not those that were agreed on, say so."""
    game, agreed = match.terms.game, match.terms.rules_package
    if game in BUILT_IN and agreed is not None:
        raise TranscriptError(1, None, f"the terms name {agreed} for the rules of {game}, which are pbem's own")
    if game not in GAMES:
        yield _open(found, match, not_enabled(game, agreed))
        return
    here = PACKAGES.get(game)
    if here is None:
        yield from _walk(found, match, reader, proved)
        return
    if is_agreed(game, agreed):
        yield Check(True, "rules", f"of {agreed}, by the very code that was agreed on: {here.code}")
        yield from _walk(found, match, reader, proved)
        return
    both = f"agreed on was {coded(agreed)}; replayed by {coded(here)}"
    yield Check(True, "rules", both)
    try:
        yield from _walk(found, match, reader, proved)
    except Exception as error:  # whatever other code makes of it convicts nobody
        yield _open(found, match, f"{both}: {error}")


def _open(found: Bundle, match: Match, reason: str) -> Check:
    """The part that holds without the rules, which leave the rest open."""
    return Check(None, "rules", f"{reason}. Without them: {without_rules.check(found, match)}")


def _walk(found: Bundle, match: Match, reader: type[BundleLetters], proved: Proved) -> Iterator[Check]:
    source = reader(found.papers)
    until = revealed(found, match.play)
    checks: list[Check] = []
    try:
        match = replay_transcript(
            found.entries,
            source,
            until=until,
            passed=lambda entry: checks.append(_passed(entry, found.papers)),
            on_notices=proved.notices.extend if proved.keep_notices else None,
        )
    except TranscriptError:
        yield from checks
        raise
    yield from checks
    rest = found.papers.keys() - source.used
    if until < len(found.entries):
        # The running game is the one that was to begin.
        first, options = found.entries[until], match.options.changed if match.phase == "setup" else None
        if match.paused or (first.body["game"], first.body["options"]) != (match.game, options):
            raise TranscriptError(first.seq, None, "`commitments` does not follow here: no such game was to begin")
        if ("chance" in first.body) != match.rules.chance:
            raise TranscriptError(first.seq, None, "`chance` is for games with dice or cards, and for all of them")
        yield _unrevealed(found, until, rest)
    elif rest:
        raise TranscriptError(len(found.entries), min(rest), "is named by no entry")
    proved.match = match
    yield Check(True, "result", _result(match))


def _unrevealed(found: Bundle, until: int, rest: set[str]) -> Check:
    """Check the running game: secrets are checked after the reveal; papers must be those that entries name."""
    game = found.entries[until].body["game"]
    seats = len(found.entries[0].body["terms"]["players"])
    expected = dict(named(found.entries[until]))
    turns, judge = count(1), rules(found.entries[0].body["terms"]["game"])
    open_chance = judge.chance and not judge.secret_chance
    for entry in found.entries[until + 1 :]:
        # Between turns only entries that any game allows; else just the next turn of this game.
        if _between(entry, seats):
            expected.update(named_letter(entry))
        elif (entry.type, entry.body.get("game"), entry.body.get("turn")) != ("turn", game, next(turns)):
            raise TranscriptError(
                entry.seq, None, f"`{entry.type}` does not follow here: game {game} is not revealed"
            )
        expected.update(named(entry))
        if entry.type == "turn" and ("chance" in entry.body) != open_chance:
            raise TranscriptError(entry.seq, None, "turn: `chance` does not belong here, or is missing")
    for path in sorted(rest & expected.keys()):
        # A paper that an entry names may itself name its letter.
        if path.startswith(("openings/", "receipts/")) and sha256_hex(found.papers[path]) == expected[path]:
            try:
                expected.update(letter_of(found, path))
            except ValueError as error:
                raise TranscriptError(until + 1, path, f"cannot be read: {error}") from error
    # Letters last: a fault in the paper that names a letter is reported first.
    for path in sorted(rest, key=lambda path: (path.startswith("letters/"), path)):
        if sha256_hex(found.papers[path]) != expected.get(path):
            raise TranscriptError(until + 1, path, "is not what the transcript names")
    return Check(True, f"game {game}", "not revealed yet: its chain holds, its secrets can be checked after its end")


def _between(entry: Entry, seats: int) -> bool:
    """True if an entry may occur between the turns of an unrevealed game of this many players."""
    kind = events.TYPES[entry.type]
    return kind.between and seats >= kind.among


def _passed(entry: Entry, papers: Mapping[str, bytes]) -> Check:
    orders = tuple(ordered(entry, papers)) if entry.type == "turn" else ()
    says = events.TYPES[entry.type].sentence(entry, papers)
    return Check(True, f"entry {entry.seq}", says, entry.seq, orders=orders)


def _result(match: Match) -> str:
    if match.outcome is None:
        return f"the match goes on; scores so far {list(match.totals)}"
    winners = match.outcome["winners"]
    who = f"{match.name(winners[0])} won" if len(winners) == 1 else "a draw" if winners else "nobody won"
    if 1 < len(winners) < len(match.seats):
        who = f"{', '.join(map(match.name, winners))} share it"
    return f"{who}, scores {match.outcome['scores']}, {match.outcome['reason']}"
