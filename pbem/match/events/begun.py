"""A match begins once all agreed, each by a letter; a game, once all setups are in, or at once if there are none.

The first entry has the terms and the keys that are pinned; that of a game publishes the commitments to the setups.
Implements protocol.md, "A match" and "Commitments".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.asking import (
    ask_for_orders,
    ask_for_setups,
    file_replies,
    file_replies_of_proposal,
    file_replies_of_setups,
    named_replies,
    of_setups,
)
from pbem.match.dealt import file_chain
from pbem.match.documents import Evidence, Opening, Replies, level_in_words
from pbem.match.entry_type import EntryType, anything, by_seat, hash_, host, letter, mapping, number, text
from pbem.match.entry_type import player as player_form
from pbem.match.events.turn import play_on
from pbem.match.pinned_keys import Player
from pbem.match.remaking import Consent
from pbem.match.state import PHASES
from pbem.match.step import Document
from pbem.match.submissions import setup
from pbem.match.terms import named_in_terms
from pbem.match.transcript import VERSION, sha256_hex
from pbem.phrase import Phrase
from pbem.requests import Accept, SignedForm, SubmitSetup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def _remake_agreed(remaking: Remaking) -> Step:
    """The agreement again, from the letters by which the terms were proposed and accepted."""
    body = remaking.entry.body
    players = [Player.read(body["players"][str(seat)]) for seat in remaking.match.seats]
    terms = remaking.match.terms
    if named_in_terms([player.name for player in players], anonymous=terms.anonymous) != terms.players:
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


def _says_agreed(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    body = entry.body
    players = ", ".join(player["name"] for player in body["players"].values())
    return f"agreed by {players}: {body['terms']['game']}, rules {body['rules'][:16]}..."


def _named_by_agreed(entry: Entry) -> Iterator[tuple[str, str]]:
    for seat, consent in entry.body["letters"].items():
        yield f"letters/agreed-seat-{seat}.eml", consent["mail"]
        if "evidence" in consent:
            yield f"evidence/agreed-seat-{seat}.txt", consent["evidence"]
    for seat, player in entry.body["players"].items():
        if "mailbox" in player:
            yield f"evidence/mailbox-1-seat-{seat}.txt", player["mailbox"]
    if "proposal" in entry.body:
        yield of_setups(0), entry.body["proposal"]


AGREED = EntryType(
    "agreed",
    mapping(
        {
            "bundle": number,
            "letters": by_seat(letter),
            "version": text,
            "server": host,
            "server_key": hash_,
            "match": text,
            "terms": anything,
            "rules": hash_,
            "players": by_seat(player_form),
        },
        {"proposal": hash_, "replies": hash_},
    ),
    remake=_remake_agreed,
    says=_says_agreed,
    papers=_named_by_agreed,
)


def begin(step: Step) -> None:
    """Publish the commitments to the setups, and begin the game."""
    match = step.match
    for seat, submission in sorted(match.setups.items()):
        opening = f"openings/game-{match.game}-seat-{seat}.txt"
        step.papers.append(Document(opening, submission.paper.encode(), match.game, seat))
        letter = f"game-{match.game}-setup-seat-{seat}"
        step.file_letter(letter, submission.letter, submission.evidence, match.game, seat)
    trace = step.file_trace("setup", match.game)
    step.append_entry(
        "commitments",
        {
            **trace,
            **file_replies(step),
            **file_chain(step),
            "game": match.game,
            "options": dict(match.options.changed),
            "commitments": {
                str(seat): sha256_hex(submission.paper.encode()) for seat, submission in sorted(match.setups.items())
            },
        },
    )
    setups = [match.setup_of(seat, match.setup_text(seat)) for seat in match.seats]
    position = match.rules.begin(match.options, setups)
    head = step.match.head
    begun = {seat: replace(submission, aside=()) for seat, submission in match.setups.items()}
    step.match = replace(
        step.match, phase="playing", setups=begun, prev=head, position=position, misses={}, sentence_revs={}
    )
    ask_for_orders(step)
    step.notify("begin")
    play_on(step)


def _remake_commitments(remaking: Remaking) -> Step:
    """The beginning of a game again, from the openings of its setups."""
    step = remaking.at_work()
    aside = remaking.set_aside(remaking.match, "setup")
    for seat in remaking.match.seats if remaking.match.rules.secret_setups else ():
        path = f"openings/game-{remaking.match.game}-seat-{seat}.txt"
        expected = remaking.entry.body["commitments"][str(seat)]
        content = remaking.hashed(path, expected, "does not open the commitment")
        opening = remaking.read(path, Opening.read, content)
        letter = f"letters/game-{remaking.match.game}-setup-seat-{seat}.eml"
        remaking.was_not_withdrawn(path, opening, aside)
        wanted = SignedForm(SubmitSetup(match=remaking.match.id), game=remaking.match.game)
        form, signed = remaking.signed(wanted, seat, letter, opening)
        remaking.judged(letter, partial(setup, step), seat, form, signed)
    remaking.advance(step)
    return step


def _named(entry: Entry) -> Iterator[tuple[str, str]]:
    for seat, value in entry.body["commitments"].items():
        yield f"openings/game-{entry.body['game']}-seat-{seat}.txt", value
    yield f"traces/game-{entry.body['game']}-setup.txt", entry.body["trace"]
    yield from named_replies(entry)


def _says_begun(entry: Entry, papers: Mapping[str, bytes]) -> str:
    game, mailboxes = entry.body["game"], ""
    if not entry.body["commitments"]:
        return f"game {game}: it begins, without setups"
    for seat in entry.body["commitments"]:
        if paper := papers.get(f"evidence/game-{game}-setup-seat-{seat}.txt"):
            evidence = Evidence.read(paper.decode())
            mailboxes += f" ({evidence.player}: {level_in_words('mailbox', evidence.key)})"
    return f"game {game}: the commitments open; the setups are signed{mailboxes} and legal"


COMMITMENTS = EntryType(
    "commitments",
    mapping(
        {"trace": hash_, "game": number, "options": anything, "commitments": by_seat(hash_)},
        {"replies": hash_, "chance": hash_},
    ),
    remake=_remake_commitments,
    says=_says_begun,
    papers=_named,
    begins=True,
)
