"""The fold of a tournament: what each entry does to it.

The server and verifiers run this over the same entries. An entry with a cause of its own (a letter, a match that is
over, the time) is judged by its rule here; whether its letter says so, and whether its match ended so, is proved in
`pbem.proof.tournament_proof`. All other entries follow from those before (`following`), and the fold takes no others.
Implements docs/bundle.md, 12.3.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.pinned_keys import Player
from pbem.match.transcript import VERSION, TranscriptError, is_time, sha256_hex, utc, written
from pbem.phrase import Phrase
from pbem.tournament.crosstable import drawn, round_robin
from pbem.tournament.following import follows
from pbem.tournament.tournament_entries import FORMS, MatchResult
from pbem.tournament.tournament_state import Entrant, Pairing, Tournament
from pbem.tournament.tournament_terms import DOUBLE, LADDER, SWISS, TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.json_object import JsonObject
    from pbem.match.transcript import Entry

_AUTOMATIC = ("paired", "withdrawn", "ended")
_LENGTHENING = ("entered", "challenged", "ruled")
"""The entries that a full transcript does not take, except for the ruling that ends it."""

_SILENCE = 2
"""The number of matches in a row, lost by silence, after which a player is withdrawn."""


def _refused(what: str, token: str | None, says: Phrase) -> Refused:
    return Refused(Fault(what, token, says))


def _untrue(entry: Entry, reason: str) -> TranscriptError:
    return TranscriptError(entry.seq, None, f"{entry.type}: {reason}")


def begun(entry: Entry) -> Tournament:
    """The tournament that an entry announces; raises `Refused` and ValueError."""
    body = entry.body
    if entry.type != "announced" or entry.seq != 1 or body.get("register") != VERSION:
        raise ValueError("not the beginning of a tournament")
    if not FORMS["announced"](body) or not is_time(entry.time):
        raise ValueError("not the form of an announcement")
    terms = TournamentTerms.read(body["terms"])
    ladder = terms.format == LADDER
    if terms.document() != body["terms"] or (body["secret"] is None) != ladder:
        raise ValueError("not the terms of a tournament")
    if terms.hash(body["server"], body["tournament"]) != body["rules"]:
        raise ValueError("the hash is not that of the terms")
    if entry.time < body["received"]:
        raise ValueError("its letter was received after it")
    terms.demand_open(utc(entry.time))
    tournament = Tournament(
        body["tournament"],
        body["server"],
        body["server_key"],
        terms,
        body["rules"],
        body["secret"],
        Player.read(body["organiser"]),
        "playing" if ladder else "open",
    )
    return _passed(tournament, entry)


def fold(tournament: Tournament, entry: Entry) -> Tournament:
    """The tournament after one more entry.

    Raises `Refused` for what a letter may not ask for here, and `TranscriptError` for what no honest server writes.
    """
    body = entry.body
    if tournament.phase == "ended":
        raise _refused(entry.type, tournament.id, Phrase("the tournament is over"))
    if (
        entry.type not in _APPLY
        or not FORMS[entry.type](body)
        or not is_time(entry.time)
        or entry.time < tournament.time
    ):
        raise _untrue(entry, "not an entry of a tournament in its form and its time")
    if entry.time < body.get("received", ""):
        raise _untrue(entry, "its letter was received after its effect")
    if tournament.is_full and entry.type in _LENGTHENING and body.get("what") != "close":
        raise _refused(entry.type, tournament.id, Phrase("the transcript of this tournament is full"))
    if _once(body) & tournament.heard:
        raise _refused(entry.type, None, Phrase("these words were obeyed before"))
    if tournament.terms.format == LADDER:
        tournament = _sunk(_without_late(tournament, entry.time), entry.time)
    _demand_following(tournament, entry)
    return _passed(_APPLY[entry.type](tournament, entry), entry)


def _demand_following(tournament: Tournament, entry: Entry) -> None:
    """Raise `TranscriptError` if another entry must stand here, or this one follows only by itself, and does not."""
    body = entry.body
    due = follows(tournament) or (follows(tournament, entry.time) if entry.type in _AUTOMATIC else None)
    if (due is not None or entry.type in _AUTOMATIC) and due != (entry.type, _unnamed(body)):
        if due is None or due[0] != entry.type:
            raise _untrue(entry, f"`{due[0]}` should stand here" if due else "nothing of the kind follows here")
        wrong = ", ".join(key for key in due[1] if due[1][key] != _unnamed(body)[key])
        raise _untrue(entry, f"`{wrong}`: not what follows from the entries before")


def _passed(tournament: Tournament, entry: Entry) -> Tournament:
    heard = tournament.heard | _once(entry.body)
    octets = tournament.octets + len(entry.canonical()) + 1
    return replace(tournament, seq=entry.seq, head=entry.head, time=entry.time, octets=octets, heard=heard)


def _once(body: JsonObject) -> set[str]:
    """The hash of what counts once: signed words; without a key, many say the same, and it is the letter."""
    return {body["mail" if "evidence" in body else "words"]} if "words" in body else set()


def _unnamed(body: JsonObject) -> JsonObject:
    """The body of an entry without the names of the matches that begin, which are the server's to give."""
    if "pairs" not in body:
        return body
    return {**body, "pairs": [{key: pair[key] for key in pair if key != "match"} for pair in body["pairs"]]}


