"""13. Matches whose rules are not here: their papers and letters; and who left, voted and shares."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from verifier.agreed import begin, read_keys
from verifier.commands import Command, read_commands
from verifier.conventions import moment, must, sha256
from verifier.events import ASKS_AGAIN, LEAVE, gone_from, restored
from verifier.letters import Player
from verifier.rules import Result
from verifier.running import look_up
from verifier.signature import signed_text
from verifier.terms import check_tournament, enters
from verifier.text import entity
from verifier.transcript import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verifier.state import Match
    from verifier.transcript import Entry

LINKS = 20_000


def step_without_rules(match: Match, entry: Entry, before: Entry | None, *, running: bool) -> None:
    """The form, time, keys and papers of an entry, and what it says of who plays on."""
    body = entry.body
    if entry.seq == 1:
        begin(match, body)
        check_tournament(match.terms)
        match.phase, match.game = "setup", 1
        for seat, said in body["players"].items():
            must(said["keys"] or "mailbox" in said, "neither key nor mailbox")
            match.players[int(seat)] = Player(said["name"], read_keys(said["keys"]))
    else:
        must(entry.type != "agreed", "agreed twice")
        must(entry.type != "commitments" or not match.is_sealed, "a sealed match")
    if entry.type == "restored":
        restored(match, entry)
    elif entry.type == "substituted":
        must(body["player"]["keys"] or "mailbox" in body["player"], "neither key nor mailbox")
        match.players[body["seat"]].keys |= read_keys(body["player"]["keys"])
    elif entry.type == "keys":
        match.players[body["seat"]].keys |= read_keys(body["added"])
    look_up(match, entry, whole=not running)
    if before and not match.is_sealed:
        judge_seats(match, entry, before)


def judge_seats(match: Match, entry: Entry, before: Entry) -> None:
    """5.4 to 5.18, as far as they say who left, voted and shares: what only the rules know is left open."""
    body, gone = entry.body, gone_from(match)
    if match.due:
        kind, reason = match.due.pop(0)
        must((entry.type, entry.time) == (kind, before.time), f"{kind} must follow")
        must(reason in {None, body.get("reason")}, f"{kind} must follow with reason {reason}")
    else:
        must(entry.type != "closed" or body["reason"] != "annulled", "not all agreed to that")
    if match.leaving or before.type in {"resigned", "claimed"}:
        at_once = entry.type in {"left", "ended", "closed"} and entry.time == before.time
        must(at_once, "what follows from who gave up, or was claimed, is missing")
    must(entry.type not in OF_A_PLAYER or body["seat"] not in gone, "a seat that left")
    must(entry.type != "substitute" or body["seat"] == body["for"] or body["seat"] not in gone, "a seat that left")
    must(entry.type != "forfeited" or gone.isdisjoint(body["seats"]), "a seat that left")
    if entry.type in SEATS:
        SEATS[entry.type](match, entry, before)
    if entry.type not in {"left", "claimed"}:
        match.leaving = []


OF_A_PLAYER = {"missed", "extended", "resigned", "claimed", "draw", "annul"}
"""The entries of a player who has not left."""


def turn_due(match: Match) -> int:
    return len(match.played) + 1 if match.phase == "playing" else 0


def setups_came(match: Match, entry: Entry, _before: Entry) -> None:
    match.phase, match.game, match.played, match.left = "playing", entry.body["game"], [], []
    match.silent.clear()
    ask_anew(match)


def ask_anew(match: Match) -> None:
    match.missed.clear()
    match.offers.clear()


def turn_ended(match: Match, entry: Entry, _before: Entry) -> None:
    ordered = {int(seat) for seat in entry.body["orders"]}
    must(ordered.isdisjoint(gone_from(match)), "orders of a seat that left")
    word = match.terms["miss"]
    for seat in set(match.missed) - ordered:
        passes = word == "pass always" or (word in {"pass", "leave"} and len(match.silent[seat]) < 2)
        asked = all(turn != turn_due(match) for turn, _ in match.left)  # or another's leaving may have changed that
        must(passes or not asked, "orders are missing")
    for seat in ordered - set(entry.body["default"]):
        match.silent[seat] = []
    match.played.append({})
    ask_anew(match)


def time_missed(match: Match, entry: Entry, _before: Entry) -> None:
    seat = entry.body["seat"]
    must((entry.body["game"], entry.body["turn"]) == (match.game, turn_due(match)), "another turn")
    must(seat not in match.missed, "missed already")
    match.silent[seat].append(entry.seq)
    if match.phase == "playing" or match.terms["miss"] not in ASKS_AGAIN or len(match.silent[seat]) > 1:
        match.missed[seat] = moment(entry.time)


def time_given(match: Match, entry: Entry, _before: Entry) -> None:
    for seat in match.missed.keys() & {*entry.body["to"]}:
        del match.missed[seat]
        match.silent[seat].pop()


def seat_handed_over(match: Match, entry: Entry, _before: Entry) -> None:
    seat = entry.body["seat"]
    match.missed.pop(seat, None)
    match.silent.pop(seat, None)
    for offers in match.offers.values():
        offers.pop(seat, None)


def stands_still(match: Match, entry: Entry, _before: Entry) -> None:
    match.paused = entry.type != "resumed"


def silence_claimed(match: Match, entry: Entry, _before: Entry) -> None:
    """With `wait` and `default`, these may leave, one after the other."""
    match.leaving = entry.body["against"] if match.terms["miss"] in {"wait", "default"} else []
    match.leaving = match.leaving if match.missed.keys() >= {*match.leaving} else []


def seat_left(match: Match, entry: Entry, before: Entry) -> None:
    """5.18: by a resignation, a claim, or misses in a row; whether the others play on, the rules say."""
    seat, cause = entry.body["seat"], entry.body["cause"]
    must(match.phase == "playing" and seat not in gone_from(match), "no seat that plays")
    follows = entry.time == before.time
    if cause == "resigned":
        must(follows and before.type == "resigned" and before.body["seat"] == seat, "nobody resigned")
        rests_on = [before.seq]
    else:
        rests_on = match.silent[seat]
        misses = LEAVE.get(match.terms["miss"], 0)
        by_terms = misses and not match.paused and seat in match.missed and len(rests_on) >= misses
        must(by_terms or (follows and match.leaving[:1] == [seat]), "a seat that was not silent for so long")
    made = {"game": match.game, "seat": seat, "turn": turn_due(match), "cause": cause, "entries": rests_on}
    must(entry.body == made, "another seat, turn, cause or reason")
    match.left.append((turn_due(match), seat))
    match.leaving = match.leaving[1:]
    match.missed.pop(seat, None)
    match.silent.pop(seat, None)
    match.offers.clear()


def offer_made(match: Match, entry: Entry, _before: Entry) -> None:
    """5.9; an offer that names nobody is one of all who remain, whom the rules know."""
    kind, seat, word = entry.type, entry.body["seat"], entry.body["word"]
    sharing = entry.body.get("sharing", [])
    must(kind == "annul" or match.phase == "playing", "no game is played")
    must(gone_from(match).isdisjoint(sharing), "shared with a seat that left")
    standing = match.offers.get(kind, {})
    must(word != "decline" or standing, "no offer stands")
    alike = [one for one in standing.values() if one == sharing or not (one and sharing)]
    must(word != "accept" or alike, "no such offer stands")
    must(word == "decline" or standing.get(seat) != sharing, "said already")
    match.offers[kind] = willing = {} if word == "decline" else standing | {seat: sharing}
    if willing.keys() >= {*match.seats} - gone_from(match) and all(one == sharing for one in willing.values()):
        if kind == "draw":
            match.due.append(("ended", "agreement"))
        elif match.phase == "playing":
            match.due += [("ended", "abandoned"), ("revealed", None), ("closed", "annulled")]
        else:
            match.due.append(("closed", "annulled"))


def game_ended(match: Match, entry: Entry, before: Entry) -> None:
    """The result; and a draw by those who agreed: they offer the same, and are all who remain."""
    match.results.append(Result(tuple(entry.body["winners"]), tuple(entry.body["scores"]), entry.body["reason"]))
    if entry.body["reason"] == "agreement":
        winners, willing = entry.body["winners"], match.offers.get("draw", {})
        must(before.type == "draw" and willing, "nobody agreed to that")
        must(all(one in ([], winners) for one in willing.values()), "not all agreed to that")
        must({*winners} <= {*willing}, "shared by who did not agree")
        must([] not in willing.values() or winners == sorted(willing), "shared by others than who remain")


def record_shown(match: Match, entry: Entry, _before: Entry) -> None:
    path = f"records/game-{entry.body['game']}.pbem.toml"
    if path in match.papers:
        left = tomllib.loads(match.papers[path].decode()).get("left", [])
        must(left == [{"seat": seat, "turn": turn} for turn, seat in sorted(match.left)], f"{path}: others left")
    match.phase, match.game, match.played, match.left = "setup", match.game + 1, [], []
    ask_anew(match)


def match_closed(match: Match, entry: Entry, _before: Entry) -> None:
    scores = zip(*(one.scores for one in match.results), strict=True) if match.results else [()] * len(match.seats)
    must(entry.body["scores"] == [sum(of) for of in scores], "not the sum of the games' scores")
    if match.results and match.terms["kind"] == "single":
        must(entry.body["winners"] == list(match.results[-1].winners), "not the winners of the game")


SEATS: dict[str, Callable[[Match, Entry, Entry], None]] = {
    "commitments": setups_came,
    "turn": turn_ended,
    "missed": time_missed,
    "extended": time_given,
    "substituted": seat_handed_over,
    **dict.fromkeys(("paused", "resumed", "restored"), stands_still),
    "claimed": silence_claimed,
    "left": seat_left,
    "draw": offer_made,
    "annul": offer_made,
    "ended": game_ended,
    "revealed": record_shown,
    "closed": match_closed,
}


def check_without_rules(match: Match, entries: Sequence[Entry]) -> None:
    """The papers, the letters and the links of chance, after all entries."""
    check_named(match, entries)
    check_chance(entries)
    for path, raw in match.papers.items():
        place = re.search(r"-seat-([0-9]{1,2})\b", path)
        evidence = path.replace("letters/", "evidence/").replace(".eml", ".txt")
        if not path.startswith("letters/") or not place or evidence in match.papers:
            continue
        player = match.player(int(place[1]))
        texts = [signed_text(entity(raw), key, match) for key in player.keys.values()]
        text = next((text for text in texts if text is not None), None)
        must(text is not None, f"{path} is not signed by its player")
        assert text is not None
        if path.startswith("letters/agreed-"):
            agrees = any(accepts(match, int(place[1]), command) for command in read_commands(text))
            must(agrees, f"{path} does not accept these terms")


def accepts(match: Match, seat: int, command: Command) -> bool:
    said = command.said
    if command.fault:
        return False
    if "tournament" in match.terms:
        placed = (said.get("server"), said.get("player")) == (match.server, match.players[seat].name)
        return placed and enters(match, command)
    if command.name == "new":
        return seat == 1 and said["*name"] == match.terms["game"]
    return command.name == "accept" and (said["*match"], said.get("*hash")) == (match.id, match.rules_hash)


def check_named(match: Match, entries: Sequence[Entry]) -> None:
    """Some entry, or a paper that is named and is no letter, has the hash of each paper."""
    rest: dict[str, list[str]] = {}
    for path, paper in match.papers.items():
        rest.setdefault(sha256(paper), []).append(path)
    following = [canonical(entry.body).encode() for entry in entries]
    while following:
        for digest in re.findall(rb"[0-9a-f]{64}", following.pop()):
            paths = rest.pop(digest.decode(), [])
            following += [match.papers[path] for path in paths if not path.startswith("letters/")]
    must(not rest, "a paper that nobody names")


def check_chance(entries: Sequence[Entry]) -> None:
    """13.2: each link that is shown leads to the one before."""
    before, since = "", 0
    for entry in entries:
        if entry.type == "commitments":
            before, since = entry.body.get("chance", ""), 0
        since += entry.type == "turn"
        link = entry.body.get("chance") if entry.type in {"turn", "revealed"} else None
        if link is not None:
            must(before and since <= LINKS, "no chain of chance")
            made = link
            for _ in range(since):
                made = sha256(f"pbem chance link 1\n{made}\n".encode())
            must(made == before, "another chain of chance")
            before, since = link, 0
