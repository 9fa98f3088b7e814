"""Tournaments from announcement to end: who may enter, what leaving and silence cost, what is refused."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from in_a_box.club import LOST, SECRET, WON, Club, names, refolded
from msgspec.structs import replace

from pbem.games import Refused
from pbem.match.transcript import TranscriptError, sha256_hex
from pbem.tournament import tournament_state
from pbem.tournament.crosstable import drawn, table
from pbem.tournament.fold import begun
from pbem.tournament.tournament_terms import TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.tournament.tournament_state import Pairing

LADDER = "format: ladder"


def points(club: Club) -> dict[str, int]:
    return {row.entrant: row.points for group in table(club.state) for row in group}


def ended(club: Club) -> str | None:
    return club.entries[-1].body["reason"] if club.state.phase == "ended" else None


def next_of(club: Club, name: str) -> Pairing:
    """The next game of this line; others are played until it begins."""
    while True:
        found = next((pairing for pairing in club.awaited if name in pairing.names), None)
        if found is not None:
            return found
        club.over(club.awaited[0].match, 0)


class TestEntering:
    def test_it_starts_when_entries_close_or_it_is_full(self) -> None:
        club = Club("entrants: 3", names=("ann", "bob"))
        with pytest.raises(TranscriptError, match="not closed"):
            club.step().start(SECRET)
        club.enter("carl")
        with pytest.raises(Refused, match="is full"):
            club.enter("dora")
        step = club.step()
        step.start(SECRET)
        assert [entry.type for entry in step.entries] == ["started", "paired"]

    def test_a_player_with_other_keys_enters_again(self) -> None:
        club = Club("at-once: 1", names=names(4))
        club.start()
        before = club.state.entrants["p01"]
        club.enter("p01")
        after = club.state.entrants["p01"]
        assert (after.ordinal, after.team) == (before.ordinal, before.team)
        assert after.mail != before.mail
        with pytest.raises(Refused, match="does not change"):
            club.enter("p01", team="reds")
        for pairing in club.awaited:
            club.over(pairing.match, 0)
        later = next_of(club, "p01")
        assert later.mails[later.names.index("p01")] == after.mail


class TestTheLot:
    def test_it_is_as_specified(self) -> None:
        """Octet for octet, as docs/bundle.md says."""
        club = Club(names=("bob", "ann", "carl"))
        words = {entry.body["player"]["name"]: entry.body["words"] for entry in club.entries[1:]}
        club.start()
        rules = club.entries[0].body["rules"]
        lines = f"pbem lot 1\n{rules}\n{SECRET}\nann {words['ann']}\nbob {words['bob']}\ncarl {words['carl']}\n"
        seed = sha256_hex(lines.encode())
        started = next(entry for entry in club.entries if entry.type == "started")
        assert started.body["order"] == sorted(words, key=lambda name: sha256_hex(f"{seed} {name}\n".encode()))
        assert club.entries[0].body["secret"] == sha256_hex(SECRET.encode())

    def test_the_vector_of_the_specification(self) -> None:
        words = {name: f"{number:02}" * 32 for number, name in enumerate(("ann", "bob", "carl"), start=1)}
        lines = ("pbem lot 1", "a" * 64, "5e" * 32, *(f"{name} {hash_}" for name, hash_ in words.items()))
        seed = sha256_hex("".join(f"{line}\n" for line in lines).encode())
        order = ", ".join(drawn("a" * 64, "5e" * 32, words))
        assert f"`{seed}`, the order {order}." in (Path(__file__).parents[2] / "docs" / "bundle.md").read_text()


class TestRoundRobins:
    @pytest.mark.parametrize("most", [1, 2, 3])
    def test_nobody_has_more_games_at_once_than_the_terms_say(self, most: int) -> None:
        club = Club(f"at-once: {most}", names=names(6))
        club.start()
        under_way: list[int] = []
        while club.awaited:
            under_way.append(max(Counter(name for pairing in club.awaited for name in pairing.names).values()))
            club.over(club.awaited[0].match, 0)
        assert max(under_way) == under_way[0] == most
        assert len(under_way) == 15, "each with each"

    def test_two_may_fall_silent_with_one_match(self) -> None:
        club = Club(names=names(3))
        club.start()
        for pairing in club.awaited:
            club.over(pairing.match, 0, reason="abandoned", turns=0, silent=[1, 2])
        # The third has no games left that count: it finished no fewer than half of them.
        assert sorted(entrant.out for entrant in club.state.entrants.values()) == [
            "annulled",
            "annulled",
            "forfeited",
        ]
        assert ended(club) == "played"


class TestResults:
    def test_nothing_follows_the_end(self) -> None:
        club = Club(names=names(3))
        club.start()
        last = club.awaited[0].match
        for pairing in club.awaited:
            entries = club.played(pairing.match, WON)
            club.over(pairing.match, WON)
        step = club.step()
        step.take(entries)
        step.wake()
        assert not step.entries
        causes: list[Callable[[], None]] = [
            partial(club.enter, "late"),
            partial(club.leave, "p01"),
            partial(club.rule, what="annul", match=last),
            partial(club.rule, what="close"),
        ]
        for cause in causes:
            with pytest.raises(Refused, match="is over"):
                cause()

    def test_a_substitute_within_a_match_plays_for_the_line(self) -> None:
        club = Club(names=names(3))
        club.start()
        pairing = club.awaited[0]
        club.over(pairing.match, WON, newcomer=(1, "carl"))
        result = club.state.pairings[0].result
        assert result is not None
        assert result.players == ("carl", pairing.players[1])
        assert points(club)[pairing.names[0]] == 2


class TestRulings:
    def test_a_match_that_does_not_count(self) -> None:
        club = Club(names=names(3))
        club.start()
        first, second, third = (pairing.match for pairing in club.awaited)
        club.over(first, WON)
        club.rule(what="annul", match=first)
        assert set(points(club).values()) == {0}
        club.rule(what="annul", match=second)
        with pytest.raises(Refused, match="no match of the tournament"):
            club.rule(what="annul", match=second)
        club.over(third, WON)
        assert ended(club) == "played"
        assert sorted(points(club).values()) == [0, 0, 2]
        assert club.folded() == club.state

    def test_a_ruling_has_a_reason(self) -> None:
        with pytest.raises(Refused, match="has a reason"):
            Club().rule(what="close", reason="")

    def test_a_substitute_plays_on_for_a_line(self) -> None:
        club = Club("at-once: 1", names=names(4))
        club.start()
        with pytest.raises(Refused, match="has begun"):
            club.enter("carl")
        club.rule(by="organiser", what="substitute", player="carl", **{"for": "p01"})
        club.enter("carl")
        line = club.state.entrants["p01"]
        assert (line.player.name, line.name) == ("carl", "p01")
        with pytest.raises(Refused, match="p01 is not in the tournament"):
            club.leave("p01")
        with pytest.raises(Refused, match="p01 has, or had, a place"):
            club.rule(what="substitute", player="p01", **{"for": "carl"})
        while club.state.phase != "ended":
            club.over(club.awaited[0].match, WON)
        began = [pairing for pairing in club.state.pairings if "p01" in pairing.names]
        assert [pairing.players[pairing.names.index("p01")] for pairing in began] == ["p01", "carl", "carl"]
        assert "carl" not in points(club)
        assert club.folded() == club.state

    def test_a_nomination_that_stands_is_not_repeated(self) -> None:
        club = Club(names=names(4))
        club.start()
        club.rule(what="substitute", player="eve", **{"for": "p01"})
        with pytest.raises(Refused, match="eve is nominated"):
            club.rule(what="substitute", player="eve", **{"for": "p01"})
        club.rule(what="substitute", player="eve", **{"for": "p02"})
        club.rule(what="substitute", player="eve", **{"for": "p01"})

    def test_a_full_transcript_takes_no_more_letters_but_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        club = Club(names=names(4))
        club.start()
        monkeypatch.setattr(tournament_state, "FULL_OCTETS", club.state.octets)
        with pytest.raises(Refused, match="full"):
            club.enter("p01")
        for ruling in ({"what": "annul", "match": "m1"}, {"what": "substitute", "player": "eve", "for": "p01"}):
            with pytest.raises(Refused, match="full"):
                club.rule(**ruling)
        club.leave("p04")
        club.over(club.awaited[0].match, WON)
        club.rule(what="close")
        assert club.state.phase == "ended"
        assert club.folded() == club.state

    def test_an_organiser_who_is_a_substitute_rules_on_no_match_of_that_seat(self) -> None:
        """Within a match, or nominated and not in yet."""
        club = Club("at-once: 1", names=names(3))
        club.start()
        own = club.awaited[0]
        club.over(own.match, LOST, newcomer=(1, "org"))
        with pytest.raises(Refused, match="nobody rules on a match of one's own"):
            club.rule(by="organiser", what="annul", match=own.match)
        other = club.awaited[0]
        club.rule(by="organiser", what="substitute", player="org", **{"for": other.players[0]})
        with pytest.raises(Refused, match="nobody rules on a match of one's own"):
            club.rule(by="organiser", what="annul", match=other.match)
        club.rule(what="annul", match=other.match)


class TestSwiss:
    def test_nobody_meets_another_twice_or_has_two_byes(self) -> None:
        club = Club("format: swiss", names=names(17))
        club.start()
        rng = random.Random(3)
        assert club.state.rounds == 5
        while club.state.phase != "ended":
            for pairing in club.awaited:
                club.over(pairing.match, 1 + (pairing.names[0] > pairing.names[1]) if rng.random() < 0.9 else 0)
        assert len(set(club.state.byes)) == 5
        assert max(Counter(pair for pairing in club.state.pairings for pair in pairing.pairs).values()) == 1
        rounds = [entry for entry in club.entries if entry.type == "paired"]
        assert [entry.body["rematches"] for entry in rounds] == [0] * 5
        seats = Counter(pairing.names[0] for pairing in club.state.pairings)
        assert all(1 <= seats[name] <= 4 for name in names(17))
        assert club.folded() == club.state
        buchholz = [row.buchholz for row in table(club.state)[0]]
        assert min(buchholz) > 0

    def test_the_next_round_waits_only_for_its_time(self) -> None:
        club = Club("format: swiss\nround: 14d", names=names(16))
        club.start()
        late, *others = club.awaited
        for pairing in others:
            club.over(pairing.match, WON)
        club.wake()
        assert club.state.round == 1
        club.now += timedelta(days=14)
        club.wake()
        assert club.state.round == 2
        assert club.entries[-1].body["unfinished"] == [late.match]
        # The true result counts in the table, whenever it comes.
        club.over(late.match, WON)
        assert points(club)[late.names[0]] == 2
        while club.state.phase != "ended":
            club.over(club.awaited[0].match, WON)
        assert club.folded() == club.state


class TestLadders:
    def test_the_winner_takes_the_place(self) -> None:
        club = Club(LADDER, names=("a", "b", "c", "d", "e"))
        club.over(club.challenge("d", "b"), WON)
        assert club.state.ladder == ("a", "d", "b", "c", "e")
        club.over(club.challenge("e", "c"), LOST)
        assert club.state.ladder == ("a", "d", "b", "c", "e")

    def test_who_may_be_challenged(self) -> None:
        club = Club(f"{LADDER}\nplaces: 2\nrematch: 7d", names=names(5))
        for name, against, why in (
            ("p05", "p02", "up to 2 places"),
            ("p01", "p02", "up to 2 places"),
            ("p02", "p02", "up to 2 places"),
            ("p05", "eve", "eve is not"),
            ("eve", "p01", "eve is not"),
        ):
            with pytest.raises(Refused, match=why):
                club.challenge(name, against)
        match = club.challenge("p03", "p02")
        for against in ("p01", "p02"):
            with pytest.raises(Refused, match="one challenge at a time"):
                club.challenge("p03", against)
        club.challenge("p04", "p03")  # who challenges may be challenged, too
        club.challenge("p05", "p03")  # and by several
        club.over(match, LOST)
        with pytest.raises(Refused, match="too lately"):
            club.challenge("p03", "p02")
        club.now += timedelta(days=7)
        club.challenge("p03", "p02")

    def test_thousands_of_idle_years_are_no_work(self) -> None:
        club = Club(f"{LADDER}\nidle: 7d", names=names(4))
        club.now = datetime.fromisoformat("9999-01-01T00:00:00Z")
        began = time.process_time()
        club.leave("p01")
        assert time.process_time() - began < 2
        assert club.folded() == club.state

    def test_nobody_keeps_a_place_by_playing_slowly(self) -> None:
        """Nobody waits for a match that lasts too long, and its result counts when it comes."""
        club = Club(f"{LADDER}\nlongest: 10d\nidle: 12d\nrematch: 0", names=("a", "b", "c"))
        endless = club.challenge("c", "a")
        club.now += timedelta(days=11)
        again = club.challenge("c", "a")
        assert [pairing.match for pairing in club.awaited] == [again]
        club.over(endless, WON)
        assert club.state.ladder == ("c", "a", "b")
        assert [row.points for row in table(club.state)[0]] == [2, 0, 0]
        club.over(again, WON)
        assert club.state.ladder == ("c", "a", "b")
        assert [row.points for row in table(club.state)[0]] == [4, 0, 0]
        assert club.folded() == club.state

    def test_nobody_sinks_for_a_match_that_lasted_too_long(self) -> None:
        club = Club(f"{LADDER}\nlongest: 30d\nidle: 10d", names=("a", "b"))
        club.challenge("b", "a")
        club.now += timedelta(days=35)
        club.enter("c")
        assert ",".join(club.state.ladder) == "a,b,c"
        club.now += timedelta(days=6)
        club.enter("d")
        assert ",".join(club.state.ladder) == "c,a,b,d"
        assert club.folded() == club.state

    def test_a_full_transcript_ends_a_ladder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tournament_state, "FULL", 6)
        club = Club(LADDER, names=("a", "b"))
        club.challenge("b", "a")
        assert [entry.type for entry in club.entries[-2:]] == ["challenged", "paired"]
        club.leave("a")
        assert (club.entries[-1].type, club.entries[-1].body["reason"]) == ("ended", "full")
        assert club.folded() == club.state

    def test_silence_and_leaving_end_a_place_and_one_may_come_back(self) -> None:
        club = Club(f"{LADDER}\nrematch: 0", names=("a", "b", "c"))
        club.over(club.challenge("b", "a"), WON, silent=[2], turns=0, reason="forfeit")
        club.over(club.challenge("a", "b"), LOST, silent=[1], turns=0, reason="forfeit")
        assert club.state.entrants["a"].out == "kept"
        assert club.state.ladder == ("b", "c")
        club.leave("c")
        club.enter("a")
        assert club.state.ladder == ("b", "a")
        assert club.folded() == club.state


class TestTerms:
    def test_they_come_out_as_they_went_in(self) -> None:
        terms = Club("format: swiss\nround: 20d\nrounds: 4\npace: 2d\nfleet: cost:3").state.terms
        assert TournamentTerms.read(terms.document()) == terms
        assert terms.match["miss"] == "forfeit"
        assert terms.match["keys"] == "demanded"
        assert terms.match["options"] == {"fleet": "cost:3"}
        with pytest.raises(ValueError, match="field"):
            TournamentTerms.read({**terms.document(), "more": 1})
        assert Club("format: swiss\nround: none").state.terms.round == 0

    def test_without_a_secret_only_a_ladder_begins(self) -> None:
        entry = Club().entries[0]
        with pytest.raises(ValueError, match="not the terms"):
            begun(replace(entry, body={**entry.body, "secret": None}))

    def test_the_terms_of_a_match_are_the_template_in_its_place(self) -> None:
        club = Club(names=names(3))
        club.start()
        pairing = club.awaited[0]
        terms = club.state.match_terms(pairing)
        assert terms.as_announced
        assert terms.players == pairing.players
        assert terms.tournament == {"id": "t1", "terms": club.state.terms.document()}
        assert terms.pairing == {"round": 1, "board": 1, "entry": club.entries[-1].head}
        for changed in ({"pace": 3600}, {"pairing": None}, {"tournament": None}, {"pairing": {"round": 1}}):
            document = terms.document() | changed
            assert not type(terms).read(document).as_announced, changed

    @pytest.mark.parametrize(
        ("lines", "fault"),
        [
            ("format: cup", "format is one of"),
            ("rounds: 3", "round robin has no option `rounds`"),
            ("format: ladder\ncloses: 2026-04-01", "ladder has no option `closes`"),
            ("closes: soon", "closes is a day"),
            ("entrants: 2", "entrants is a number from 3 to 128"),
            ("format: swiss\nentrants: 12", "entrants is a number from 16 to 128"),
            ("privacy: private", "privacy is public"),
            ("miss: wait", "miss is forfeit or pass"),
            ("pace: none", "have deadlines and an end"),
            ("kind: scored", "have deadlines and an end"),
            ("fleet: none", "fleet"),
            ("closes: 2026-02-01", "entries close on a day to come"),
            ("closes: 2028-02-01", "entries close on a day to come"),
        ],
    )
    def test_what_cannot_be_played_is_refused(self, lines: str, fault: str) -> None:
        with pytest.raises(Refused, match=fault):
            Club(lines)

    def test_a_day_is_refused_as_its_organiser_wrote_it(self) -> None:
        with pytest.raises(Refused) as refused:
            Club("closes: 2026-02-01")
        assert [fault.token for fault in refused.value.faults] == ["2026-02-01"]


TABLES = "format: swiss\nround: 7d\nseats: 3"
KINDS = (
    "",
    "format: double round robin\nat-once: 3",
    "group: 5\nat-once: 2",
    "format: swiss\nround: 7d",
    LADDER,
    TABLES,
)


@pytest.mark.parametrize("seed", range(60))
def test_simulated_tournaments(seed: int) -> None:
    """With leavers, silence, substitutes, rulings and late results: each pair meets as often as it should."""
    rng = random.Random(seed)
    lines = KINDS[seed % len(KINDS)]
    swiss, ladder, double = "swiss" in lines, lines == LADDER, "double" in lines
    tables = lines == TABLES
    players = names(rng.randrange(16, 24) if swiss else rng.randrange(3, 14))
    club = Club(lines, names=players, game="shoot-em-up" if tables else "spaceships")
    asleep = {name for name in players if rng.random() < 0.1}
    if not ladder:
        club.start()
    steps = 0
    while club.state.phase != "ended" and steps < 400:
        steps += 1
        club.now += timedelta(hours=rng.randrange(1, 30))
        chance = rng.random()
        live = [entrant for entrant in club.state.entrants.values() if not entrant.out]
        if chance < 0.02 and live:
            club.leave(rng.choice(live).player.name)
        elif chance < 0.03 and live:
            newcomer = f"s{steps}"
            club.rule(what="substitute", player=newcomer, **{"for": rng.choice(live).player.name})
            club.enter(newcomer)
        elif chance < 0.04 and club.awaited:
            club.rule(what="annul", match=rng.choice(club.awaited).match)
        elif ladder and chance < 0.5 and len(club.state.ladder) > 1:
            at = rng.randrange(1, len(club.state.ladder))
            above, below = (club.state.entrants[name].player.name for name in club.state.ladder[at - 1 : at + 1])
            try:
                club.challenge(below, above)
            except Refused:
                continue
        elif club.awaited:
            pairing = rng.choice(club.awaited)
            silent = [seat for seat, name in enumerate(pairing.players, start=1) if name in asleep]
            others = {*range(1, len(pairing.names) + 1)} - {*silent}
            if not others:
                club.over(pairing.match, 0, reason="abandoned", turns=0, silent=silent)
            elif silent:
                winner = min(others) if len(others) == 1 else 0
                club.over(pairing.match, winner, reason="forfeit", turns=rng.randrange(2), silent=silent)
            else:
                scores = [rng.randrange(3) for _ in others]
                club.over(pairing.match, rng.randrange(len(others) + 1), reason="rules", turns=3, scores=scores)
        club.wake()
        if rng.random() < 0.05:  # a restart
            club.state = refolded(club.entries)
    assert (club.state.phase == "ended") != ladder
    assert club.folded() == club.state
    _as_often_as_it_should(club, double=double, swiss=swiss, ladder=ladder)


def _as_often_as_it_should(club: Club, *, double: bool, swiss: bool, ladder: bool) -> None:
    state, seats = club.state, club.state.terms.seats
    matches = [pairing.match for pairing in state.pairings if pairing.match]
    assert len(set(matches)) == len(matches)
    results = [entry.body["match"] for entry in club.entries if entry.type == "result"]
    assert len(set(results)) == len(results)
    assert set(results) <= set(matches)
    met = Counter(pair for pairing in state.pairings for pair in pairing.pairs)
    if not swiss and not ladder:
        wanted = [frozenset(pair) for group in state.groups for pair in combinations(group, 2)]
        assert met == Counter(wanted * (1 + double))
        for group in table(state):
            for row in group:
                games = [pairing for pairing in state.pairings if row.entrant in pairing.names]
                assert 0 <= row.points <= 2 * len(games)
    if swiss:
        again = sum(entry.body["rematches"] for entry in club.entries if entry.type == "paired")
        assert sum(count - 1 for count in met.values()) == again
    # Points come from games that count: each two of a game get two, or none.
    given = sum(row.points for group in table(state) for row in group)
    assert given <= 2 * sum(len(pairing.pairs) for pairing in state.pairings) + 2 * (seats - 1) * len(state.byes)