# What each entry does.


def _entered(tournament: Tournament, entry: Entry) -> Tournament:
    """A letter of entry: of somebody new, of a substitute, or again, because the keys of its player changed."""
    body = entry.body
    player = Player.read(body["player"])
    signed: dict[str, Any] = {"player": player, "mail": body["mail"], "words": body["words"]}
    nominated_for = tournament.entrants.get(tournament.nominated.get(player.name, ""))
    entrant = nominated_for
    if entrant is None or entrant.out:
        entrant = tournament.entrant_of(player.name)
    closed = tournament.closed_to(body["received"])
    if closed or (entrant is None and tournament.phase != "open" and tournament.terms.format != LADDER):
        says = Phrase("entries are closed") if closed else Phrase("the tournament has begun")
        raise _refused("enter", tournament.id, says)
    # Whoever is in first plays on: no other nominee displaces a substitute.
    taken = nominated_for.name if nominated_for is not None else None
    nominated = {
        name: other for name, other in tournament.nominated.items() if name != player.name and other != taken
    }
    entered = {**tournament.entered, player.name: tournament.entered.get(player.name, 0) + 1}
    tournament = replace(tournament, nominated=nominated, entered=entered)
    if entrant is not None:
        if body["team"] not in {None, entrant.team}:
            raise _refused("team", body["team"], Phrase("the team of an entry does not change"))
        silent = entrant.silent if entrant.player.name == player.name else 0
        return _with(tournament, replace(entrant, **signed, silent=silent))
    return _with_new(tournament, Entrant(player.name, **signed, team=body["team"], active=entry.time))


def _with_new(tournament: Tournament, entrant: Entrant) -> Tournament:
    """The tournament with one more entrant."""
    if entrant.name in tournament.entrants and not tournament.entrants[entrant.name].out:
        raise _refused("enter", entrant.name, Phrase("somebody else plays on in this place"))
    if len(tournament.live) >= tournament.terms.entrants:
        raise _refused("enter", tournament.id, Phrase("the tournament is full"))
    ordinal = max((entrant.ordinal for entrant in tournament.entrants.values()), default=0) + 1
    ladder = (*tournament.ladder, entrant.name) if tournament.terms.format == LADDER else ()
    return replace(_with(tournament, replace(entrant, ordinal=ordinal)), ladder=ladder)


def _with(tournament: Tournament, *entrants: Entrant) -> Tournament:
    return replace(tournament, entrants={**tournament.entrants, **{entrant.name: entrant for entrant in entrants}})


