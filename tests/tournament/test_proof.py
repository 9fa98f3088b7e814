"""The proof of a tournament: what holds, what is left open, and the lies of a server that signs all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import retold
from click.testing import CliRunner
from in_a_box.club import SERVER_KEY
from in_a_box.referee import SERVER, another
from in_a_box.signed_club import PlayedMatch, SignedClub, signed_tournament
from msgspec.structs import replace
from tournament.forging import (
    chained,
    checks,
    fails,
    forged,
    holds,
    index,
    rewritten,
    second_verdict,
    verdict,
    with_paper,
)
from world import mutations

from pbem.cli.verify import verify
from pbem.match.modes import proposed
from pbem.match.transcript import BEFORE, sha256_hex, statement
from pbem.player.blind import replayed
from pbem.proof import bundle
from pbem.proof.bundle import Bundle
from pbem.proof.tournament_proof import verify_tournament
from pbem.proof.verification import Proved
from pbem.proof.verification import verify as verify_match
from pbem.tournament.tournament_entries import TournamentEntry
from pbem.tournament.tournament_step import TournamentStep
from pbem.tournament.tournament_terms import TournamentTerms
from verifier import Wrong, judged_tournament, verified

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.match.pinned_keys import Player
    from pbem.match.state import Match


@pytest.fixture(scope="module")
def club() -> SignedClub:
    """Three play all against all: one match is won, one resigned, one lost by the silence of both."""
    club = SignedClub("", "ann", "bob", "carl")
    club.start()
    one, two, three = club.matches
    club.win(one, 1)
    club.resign(two, 2)
    club.fall_silent(three)
    return club


@pytest.fixture(scope="module")
def running() -> SignedClub:
    """Four play; two matches are over, and the organiser has ruled on a third."""
    club = SignedClub("at-once: 1", "ann", "bob", "carl", "dora")
    club.start()
    one, two = club.matches
    club.resign(one, 2)
    club.win(two, 2)
    club.rule(by="organiser", what="annul", match="m3")
    club.begin("m4")
    return club


class TestWhatHolds:
    def test_a_tournament_with_its_matches(self, club: SignedClub) -> None:
        found = holds(club.tournament(), club.bundles())
        assert [check.what for check in found] == [
            *("bundle", "chain", "server"),
            *(f"entry {entry.seq}" for entry in club.entries),
            *("m1", "m2", "m3", "table"),
        ]
        paired = found[3 + index(club.entries, "paired")].found
        assert paired.startswith(f"m1 {' - '.join(club.state.pairings[0].names)}, m2 ")
        assert "2 : 0" in found[-4].found
        assert [check.seq for check in found if check.seq] == [entry.seq for entry in club.entries]

    def test_a_file_without_letters(self, club: SignedClub, running: SignedClub) -> None:
        """As on public pages: letters show addresses."""
        for one in (club, running):
            content = signed_tournament(one.entries, {})
            assert [check.what for check in checks(content, one.bundles()) if check.standing == "OPEN"] == ["letters"]
            assert judged_tournament(content, one.bundles()).open[0] == "the letters"
        at = index(club.entries, "paired")
        for key, value in (("pairs", []), ("byes", ["ann"])):
            changed = replace(club.entries[at], body={**club.entries[at].body, key: value})
            entries = [*club.entries[:at], changed, *club.entries[at + 1 :]]
            assert verdict(checks(signed_tournament(chained(entries), {}))) == "convicted"

    def test_the_server_key_that_one_knows(self, club: SignedClub) -> None:
        key = SERVER_KEY.public_key().public_bytes_raw().hex()
        assert "the key that you gave" in list(verify_tournament(club.tournament(), None, key))[2].found
        assert list(verify_tournament(club.tournament(), None, "00" * 32))[-1].standing == "FAIL"

    def test_results_are_open_without_bundles(self, club: SignedClub) -> None:
        assert [check.what for check in checks(club.tournament()) if check.standing == "OPEN"] == ["results"]
        some = [check for check in checks(club.tournament(), club.bundles()[:1]) if check.standing == "OPEN"]
        assert [(check.what, check.found) for check in some] == [
            ("m2", "no bundle of this match is here"),
            ("m3", "no bundle of this match is here"),
        ]

    def test_bundles_of_others_do_not_matter(self, club: SignedClub) -> None:
        holds(club.tournament(), [b"no bundle", club.tournament(), *club.bundles()])

    def test_a_match_that_goes_on_and_a_word(self, running: SignedClub) -> None:
        found = holds(running.tournament(), running.bundles())
        assert next(check for check in found if check.what == "m4").found == "goes on"
        (word,) = [check for check in found if check.standing == "WORD"]
        assert word.found == "m3 does not count, by the organiser's word, signed: so it is"

    def test_a_bundle_from_before_the_end_leaves_its_result_open(self) -> None:
        club = SignedClub("", "ann", "bob", "carl")
        club.start()
        early = club.bundles()
        club.win("m1", 1)
        found = {check.what: check for check in checks(club.tournament(), early)}
        assert (found["m1"].standing, found["m1"].found) == ("OPEN", "its bundle is from before its end")
        # Of two bundles of one match, the later one says more.
        holds(club.tournament(), [*club.bundles(), *early])
        holds(club.tournament(), [*early, *club.bundles()])

    def test_an_earlier_tournament_with_later_bundles(self) -> None:
        club = SignedClub("", "ann", "bob", "carl")
        club.start()
        early = club.tournament()
        club.win("m1", 1)
        found = {check.what: check.found for check in holds(early, club.bundles())}
        assert found["m1"] == "is over since the tournament's last entry"

    def test_substitutes_and_leavers(self) -> None:
        club = SignedClub("at-once: 1", "ann", "bob", "carl", "dora")
        club.start()
        club.rule(what="substitute", player="eve", **{"for": "ann"})
        club.enter("eve")
        club.leave("dora")
        while club.state.phase != "ended":
            match = next(pairing.match for pairing in club.state.awaited if pairing.match)
            club.resign(match, 1)
        found = holds(club.tournament(), club.bundles())
        assert any(check.found.startswith("eve plays on for ann") for check in found)
        assert any(check.found == "dora is out (left), games annulled" for check in found)

    def test_players_without_keys(self) -> None:
        """The evidence of an entry is that of the agreement to each match."""
        club = SignedClub("keys: optional", "ann", "bob")
        club.enter_by_mailbox("carl")
        club.start()
        for match in club.matches:
            seat = next(seat for seat in (1, 2) if club.matches[match].match.name(seat) != "carl")
            club.resign(match, seat)
        found = holds(club.tournament(), club.bundles())
        assert found[6].found == "carl enters by the mailbox"
        entries = [entry for entry in club.entries if entry.type in {"announced", "entered"}]
        at = len(entries) - 1
        content = signed_tournament(entries, dict(club.papers.items()))
        assert checks(content)[-1].standing == "ok"
        for path in ("letters/entered-4.eml", "evidence/entered-4.txt", "evidence/mailbox-4.txt"):
            assert path in club.papers
            fails(with_paper(club, path, club.papers[path] + b"x"), f"{path} is not what the transcript names")
        body = {key: value for key, value in club.entries[at].body.items() if key not in {"level", "evidence"}}
        entries[at] = replace(entries[at], body=body)
        papers = {path: paper for path, paper in club.papers.items() if path != "evidence/entered-4.txt"}
        fails(signed_tournament(chained(entries), papers), "letters/entered-4.eml", "the signature of carl does not")

    def test_a_mailbox_where_keys_are_demanded(self) -> None:
        club = SignedClub("", "ann", "bob")
        club.enter_by_mailbox("carl")
        fails(club.tournament(), "letters/entered-4.eml", "carl must sign with a key")

    def test_a_mailbox_whose_letter_is_used_again(self) -> None:
        """Its words may be those of another letter."""
        club = SignedClub("keys: optional", "ann", "bob")
        club.enter_by_mailbox("carl")
        again = {path.replace("-4.", "-5."): paper for path, paper in club.papers.items() if "-4." in path}
        content = signed_tournament(chained([*club.entries, club.entries[-1]]), club.papers | again)
        fails(content, "these words were obeyed before")
        club.enter_by_mailbox("carl", f"enter t1 {club.state.rules_hash}\n# again\n")
        fails(club.tournament(), "letters/entered-5.eml", "let another letter count before")

    @pytest.mark.parametrize(
        ("path", "old", "new", "fault"),
        [
            ("evidence/entered-4.txt", b"received 2026-", b"received 2025-", "its evidence names another time"),
            ("evidence/mailbox-4.txt", b"seat 0", b"seat 1", "the mailbox is not that of this player"),
            (
                "letters/entered-4.eml",
                b"\r\nSubject",
                b"\r\nDate: Sat, 1 Mar 2025 12:00 +0000\r\nSubject",
                "it is dated",
            ),
        ],
    )
    def test_papers_that_say_something_else(self, path: str, old: bytes, new: bytes, fault: str) -> None:
        club = SignedClub("keys: optional", "ann", "bob")
        club.enter_by_mailbox("carl")
        paper = club.papers[path].replace(old, new)
        assert paper != club.papers[path]
        before, after = map(sha256_hex, (club.papers[path], paper))
        last = club.entries[-1]
        entries = [*club.entries[:-1], replace(last, body=json.loads(json.dumps(last.body).replace(before, after)))]
        fails(signed_tournament(chained(entries), club.papers | {path: paper}), "letters/entered-4.eml", fault)

    def test_a_mailbox_that_says_something_else(self) -> None:
        club = SignedClub("keys: optional", "ann", "bob")
        club.enter_by_mailbox("carl", "leave t1\n")
        fails(club.tournament(), "letters/entered-4.eml", "does not say what `entered` records")

    def test_a_ladder(self) -> None:
        club = SignedClub("format: ladder", "ann", "bob", "carl")
        club.win(club.challenge("carl", "ann"), 1)
        found = holds(club.tournament(), club.bundles())
        assert found[-1].found == "carl 2, ann 0, bob 0"


class TestLies:
    def test_two_stories_of_a_match(self) -> None:
        """Each of its players has another bundle, and either holds by itself."""
        club = SignedClub("", "ann", "bob", "carl")
        club.start()
        played, stories = club.matches["m1"], []
        before = played.match, played.entries, played.papers
        for winner in (1, 2):
            played.match, played.entries, played.papers = before[0], [*before[1]], {**before[2]}
            club.begin("m1", winner)
            stories.append(played.bundle)
            holds(club.tournament(), club.bundles())
        for one in (stories, stories[::-1]):
            fails(club.tournament(), "m1: two bundles of it have different entries", bundles=one)
        club.resign("m1", 1)
        fails(club.tournament(), "m1: two bundles of it", bundles=[stories[0], *club.bundles()])

    def test_a_moved_pair(self, club: SignedClub) -> None:
        at = index(club.entries, "paired")
        pairs = [dict(pair) for pair in club.entries[at].body["pairs"]]
        pairs[0]["players"], pairs[1]["players"] = pairs[1]["players"], pairs[0]["players"]
        fails(forged(club, at, pairs=pairs), f"entry {at + 1}: paired: `pairs`: not what follows")

    def test_a_dropped_result(self, club: SignedClub) -> None:
        at = index(club.entries, "result")
        entries = [*club.entries[:at], *club.entries[at + 1 :]]
        fails(signed_tournament(chained(entries), club.papers), "ended: nothing of the kind follows here")
        # Nothing follows that depends on it: the bundle of the match convicts.
        entries = [entry for entry in club.entries[:-1] if entry.body.get("match") != "m1"]
        content = signed_tournament(chained(entries), club.papers)
        assert checks(content)[-1].standing == "ok"
        fails(content, "m1: is over, and its result is missing", bundles=club.bundles())

    def test_a_result_that_comes_too_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The loser leaves meanwhile, with less than half of the games finished, so that none of them counts."""
        club = SignedClub("at-once: 1", "ann", "bob", "carl")
        club.start()
        with monkeypatch.context() as patch:
            patch.setattr(TournamentStep, "take", lambda *_: None)
            club.win("m1", 1)
        club.leave(club.state.pairings[0].names[1])
        assert "annulled" in [entrant.out for entrant in club.state.entrants.values()]
        late = club.step()
        late.take(club.matches["m1"].entries)
        club.took(late)
        fails(club.tournament(), "m1: was over before entries that stand before its result", bundles=club.bundles())

    def test_two_entrants_with_each_others_lots(self, club: SignedClub) -> None:
        at = index(club.entries, "started")
        one, two, *others = club.entries[at].body["order"]
        fails(forged(club, at, order=[two, one, *others]), f"entry {at + 1}: started: `order`: not the one")

    def test_a_start_that_is_replayed(self, club: SignedClub) -> None:
        at = index(club.entries, "started")
        again = [*club.entries[: at + 2], club.entries[at], *club.entries[at + 2 :]]
        fails(signed_tournament(chained(again), club.papers), f"entry {at + 3}: started: entries are not closed, or")
        other = SignedClub("", "ann", "bob", "carl", "dora")
        other.start()
        started = other.entries[index(other.entries, "started")]
        fails(forged(club, at, **started.body), "started: `order`: not the one")
        fails(forged(club, at, secret="00" * 32), "started: `secret`: not the one")

    def test_the_result_of_another_match(self, club: SignedClub) -> None:
        at = index(club.entries, "result")
        other = next(entry for entry in club.entries if entry.body.get("match") == "m2")
        entries = [*club.entries[: at + 1]]
        entries[at] = replace(entries[at], body={**other.body, "match": "m1"})
        content = signed_tournament(chained(entries), club.papers)
        fails(content, "m1: has another result", bundles=club.bundles()[:1])
        entries[at] = replace(entries[at], body={**entries[at].body, "match": "m9"})
        fails(signed_tournament(chained(entries), club.papers), "result: no result of m9 is awaited")
        entries = [*club.entries[:-1], replace(other, time=club.entries[-1].time)]
        fails(signed_tournament(chained(entries), club.papers), "`ended` should stand here")

    @pytest.mark.parametrize("key", ["winners", "turns", "missed", "silent", "players", "closed", "scores", "reason"])
    def test_each_part_of_a_result(self, club: SignedClub, key: str) -> None:
        at = index(club.entries, "result")
        lies = {
            "winners": [2],
            "turns": 9,
            "missed": [0, 1],
            "silent": [2],
            "players": ["eve", "ann"],
            "scores": [0, 3],
        }
        lie = lies.get(key, "00" * 32 if key == "closed" else "agreement")
        entries = [*club.entries[: at + 1]]
        entries[at] = replace(entries[at], body={**entries[at].body, key: lie})
        content = signed_tournament(chained(entries), club.papers)
        fails(content, "m1: has another result", bundles=club.bundles()[:1])

    def test_an_entry_that_nobody_signed(self, club: SignedClub) -> None:
        text = f"enter t1 {club.state.rules_hash}\nserver {SERVER}\nplayer bob\nend\n"
        fails(rewritten(club, "bob", text, None), "letters/entered-3.eml", "the signature of bob does not hold")
        fails(rewritten(club, "bob", text, another("eve")), "the signature of bob does not hold")

    @pytest.mark.parametrize(
        "text",
        [
            "enter t1 {other}\nserver play.example\nplayer bob\nend\n",
            "enter t2 {rules}\nserver play.example\nplayer bob\nend\n",
            "enter t1 {rules}\nserver play.example\nplayer ann\nend\n",
            "enter t1 {rules}\nserver other.example\nplayer bob\nend\n",
            "enter t1 {rules}\nplayer bob\nend\n",
            "enter t1 {rules}\nserver play.example\nend\n",
            "enter t1 {rules} team red\nserver play.example\nplayer bob\nend\n",
            "leave t1\nserver play.example\nplayer bob\nend\n",
            "Hello!\n",
        ],
    )
    def test_an_entry_that_says_something_else(self, club: SignedClub, text: str) -> None:
        text = text.format(other="0" * 64, rules=club.state.rules_hash)
        fails(rewritten(club, "bob", text, club.key("bob")), "does not say what `entered` records")

    def test_an_entry_of_other_words(self, club: SignedClub) -> None:
        """The lot hashes what was signed: nothing else may be called that."""
        fails(forged(club, 2, words="00" * 32), "letters/entered-3.eml", "does not hold these words")

    def test_an_entry_that_is_used_again(self) -> None:
        """Somebody left: the letter of entry does not bring anybody back."""
        club = SignedClub("", "ann", "bob", "carl")
        club.leave("ann")
        entered = replace(club.entries[1], time=club.entries[-1].time)
        fails(signed_tournament(chained([*club.entries, entered]), club.papers), "these words were obeyed before")

    def test_letters_that_are_missing_changed_or_too_many(self, club: SignedClub) -> None:
        for path in club.papers:
            papers = {other: paper for other, paper in club.papers.items() if other != path}
            fails(signed_tournament(club.entries, papers), path, "is missing")
            fails(with_paper(club, path, club.papers[path] + b" "), path, "is not what the transcript names")
        fails(with_paper(club, "letters/left-9.eml", b""), "letters/left-9.eml", "is named by no entry")

    def test_other_terms_than_the_organiser_announced(self, club: SignedClub) -> None:
        first = club.entries[0]
        for key, value in {"group": 5, "at_once": 1, "closes": "2026-03-11T00:00:00Z", "programs": "yes"}.items():
            terms = {**first.body["terms"], key: value}
            fails(forged(club, 0, terms=terms), "the hash is not that of the terms")
            rules = replace(club.state.terms, **{key: value}).hash(SERVER, "t1")
            content = forged(club, 0, terms=terms, rules=rules)
            fails(content, "letters/announced-1.eml", "does not say what `announced` records")

    def test_an_announcement_that_gives_no_terms(self, club: SignedClub, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(TournamentTerms, "propose", lambda *_: club.state.terms)
            lie = SignedClub("closes: soon")
        fails(lie.tournament(), "letters/announced-1.eml", "does not say what `announced` records")

    def test_an_entry_cut_off_or_out_of_its_time(self, club: SignedClub) -> None:
        at = index(club.entries, "started")
        fails(signed_tournament(club.entries[: at + 1], club.papers), "breaks off before the entry `paired`")
        entries = list(club.entries)
        for time in ("2026-03-01T12:00:00Z", "soon"):
            entries[-1] = replace(entries[-1], time=time)
            fails(signed_tournament(chained(entries), club.papers), "not an entry of a tournament in its form and")
        fails(forged(club, len(entries) - 1, more=1), "not an entry of a tournament in its form")
        fails(forged(club, len(entries) - 1, table=[]), "`table`: not what follows")

    def test_a_ruling_that_the_organiser_did_not_sign(self, running: SignedClub) -> None:
        at = index(running.entries, "ruled")
        fails(forged(running, at, reason="because"), f"letters/ruled-{at + 1}.eml", "does not say what `ruled`")
        fails(forged(running, at, match="m4"), f"letters/ruled-{at + 1}.eml", "does not say what `ruled`")

    def test_heads_that_are_signed_as_those_of_a_match(self, club: SignedClub) -> None:
        about = [statement(SERVER, "t1", one.seq, one.head) for one in club.entries]
        content = bundle.write_tournament(
            Bundle(club.entries, [SERVER_KEY.sign(text) for text in about], club.papers)
        )
        fails(content, "heads.txt", "the server's signature of the head does not hold")

    def test_octets_beside_the_file(self, club: SignedClub) -> None:
        content = club.tournament()
        fails(content + b" ", "bundle: the list of files")
        fails(content.replace(b"ann", b"eve", 1), "bundle: ")
        fails(club.bundles()[0], "bundle: ", "tournament.jsonl is missing")

    def test_a_transcript_of_a_match_is_none(self) -> None:
        entries = chained([TournamentEntry(1, BEFORE, "2026-03-01T12:00:00Z", "agreed", {})])
        fails(signed_tournament(entries, {}), "not the beginning of a tournament")

    def test_of_another_version_nothing_is_said(self, club: SignedClub) -> None:
        (check,) = verify_tournament(forged(club, 0, register=2))
        assert (check.standing, check.what) == ("OPEN", "version")
        assert check.found == "it has version 2, and this pbem reads version 1"


class TestMatches:
    def test_a_match_of_other_terms(self, club: SignedClub) -> None:
        """The server lets two play by another template, or in another place."""
        other = SignedClub("pace: 3d", "ann", "bob", "carl")
        other.start()
        fails(club.tournament(), "m1: its terms are not those", bundles=[other.bundles()[0], *club.bundles()[1:]])

    def test_a_match_that_was_never_paired(self, club: SignedClub) -> None:
        other = SignedClub("", "ann", "bob", "carl", "dora")
        other.start()
        extra = next(played.bundle for name, played in other.matches.items() if name == "m4")
        whole = bundle.read(extra)
        first = replace(whole.entries[0], body={**whole.entries[0].body, "match": "m\n"})
        odd = bundle.write(replace(whole, entries=[first, *whole.entries[1:]]))
        for name, one in (("m4", extra), ("m\\n", odd)):
            said = f"{name}: names this tournament, which did not pair it"
            fails(club.tournament(), said, bundles=[*club.bundles(), one])

    def test_a_bundle_that_does_not_hold(self, club: SignedClub) -> None:
        first = bundle.read(club.bundles()[0])
        papers = {
            path: paper for path, paper in first.papers.items() if "resign" not in path and "turn-2" not in path
        }
        broken = bundle.write(replace(first, papers=papers))
        fails(club.tournament(), "m1: its bundle does not hold", bundles=[broken, *club.bundles()[1:]])

    def test_a_damaged_bundle(self, club: SignedClub) -> None:
        first = bundle.read(club.bundles()[0])
        broken = bundle.write(replace(first, signatures=(b"", *first.signatures[1:])))
        bundles = [broken, *club.bundles()[1:]]
        fails(club.tournament(), "m1: its bundle does not hold", bundles=bundles)
        assert second_verdict(club.tournament(), bundles) == "convicted"

    def test_a_bundle_of_another_version_is_open(self, club: SignedClub) -> None:
        """Whatever follows its first entry."""
        first = bundle.read(club.bundles()[0])
        entry = replace(first.entries[0], body={**first.entries[0].body, "bundle": 2})
        bundles = [bundle.write(replace(first, entries=(entry, *first.entries[1:]))), *club.bundles()[1:]]
        assert {check.standing for check in checks(club.tournament(), bundles)} == {"ok", "OPEN"}
        assert second_verdict(club.tournament(), bundles) == "open"

    def test_players_who_agreed_by_other_letters(self) -> None:
        """The same words, in a letter that the tournament has not."""
        club = SignedClub("", "ann", "bob", "carl")
        club.start()
        pairing = club.state.pairings[0]
        name = pairing.players[0]
        _, again = club.said(name, f"enter t1 {club.state.rules_hash}")
        strange = PlayedMatch(proposed(pairing.match, SERVER, club.state.match_terms(pairing)))
        club.begins(strange, pairing, [again.signed, *club.consents(pairing)[1:]])
        fails(club.tournament(), "m1: its players did not agree by their letters of entry", bundles=[strange.bundle])

    def test_a_key_that_no_entry_names(self) -> None:
        """The server's own, beside a player's, by which it resigns a match that it chose."""

        class WithKey(SignedClub):
            def _pinned(self, player: Player, match: Match, seat: int) -> Player:
                pinned = super()._pinned(player, match, seat)
                more = self.player("eve").keys if (match.id, seat) == ("m1", 1) else ()
                return replace(pinned, keys=(*pinned.keys, *more))

        club = WithKey("", "ann", "bob", "carl")
        club.start()
        victim = club.matches["m1"].match.name(1)
        club.keys |= {victim: club.key("eve")}
        club.resign("m1", 1)
        fails(club.tournament(), "m1: its players have other keys than those with which", bundles=club.bundles())

    def test_other_keys_are_a_word(self) -> None:
        club = SignedClub("", "ann", "bob", "carl")
        club.enter("bob")
        club.keys["ann"] = another("ann again")
        club.enter("ann")
        words = [check.found for check in holds(club.tournament(), []) if check.standing == "WORD"]
        assert len(words) == 1
        assert words[0].startswith("ann enters again by SHA256:")

    def test_whether_a_program_peeked_is_open(self, club: SignedClub) -> None:
        """Its letter of entry commits to no seed; that convicts nobody."""
        proved = Proved()
        assert list(verify_match(club.bundles()[0], proved=proved))[-1].holds
        assert [finding.standing for finding in replayed(proved, [bytes(16)])] == ["open"]

    def test_a_match_rests_on_the_letter_of_its_day(self) -> None:
        """Whoever enters again accepts the matches that begin from then on."""
        club = SignedClub("at-once: 1", "ann", "bob", "carl", "dora")
        club.start()
        club.enter("ann")
        for match in list(club.matches):
            club.resign(match, 1)
        holds(club.tournament(), club.bundles())

    @pytest.mark.parametrize(
        "change",
        [
            {"pace": 3600},
            {"pairing": {"round": 1, "board": 1, "entry": "0" * 64, "more": 1}},
            {"pairing": {}},
            {"tournament": {"id": "t1"}},
        ],
    )
    def test_terms_that_the_tournament_does_not_have(self, club: SignedClub, change: dict[str, Any]) -> None:
        """A match's own bundle shows that."""
        found = bundle.read(club.bundles()[0])
        terms = found.entries[0].body["terms"] | change
        content = bundle.write(retold(found, 0, terms=terms))
        last = checks(club.tournament(), [content])
        fault = next(check.found for check in last if check.what == "m1")
        assert "the terms are not those of the tournament" in fault
        with pytest.raises(Wrong):
            verified(content)

    def test_a_match_by_letters_that_accept_nothing(self, club: SignedClub) -> None:
        """Letters of entry into another tournament, with the same terms but for the day."""
        other = SignedClub("entrants: 9", "ann", "bob", "carl")
        other.start()
        found, strange = (bundle.read(one.bundles()[0]) for one in (club, other))
        strangers = {
            strange.entries[0].body["players"][str(seat)]["name"]: strange.papers[f"letters/agreed-seat-{seat}.eml"]
            for seat in (1, 2)
        }
        seats = {str(seat): found.entries[0].body["players"][str(seat)]["name"] for seat in (1, 2)}
        seat = next(seat for seat, name in seats.items() if name in strangers)
        path, raw = f"letters/agreed-seat-{seat}.eml", strangers[seats[seat]]
        content = bundle.write(mutations.rewritten(found, path, raw))
        with pytest.raises(Wrong, match="no agreement to these terms"):
            verified(content)
        last = checks(club.tournament(), [content])
        assert "holds no `agreed`" in next(check.found for check in last if check.what == "m1")


class TestTheCommand:
    def test_verify_and_its_status(self, club: SignedClub, tmp_path: Path) -> None:
        file, folder = tmp_path / "t1.pbem-tournament.zip", tmp_path / "bundles"
        file.write_bytes(club.tournament())
        folder.mkdir()
        for number, content in enumerate(club.bundles()):
            (folder / f"{number}.zip").write_bytes(content)
        run = CliRunner()
        whole = run.invoke(verify, [str(file), "--bundles", str(folder)])
        assert (whole.exit_code, whole.output.split("\n")[-2]) == (0, "Everything holds.")
        assert run.invoke(verify, [str(file)]).exit_code == 3
        (folder / "1.zip").unlink()
        assert run.invoke(verify, [str(file), "--bundles", str(folder)]).exit_code == 3
        document = json.loads(run.invoke(verify, ["--json", str(file), "--bundles", str(folder)]).output)
        assert (document["pbem"], document["status"]) == ("tournament verification 1", 3)
        assert {check["standing"] for check in document["checks"]} == {"ok", "OPEN"}
        file.write_bytes(club.tournament()[:-1])
        assert run.invoke(verify, [str(file)]).exit_code == 1
        assert run.invoke(verify, [str(file), "--opponent", "00" * 16]).exit_code == 2
        assert run.invoke(verify, [str(folder / "0.zip"), "--bundles", str(folder)]).exit_code == 2
