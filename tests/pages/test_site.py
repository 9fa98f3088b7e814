"""Public pages: what stands in them, and that nothing else does: no private match, no running secret, no address."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from cli.test_operator import give_keys
from click.testing import CliRunner
from in_a_box.referee import ANN, BOB, SERVER, Referee, attachment, form_in

from pbem.cli.group import group
from pbem.desk.public import Public, key_formats, signed_form
from pbem.games import GAMES
from pbem.identity import ssh
from pbem.match.transcript import Entry, canonical
from pbem.pages import site
from pbem.proof import bundle

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Mailbox

COMPOSERS = {
    f"{name}{tag}.html" for game in GAMES for name in (game, f"lesson-{game}", f"rules-{game}") for tag in ("", ".de")
}
SMALL = "fleet: cost:3\nsettle: 0"
SMALL_ANN, SMALL_BOB = "MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


PAGES = f"https://{SERVER}/pbem/"


def files(referee: Referee, pages: str = PAGES) -> dict[str, str]:
    """All pages of a server that serves them at an address, by file name."""
    public = Public(SERVER, referee.database, referee.vault)
    home = {"server": SERVER, "address": f"pbem@{SERVER}", "delimiter": "+", "pages": pages}
    facts = {**home, **public.site()}
    return {name: page for name, page in site.pages(facts, public.finished()) if isinstance(page, str)}


def carried(html: str) -> tuple[dict[str, Any], bundle.Bundle]:
    """The data that a page gives its script, and the bundle in it."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data, bundle.read(zlib.decompress(base64.b64decode(data["bundle"]), wbits=-15))


def play(referee: Referee, options: str = SMALL) -> tuple[Mailbox, Mailbox]:
    """Ann and Bob, and a whole match of three turns, which she wins."""
    ann, bob = (referee.people.get(f"{name}@mail.example") or referee.registered(name) for name in ("ann", "bob"))
    referee.send(ann, f"new spaceships with bob\n{options}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", SMALL_ANN))
    referee.send(bob, bob.filled("setup", SMALL_BOB))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    return ann, bob


def test_a_finished_public_match_has_its_page(referee: Referee) -> None:
    ann, bob = play(referee)
    pages = files(referee)
    assert set(pages) == {"index.html", "index.de.html", "m1.html", "m1.de.html", *COMPOSERS}
    row = re.search(r"<tr><th[^>]*><a href=\"m1.html\">m1</a>.*?</tr>", pages["index.html"])
    assert row is not None
    assert "ann, bob" in row[0]
    assert "ann (agreed length)" in row[0]
    assert ">3 to 0<" in row[0]
    assert pages["index.html"].count("<script") == 0
    assert re.search(r'<th scope="row">ann</th><td>[0-9.]+\?</td><td>1</td><td>1</td>', pages["index.html"])

    # All of the bundle but the letters, and of these the forms that their players signed.
    data, published = carried(pages["m1.html"])
    whole = bundle.read(attachment(ann.find(", the end"), ".zip"))
    letters = {path for path in whole.papers if path.startswith("letters/")}
    assert set(published.papers) == set(whole.papers) - letters
    assert {f"letters/{name}.eml" for name in data["forms"]} == letters
    for name, form in data["forms"].items():
        text, _, armor = form.partition(ssh.BEGIN)
        person = ann if name.endswith("seat-1") else bob
        key = ssh.parse(ssh.public(person.key))
        assert ssh.verify(ssh.read_signature(ssh.BEGIN + armor.strip()), key, text.encode())


def test_a_game_without_a_turn_is_not_offered_to_watch(referee: Referee) -> None:
    ann, bob = play(referee)
    referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", SMALL_ANN))
    referee.send(bob, bob.filled("setup", SMALL_BOB))
    referee.send(bob, "resign m2 match\n")
    first = files(referee)["index.html"]
    assert "m2.html" in first
    assert 'watch"><a href="m1.html">' in first


def test_no_address_gets_out(referee: Referee) -> None:
    ann, _ = play(referee)
    referee.send(ann, "new spaceships\nend\n")
    pages = files(referee)
    _, published = carried(pages["m1.html"])
    out = "\n".join([*pages.values(), *(paper.decode() for paper in published.papers.values())])
    assert "mail.example" not in out
    assert "pbem+" not in out
    assert "m2" in pages["index.html"]