def _entrant_of(tournament: Tournament, player: str) -> Entrant:
    entrant = tournament.entrant_of(player)
    if entrant is None:
        raise _refused("enter", tournament.id, Phrase("{player} is not in the tournament", player=player))
    return entrant


def _left(tournament: Tournament, entry: Entry) -> Tournament:
    entrant = _entrant_of(tournament, entry.body["player"])
    if tournament.phase == "open" and not tournament.closed_to(entry.body["received"]):
        return replace(
            tournament, entrants={name: other for name, other in tournament.entrants.items() if name != entrant.name}
        )
    return _with(tournament, replace(entrant, leaves="left"))


def _challenged(tournament: Tournament, entry: Entry) -> Tournament:
    """A challenge in a ladder: to one who is not too far above, and not met too lately.

    The other's matches do not matter: with friends as challengers, one could always have another to play.
    """
    if tournament.terms.format != LADDER:
        raise _refused("challenge", tournament.id, Phrase("nobody is challenged in this tournament: it is no ladder"))
    own, other = (_entrant_of(tournament, entry.body[key]).name for key in ("player", "against"))
    if not 0 < tournament.ladder.index(own) - tournament.ladder.index(other) <= tournament.terms.places:
        says = Phrase(
            "you may challenge those who are up to {places} places above you", places=tournament.terms.places
        )
        raise _refused("challenge", other, says)
    playing = list(tournament.awaited)
    if any(pairing.names[0] == own for pairing in playing):
        raise _refused("challenge", other, Phrase("one challenge at a time: yours is not over"))
    met = max((each.over for each in tournament.pairings if own in each.names and other in each.names), default="")
    if (
        any({own, other} == {*pairing.names} for pairing in playing)
        or _later(met, tournament.terms.rematch) > entry.time
    ):
        raise _refused("challenge", other, Phrase("you two have met too lately, or play already"))
    return replace(tournament, challenge=(own, other))


def _later(time: str, seconds: int) -> str:
    return written(utc(time) + timedelta(seconds=seconds)) if time else ""


def can_start(tournament: Tournament, time: str) -> bool:
    """True if a tournament may start at this time: entries are closed, or it is full."""
    full = len(tournament.entrants) == tournament.terms.entrants
    return (
        tournament.phase == "open"
        and tournament.terms.closes is not None
        and (full or time >= tournament.terms.closes)
    )


def _started(tournament: Tournament, entry: Entry) -> Tournament:
    """Entries are closed: the lot is drawn."""
    body, terms = entry.body, tournament.terms
    if not can_start(tournament, entry.time):
        raise _untrue(entry, "entries are not closed, or the tournament has begun")
    if sha256_hex(body["secret"].encode()) != tournament.secret_hash:
        raise _untrue(entry, "`secret`: not the one to which the server committed itself")
    entries = {name: entrant.words for name, entrant in tournament.entrants.items()}
    order = drawn(tournament.rules_hash, body["secret"], entries)
    if order != body["order"]:
        raise _untrue(entry, "`order`: not the one that the lot gives")
    tournament = _with(
        tournament, *(replace(tournament.entrants[name], ordinal=at) for at, name in enumerate(order, start=1))
    )
    tournament = replace(tournament, phase="playing")
    if len(order) < terms.fewest:
        return tournament
    if terms.format == SWISS:
        fewest = next(number for number in count(1) if terms.seats**number >= len(order))
        return replace(tournament, rounds=min(terms.rounds or fewest, fewest + 2))
    table_ = round_robin(tournament.groups, double=terms.format == DOUBLE)
    return replace(tournament, pairings=tuple(Pairing(*place) for place in table_))


