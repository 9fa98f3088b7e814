"""12.8 The matches of a tournament, by their bundles."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from verifier.conventions import Body, No, OtherVersion, Unknown, Wrong, moment, must
from verifier.entries import UNREADABLE, verified
from verifier.transcript import Entry, read_file, read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verifier.tournament_state import Pairing, Tournament


def first_body(content: bytes) -> Body:
    """The kind that a bundle says it is; nothing if it is none."""
    with contextlib.suppress(No, *UNREADABLE):
        body = json.loads(read_file(content)["transcript.jsonl"].partition(b"\n")[0])["body"]
        return body if isinstance(body, dict) else {}
    return {}


def check_matches(state: Tournament, bundles: Iterable[bytes]) -> None:
    """Judge each bundle of the tournament; one without, or with a result and none to its end, is open."""
    pairings = {one.match: one for one in state.pairings if one.match}
    seen, told, heads = set(), set(), dict[tuple[str, int], str]()
    for content in bundles:
        body = first_body(content)
        name = str(body.get("match"))
        terms = body.get("terms")
        named = terms.get("tournament") if isinstance(terms, dict) else None
        ours = name in pairings or (isinstance(named, dict) and named.get("id") == state.id)
        if body.get("server") != state.server or not ours:
            continue
        try:
            match = verified(content)
            entries = read_transcript(read_file(content)["transcript.jsonl"])
            must(name in pairings, "it was not paired")
            check_match(state, pairings[name], entries)
            must(all(heads.setdefault((name, one.seq), one.head) == one.head for one in entries), "two stories")
        except (OtherVersion, Unknown):  # neither holds nor fails
            continue
        except (No, Wrong) as error:
            raise Wrong(None, None, f"match {name}: {error}") from error
        state.open += [f"match {name}: {one}" for one in match.open]
        seen.add(name)
        told |= {name} if match.phase == "closed" else set()
    state.open += [f"match {name}" for name, one in pairings.items() if name not in (told if one.result else seen)]


def check_match(state: Tournament, pairing: Pairing, entries: list[Entry]) -> None:
    first, last = entries[0].body, entries[-1]
    must(first["server_key"] == state.server_key, "another server's key")
    terms: dict[str, Any] = {**state.terms, "players": list(pairing.players)}
    terms["tournament"] = {"id": state.id, "terms": state.document}
    terms["pairing"] = {"round": pairing.round, "board": pairing.board, "entry": pairing.entry}
    must(first["terms"] == terms, "other terms")
    seats = [str(seat) for seat, _ in enumerate(pairing.names, start=1)]
    mails = tuple(first["letters"][seat]["mail"] for seat in seats)
    must(mails == pairing.mails, "agreed to by other letters than those of entry")
    keys = tuple(first["players"][seat]["keys"] for seat in seats)
    must(keys == pairing.keys, "other keys than those of the lines")
    if last.type != "closed":
        return
    told = state.last if pairing.result is None else pairing.before
    must(told is None or told <= moment(last.time), "its result is missing, or came too late")
    if pairing.result is not None:
        must(pairing.result == {"match": pairing.match, **result_of(entries)}, "another result")


def result_of(entries: list[Entry]) -> Body:
    players = {int(seat): one["name"] for seat, one in entries[0].body["players"].items()}
    missed, silent = dict.fromkeys(players, 0), set[int]()
    for entry in entries:
        body = entry.body
        if entry.type == "substituted":
            players[body["seat"]] = body["player"]["name"]
        elif entry.type == "missed":
            missed[body["seat"]] += 1
        elif entry.type in {"forfeited", "claimed"}:
            silent |= {*body["seats" if entry.type == "forfeited" else "against"]}
        elif entry.type == "left" and body["cause"] == "silent":
            silent.add(body["seat"])
    resigned = sorted({entry.body["seat"] for entry in entries if entry.type == "resigned"})
    last = entries[-1]
    made = {key: last.body[key] for key in ("winners", "scores", "reason")}
    made |= {"closed": last.head, "players": list(players.values()), "missed": list(missed.values())}
    return made | {
        "silent": sorted(silent),
        "resigned": resigned,
        "turns": sum(one.type == "turn" for one in entries),
    }
