"""12.3 to 12.5: the entries of a tournament, one after the other, with their letters and the lot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verifier.agreed import read_player
from verifier.commands import Command, read_commands
from verifier.conventions import No, Wrong, moment, must, seconds, sha256
from verifier.entries import UNREADABLE, judging
from verifier.forms import check_tournament_form, is_name
from verifier.letters import letter_named, proven_texts
from verifier.terms import ROUND_ROBINS, announces, check_tournament_terms, fewest, is_judged, tournament_hash
from verifier.text import plain, trimmed
from verifier.tournament_state import Line, Pairing, Tournament, berger, groups, played, swiss, table
from verifier.transcript import TOURNAMENT_LISTS, TOURNAMENT_PAPER, check_heads, read_file, read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from verifier.conventions import Body
    from verifier.letters import Player
    from verifier.transcript import Entry


def letter(state: Tournament, entry: Entry, player: Player, command: str, **said: str | None) -> Command | None:
    """The command of the letter on which an entry rests; None in a file without letters, which leaves them open."""
    body = entry.body
    if not state.papers:
        must(moment(body["received"]) <= moment(entry.time), "received after the entry")
        once(state, body)
        state.open.append("the letters")
        return None
    path = f"letters/{entry.type}-{entry.seq}.eml"
    named = letter_named(state, entry, path, body["mail"], body["received"])
    once(state, body)
    right = {"server": state.server, "player": player.name}
    wordless = {key.format for key in player.keys.values()} & {"openpgp", "smime"}
    for text, _ in proven_texts(named, player, body.get("evidence"), waited=""):
        if sha256(trimmed(plain(text)).encode()) != body["words"] and not wordless:
            continue
        for one in read_commands(text, signed="evidence" not in body):
            given = {key: one.said[key] for key in right if key in one.said}
            whole = given == right or ("evidence" in body and all(given[key] == right[key] for key in given))
            here = command == "tournament new" or one.said.get("*tournament") == state.id
            fits = one.name == command and not one.fault and whole and here
            if fits and all(one.said.get(key) == value for key, value in said.items()):
                return one
    raise No(f"{path} does not say so")


def once(state: Tournament, body: Body) -> None:
    """Signed words are obeyed once; at level `mailbox`, a letter is."""
    said = "mail" if "evidence" in body else "words"
    state.once(said, body[said])


def announced(state: Tournament, entry: Entry) -> None:
    body = entry.body
    state.server, state.id, state.document = body["server"], body["tournament"], body["terms"]
    must(re.fullmatch("t[1-9][0-9]{0,8}", state.id), "no tournament")
    check_tournament_terms(state.document)
    state.terms = state.document["match"]
    must(body["rules"] == tournament_hash(state.server, state.id, state.document), "another hash of the terms")
    must((body["secret"] is None) == (state.form == "ladder"), "a secret of a lot")
    state.rules_hash, state.secret, state.server_key = body["rules"], body["secret"], body["server_key"]
    if not is_judged({**state.terms, "players": []}):
        state.open.append(f"the terms of {state.terms['game']}, whose rules are not here")
    closes = state.document["closes"]
    if closes is not None:
        late = moment(closes) - moment(entry.time)
        must(seconds(0) < late <= seconds(366 * 86400), "closes too soon or too late")
    state.organiser = read_player(state, 0, body["organiser"], 1)
    command = letter(state, entry, state.organiser, "tournament new")
    must(command is None or announces(command, state.document), "letters/announced-1.eml does not say so")
    state.phase = "playing" if state.form == "ladder" else "open"


def closed_to(state: Tournament, received: str) -> bool:
    closes = state.document["closes"]
    return state.phase == "open" and closes is not None and moment(received) > moment(closes)


def entered(state: Tournament, entry: Entry) -> None:
    body, team = entry.body, entry.body["team"]
    must(is_name(body["player"]["name"]), "no name")
    player = read_player(state, 0, body["player"], entry.seq)
    letter(state, entry, player, "enter", **{"*hash": state.rules_hash, "*team": team})
    must(not closed_to(state, body["received"]), "received after entries closed")
    nominated = state.lines.get(state.nominated_for.pop(player.name, ""))
    if nominated:
        waiting = state.nominated_for.items()
        state.nominated_for = {name: of for name, of in waiting if of != nominated.name}
    playing = [state.lines[name] for name in state.playing_in() if state.lines[name].player.name == player.name]
    line = nominated if nominated and not nominated.out else next(iter(playing), None)
    if line:
        must(team in {None, line.team}, "another team")
        line.silent = line.silent if line.player.name == player.name else 0
        line.player, line.keys, line.mail, line.words = player, body["player"]["keys"], body["mail"], body["words"]
        return
    ladder = state.form == "ladder"
    must(state.phase == "open" or ladder, "nobody new may enter")
    must(player.name not in state.lines or state.lines[player.name].out, "a line of this name is there")
    must(len(state.playing_in()) < state.document["entrants"], "all places are taken")
    ordinal = max((one.ordinal for one in state.lines.values()), default=0) + 1
    name, time = player.name, moment(entry.time)
    keys = body["player"]["keys"]
    state.lines[name] = Line(name, player, keys, body["mail"], body["words"], team, ordinal, time)
    if ladder:
        state.ladder.append(name)


def left(state: Tournament, entry: Entry) -> None:
    line = state.line_of(entry.body["player"])
    letter(state, entry, line.player, "leave")
    if state.phase == "open" and not closed_to(state, entry.body["received"]):
        del state.lines[line.name]
    else:
        line.leaving = "left"


def challenged(state: Tournament, entry: Entry) -> None:
    must(state.form == "ladder", "no ladder")
    line, other = state.line_of(entry.body["player"]), state.line_of(entry.body["against"])
    letter(state, entry, line.player, "challenge", **{"*name": entry.body["against"]})
    above = state.ladder.index(line.name) - state.ladder.index(other.name)
    must(1 <= above <= state.document["places"], "not so many places above")
    for one in state.awaited:
        busy = one.names[0] == line.name or {*one.names} == {line.name, other.name}
        must(not busy, "a challenge awaits its result")
    ends = [one.over for one in state.pairings if {*one.names} == {line.name, other.name} and one.over]
    must(state.after(entry.time, "rematch", max(ends, default=None)), "too soon after the last result")
    state.challenge = line.name, other.name


def started(state: Tournament, entry: Entry) -> None:
    body, closes = entry.body, state.document["closes"]
    must(state.phase == "open" and closes is not None, "started again, or where nothing starts")
    full = len(state.lines) == state.document["entrants"]
    must(full or moment(entry.time) >= moment(closes), "entries are not closed")
    must(sha256(body["secret"].encode()) == state.secret, "another secret")
    lot = ["pbem lot 1", state.rules_hash, body["secret"]]
    lot += [f"{name} {line.words}" for name, line in sorted(state.lines.items())]
    seed = sha256("".join(f"{one}\n" for one in lot).encode())
    order = sorted(state.lines, key=lambda name: sha256(f"{seed} {name}\n".encode()))
    must(body["order"] == order, "another order than the lot gives")
    for ordinal, name in enumerate(order, start=1):
        state.lines[name].ordinal = ordinal
    state.phase = "playing"
    if too_few(state):
        return
    if state.form == "swiss":
        most = next(number for number in range(1, 8) if state.seats_at_each**number >= len(order))
        state.rounds = min(state.document["rounds"] or most, most + 2)
        return
    double = state.form == "double round robin"
    tables = [berger(group, double=double) for group in groups(order, state.document["group"])]
    for number in range(max(map(len, tables))):
        pairs = [pair for rounds in tables for pair in rounds[number : number + 1]]
        boards = enumerate((pair for one in pairs for pair in one), start=1)
        state.pairings += [Pairing(number + 1, board, names) for board, names in boards]


def result(state: Tournament, entry: Entry) -> None:
    body = entry.body
    found = [one for one in state.pairings if one.match == body["match"] and one.result is None]
    must(len(found) == 1, "no result of this match is awaited")
    pairing = found[0]
    seats = range(1, len(pairing.names) + 1)
    must(all(len(body[key]) == len(seats) for key in ("players", "scores", "missed")), "other seats")
    must({*body["winners"], *body["silent"], *body["resigned"]} <= {*seats}, "other seats")
    pairing.result, pairing.over, pairing.before = body, moment(entry.time), state.before
    for seat, name in enumerate(pairing.names, start=1):
        line = state.lines[name]
        line.active = moment(entry.time)
        is_own = pairing.players[seat - 1] == line.player.name
        line.silent = line.silent + is_own if seat in body["silent"] else 0
        if line.silent > 1 and not line.out:
            line.leaving = line.leaving or "silent"
    one, other = pairing.names[:2]
    if body["winners"] == [1] and {one, other} <= {*state.ladder} and not pairing.annulled:
        at = state.ladder.index(other)
        if state.ladder.index(one) > at:
            state.ladder.remove(one)
            state.ladder.insert(at, one)


def ruled(state: Tournament, entry: Entry) -> None:
    body, by_letter = entry.body, entry.body["by"] == "organiser"
    must(body["reason"], "no reason")
    if by_letter:
        assert state.organiser
        if "organiser" in body:
            must(body["organiser"]["name"] == state.organiser.name, "another organiser")
            state.organiser = read_player(state, 0, body["organiser"], entry.seq)
        named = {"match": body.get("match"), "name": body.get("player"), "leaver": body.get("for")}
        said = {f"*{key}": value for key, value in named.items() if value is not None}
        command = letter(state, entry, state.organiser, "rule", **{"*what": body["what"], **said})
        must(
            command is None or command.options == {"reason": body["reason"]},
            f"letters/ruled-{entry.seq}.eml does not say so",
        )
    if body["what"] == "close":
        state.closing = True
    elif body["what"] == "substitute":
        line, player = state.line_of(body["for"]), body["player"]
        must(player not in state.lines, "the name of a line")
        must(all(one.player.name != player for one in state.lines.values() if not one.out), "plays already")
        must(state.nominated_for.get(player) != line.name, "a nomination that stands")
        state.nominated_for[player] = line.name
    else:
        found = [one for one in state.pairings if one.match == body["match"] and not one.annulled]
        must(len(found) == 1, "no such match that counts")
        players = {*found[0].players, *(state.lines[name].player.name for name in found[0].names)}
        players |= {name for name, line in state.nominated_for.items() if line in found[0].names}
        players |= {*(found[0].result or {"players": ()})["players"]}
        must(not (by_letter and state.organiser and state.organiser.name in players), "the organiser plays in it")
        found[0].annulled = True


def restored(state: Tournament, entry: Entry) -> None:
    must(entry.body["generation"] > state.generation, "no later generation")
    state.generation = entry.body["generation"]


def too_few(state: Tournament) -> bool:
    return len(state.lines) < fewest(state.document)


def pairs_due(state: Tournament) -> tuple[list[Pairing], list[str], int] | None:
    """The matches that begin now, who is free, and how many pairs may meet again."""
    if state.challenge:
        return [Pairing(len(state.pairings) + 1, 1, state.challenge)], [], 0
    if state.form in ROUND_ROBINS:
        begin: list[Pairing] = []
        most = state.document["at_once"] or len(state.pairings)
        for one in [one for one in state.awaited if not one.match]:
            begun = [sum(name in other.names for other in begin) for name in one.names]
            if all(state.busy(name) + new < most for name, new in zip(one.names, begun, strict=True)):
                begin.append(one)
        return (begin, [], 0) if begin else None
    waited = any(one.round == state.round_now for one in state.awaited)
    return swiss_round(state) if state.round_to_come() and not waited else None


def swiss_round(state: Tournament) -> tuple[list[Pairing], list[str], int]:
    ranked, byes = state.ranked(), list[str]()
    for _ in range(len(ranked) % state.seats_at_each):
        byes.append(next((name for name in reversed(ranked) if name not in state.byes), ranked[-1]))
        ranked.remove(byes[-1])
    met = {(one, other) for at in state.pairings for one in at.names for other in at.names}
    tables, again = swiss(ranked, state.seats_at_each, lambda one, other: (one, other) in met)

    def first(name: str) -> int:
        return sum(one.names[0] == name for one in state.pairings)

    seated = [tuple(sorted(names, key=first)) for names in tables]
    number = state.round_now + 1
    return [Pairing(number, board, names) for board, names in enumerate(seated, start=1)], byes, again


def due(state: Tournament) -> str | None:
    """The type of the entry that must follow."""
    if state.closing or (state.full and state.form == "ladder"):
        return "ended"
    if state.phase == "open":
        return None
    if leaver(state):
        return "withdrawn"
    if too_few(state):
        return "ended"
    if pairs_due(state):
        return "paired"
    if state.form != "ladder" and not state.awaited and not state.round_to_come():
        return "ended"
    return None


def leaver(state: Tournament) -> Line | None:
    return next((state.lines[name] for name in state.playing_in() if state.lines[name].leaving), None)


def paired(state: Tournament, entry: Entry) -> None:
    made, body = pairs_due(state), entry.body
    unfinished = []
    if made is None:
        length = state.document["round"]
        must(state.round_to_come() and state.pairings and length, "no pairs are due")
        must(state.after(entry.time, "round", state.paired_at), "the round is not over")
        made = swiss_round(state)
    if state.form == "swiss":
        unfinished = [one.match for one in state.awaited]
    begin, byes, again = made
    matches = [one["match"] for one in body["pairs"]]
    known = [one.match for one in state.pairings]
    must(len({*matches}) == len(matches) and not {*matches} & {*known}, "a match that was named before")
    pairs = [{"round": one.round, "board": one.board, "players": list(one.names)} for one in begin]
    must(
        [{key: one[key] for key in one if key != "match"} for one in body["pairs"]] == pairs,
        "other pairs than follow",
    )
    made_body = {"byes": byes, "unfinished": unfinished, "rematches": again}
    must(all(body[key] == value for key, value in made_body.items()), "another round")
    for one, match in zip(begin, matches, strict=True):
        lines = [state.lines[name] for name in one.names]
        one.match, one.entry, one.began = match, entry.head, moment(entry.time)
        one.players, one.mails = tuple(line.player.name for line in lines), tuple(line.mail for line in lines)
        one.keys = tuple(line.keys for line in lines)
    if state.form not in ROUND_ROBINS:
        state.pairings += begin
    state.byes += byes
    state.challenge, state.paired_at = None, moment(entry.time)


def withdrawn(state: Tournament, entry: Entry) -> None:
    line = leaver(state)
    assert line
    games = "kept"
    if state.form in ROUND_ROBINS:
        counted = [one for one in state.pairings if line.name in one.names and not state.void(one)]
        games = "annulled" if 2 * sum(map(played, counted)) < len(counted) else "forfeited"
    must(entry.body == {"player": line.name, "why": line.leaving, "games": games}, "another withdrawal")
    line.out = games
    if line.name in state.ladder:
        state.ladder.remove(line.name)


def ended(state: Tournament, entry: Entry) -> None:
    full = "full" if state.full and state.form == "ladder" else ""
    reason = "ruled" if state.closing else full or ("too few" if too_few(state) else "played")
    must(entry.body == {"reason": reason, "table": table(state)}, "another end")
    state.phase, state.closing = "ended", False


KINDS: dict[str, Callable[[Tournament, Entry], None]] = {
    "entered": entered,
    "left": left,
    "challenged": challenged,
    "started": started,
    "result": result,
    "ruled": ruled,
    "restored": restored,
    "paired": paired,
    "withdrawn": withdrawn,
    "ended": ended,
}


def step(state: Tournament, entry: Entry, before: Entry | None) -> None:
    check_tournament_form(entry)
    state.before, state.last = state.last, moment(entry.time)
    if before is None:
        announced(state, entry)
        return
    must(entry.time >= before.time, "time runs backwards")
    must(state.phase != "ended" and entry.type in KINDS, f"{entry.type} cannot stand here")
    lengthens = entry.type in {"entered", "challenged", "ruled"} and entry.body.get("what") != "close"
    must(not (state.full and lengthens), "a full transcript")
    if state.form == "ladder":
        state.pass_late(state.last)
        state.sink(state.last)
    needed = due(state)
    must(needed in {None, entry.type}, f"{needed} must follow")
    must(needed or entry.type not in {"withdrawn", "ended"}, f"{entry.type} cannot stand here")
    KINDS[entry.type](state, entry)


def verified_tournament(content: bytes) -> Tournament:
    """The tournament as it stands at the end of a file that holds, without its matches."""
    path: str | None = None
    try:
        members = read_file(content, TOURNAMENT_LISTS, TOURNAMENT_PAPER)
        path = "tournament.jsonl"
        entries = read_transcript(members[path], path, "pbem tournament entry 1")
        must(entries[0].type == "announced", "not announced first")
        check_tournament_form(entries[0])
        path = "heads.txt"
        check_heads(entries, members[path], "pbem tournament head 1", "tournament")
    except (No, *UNREADABLE) as error:
        raise Wrong(None, path, str(error)) from error
    state = Tournament({name: paper for name, paper in members.items() if name not in TOURNAMENT_LISTS})
    before: Entry | None = None
    for entry, line in zip(entries, members["tournament.jsonl"].splitlines(), strict=True):
        with judging(entry):
            step(state, entry, before)
        before = entry
        state.seq, state.octets = entry.seq, state.octets + len(line) + 1
    if state.phase != "ended" and (needed := due(state)):
        raise Wrong(len(entries) + 1, None, f"{needed} must follow")
    state.check_all_named(len(entries))
    return state
