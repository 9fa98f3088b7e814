"""Tournaments by mail: announced, entered, played to the table, with what goes wrong on the way."""

from __future__ import annotations

import re
import textwrap
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from desk.test_keyless import Phones
from in_a_box.mailing_club import CLOSES, DAY, RULED, SMALL, Club, letters_about, planned
from in_a_box.referee import START, Referee, body, placed
from in_a_box.restores import back_up, begin_anew, put_back, resume_all
from in_a_box.stores import of_sqlite
from judges.honest import accused

from pbem.desk import seats
from pbem.desk.tournament import tournament_commands
from pbem.proof.tournament_proof import verify_tournament
from pbem.server.desk_work import enable_games
from pbem.store import operator
from pbem.store.tournament_rows import Tournaments
from verifier import judged_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def club(referee: Referee) -> Club:
    return Club(referee, "ann", "bob", "carl")


def test_a_round_robin_from_its_announcement_to_its_table(club: Club) -> None:
    rules = club.announce("ann")
    assert f"enter t1 {rules}" in club.say("bob", "tournament t1")
    assert f"enter t1 {rules}" in club.say("bob", "enter t1")
    club.enter("ann", "bob", "carl")
    club.start()
    assert club.t.phase == "playing"
    assert {len(letters_about(person, "[pbem t1] it begins")) for person in club.people.values()} == {1}
    assert len(club.awaited) == 3
    asked = [text for person in club.people.values() for text in letters_about(person, "send your setup")]
    assert ["\n  tournament t1\n" in text for text in asked] == [True] * 6
    club.play_out()
    assert club.t.phase == "ended"
    (final,) = letters_about(club.people["ann"], "[pbem t1] it is over")
    assert "number 1 of 3, with 4 points" in final
    end = [text for text in letters_about(club.people["ann"], "the match is closed") if "t1: you are number" in text]
    assert len(end) == 2
    club.proof()
    found = club.proof(club.bundles())
    assert not [line for line in found if not line.startswith("ok")]
    assert found[-1] == "ok ann 4, bob 2, carl 0"


def test_pages_have_the_table_and_files_without_letters(club: Club, tmp_path: Path) -> None:
    club.announce("ann", "programs: yes")
    folder = tmp_path / "pages"
    club.publish(folder)
    assert "enter%20t1" in (folder / "t1.html").read_text()
    club.enter("ann", "bob")
    club.publish(folder)
    page = (folder / "t1.html").read_text()
    assert "<h1>A tournament of Spaceships (t1)</h1>" in page
    assert "Entries close on Thursday 5 March 2026, 00:00 UTC, or when it is full." in page
    assert "<li>2 of 12 players so far: ann, bob</li>" in page
    assert "<li>7 days for each turn and setup</li>" in page
    assert "Compute it again" not in page
    index = (folder / "index.html").read_text()
    assert "<title>play.example: games by e-mail</title>" in index
    assert "entries until Thursday 5 March 2026, 00:00 UTC" in index
    club.enter("carl")
    club.start()
    annulled = next(pairing for pairing in club.awaited if "ann" not in pairing.names)
    assert RULED in club.say("ann", f"rule t1 annul {annulled.match}\nreason: by error\nend")
    club.publish(folder)
    running = club.awaited[0]
    table = (folder / "t1.html").read_text()
    assert f'<a href="{running.match}.html" title="{running.match}">…</a>' in table
    page = (folder / f"{running.match}.html").read_text()
    assert ", ".join(running.players) in page
    assert 'href="t1.html"' in page
    club.play_out()
    club.publish(folder)
    page = (folder / "t1.html").read_text()
    assert annulled.match in page
    assert 'href="t1.html"' in (folder / "index.html").read_text()
    content = (folder / "t1.pbem-tournament.zip").read_bytes()
    assert b"mail.example" not in content
    found = list(verify_tournament(content, club.bundles()))
    assert {check.standing for check in found} == {"ok", "OPEN", "WORD"}
    assert content.count((folder / "t1.jsonl").read_bytes()) == 1


