"""The match asks for setups or orders: clocks begin to run, and reply addresses are made, one for each letter.

A secret and the head under which something is asked make an address, so none is older than that head. The entry that
asks commits to the secret. Implements protocol.md, "A match", the clock; docs/bundle.md, "Replies".
"""

from __future__ import annotations

import base64
import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.grown import Grown
from pbem.match.documents import Replies
from pbem.match.seat_clock import Clock
from pbem.match.state import PAUSE, UNREACHABLE
from pbem.match.step import HIGHEST, Document
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pbem.games import Options
    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.match.transcript import Entry


def ask_for_setups(step: Step, options: Options) -> None:
    """Ask everybody for a setup of the next game, of these options; a game without setups begins without."""
    match = step.match
    step.match = replace(
        match,
        phase="setup",
        prev=match.head,
        game=match.game + 1,
        options=options,
        setups={},
        orders={},
        stored={},
        position=None,
        play=match.play.anew(),
        turns=Grown(),
        left={},
        resolve_at=None,
        banks=banks(step),
        missed=frozenset(),
        late_from={},
        default_late_from={},
        offers={},
        former={},
        sentence_revs={},
    )
    if not match.rules.secret_setups:
        step.match = replace(step.match, clocks={})
        return
    start_clocks(step, match.seats)
    step.notify("setup")


def ask_for_orders(step: Step) -> None:
    """Start the clocks of those who have a choice in the turn."""
    match = step.match
    default_late_from = {**match.default_late_from, **match.late_from}
    asked_anew = replace(match, banks=banks(step), missed=frozenset(), late_from={}, offers={}, former={})
    step.match = replace(asked_anew, default_late_from=default_late_from)
    over = match.position is not None and match.position.result is not None
    start_clocks(step, () if over else match.choosing)


def banks(step: Step) -> dict[int, int]:
    """The rest of each bank once the request is over."""
    drawn = {
        seat: clock.left_in_bank(clock.answered or step.world.now, at_least=step.world.is_past)
        for seat, clock in step.match.clocks.items()
        if step.match.terms.bank
    }
    return {**step.match.banks, **drawn}


def start_clocks(step: Step, seats: Iterable[int], going: Mapping[int, Clock] = MappingProxyType({})) -> None:
    """Start the clocks of these seats now, beside those that continue; no other seat has a clock then."""
    terms = step.match.terms
    now, clocks = step.world.now, dict(going)
    for seat in seats if terms.pace else ():
        calendar = step.world.calendar(step.match.name(seat))
        bank = step.match.banks.get(seat, terms.bank)
        clocks[seat] = Clock(
            since=now,
            time=step.match.pace + bank,
            grace=terms.grace,
            bank=bank,
            # The time of a miss would tell the zone of a player whom the match hides.
            zone="UTC" if terms.anonymous else calendar.zone,
            weekends=terms.weekends == "count",
            stops=calendar.vacations,
        )
        if step.match.paused:
            clocks[seat] = clocks[seat].halted(PAUSE, now)
        if seat in step.match.unreachable:
            clocks[seat] = clocks[seat].halted(UNREACHABLE, now)
    step.match = replace(step.match, clocks=clocks)


ADDRESSED = ("proposed", "setup", "playing")
"""The phases in which something is asked for at such addresses."""


def file_replies(step: Step) -> dict[str, str]:
    """File the secret of the addresses for the orders that the next entry asks for; returns how it names that."""
    path = f"evidence/replies-{step.match.seq + 1}.txt"
    return _file(step, path, step.match.game)


def file_replies_of_setups(step: Step, game: int) -> dict[str, str]:
    """The same for the setups of a game."""
    return _file(step, of_setups(game), game) or step.world.hidden_replies(step.match, game)


def file_replies_of_proposal(step: Step) -> dict[str, str]:
    """The same for the agreement, whose addresses were used before the transcript begins."""
    paper = _paper(step.match)
    step.papers.append(Document(of_setups(0), paper))
    return {"proposal": sha256_hex(paper)}


def show_replies_of_setups(step: Step) -> None:
    """Show the secret of the addresses for setups, if the match closes before their game begins."""
    if step.match.replies:
        step.papers.append(Document(of_setups(step.match.game), _paper(step.match), step.match.last_revealed))


def of_setups(game: int) -> str:
    """The path of the paper for the setups of a game; of game 0: for the agreement."""
    return f"evidence/replies-game-{game}.txt"


def _file(step: Step, path: str, game: int) -> dict[str, str]:
    step.match = replace(step.match, replies=step.world.reply_salt(step.match, path, game))
    if not step.match.replies:
        return {}
    paper = _paper(step.match)
    step.papers.append(Document(path, paper, game))
    return {"replies": sha256_hex(paper)}


def _paper(match: Match) -> bytes:
    return Replies(server=match.server, match=match.id, salt=match.replies).text().encode()


def token(match: Match, seat: int, rev: int) -> str:
    """The token in the address for a seat's letter of this revision; empty if there are no such addresses now."""
    if match.phase not in ADDRESSED or not match.replies or rev > HIGHEST:
        return ""
    asked = match.rules_hash if match.phase == "proposed" else match.prev
    said = f"pbem reply address 1\nprev {asked}\nseat {seat}\nrev {rev}\nsalt {match.replies}\n"
    return base64.b32encode(hashlib.sha256(said.encode()).digest())[:20].decode().lower()


def named_replies(entry: Entry) -> Iterator[tuple[str, str]]:
    """The paper of this kind that an entry names for orders, with its hash."""
    if "replies" in entry.body:
        yield f"evidence/replies-{entry.seq}.txt", entry.body["replies"]