def test_a_match_of_certificates_has_no_page(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    play(referee)
    public = Public(SERVER, referee.database, referee.vault)
    (match,) = public.finished()
    assert match.bundle is not None
    first = json.loads(match.bundle.entries[0].canonical())
    assert list(key_formats(match.bundle.entries)) == ["ssh", "ssh"]
    first["body"]["players"]["2"]["keys"][0]["format"] = "openpgp"
    change = {**first, "type": "keys", "body": {"seat": 2, "added": [{"format": "smime"}]}}
    newcomer = {**change, "type": "substituted", "body": {"seat": 2, "player": {"keys": [{"format": "openpgp"}]}}}
    assert list(key_formats([Entry.read(canonical(each)) for each in (first, change, newcomer)])) == [
        "ssh",
        "openpgp",
        "smime",
        "openpgp",
    ]
    monkeypatch.setattr("pbem.desk.public.key_formats", lambda _: ["ssh", "openpgp"])
    pages = files(referee)
    assert "m1.html" not in pages
    assert "ann (agreed length)" in pages["index.html"]
    assert 'href="m1.html"' not in pages["index.html"]
    assert "which contain mail addresses" in " ".join(pages["index.html"].split())


def test_a_private_match_is_nowhere(referee: Referee) -> None:
    for name in ("ann", "bob"):
        referee.registered(name)
    before = files(referee)
    play(referee, f"{SMALL}\nprivacy: private")
    after = files(referee)
    assert set(after) == set(before)
    # That two people played is in the standings, as it is in the letters that bring them; nothing else is.
    cut = re.compile(r"<h2>Standings</h2>.*?</main>", re.DOTALL)
    assert cut.sub("", after["index.html"]) == cut.sub("", before["index.html"])


def running(folder: Path, bob_setup: str, orders: str, seed: str) -> dict[str, str]:
    """The pages of a server on which a public match is at turn 3, with orders of bob waiting."""
    folder.mkdir()
    referee = Referee(folder, seed)
    ann, bob = referee.begun("settle: 0\nkind: scored\ngames: 2", (ANN, bob_setup))
    referee.turn((ann, "Rv2"), (bob, "Rv5"))
    referee.turn((ann, ""), (bob, ""))
    if orders:
        referee.send(bob, bob.filled("orders", orders))
    pages = files(referee)
    referee.close()
    return pages


def test_a_running_match_shows_no_more_than_where_it_stands(tmp_path: Path) -> None:
    one = running(tmp_path / "one", BOB, "Gx3", "die")
    assert "<h1>Spaceships: ann, bob (m1)</h1>" in one["m1.html"]
    assert re.search(r"Game 1\. Turn 3 is being played\.\sWhile it is played", one["m1.html"])
    assert re.search(
        r"m1.html\">m1</a></th><td>Spaceships, several games</td><td data-head=\"players\">ann, bob</td>"
        r"<td data-head=\"stands at\">game 1, turn 3</td><td data-head=\"score of its games\"></td>",
        one["index.html"],
    )
    moved = BOB.replace("LS Rv1", "LS Bz5")
    for setup, orders, seed in ((moved, "Gx3", "die"), (BOB, "", "die"), (BOB, "Ox1 sYw3", "other")):
        assert running(tmp_path / f"{len(setup)}{orders}{seed}".replace(" ", ""), setup, orders, seed) == one


def test_finished_games_of_a_running_match_wait_for_its_end(referee: Referee) -> None:
    _, bob = play(referee, f"{SMALL}\nkind: scored\ngames: 2")
    assert 'id="data"' not in files(referee)["m1.html"]
    assert re.search(r">game 2, setups</td><td[^>]*>3 to 0</td>", files(referee)["index.html"])
    referee.send(bob, "resign m1 match\n")
    data, published = carried(files(referee)["m1.html"])
    assert "records/game-1.pbem.toml" in published.papers
    assert "resign-" in " ".join(data["forms"])


def test_an_annulled_match_has_no_page(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, (SMALL_ANN, SMALL_BOB))
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(ann, "annul m1 offer\n")
    referee.send(bob, "annul m1 accept\n")
    assert "you agreed to annul it" in ann.text
    assert "m1" not in files(referee)["index.html"]
    assert "m1.html" not in files(referee)


def test_press_is_shown_where_its_writer_made_it_public(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, (SMALL_ANN, SMALL_BOB))
    referee.send(ann, "press m1\nBetween the two of us.\nend\n")
    referee.send(bob, "press m1 public\nTo </script> all of you.\nend\n")
    # Private words in the very letter of the orders keep its form from being shown.
    referee.send(ann, f"{ann.filled('orders', 'final' + chr(10) + 'Rv1')}press m1\nA whisper.\nend\n")
    referee.turn((bob, ""))
    referee.send(bob, "press m1 public\nAfter the first turn.\nend\n")
    referee.turn((ann, "Rv3 # a thought of mine"), (bob, ""))
    referee.turn((ann, "Bz5"), (bob, ""))
    assert "A whisper." in "".join(map(str, bob.letters))
    html = files(referee)["m1.html"]
    data, published = carried(html)
    assert data["press"] == [
        {"game": 1, "turn": 1, "by": "bob", "text": "To </script> all of you."},
        {"game": 1, "turn": 2, "by": "bob", "text": "After the first turn."},
    ]
    assert html.count("</script>") == 3
    assert "game-1-turn-3-seat-1" in data["forms"]
    assert not {"game-1-turn-1-seat-1", "game-1-turn-2-seat-1"} & set(data["forms"])
    out = html + json.dumps(data) + "".join(paper.decode() for paper in published.papers.values())
    for words in ("Between the two", "A whisper", "a thought of mine"):
        assert words not in out


def test_press_of_private_matches_is_not_kept(referee: Referee) -> None:
    ann, _ = referee.agreed(f"{SMALL}\nprivacy: private")
    referee.send(ann, "press m1 public\nHello.\nend\n")
    assert referee.database.scalar("SELECT count(*) FROM press") == 0


FORM = "orders m1 turn 1\nserver play.example\nplayer ann\nrev 1\n{}\nend\n"


@pytest.mark.parametrize(
    ("text", "published"),
    [
        (FORM.format("Rv1 Rv3"), True),
        (FORM.format("Rv1 # he will never guess"), False),
        ("Dear server,\n" + FORM.format("Rv1"), False),
        (FORM.format("Rv1") + "\nSee you on Sunday\n", False),
        (FORM.format("Rv1") + "press m1\nBetween us.\nend\n", False),
        (FORM.format("Rv1") + "-- \nann, 12 Some Street\n", False),
        ("> ann@mail.example wrote\n" + FORM.format("Rv1"), False),
        (FORM.format("Rv1") + FORM.format("Rv1").replace("\nrev 1", "\nrev 2"), False),
        ("register ann\n", False),
        ("whoami\n", False),
    ],
)
def test_only_a_form_that_stands_alone_is_published(referee: Referee, text: str, published: bool) -> None:
    ann = referee.person("ann")
    public = ssh.parse(ssh.public(ann.key))
    keys = [{"format": "ssh", "fingerprint": public.fingerprint, "public": public.public}]
    form = signed_form(referee.raw(ann, referee.signed(ann, text)), SERVER, keys)
    assert (form is not None) == published
    if form is not None:
        assert form == referee.signed(ann, text)
        assert signed_form(referee.raw(ann, form.replace("Rv1", "Rv2")), SERVER, keys) is None
    assert signed_form(referee.raw(ann, text), SERVER, keys) is None
    assert signed_form(b"no letter", SERVER, keys) is None


def test_invitations_stand_on_the_first_page(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.send(ann, "new shoot-em-up\nseats: 3\nboard: 7x7\nend\n")
    assert re.search(
        r'<a href="m1.html">m1</a>.*Join m1<.*<td>Shoot &#39;em up Spaceships, one game</td>'
        r"<td[^>]*>ann \(0 played\)</td><td[^>]*>2 of 3</td><td[^>]*>board: 7x7</td>",
        files(referee)["index.html"],
    )
    referee.send(ann, "withdraw m1\n")
    assert "m1<" not in files(referee)["index.html"]


def test_an_invitation_has_a_page_to_be_passed_on(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "new spaceships\npace: 3d\nfleet: cost:30\nend\n")
    pages = files(referee)
    assert set(pages) == {"index.html", "index.de.html", "m1.html", "m1.de.html", *COMPOSERS}
    english, german = pages["m1.html"], pages["m1.de.html"]
    assert "<h1>ann invites you to play Spaceships</h1>" in english
    assert "<h1>ann lädt dich zu einer Partie Spaceships ein</h1>" in german
    for row in ("<td>1 of 2</td>", "<td>3 days</td>", '<th scope="row">fleet</th><td>cost:30</td>'):
        assert row in english
    letters = f"mailto:pbem@{SERVER}?subject="
    for html in (english, german):
        for text in ("register%20NAME%20m1", "join%20m1"):
            assert f'{letters}{text}&amp;body={text}%0D%0A"' in html
        assert html.count("<figure>") == 3
        assert html.count("<script") == 1
        assert re.findall(r"src=|url\(|<link", html) == []
    # Each leads to itself in the other language, home, and to the board in its own; its code, to itself.
    assert {"m1.de.html", "index.html", "spaceships.html"} <= set(re.findall(r'href="([a-z0-9.-]+)"', english))
    assert {"m1.html", "index.de.html", "spaceships.de.html"} <= set(re.findall(r'href="([a-z0-9.-]+)"', german))
    drawn = [re.search(r'<svg[^>]*class="code".*?</svg>', html, re.DOTALL) for html in (english, german)]
    assert [found and found[0] for found in drawn] == [
        str(site.qr_code(f"{PAGES}m1{end}.html")) for end in ("", ".de")
    ]
    # Without an address at which pages are served, there is nothing to pass on.
    assert 'class="code"' not in files(referee, "")["m1.html"]
    referee.send(bob, "join m1\n")
    assert "m1.html" not in files(referee)


def test_newer_invitations_take_no_page_away(referee: Referee) -> None:
    people = [referee.registered(name) for name in ("ann", "bob", "cy")]
    for number in range(51):
        referee.send(people[number // 20], f"new shoot-em-up\nkind: scored\ntarget: {number + 1}\nend\n")
    assert {f"m{number}.html" for number in range(1, 52)} <= set(files(referee))


def test_only_what_is_open_to_all_has_a_page_that_invites(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.registered("bob")
    before = set(files(referee))
    referee.send(ann, "new spaceships with friend@mail.example\nend\n")
    referee.send(ann, "new spaceships with friend@mail.example\nprivacy: private\nend\n")
    referee.send(ann, "new spaceships with bob\nprivacy: private\nend\n")
    assert set(files(referee)) == before
    # Beside a seat that is kept for an address, one for anybody: the page does not name the address.
    referee.send(ann, "new shoot-em-up with friend@mail.example\nseats: 3\nend\n")
    after = files(referee)
    assert set(after) - before == {"m4.html", "m4.de.html"}
    assert "<td>1 of 3</td>" in after["m4.html"]
    assert "mail.example" not in "".join(after.values())


def test_who_must_sign_is_told_so_before_registering(referee: Referee) -> None:
    ann = referee.registered("ann")
    for options in ("keys: demanded\n", "", "sealed: yes\n"):
        referee.send(ann, f"new spaceships\n{options}end\n")
    pages = files(referee)
    for words, told in (
        ("must be signed with a key", [True, False, False]),
        ("Answer by mail", [False, True, False]),
        ("nothing but your mailbox", [False, True, False]),
        ("This browser makes one and keeps it", [True, True, False]),
        ("This match is sealed: install pbem", [False, False, True]),
    ):
        assert [words.lower() in pages[f"m{match}.html"].lower() for match in (1, 2, 3)] == told


def test_a_program_is_called_one_and_has_tables_of_its_own(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(bob, "set program yes\n")
    play(referee)
    referee.send(bob, "new spaceships\nend\n")
    referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    index = files(referee)["index.html"]
    assert ">bob (a program, 1 played)</td>" in index
    assert index.count('<td data-head="players">ann, bob (a program)</td>') == 2, (
        "one that is played, and one that is finished"
    )
    assert "<caption>Spaceships, matches with programs</caption>" in index
    assert '<th scope="row">bob (a program)</th>' in index
    assert "<caption>Spaceships</caption>" not in index
    assert "programs have tables of their own" in " ".join(index.split())


# The folder.


def test_a_folder_is_brought_up_to_date(tmp_path: Path, referee: Referee) -> None:
    folder = tmp_path / "www" / "pbem"
    for name in ("ann", "bob"):
        referee.registered(name)
    first = site.publish(folder, files(referee).items())
    assert sorted(first.written) == sorted(["index.html", "index.de.html", *COMPOSERS])
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = site.publish(folder, files(referee).items())
    assert (again.written, again.removed) == ([], [])
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == stamps
    play(referee)
    more = site.publish(folder, files(referee).items())
    assert sorted(more.written) == ["index.de.html", "index.html", "m1.de.html", "m1.html"]
    assert {path.name for path in folder.iterdir()} == {*first.written, "m1.html", "m1.de.html", "published.json"}
    # A page that is no longer to be seen goes; what somebody else put there stays.
    (folder / "m9.html").write_text("theirs")
    (folder / "style.css").write_text("theirs")
    less = site.publish(folder, [one for one in files(referee).items() if one[0] != "m1.html"])
    assert less.removed == ["m1.html"]
    assert {"m9.html", "style.css"} <= {path.name for path in folder.iterdir()}
    assert not (folder / "m1.html").exists()


def test_a_list_that_was_tampered_with_removes_nothing_else(tmp_path: Path) -> None:
    folder, other = tmp_path / "www", tmp_path / "store.sqlite"
    other.write_text("precious")
    site.publish(folder, [("index.html", "a")])
    (folder / "published.json").write_text(json.dumps({"../store.sqlite": "x", "index.html": "x"}))
    site.publish(folder, [("index.html", "b")])
    assert other.read_text() == "precious"
    assert (folder / "index.html").read_text() == "b"


def test_no_symlink_is_followed(tmp_path: Path) -> None:
    """Whoever else may write in the folder must not have us write, or make public, what lies elsewhere."""
    folder, other = tmp_path / "www", tmp_path / "store.key"
    site.publish(folder, [("index.html", "one"), ("m1.html", "one")])
    other.write_text("secret")
    other.chmod(0o600)
    for name in ("index.html", ".index.html.draft", ".m1.html.draft", ".published.json.draft"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(other)
    site.publish(folder, [("index.html", "secret"), ("m1.html", "two")])
    assert (other.read_text(), other.stat().st_mode & 0o777) == ("secret", 0o600)
    assert [path.name for path in folder.iterdir() if path.is_symlink()] == []
    assert {path.name: path.read_text() for path in folder.glob("*.html")} == {
        "index.html": "secret",
        "m1.html": "two",
    }
    (folder / "published.json").unlink()
    (folder / "published.json").symlink_to(other)
    with pytest.raises(OSError, match="not ours"):
        site.publish(folder, [("index.html", "three")])


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("my own site")
    with pytest.raises(OSError, match="not ours"):
        site.publish(tmp_path, [("index.html", "ours")])
    assert (tmp_path / "index.html").read_text() == "my own site"


def test_the_command_fills_a_folder(tmp_path: Path, referee: Referee) -> None:
    play(referee)
    give_keys(tmp_path)
    config = tmp_path / "pbem.toml"
    config.write_text(
        f'server = "{SERVER}"\noperator = "operator@{SERVER}"\nstore = "store.sqlite"\n'
        '[smtp]\nlisten = "127.0.0.1:1"\n'
    )
    folder = tmp_path / "www"
    for counts in ("22 written, 0 unchanged", "0 written, 22 unchanged"):
        done = CliRunner().invoke(group, ["publish", str(folder), "--config", str(config)])
        assert done.exit_code == 0, done.output
        assert counts in done.output
    assert (folder / "m1.html").read_text() == files(referee, pages="")["m1.html"]
    assert (folder / "m1.html").stat().st_mode & 0o777 == 0o644
