"""Somebody new takes a seat, by a letter with the hash of the agreed terms; from here on that player's keys count.

Implements protocol.md, "Commands" (`substitute`) and "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.asking import start_clocks
from pbem.match.changed import replace, without
from pbem.match.entry_forms import player as player_form
from pbem.match.entry_forms import said, seat_number
from pbem.match.entry_type import EntryType
from pbem.match.events.nominated import agreed
from pbem.match.pinned_keys import Player
from pbem.match.state import RUNNING, seated
from pbem.match.step import Notice
from pbem.match.stored_orders import drop
from pbem.phrase import Phrase
from pbem.requests import Substitute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.match.remaking import Remaking
    from pbem.match.signed import Signed
    from pbem.match.step import Step
    from pbem.match.transcript import Entry
    from pbem.requests import SignedForm


def take_over(step: Step, seat: int, player: Player, form: SignedForm[Substitute], signed: Signed) -> None:
    """The newcomer takes the seat, with all its knowledge and a clock that starts again. Raises `Refused`.

    What the former player had sent and was not used yet is given up: its keys count no longer.
    """
    match = step.match
    nomination = match.nominated.get(seat)
    if match.phase not in RUNNING or nomination is None or nomination.name != player.name:
        says = Phrase("{name} was not asked to take this seat", name=player.name)
        raise Refused(Fault("substitute", match.id, says))
    if not agreed(match, seat, step.world.now):
        raise Refused(Fault("substitute", match.id, Phrase("no longer does everybody agree to it")))
    sentence = step.sentence("substituted", seat, form, signed, player.name)
    step.file_mailbox(seat, player)
    step.append_entry("substituted", {"seat": seat, "player": player.document(), **sentence})
    left = match.name(seat)
    given_up = "setups" if match.phase == "setup" else "orders"
    step.match = replace(
        drop(seated(step.match, seat, player), seat),
        resolve_at=None,
        banks=without(match.banks, seat),
        missed=match.missed - {seat},
        silent=without(match.silent, seat),
        unreachable=without(match.unreachable, seat),
        offers={what: willing - {seat} for what, willing in match.offers.items()},
        nominated=without(match.nominated, seat),
        said={place: rev for place, rev in match.said.items() if place[0] != seat},
        **{given_up: without(getattr(match, given_up), seat)},
    )
    if seat in match.clocks:
        start_clocks(step, [seat], without(match.clocks, seat))
    facts = {"seat": seat, "left": left}
    step.notices.append(Notice("welcome", seat, step.match, facts))
    step.notify("substituted", seat, **facts)
    if match.phase == "setup":
        step.notices.append(Notice("setup", seat, step.match))


def remake(remaking: Remaking) -> Step:
    """The newcomer's letter is read by the newcomer's keys, which count from this entry on."""
    match, seat = remaking.match, remaking.seat()
    player = remaking.pinned(seat, Player.read(remaking.entry.body["player"]))
    remaking.match = seated(match, seat, player)
    asked = Substitute(match=match.id, name=player.name, leaver=match.name(seat), hash=match.rules_hash)
    _, form, signed = remaking.sentence("substituted", asked)
    remaking.match = match
    step = remaking.at_work()
    take_over(step, seat, player, form, signed)
    return step


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    newcomer = entry.body["player"]
    keys = ", ".join(key["fingerprint"] for key in newcomer["keys"]) or "the mailbox"
    return f"{newcomer['name']} takes seat {entry.body['seat']}, as all agreed, signed; from here on counts: {keys}"


ENTRY = EntryType(
    "substituted",
    said(seat=seat_number, player=player_form),
    remake=remake,
    says=_says,
    between=True,
    letter="substituted",
)
