"""9. Running matches, and the papers that entries name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verifier.conventions import Body, must
from verifier.events import restored
from verifier.forms import is_time
from verifier.papers import read_opening, read_receipt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verifier.state import Match
    from verifier.transcript import Entry


BETWEEN = {
    *("paused", "resumed", "restored", "keys", "missed", "moved", "halted", "vacation", "extended", "draw", "annul"),
    *("substitute", "substituted", "resigned", "claimed", "left", "turn"),
}
AMONG_MORE = {"resigned", "claimed", "left"}
"""The entries that end a game of two."""
LETTER_OF = {"extended": "extend", "claimed": "claim", "resigned": "resign"}
SENTENCES = {*LETTER_OF, "draw", "annul", "substitute", "substituted", "reveal"}


def running_step(match: Match, entry: Entry, turns: int) -> None:
    body = entry.body
    if entry.type == "restored":
        restored(match, entry)
    if entry.type == "commitments":
        must(match.phase == "setup" and not match.paused and turns < 0, "no setups are asked for")
        must((body["game"], body["options"]) == (match.game, match.options), "another game")
    else:
        must(
            entry.type in BETWEEN and (entry.type not in AMONG_MORE or len(match.seats) > 2),
            f"{entry.type} cannot stand here",
        )
    if entry.type == "turn":
        must((body["game"], body["turn"]) == (match.game, turns), "another turn")
    look_up(match, entry, whole=False)


def look_up(match: Match, entry: Entry, *, whole: bool) -> None:
    """The papers that an entry names by their paths, which may be missing if they are not `whole`."""
    for path, digest in named(entry):
        if not whole and path not in match.papers:
            continue
        paper = match.paper(path, digest)
        if path.startswith(("openings/", "receipts/")):
            for letter, mail in named_letter(match, path, paper):
                if whole or letter in match.papers:
                    match.paper(letter, mail)


def named(entry: Entry) -> Iterator[tuple[str, str]]:
    """The papers that an entry names by their paths, each with its hash; those of sealed turns have other entries."""
    body, kind = entry.body, entry.type
    game = f"game-{body.get('game')}"
    if kind == "agreed":
        yield from named_by_agreed(body)
    elif kind == "commitments":
        yield f"traces/{game}-setup.txt", body["trace"]
        for seat, digest in body["commitments"].items():
            yield f"openings/{game}-seat-{seat}.txt", digest
    elif kind == "turn" and "orders" in body:
        stem = f"{game}-turn-{body['turn']}"
        yield f"traces/{stem}.txt", body["trace"]
        yield f"reports/{stem}.json", body["reports"]
        for seat, digest in body["shown"].items():
            yield f"reports/{stem}-seat-{seat}.json", digest
        for seat, digest in body["orders"].items():
            yield f"receipts/{stem}-seat-{seat}.txt", digest
    elif kind == "keys":
        for which, digest in body["letters"].items():
            yield f"letters/keys-{entry.seq}-seat-{body['seat']}-{which}.eml", digest
    elif kind in SENTENCES:
        place = f"{entry.seq}-seat-{body['seat']}"
        yield from of_letter(f"{LETTER_OF.get(kind, kind)}-{place}", body)
        yield from mailbox(place, body.get("player", {}))
    if "replies" in body and kind in {"commitments", "turn"}:
        yield f"evidence/replies-{entry.seq}.txt", body["replies"]


def named_by_agreed(body: Body) -> Iterator[tuple[str, str]]:
    for seat, said in body["letters"].items():
        yield from of_letter(f"agreed-seat-{seat}", said)
    for seat, player in body["players"].items():
        yield from mailbox(f"1-seat-{seat}", player)
    if "proposal" in body:
        yield "evidence/replies-game-0.txt", body["proposal"]


def of_letter(stem: str, said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield f"letters/{stem}.eml", said["mail"]
    if "evidence" in said:
        yield f"evidence/{stem}.txt", said["evidence"]


def mailbox(place: str, player: Body) -> Iterator[tuple[str, str]]:
    if "mailbox" in player:
        yield f"evidence/mailbox-{place}.txt", player["mailbox"]


def named_letter(match: Match, path: str, paper: bytes) -> Iterator[tuple[str, str]]:
    """The letter that an opening or receipt names, and its evidence."""
    said = read_opening(paper) if path.startswith("openings/") else read_receipt(paper)
    when = f"-turn-{said['turn']}" if "turn" in said else ""
    stem = f"game-{said['game']}{when}-seat-{said['seat']}"
    here = (match.server, match.id, f"{path.split('/', maxsplit=1)[0]}/{stem}.txt")
    must((said["server"], said["match"], path) == here, "a paper of something else")
    must(is_time(said["received"]), "received at no time")
    return of_letter(stem if when else stem.replace("-seat-", "-setup-seat-"), said)


def runs_from(entries: Sequence[Entry]) -> int | None:
    """The first commitments whose game has not been revealed; there are none in a sealed match."""
    if entries[0].body["terms"].get("sealed"):
        return None
    shown = {entry.body.get("game") for entry in entries if entry.type == "revealed"}
    starts = (entry.seq for entry in entries if entry.type == "commitments" and entry.body.get("game") not in shown)
    return next(starts, None)
