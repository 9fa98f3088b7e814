"""9. Running matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verifier.conventions import Body, must
from verifier.events import restored
from verifier.forms import check_form, is_time
from verifier.papers import read_opening, read_receipt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verifier.state import Match
    from verifier.transcript import Entry

BETWEEN = {
    *("paused", "resumed", "restored", "keys", "missed", "moved", "halted", "vacation", "extended", "draw", "annul"),
    *("substitute", "substituted", "resigned", "turn"),
}
LETTER_OF = {"extended": "extend", "claimed": "claim", "resigned": "resign"}


def running_step(match: Match, entry: Entry, before: Entry, turns: int) -> None:
    check_form(match, entry)
    must(entry.time >= before.time, "time runs backwards")
    body = entry.body
    if entry.type == "restored":
        restored(match, entry)
    if entry.type == "commitments":
        must(match.phase == "setup" and not match.paused and turns < 0, "no setups are asked for")
        must((body["game"], body["options"]) == (match.game, match.options), "another game")
        hidden(match, f"traces/game-{match.game}-setup.txt", body.get("trace"))
        hidden(match, f"evidence/replies-{entry.seq}.txt", body.get("replies"))
        for seat, digest in body["commitments"].items():
            paper = hidden(match, f"openings/game-{match.game}-seat-{seat}.txt", digest)
            if paper:
                said = here_in(match, read_opening(paper), seat=seat)
                hidden_letter(match, f"game-{match.game}-setup-seat-{seat}", said)
        return
    must(
        entry.type in BETWEEN and (entry.type != "resigned" or len(match.seats) > 2),
        f"{entry.type} cannot stand here",
    )
    if entry.type == "turn":
        must((body["game"], body["turn"]) == (match.game, turns), "another turn")
        hidden(match, f"evidence/replies-{entry.seq}.txt", body.get("replies"))
        running_turn(match, body)
    elif entry.type == "keys":
        for which, digest in body["letters"].items():
            hidden(match, f"letters/keys-{entry.seq}-seat-{body['seat']}-{which}.eml", digest)
    elif "mail" in body:
        what = LETTER_OF.get(entry.type, entry.type)
        hidden_letter(match, f"{what}-{entry.seq}-seat-{body['seat']}", body)
        if entry.type == "substituted":
            hidden(match, f"evidence/mailbox-{entry.seq}-seat-{body['seat']}.txt", body["player"].get("mailbox"))


def running_turn(match: Match, body: Body) -> None:
    stem = f"game-{match.game}-turn-{body['turn']}"
    hidden(match, f"traces/{stem}.txt", body.get("trace"))
    hidden(match, f"reports/{stem}.json", body["reports"])
    for seat, digest in body["shown"].items():
        hidden(match, f"reports/{stem}-seat-{seat}.json", digest)
    for seat, digest in body["orders"].items():
        paper = hidden(match, f"receipts/{stem}-seat-{seat}.txt", digest)
        if paper:
            said = here_in(match, read_receipt(paper), seat=seat, turn=str(body["turn"]))
            hidden_letter(match, f"{stem}-seat-{seat}", said)


def hidden(match: Match, path: str, digest: str | None) -> bytes | None:
    """A paper, if it is here and named."""
    return match.paper(path, digest) if digest is not None and path in match.papers else None


def here_in(match: Match, paper: dict[str, str], **more: str) -> dict[str, str]:
    """A paper of the running game, which says where it belongs."""
    right = {"server": match.server, "match": match.id, "game": str(match.game), **more}
    must(all(paper[key] == value for key, value in right.items()), "a paper of something else")
    must("received" not in paper or is_time(paper["received"]), "received at no time")
    return paper


def hidden_letter(match: Match, stem: str, said: Mapping[str, Any]) -> None:
    hidden(match, f"letters/{stem}.eml", said["mail"])
    hidden(match, f"evidence/{stem}.txt", said.get("evidence"))


def runs_from(entries: Sequence[Entry]) -> int | None:
    """The first commitments whose game has not been revealed; there are none in a sealed match."""
    if entries[0].body["terms"].get("sealed"):
        return None
    shown = {entry.body.get("game") for entry in entries if entry.type == "revealed"}
    starts = (entry.seq for entry in entries if entry.type == "commitments" and entry.body.get("game") not in shown)
    return next(starts, None)