def test_the_page_about_clubs_is_true(referee: Referee) -> None:
    """Without keys: it is announced as the page has it, and friends enter by answering."""
    page = (Path(__file__).parents[2] / "docs" / "club.md").read_text("utf-8")
    (announcement,) = re.findall(r"(?ms)^    tournament new .*?^    end$", page)
    lines = re.sub("closes: .*", "closes: 2026-03-20", textwrap.dedent(announcement))
    terminal = re.search(r'pbem play tournament new spaceships "(.*)"', page)
    assert terminal is not None
    assert {*terminal[1].split('" "')} < {*announcement.replace("    ", "").splitlines()}
    phones = Phones(referee)
    anna, *friends = (phones.registered(name) for name in ("anna", "bob", "carl"))
    told = " ".join(phones.reply(anna, lines.replace("keys: optional", "keys: demanded")).split())
    assert "the tournament demands keys, and anna is registered without one" in told
    assert "t1" in phones.reply(anna, lines)
    for friend in (anna, *friends):
        phones.reply(friend, "enter t1")
        (line,) = re.findall(r"(?m)^enter t1 [0-9a-f]{64}$", body(friend.last))
        assert "You are in." in phones.reply(friend, line)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("enter t1 00000000", "the hash of these terms is {hash}"),
        ("enter t2", "there is no such tournament here"),
        ("leave t1", "bob is not in the tournament"),
        ("challenge t1 ann", "it is no ladder"),
        ("rule t1 close\nreason: no\nend", "only ann, who announced it, may rule"),
        ("tournament new spaceships\nprivacy: private\ncloses: 2026-03-09\nend", "privacy is public"),
        ("tournament new chess\ncloses: 2026-03-09\nend", "no such game"),
        ("tournament new spaceships\nend", "say when entries close"),
    ],
)
def test_what_is_refused(club: Club, text: str, told: str) -> None:
    club.announce("ann")
    answer = " ".join(club.say("bob", text).split())
    assert told.format(hash=club.t.rules_hash) in answer, answer
    assert club.t.seq == 1


def test_a_ruling_has_a_reason_and_is_not_about_own_games(club: Club) -> None:
    club.announce("ann")
    assert "say why" in club.say("ann", "rule t1 close\nend")
    assert "a ruling has one line" in club.say("ann", "rule t1 close\nreason: so\ncause: no\nend")
    club.enter("ann", "bob", "carl")
    club.start()
    own = next(pairing for pairing in club.awaited if "ann" in pairing.names)
    answer = " ".join(club.say("ann", f"rule t1 annul {own.match}\nreason: so\nend").split())
    assert "nobody rules on a match of one's own" in answer
    assert RULED in club.say("ann", "rule t1 close\nreason: nobody plays\nend")
    assert club.t.phase == "ended"
    (end,) = letters_about(club.people["bob"], "[pbem t1] it is over")
    assert "It is the organiser's word: nobody plays" in " ".join(end.split())
    assert "The tournament is over." in club.say("carl", "enter t1")
    assert "is over. This is its final table. Matches that are still under way go on" in " ".join(end.split())
    club.proof()


def test_who_leaves_and_who_is_silent(club: Club) -> None:
    club.people["dave"] = club.referee.registered("dave")
    club.announce("ann", "pace: 1d\ngrace: 0")
    club.enter(*club.people)
    assert "You are no longer entered" in club.say("dave", "leave t1")
    assert "dave" not in club.t.entrants
    club.enter("dave")
    club.start()
    left = club.say("dave", "leave t1")
    assert "You have left" in left
    assert "none of them counts in the table" in left
    (row,) = re.findall("^ .* dave .*", left, re.MULTILINE)
    assert row.count("!") == 3, "no game of his is under way for the table"
    assert club.t.entrants["dave"].out
    for pairing in club.awaited:
        for name in {*pairing.players} - {"carl"}:
            person = club.people[name]
            form = next(body(one) for one in person.letters if f"[pbem {pairing.match}]" in str(one["Subject"]))
            setup = form[form.index(f"setup {pairing.match} ") :].partition("\nend\n")[0]
            club.referee.send(person, f"{setup}\nMD Rv1 Rv2 Rv3\nend\n")
    club.referee.wait(3 * DAY)
    assert club.t.entrants["carl"].out == "annulled"
    assert letters_about(club.people["carl"], "[pbem t1] you are out")
    assert not letters_about(club.people["dave"], "[pbem t1] you are out")
    club.proof(club.bundles())