def _paired(tournament: Tournament, entry: Entry) -> Tournament:
    """Matches begin."""
    known = {(pairing.round, pairing.board): pairing for pairing in tournament.pairings}
    names = [pair["match"] for pair in entry.body["pairs"]]
    if len(set(names)) < len(names) or any(tournament.pairing_of(name) for name in names):
        raise _untrue(entry, "a match twice")
    for pair in entry.body["pairs"]:
        place, entrants = (pair["round"], pair["board"]), [tournament.entrants[name] for name in pair["players"]]
        known[place] = Pairing(
            *place,
            tuple(pair["players"]),
            pair["match"],
            entry.head,
            _later(entry.time, tournament.terms.longest) if tournament.terms.format == LADDER else "",
            tuple(entrant.player for entrant in entrants),
            tuple(entrant.mail for entrant in entrants),
        )
    tournament = replace(tournament, pairings=tuple(known.values()), challenge=None)
    if tournament.terms.format == SWISS:
        ends = _later(entry.time, tournament.terms.round) if tournament.terms.round else ""
        byes = (*tournament.byes, *entry.body["byes"])
        tournament = replace(tournament, round=tournament.round + 1, round_ends=ends, byes=byes)
    return tournament


def _resulted(tournament: Tournament, entry: Entry) -> Tournament:
    """A match is over."""
    pairing = tournament.pairing_of(entry.body["match"])
    if pairing is None or pairing.result is not None:
        raise _untrue(entry, f"no result of {entry.body['match']} is awaited")
    result = MatchResult.read(entry.body)
    seats, named = len(pairing.names), (*result.winners, *result.silent, *result.resigned)
    lists = (result.players, result.missed, result.scores)
    if any(len(each) != seats for each in lists) or any(seat > seats for seat in named):
        raise _untrue(entry, "not the result of these seats")
    # Whoever fell silent again is to be withdrawn, but no substitute for the silence of the player before.
    entrants = []
    for seat, name in enumerate(pairing.names, start=1):
        entrant = tournament.entrants[name]
        is_own = pairing.players[seat - 1] == entrant.player.name
        silent = entrant.silent + is_own if seat in result.silent else 0
        leaves = entrant.leaves or ("silent" if silent >= _SILENCE and not entrant.out else "")
        entrants.append(replace(entrant, silent=silent, leaves=leaves, active=entry.time))
    told = {"result": result, "over": entry.time, "before": tournament.time}
    return _ranked(_changed(_with(tournament, *entrants), pairing, **told), pairing, result)


def _changed(tournament: Tournament, pairing: Pairing, **changes: object) -> Tournament:
    changed = replace(pairing, **changes)
    return replace(tournament, pairings=tuple(changed if each is pairing else each for each in tournament.pairings))


def _ranked(tournament: Tournament, pairing: Pairing, result: MatchResult) -> Tournament:
    """In a ladder, a challenger who won takes the place of the other, and those between move down."""
    if result.winners != (1,) or not {*pairing.names} <= {*tournament.ladder} or pairing.annulled:
        return tournament
    challenger, other = pairing.names
    if tournament.ladder.index(challenger) < tournament.ladder.index(other):
        return tournament
    rest = [name for name in tournament.ladder if name != challenger]
    rest.insert(rest.index(other), challenger)
    return replace(tournament, ladder=tuple(rest))


def _without_late(tournament: Tournament, time: str) -> Tournament:
    """A ladder in which nobody waits for matches that last too long; nobody sinks because of them.

    Their results count nevertheless, or whoever plays slowly would keep the place.
    """
    for pairing in [pairing for pairing in tournament.awaited if pairing.until <= time]:
        entrants = [tournament.entrants[name] for name in pairing.names]
        active = [replace(entrant, active=max(entrant.active, pairing.until)) for entrant in entrants]
        tournament = _changed(_with(tournament, *active), pairing, late=True)
    return tournament


