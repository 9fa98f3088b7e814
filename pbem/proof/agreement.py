"""The agreement of a form to the terms of a match: by their hash, by a proposal of the same, or through a tournament.

No signature is checked here: see `pbem.proof.signed_letters`. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Refused
from pbem.match.terms import Terms, hash_of_tournament
from pbem.requests import Accept, Enter, Propose

if TYPE_CHECKING:
    from pbem.match.state import Match
    from pbem.requests import AnyForm


def names_player(form: AnyForm, server: str, player: str, *, by_mailbox: bool) -> bool:
    """True if a form names this server and this player; at level `mailbox`, its reply address may stand for both."""
    if by_mailbox:
        return form.server in {None, server} and form.player in {None, player}
    return (form.server, form.player) == (server, player)


def agrees(form: AnyForm, match: Match, seat: int, evidence: bytes, *, by_rules: bool = True) -> bool:
    """True if a form accepts the terms by their hash, which stands for the place, or proposes exactly these.

    In a tournament: if it enters, by the hash of the tournament's terms, which hold these. Without the rules, of a
    proposal only the game is known.
    """
    asked, held = form.request, match.terms.tournament
    is_named = names_player(form, match.server, match.name(seat), by_mailbox=bool(evidence))
    if held is not None:
        entered = held["id"], hash_of_tournament(match.server, held["id"], held["terms"])
        return is_named and isinstance(asked, Enter) and (asked.tournament, asked.hash) == entered
    if isinstance(asked, Accept):
        return asked == Accept(match=match.id, hash=match.rules_hash)
    # The first seat agrees by its own proposal, whose place a reply address may complete.
    if not isinstance(asked, Propose) or seat != 1:
        return False
    if not by_rules:
        return asked.rules == match.terms.game
    if not is_named:
        return False
    # Then its seats, the named players (addresses are invited, and may register any name), and all its terms.
    terms, lines = match.terms, {key: text for key, text in asked.options.items() if key != "seats"}
    wanted = asked.options.get("seats", str(min(match.rules.seats))).strip()
    if not wanted.isdecimal() or len(terms.players) != max(len(asked.players) + 1, int(wanted)):
        return False
    if terms.anonymous and asked.players:
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