def test_after_a_restore_its_transcript_says_why_its_heads_are_others(club: Club) -> None:
    club.begin()
    referee = club.referee
    before = club.bundles()[0]
    began = begin_anew(referee, 4)
    referee.wait(timedelta(minutes=1))
    found = club.proof(club.bundles())
    assert f"WORD the server was restored from a backup (generation {began}): it forgot what came after that" in found
    assert (club.t.generation, club.t.phase) == (began, "playing")
    assert judged_tournament(referee.desk.director.archive.bundle(1, letters=True), [before]).generation == began


def test_a_planned_match_holds_nobody_up(club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds begin one by one, and a server may stop before the last."""
    referee = planned(club)
    enable_games(referee.config, referee.database)
    assert not operator.matches(referee.database)
    with monkeypatch.context() as patched:
        patched.setattr(Tournaments, "take", lambda *_: False)
        for text in ("accept m1", "report m1", "resign m1", "press m1\nhello\nend"):
            assert "`m1`: you have no such match" in club.say("ann", text)
    referee.wait(timedelta(minutes=2))
    assert [referee.match(number).phase for number in (1, 2, 3)] == 3 * ["setup"]


def test_a_match_begins_no_earlier_than_its_letters_came(club: Club) -> None:
    """The clock stands still while an older letter waits."""
    referee = planned(club)
    with referee.database.transaction():
        for task in referee.desk.director.archive.rows.tasks(1):
            referee.desk.director.carry_out(referee.desk.due_tasks.seats, task, START)
    referee.work()
    club.play_out()
    assert club.proof(club.bundles())[-1] == "ok ann 4, bob 2, carl 0"


@of_sqlite
def test_matches_that_were_about_to_begin_stand_still_after_a_restore(club: Club) -> None:
    """They may have begun since."""
    referee = planned(club)
    backup = back_up(referee)
    referee.work()
    put_back(referee, backup)
    referee.wait(timedelta(minutes=2))
    matches = [referee.match(int(pairing.match[1:])) for pairing in club.awaited]
    assert [(match.phase, match.paused) for match in matches] == 3 * [("setup", "restored from a backup")]
    resume_all(referee)
    club.play_out()
    assert club.proof(club.bundles())[-1] == "ok ann 4, bob 2, carl 0"
    assert accused(referee) == [], "their first letters name the new generation, before the restore is entered"


def test_who_enters_again_waits_for_the_own_matches_alone(club: Club) -> None:
    """A hundred and fifty begin together, and in the transaction of a letter they held the store for seconds."""
    club.announce("ann", "entrants: 3")
    club.enter("ann", "bob")
    referee = club.referee
    for name in ("carl", "ann"):
        person = club.people[name]
        text = f"enter t1 {club.t.rules_hash}\n{placed(person)}# and again\n"
        referee.put(person, text)
        referee.handle_waiting()
    planned = [task.match for task in referee.desk.director.archive.rows.tasks() if task.match]
    assert planned == [pairing.match for pairing in club.t.pairings if "ann" not in pairing.names]
    referee.work()
    assert len(club.awaited) == 3
    club.play_out()
    club.proof(club.bundles())


def test_the_table_comes_once_a_month_in_the_digest(club: Club) -> None:
    club.announce("ann", "pace: 40d")
    club.enter("ann", "bob", "carl")
    club.say("bob", "set mail digest")
    club.start()
    club.referee.wait(START.replace(month=4, day=3) - club.referee.now)
    club.referee.wait(DAY)
    digests = letters_about(club.people["bob"], "the table")
    assert len(digests) == 1
    assert not letters_about(club.people["ann"], "the table")


def test_the_table_of_each_tournament_is_planned_in_a_transaction_of_its_own(
    club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten of 128 held the store for seconds, at the beginning of each month."""
    for number, by in enumerate(club.people, start=1):
        club.announce(by, "format: ladder")
        t = club.referee.desk.director.archive.load(number)
        assert t is not None
        for name in club.people:
            club.say(name, f"enter t{number} {t.rules_hash}")
            club.say(name, "set mail digest")
    told: list[int] = []
    director, rows = club.referee.desk.director, club.referee.desk.director.archive.rows

    decision = club.referee.desk.decision

    @contextmanager
    def counted() -> Iterator[None]:
        before = len(rows.tasks())
        with decision():
            yield
        told.append(len(rows.tasks()) - before)

    monkeypatch.setattr(club.referee.desk.due_tasks, "decision", counted)
    monkeypatch.setattr(type(director), "carry_out", lambda *_: None)
    club.referee.wait(32 * DAY)
    assert [count for count in told if count] == [3, 3, 3]


def instruct(club: Club, what: str, ruling: str = "") -> tuple[str, str]:
    """The outcome of an operator's instruction about the tournament."""
    return club.referee.instruct(what, "t1", "a  trip", ruling)


def test_a_pause_stops_the_start_and_entries_close_nevertheless(club: Club) -> None:
    assert instruct(club, "pause") == ("refused", "there is no tournament t1")
    club.announce("ann")
    club.enter("ann", "bob", "carl")
    assert instruct(club, "pause") == ("done", "t1 is paused")
    assert club.referee.desk.director.archive.rows.next_due() is None, "the clock would look at it in vain"
    club.referee.wait(6 * DAY)
    assert club.t.phase == "open"
    club.people["dave"] = club.referee.registered("dave")
    assert "entries are closed" in club.say("dave", f"enter t1 {club.t.rules_hash}")
    assert instruct(club, "resume") == ("done", "t1 goes on")
    assert club.t.phase == "playing"
    club.proof()


def test_the_operator_rules_with_a_bare_word(club: Club) -> None:
    club.begin()
    own = next(pairing for pairing in club.awaited if "ann" in pairing.names)
    assert instruct(club, "rule", "annul") == ("refused", "`rule`: name the match, such as m17.")
    assert instruct(club, "rule", f"annul {own.match}") == ("done", f"t1: annul {own.match} is entered")
    assert "It is the operator's word: a trip" in letters_about(club.people["bob"], "[pbem t1] a ruling")[-1]
    ruling = " ".join(letters_about(club.people["bob"], "[pbem t1] a ruling")[-1].split())
    assert "it goes on: it counts for ratings, and silence in it counts like any other. Its players" in ruling
    assert f"`annul {own.match} offer`" in ruling
    assert f"WORD {own.match} does not count, by the operator's bare word: a trip" in club.proof()
    assert instruct(club, "rule", "close")[0] == "done"
    assert instruct(club, "pause") == ("refused", "the tournament is over")


def test_who_may_play_on_for_another_is_told_how_to_enter(club: Club) -> None:
    club.begin()
    rules = club.t.rules_hash
    club.people["eve"] = club.referee.registered("eve")
    late = club.say("eve", "enter t1")
    assert "Nobody new may enter: the tournament has begun." in late
    assert "To enter" not in late
    assert RULED in club.say("ann", "rule t1 substitute eve for bob\nreason: ill\nend")
    assert f"enter t1 {rules}" in club.say("eve", "enter t1 # now")
    (told,) = letters_about(club.people["eve"], "[pbem t1] a ruling")
    assert "eve may play on for bob." in told
    assert f"enter t1 {rules}" in told
    assert f"enter t1 {rules}" not in letters_about(club.people["carl"], "[pbem t1] a ruling")[-1]
    assert "You are in." in club.say("eve", f"enter t1 {rules}")


def test_no_program_enters_where_none_may(club: Club) -> None:
    rules = club.announce("ann", "programs: no")
    club.say("bob", "set program yes")
    assert "programs may not enter this tournament" in " ".join(club.say("bob", f"enter t1 {rules}").split())
    assert "You are in." in club.say("carl", f"enter t1 {rules}")


def test_nobody_has_more_than_three_tournaments_announced(club: Club) -> None:
    for days in (2, 3, 4):
        club.announce("ann", f"pace: {days}d")
    told = club.say("ann", f"tournament new spaceships\ncloses: {CLOSES}\nend")
    assert "3 tournaments of yours are not over yet" in told
    club.announce("bob")


@pytest.mark.parametrize("how", ["leave t1", "block ann", "stop"])
def test_who_wants_no_more_gets_the_end_alone(club: Club, how: str) -> None:
    club.people["dave"] = club.referee.registered("dave")
    club.announce("ann", "format: ladder")
    club.enter(*club.people)
    club.say("dave", "set mail digest")
    dave = club.people["dave"]
    club.referee.send(dave, f"{how}\n{placed(dave) if how == 'stop' else ''}")
    before = len(dave.letters)
    match = club.say("carl", "challenge t1 bob") and club.awaited[0].match
    assert RULED in club.say("ann", f"rule t1 annul {match}\nreason: by error\nend")
    club.referee.wait(35 * DAY)
    assert len(dave.letters) == before
    assert letters_about(club.people["bob"], "[pbem t1] a ruling")
    assert RULED in club.say("ann", "rule t1 close\nreason: enough\nend")
    assert [str(one["Subject"]) for one in dave.letters[before:]] == ["[pbem t1] it is over"]


def test_a_letter_that_a_tournament_keeps_is_short(club: Club) -> None:
    """All get it in the end."""
    rules = club.announce("ann")
    told = club.say("bob", f"enter t1 {rules}\n\n> {'so ' * 12_000}\n")
    assert "it has more than 32 KiB" in " ".join(told.split())
    club.enter("bob")


def test_a_large_proof_is_not_in_everybodys_last_letter(club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    club.announce("ann", "entrants: 3")
    club.enter("ann", "bob", "carl")
    monkeypatch.setattr("pbem.desk.tournament.tournament_director._BESIDE", 1000)
    assert RULED in club.say("ann", "rule t1 close\nreason: enough\nend")
    bob = club.people["bob"]
    (end,) = letters_about(bob, "it is over")
    assert "`tournament t1` brings it" in " ".join(end.split())
    assert "in a letter of its own" in club.say("bob", "tournament t1")
    (apart,) = (one for one in bob.letters if str(one["Subject"]) == "[pbem t1] the proof")
    (file,) = apart.iter_attachments()
    assert not [check for check in verify_tournament(file.get_content()) if check.standing == "FAIL"]
    monkeypatch.setattr("pbem.desk.letter_writer._ROOM", 1000)
    club.say("bob", "tournament t1")
    assert [len([*one.iter_attachments()]) for one in bob.letters if "the proof" in str(one["Subject"])] == [1, 0]


def test_nobody_fills_a_transcript_with_entries(club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full one takes no entries of others, and a ladder ends."""
    rules = club.announce("ann", "format: ladder")
    for number in range(10):
        assert "You are in." in club.say("bob", f"enter t1 {rules}\n# {number}")
    assert "has entered 10 times" in club.say("bob", f"enter t1 {rules}\n# again")
    assert "You have left" in club.say("bob", "leave t1")
    assert "has entered 10 times" in club.say("bob", f"enter t1 {rules}\n# and again")
    monkeypatch.setattr(tournament_commands, "_KEYS", 100)
    assert "`key revoke`" in club.say("carl", f"enter t1 {rules}")
    assert "`key revoke`" in club.say("carl", f"tournament new spaceships\nformat: ladder\n{SMALL}\nend")
    monkeypatch.undo()
    club.enter("carl")
    club.proof()


def test_at_most_150_matches_begin_together(club: Club) -> None:
    many = f"tournament new spaceships\ncloses: {CLOSES}\nentrants: 128\n"
    told = " ".join(club.say("ann", f"{many}end").split())
    assert "`128`: up to 704 matches would begin together, and at most 150 may" in told
    assert "`at-once: 2`" in told
    club.announce("ann", "entrants: 128\nat-once: 2")


def test_entering_counts_the_matches_that_are_to_begin(club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "_PLAYED", 19)
    club.announce("ann")
    club.announce("ann", "entrants: 10")
    club.enter("bob")
    assert "nobody plays more than 19 matches at once" in club.say("bob", f"enter t2 {second(club)}")
    assert "You are no longer entered" in club.say("bob", "leave t1")
    assert "You are in." in club.say("bob", f"enter t2 {second(club)}")


def second(club: Club) -> str:
    """The hash of the terms of the second tournament."""
    found = club.referee.desk.director.archive.load(2)
    assert found is not None
    return found.rules_hash


def test_a_challenge_respects_the_limit_of_the_challenger(club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    club.announce("ann", "format: ladder")
    club.enter("ann", "bob", "carl")
    monkeypatch.setattr(seats, "_PLAYED", 1)
    assert "the match begins" in club.say("carl", "challenge t1 bob")
    assert "nobody plays more than 1 matches" in club.say("bob", "challenge t1 ann")


@pytest.mark.parametrize("by", ["block", "a friend's challenge"])
def test_nobody_keeps_a_place_of_a_ladder_from_challengers(
    club: Club, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    club.announce("bob", "format: ladder\nrematch: 0")
    club.enter("ann", "bob", "carl")
    if by == "block":
        club.say("ann", "block carl")
    else:
        assert "the match begins" in club.say("bob", "challenge t1 ann")
    asked: list[str] = []
    monkeypatch.setattr(tournament_commands, "demand_leisure", lambda _, player: asked.append(player))
    assert "the match begins" in club.say("carl", "challenge t1 ann")
    assert {*asked} == {"carl"}
    club.win(club.awaited[-1], "carl")
    assert club.t.ladder == ("carl", "ann", "bob")
    club.proof(club.bundles())


def test_no_mailbox_that_refuses_letters_keeps_a_place(club: Club) -> None:
    told = club.say("ann", "tournament new spaceships\nformat: ladder\nunreachable: stands\nend")
    assert "in a tournament, unreachable is loses" in " ".join(told.split())


@pytest.mark.parametrize("language", ["en", "de"])
def test_tables_are_not_too_wide_for_letters(referee: Referee, language: str) -> None:
    club = Club(referee, *(f"player-{number}-of-eight" for number in range(8)))
    club.people["dave"] = referee.registered("dave")
    first, second, *_ = club.people
    club.announce(first, "format: double round robin\nentrants: 8\nat-once: 1")
    club.say(first, f"set language {language}")
    for name in [name for name in club.people if name != "dave"]:
        club.say(name, f"enter t1 {club.t.rules_hash}")
    club.say(first, f"rule t1 substitute dave for {second}\nreason: ill\nend")
    club.say("dave", f"enter t1 {club.t.rules_hash}")
    rows = [line for line in club.say(first, "tournament t1").splitlines() if "  player-" in line]
    assert len(rows) == 8
    assert max(map(len, rows)) <= 72


def test_an_organiser_gets_the_page_to_pass_on(referee: Referee) -> None:
    referee.configure(pages="https://play.example/pbem/")
    club = Club(referee, "ann")
    club.announce("ann")
    assert "\n    https://play.example/pbem/t1.html\n" in club.people["ann"].text
    club.say("ann", "set language de")
    text = club.say("ann", f"tournament new spaceships\ncloses: {CLOSES}\nentrants: 5\n{SMALL}\nend")
    assert "\n    https://play.example/pbem/t2.de.html\n" in text
    assert "  bis        Donnerstag, 5. März 2026, 00:00 Uhr UTC, oder wenn voll\n" in text


def test_a_substitute_is_told_that_matches_under_way_stay_with_the_player_before(club: Club) -> None:
    """The substitute was silent in none of them, and so is not out for the silence in both."""
    club.begin("pace: 1d\ngrace: 0")
    club.people["eve"] = club.referee.registered("eve")
    club.say("ann", "rule t1 substitute eve for bob\nreason: ill\nend")
    entered = club.say("eve", f"enter t1 {club.t.rules_hash}")
    assert entered.count("under way; whoever was here before you plays it") == 2
    assert "against bob, under way\n" in club.say("ann", "tournament t1")
    club.referee.wait(2 * DAY)
    assert [one.result.silent for one in club.t.pairings if "bob" in one.names and one.result] == [(1, 2), (1, 2)]
    assert "you are out" not in "".join(map(body, club.people["eve"].letters))


def test_nobody_who_is_in_a_tournament_becomes_a_program(club: Club) -> None:
    club.announce("ann", "programs: no")
    club.enter("bob")
    told = " ".join(club.say("bob", "set program yes").split())
    assert "the others there agreed to play with a person: first end t1" in told
    club.say("bob", "leave t1")
    assert "From now on you are a program" in club.say("bob", "set program yes")


def test_a_ruling_says_that_it_gives_no_place_of_a_ladder_back(club: Club) -> None:
    club.announce("ann", "format: ladder")
    club.enter("bob", "carl")
    club.say("carl", "challenge t1 bob")
    (playing,) = club.awaited
    club.win(playing, "carl")
    club.say("ann", f"rule t1 annul {playing.match}\nreason: a program\nend")
    assert club.t.ladder == ("carl", "bob")
    assert "A place that was taken by it stays taken." in " ".join(club.people["bob"].text.split())


def test_nobody_is_told_to_enter_in_a_place_that_was_given_up(club: Club) -> None:
    club.begin()
    club.people["eve"] = club.referee.registered("eve")
    club.say("ann", "rule t1 substitute eve for bob\nreason: ill\nend")
    assert f"enter t1 {club.t.rules_hash}" in club.say("eve", "enter t1 # now")
    club.say("bob", "leave t1")
    late = club.say("eve", "enter t1 # later")
    assert "Nobody new may enter: the tournament has begun." in late
    assert f"enter t1 {club.t.rules_hash}" not in late