def _sunk(tournament: Tournament, time: str) -> Tournament:
    """A ladder in which those who have not played for long have sunk to the end, one after the other."""
    playing = {name for pairing in tournament.awaited for name in pairing.names}
    resting = {name: tournament.entrants[name].active for name in tournament.ladder if name not in playing}
    # Hardly ever anybody sinks, and this is asked before each of thousands of entries.
    if not resting or (utc(time) - utc(min(resting.values()))).total_seconds() < tournament.terms.idle:
        return tournament
    sunk = []
    for name, active in resting.items():
        # Made-up times may be thousands of years apart: it is counted how often a line sank, not sunk as often.
        times = int((utc(time) - utc(active)).total_seconds()) // tournament.terms.idle
        if times > 0:
            sunk.append((_later(active, times * tournament.terms.idle), name))
    sunk.sort()
    entrants = [replace(tournament.entrants[name], active=last) for last, name in sunk]
    gone = {name for _, name in sunk}
    ladder = (*(name for name in tournament.ladder if name not in gone), *(name for _, name in sunk))
    return replace(_with(tournament, *entrants), ladder=ladder)


def _ruled(tournament: Tournament, entry: Entry) -> Tournament:
    """A bare word, with its reason: a match does not count, a substitute plays on, or the tournament ends."""
    body = entry.body
    if not body["reason"]:
        raise _refused("reason", None, Phrase("a ruling has a reason"))
    if "organiser" in body:
        organiser = Player.read(body["organiser"])
        if organiser.name != tournament.organiser.name:
            raise _untrue(entry, "`organiser`: somebody else")
        tournament = replace(tournament, organiser=organiser)
    if body["what"] == "close":
        return replace(tournament, closing=True)
    if body["what"] == "substitute":
        entrant = _entrant_of(tournament, body["for"])
        if tournament.entrant_of(body["player"]) or body["player"] in tournament.entrants:
            says = Phrase("{player} has, or had, a place in the tournament", player=body["player"])
            raise _refused("rule", body["player"], says)
        if tournament.nominated.get(body["player"]) == entrant.name:
            says = Phrase("{player} is nominated for this place", player=body["player"])
            raise _refused("rule", body["player"], says)
        return replace(tournament, nominated={**tournament.nominated, body["player"]: entrant.name})
    pairing = tournament.pairing_of(body["match"])
    if pairing is None or pairing.annulled:
        raise _refused("rule", body["match"], Phrase("this is no match of the tournament that counts"))
    if body["by"] == "organiser" and tournament.organiser.name in _concerned(tournament, pairing):
        raise _refused("rule", body["match"], Phrase("nobody rules on a match of one's own; ask the operator"))
    return _changed(tournament, pairing, annulled=True)


def _concerned(tournament: Tournament, pairing: Pairing) -> set[str]:
    """The players whose match this is, was, or is to be."""
    concerned = {*pairing.players, *(tournament.entrants[name].player.name for name in pairing.names)}
    concerned |= {name for name, place in tournament.nominated.items() if place in pairing.names}
    return concerned | ({*pairing.result.players} if pairing.result is not None else set())


def _restored(tournament: Tournament, entry: Entry) -> Tournament:
    """The server was restored from a backup: what came after that is forgotten, and these heads are others."""
    if entry.body["generation"] <= tournament.generation:
        raise _untrue(entry, "`generation`: not a later one")
    return replace(tournament, generation=entry.body["generation"], restored=entry.seq)


def _withdrawn(tournament: Tournament, entry: Entry) -> Tournament:
    name = entry.body["player"]
    ladder = tuple(other for other in tournament.ladder if other != name)
    return replace(_with(tournament, replace(tournament.entrants[name], out=entry.body["games"])), ladder=ladder)


def _ended(tournament: Tournament, _entry: Entry) -> Tournament:
    return replace(tournament, phase="ended")


_APPLY: Mapping[str, Callable[[Tournament, Entry], Tournament]] = {
    "entered": _entered,
    "left": _left,
    "challenged": _challenged,
    "started": _started,
    "paired": _paired,
    "result": _resulted,
    "ruled": _ruled,
    "restored": _restored,
    "withdrawn": _withdrawn,
    "ended": _ended,
}
