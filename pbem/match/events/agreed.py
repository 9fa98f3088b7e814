"""All players agreed, each by a letter: the transcript begins with the terms and the keys that are pinned.

Implements protocol.md, "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.asking import ask_for_setups
from pbem.match.changed import replace
from pbem.match.documents import Replies
from pbem.match.entry_type import EntryType, anything, by_seat, hash_, letter, mapping, number, text
from pbem.match.entry_type import player as player_form
from pbem.match.pinned_keys import Player
from pbem.match.remaking import Consent
from pbem.match.replies import file_replies_of_proposal, file_replies_of_setups, named_proposal, of_setups
from pbem.match.state import PHASES
from pbem.match.transcript import VERSION
from pbem.phrase import Phrase
from pbem.requests import Accept, SignedForm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.match.remaking import Remaking
    from pbem.match.step import Signed, Step
    from pbem.match.transcript import Entry


def agree(step: Step, players: tuple[Player, ...], consents: Sequence[Signed]) -> None:
    """All players accepted, by these letters: the transcript begins, and setups are asked for."""
    match = step.match
    if match.phase != "proposed":
        says = Phrase("this match is {phase} and waits for no agreement", phase=PHASES[match.phase])
        raise Refused(Fault("accept", match.id, says))
    step.match = replace(match, players=players)
    letters = {}
    for seat, (player, signed) in enumerate(zip(players, consents, strict=True), start=1):
        step.file_letter(f"agreed-seat-{seat}", signed.raw, signed.evidence, 0, seat)
        letters[str(seat)] = step.named(signed) | ({"rev": signed.rev} if signed.rev else {})
        step.file_mailbox(seat, player)
    addressed = file_replies_of_proposal(step) if any(signed.rev for signed in consents) else {}
    step.append_entry(
        "agreed",
        {
            **addressed,
            **file_replies_of_setups(step, 1),
            "bundle": VERSION,
            "letters": letters,
            "version": step.world.version,
            "server": match.server,
            "server_key": step.world.server_key,
            "match": match.id,
            "terms": match.terms.document(),
            "rules": match.rules_hash,
            "players": {str(seat): player.document() for seat, player in enumerate(players, start=1)},
        },
    )
    ask_for_setups(step, match.terms.first_options())


def remake(remaking: Remaking) -> Step:
    """The agreement again, from the letters by which the terms were proposed and accepted."""
    body = remaking.entry.body
    players = [Player.read(body["players"][str(seat)]) for seat in remaking.match.seats]
    if tuple(player.name for player in players) != remaking.match.terms.players:
        raise remaking.untrue(None, "the players are not those of the terms")
    if not remaking.match.terms.as_announced:
        raise remaking.untrue(None, "the terms are not those of the tournament")
    try:
        remaking.match.terms.demand_possible()
    except (Refused, AttributeError, TypeError, ValueError) as error:
        raise remaking.untrue(None, f"no proposal has such terms: {error}") from error
    players = [remaking.pinned(seat, player) for seat, player in enumerate(players, start=1)]
    at_first = remaking.match
    replies = ""
    if "proposal" in body:
        content = remaking.hashed(of_setups(0), body["proposal"], "is not what the transcript names")
        replies = remaking.read(of_setups(0), Replies.read, content).salt
    remaking.match = replace(remaking.match, phase="proposed", players=tuple(players), replies=replies)
    consents = []
    for seat in remaking.match.seats:
        path = f"letters/agreed-seat-{seat}.eml"
        named = body["letters"][str(seat)]
        rev = int(named.get("rev", 0))
        consents.append(replace(remaking.named(path, named), rev=rev))
        wanted = SignedForm(Accept(match=remaking.match.id, hash=remaking.match.rules_hash))
        remaking.form(wanted, seat, path, consents[-1], Consent(rev) if rev else None)
    remaking.match = replace(at_first, replies=replies)
    step = remaking.at_work()
    agree(step, tuple(players), consents)
    return step


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    body = entry.body
    players = ", ".join(player["name"] for player in body["players"].values())
    return f"agreed by {players}: {body['terms']['game']}, rules {body['rules'][:16]}..."


ENTRY = EntryType(
    "agreed",
    mapping(
        {
            "bundle": number,
            "letters": by_seat(letter),
            "version": text,
            "server": text,
            "server_key": hash_,
            "match": text,
            "terms": anything,
            "rules": hash_,
            "players": by_seat(player_form),
        },
        {"proposal": hash_, "replies": hash_},
    ),
    remake=remake,
    says=_says,
    papers=named_proposal,
)
