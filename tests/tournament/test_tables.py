"""Tournaments whose matches have more than two seats: tables, byes, points by place, and lies about each."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.club import Club, names
from in_a_box.signed_club import SignedClub, signed_tournament
from msgspec.structs import replace
from tournament.forging import chained, checks, fails, forged, holds, verdict
from vectors.matches import THREE, TURNS

from pbem.games import Refused, Result
from pbem.tournament.crosstable import table
from pbem.tournament.tournament_entries import MatchResult
from pbem.tournament.tournament_terms import TournamentTerms
from verifier.conventions import No
from verifier.terms import check_tournament_terms
from verifier.tournament_state import meetings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GAME = "shoot-em-up"
LINES = "format: swiss\nseats: 3"
SIGNED = f"{LINES}\nboard: 5x5\nmax_turns: 1"
RAMS = (*TURNS[:2], "G: MFF\nH: LFF\nI: MFF")
"""Orders by which seat 3 rams itself out of the game."""


def started(count: int, lines: str = LINES) -> Club:
    club = Club(lines, names=names(count), game=GAME)
    club.start()
    return club


def points(club: Club) -> dict[str, int]:
    return {row.entrant: row.points for row in table(club.state)[0]}


def result(**said: Any) -> MatchResult:
    plain: dict[str, Any] = {
        "players": ("a", "b", "c"),
        "winners": (),
        "scores": (0, 0, 0),
        "reason": "rules",
        "turns": 1,
    }
    lists: dict[str, Any] = {"missed": (0, 0, 0), "silent": (), "resigned": (), "closed": "00"}
    return MatchResult(**(plain | lists | said))


class TestPoints:
    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ({"winners": (1,), "scores": (0, 2, 5)}, (4, 0, 2)),  # a winner is above all, whatever the scores
            ({"winners": (2,), "scores": (3, 3, 3)}, (1, 4, 1)),
            ({"winners": (1, 3), "scores": (1, 9, 2)}, (3, 0, 3)),
            ({"winners": (1, 2, 3), "scores": (1, 9, 2)}, (2, 2, 2)),
            ({"winners": (1, 2, 3), "turns": 0}, (0, 0, 0)),
            ({"winners": (1,), "turns": 0}, (4, 1, 1)),
            ({"scores": (1, 2, 3), "reason": "abandoned"}, (0, 0, 0)),
            ({"scores": (1, 2, 3), "reason": "operator: so it is", "silent": (1,)}, (0, 0, 0)),
            ({"scores": (9, 2, 3), "reason": "forfeit", "silent": (1,)}, (0, 3, 3)),
            ({"scores": (9, 2, 3), "reason": "resignation", "resigned": (1,), "turns": 0}, (0, 3, 3)),
            ({"reason": "forfeit", "silent": (1, 2, 3)}, (0, 0, 0)),
            ({"reason": "resignation"}, (0, 0, 0)),
        ],
    )
    def test_each_seat_against_each(self, said: Mapping[str, Any], expected: Sequence[int]) -> None:
        made = result(**said)
        assert made.points == tuple(expected)
        body = {key: [*value] if isinstance(value, tuple) else value for key, value in said.items()}
        plain = {"players": ["a", "b", "c"], "winners": [], "scores": [0] * 3, "reason": "rules", "turns": 1}
        assert meetings(plain | {"silent": [], "resigned": []} | body) == [[*row] for row in made.meetings]

    @pytest.mark.parametrize("winners", [(1,), (2,), (1, 2)])
    def test_of_two_the_scores_do_not_matter(self, winners: tuple[int, ...]) -> None:
        assert len({Result(winners, scores).places for scores in ((0, 0), (5, 1), (1, 5))}) == 1

    def test_places_where_nobody_won_are_equal(self) -> None:
        assert Result((), (3, 1, 2)).places == (1, 1, 1)
        assert Result((2,), (3, 1, 3)).places == (2, 1, 2)

    def test_tie_breaks_take_each_two_of_a_table_as_a_meeting(self) -> None:
        club = started(6, f"{LINES}\nrounds: 1")
        one, other = club.awaited
        club.over(one.match, 1, scores=(9, 4, 2))
        club.over(other.match, 2, scores=(5, 8, 5))
        assert club.state.phase == "ended"
        rows = {row.entrant: row for row in table(club.state)[0]}
        won, second, third = (rows[name] for name in one.names)
        assert (won.points, second.points, third.points) == (4, 2, 0)
        assert (won.sonneborn, second.sonneborn, third.sonneborn) == (2 * 2 + 2 * 0, 2 * 0, 0)
        assert (won.buchholz, second.buchholz, third.buchholz) == (2, 4, 4)
        assert (won.wins, second.wins, third.wins) == (2, 1, 0)
        level = [rows[name] for name in other.names if name != other.names[1]]
        assert [(row.points, row.direct) for row in level] == [(1, 1), (1, 1)]


class TestRounds:
    def test_tables_byes_and_seats(self) -> None:
        club = started(11, f"{LINES}\nrounds: 4")
        assert club.state.rounds == 4
        while club.state.phase != "ended":
            for pairing in club.awaited:
                club.over(pairing.match, 1, scores=(3, 2, 1))
        byes = club.state.byes
        assert (len(byes), len({*byes})) == (8, 8)
        played = Counter(name for pairing in club.state.pairings for name in pairing.names)
        assert {played[name] + byes.count(name) for name in names(11)} == {4}
        assert {len(pairing.names) for pairing in club.state.pairings} == {3}
        assert club.folded() == club.state

    def test_the_lot_makes_the_first_tables_from_the_top(self) -> None:
        club = started(9)
        drawn = [entrant.name for entrant in sorted(club.state.live, key=lambda each: each.ordinal)]
        assert [name for pairing in club.awaited for name in pairing.names] == drawn
        assert club.state.rounds == 2, "by default, as many as three to that power may hold"

    def test_a_bye_is_worth_a_win_against_all(self) -> None:
        club = started(8)
        assert {points(club)[name] for name in club.state.byes} == {4}

    def test_who_is_withdrawn_plays_on_and_gets_no_other_table(self) -> None:
        club = started(9, f"{LINES}\nrounds: 3")
        first = club.awaited[0]
        club.leave(first.names[0])
        assert first in club.awaited
        for pairing in club.awaited:
            club.over(pairing.match, 1, scores=(3, 2, 1))
        assert points(club)[first.names[0]] == 4
        again = [pairing for pairing in club.awaited if first.names[0] in pairing.names]
        assert (again, len(club.awaited), len(club.state.byes)) == ([], 2, 2)

    def test_two_matches_of_silence_withdraw(self) -> None:
        club = started(9, f"{LINES}\nrounds: 3")
        sleeper = club.awaited[0].names[2]
        for _ in range(2):
            for pairing in club.awaited:
                seat = pairing.names.index(sleeper) + 1 if sleeper in pairing.names else 0
                if seat:
                    club.over(pairing.match, 0, reason="forfeit", silent=[seat])
                    assert [points(club)[name] for name in pairing.names if name != sleeper]
                else:
                    club.over(pairing.match, 1)
        assert points(club)[sleeper] == 0
        assert club.state.entrants[sleeper].out == "kept"
        assert all(sleeper not in pairing.names for pairing in club.awaited)

    def test_it_ends_when_too_few_are_left_for_a_table(self) -> None:
        club = started(6, f"{LINES}\nrounds: 3")
        for name in names(6)[2:]:
            club.leave(name)
        for pairing in club.awaited:
            club.over(pairing.match, 1)
        assert (club.state.phase, club.state.round) == ("ended", 1)
        assert club.folded() == club.state

    def test_too_few_do_not_begin(self) -> None:
        club = started(5)
        assert club.entries[-1].body["reason"] == "too few"

    def test_an_annulled_match_counts_for_nobody(self) -> None:
        club = started(9)
        first = club.awaited[0]
        club.over(first.match, 1, scores=(3, 2, 1))
        club.rule(what="annul", match=first.match)
        assert {points(club)[name] for name in first.names} == {0}


class TestTerms:
    @pytest.mark.parametrize(
        ("lines", "fault"),
        [
            ("seats: 3", "the format round robin has no option `seats`"),
            ("format: ladder\nseats: 3", "the format ladder has no option `seats`"),
            ("format: swiss\nseats: 5", "is for 2 or 3 or 4 players: format: swiss, and seats"),
            ("format: swiss\nseats: 1", "seats is a number from 2 to 20"),
            ("format: swiss\nseats: 3\nentrants: 5", "entrants is a number from 6 to 128"),
            ("format: swiss\nseats: 3\nkind: scored\ngames: 2", "in a tournament, kind is single"),
            ("format: swiss\nseats: 3\nunreachable: stands", "in a tournament, unreachable is loses"),
        ],
    )
    def test_what_cannot_be_played_is_refused(self, lines: str, fault: str) -> None:
        with pytest.raises(Refused, match=fault):
            Club(lines, game=GAME)


def signed(*players: str, lines: str = SIGNED) -> SignedClub:
    club = SignedClub(lines, *players, game=GAME)
    club.start()
    return club


def played_out(club: SignedClub, match: str, third: Sequence[str] = RAMS) -> None:
    club.set_up(match, *THREE.values())
    club.order(match, 1, *third)


@pytest.fixture(scope="module")
def tables() -> SignedClub:
    """Eight at tables of three, three rounds: a shared win, a draw of all, silence, a resignation, one who leaves."""
    club = signed(*names(8), lines=f"{SIGNED}\nrounds: 3")
    one, two = club.matches
    played_out(club, one)
    club.set_up(two, *[*THREE.values()][:2])
    club.leave(club.state.pairings[0].names[2])
    club.now += timedelta(days=30)
    club.fall_silent(two)
    three, four = [*club.matches][2:]
    club.resign(three, 1)
    played_out(club, four, TURNS)
    (five, *_) = [*club.matches][4:]
    played_out(club, five)
    for match in [*club.matches][5:]:
        played_out(club, match, TURNS)
    return club


class TestProof:
    def test_both_verifiers_find_it_true(self, tables: SignedClub) -> None:
        assert tables.state.phase == "ended"
        found = {check.what: check.found for check in holds(tables.tournament(), tables.bundles())}
        assert found["m1"].endswith(" 3 : 3 : 0")
        assert found["m2"].endswith(" 3 : 3 : 0"), "who was silent has nothing, and the others share"
        assert found["m3"].endswith(" 0 : 3 : 3"), "so has who resigned"
        assert found["m4"].endswith(" 2 : 2 : 2")

    def test_a_match_that_is_not_over_counts_as_a_draw_of_all_in_the_next_round(self) -> None:
        club = signed(*names(9), lines=f"{SIGNED}\nround: 7d\nrounds: 2")
        late, *others = club.matches
        for match in others:
            played_out(club, match, TURNS)
        club.now += timedelta(days=7)
        step = club.step()
        step.wake()
        club.took(step)
        assert club.entries[-1].body["unfinished"] == [late]
        order = next(entry.body["order"] for entry in club.entries if entry.type == "started")
        tables = [{*pairing.names} for pairing in club.state.pairings if pairing.round == 2]
        assert order[0] in tables[0], "nine are level, and the lot decides"
        assert tables[0] == {order[0], order[3], order[6]}
        holds(club.tournament(), club.bundles())

    def test_lies_about_tables_their_order_and_byes(self, tables: SignedClub) -> None:
        at = next(at for at, entry in enumerate(tables.entries) if entry.type == "paired")
        body = tables.entries[at].body
        one, two = body["pairs"]
        exchanged = [
            {**one, "players": [*one["players"][:2], two["players"][2]]},
            {**two, "players": [*two["players"][:2], one["players"][2]]},
        ]
        seats = [{**one, "players": one["players"][::-1]}, two]
        free = [{**one, "players": [*one["players"][:2], body["byes"][0]]}, two]
        for lie in (exchanged, seats, [one], free):
            fails(forged(tables, at, pairs=lie), f"entry {at + 1}: paired: `pairs`: not what follows")
        for byes in ([], body["byes"][:1], body["byes"][::-1], [*body["byes"], "p01"]):
            fails(forged(tables, at, byes=byes), f"entry {at + 1}: paired: `byes`: not what follows")

    def test_lies_about_points(self, tables: SignedClub) -> None:
        last = len(tables.entries) - 1
        (rows,) = tables.entries[-1].body["table"]
        for key in ("points", "direct", "sonneborn", "buchholz", "wins"):
            more = [{**rows[0], key: rows[0][key] + 1}, *rows[1:]]
            fails(forged(tables, last, table=[more]), "`table`: not what follows")
        assert [row["points"] for row in rows] == sorted((row["points"] for row in rows), reverse=True)
        for at, (upper, lower) in enumerate(pairwise(rows)):
            swapped = [*rows[:at], lower, upper, *rows[at + 2 :]]
            fails(forged(tables, last, table=[swapped]), "`table`: not what follows")

    @pytest.mark.parametrize(
        ("match", "lie"),
        [
            ("m1", {"winners": [1]}),
            ("m1", {"scores": [3, 2, 0]}),
            ("m2", {"silent": []}),
            ("m2", {"silent": [2]}),
            ("m3", {"resigned": [2]}),
            ("m3", {"reason": "forfeit"}),
        ],
    )
    def test_lies_about_a_result(self, tables: SignedClub, match: str, lie: dict[str, Any]) -> None:
        at = next(at for at, one in enumerate(tables.entries) if one.body.get("match") == match)
        entries = [*tables.entries[:at], replace(tables.entries[at], body={**tables.entries[at].body, **lie})]
        content = signed_tournament(chained(entries), tables.papers)
        assert "convicted" in {verdict(checks(content, [bundle])) for bundle in tables.bundles()}

    @pytest.mark.parametrize("key", ["players", "scores", "missed"])
    def test_a_result_of_other_seats(self, tables: SignedClub, key: str) -> None:
        at = next(at for at, entry in enumerate(tables.entries) if entry.type == "result")
        fails(forged(tables, at, **{key: tables.entries[at].body[key][:2]}), "not the result of these seats")
        fails(forged(tables, at, resigned=[4]), "not the result of these seats")

    @pytest.mark.parametrize("seats", [1, 64, "3", True])
    def test_terms_with_impossible_seats(self, tables: SignedClub, seats: object) -> None:
        terms = {**tables.entries[0].body["terms"], "seats": seats}
        with pytest.raises((TypeError, ValueError)):
            TournamentTerms.read(terms)
        with pytest.raises(No):
            check_tournament_terms(terms)

    def test_terms_that_say_two_seats_in_vain(self, tables: SignedClub) -> None:
        """Terms say nothing of pairs: else the same terms had two hashes."""
        terms = {**tables.entries[0].body["terms"], "seats": 2, "entrants": 16}
        assert TournamentTerms.read(terms).document() != terms
        with pytest.raises(No):
            check_tournament_terms(terms)

    @pytest.mark.parametrize("of_match", [{"kind": "scored", "games": 2}, {"unreachable": "stands"}])
    def test_terms_by_which_one_ends_a_match_for_all(self, tables: SignedClub, of_match: dict[str, Any]) -> None:
        """The second verifier knows them, too, whatever the letter of the organiser says."""
        terms = tables.entries[0].body["terms"]
        check_tournament_terms(terms)
        with pytest.raises(No):
            check_tournament_terms({**terms, "match": {**terms["match"], **of_match}})
