"""Feeds: what RFC 4287 demands, ids and times that stay, and no more in them than on the pages."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from desk.test_tournaments import Club
from in_a_box.referee import ANN, BOB, SERVER, Referee, form_in
from pages.test_site import PAGES, SMALL, SMALL_ANN, SMALL_BOB, play

from pbem.desk.public import Public
from pbem.desk.tournament.tournament_pages import public_tournaments
from pbem.match.transcript import sha256_hex
from pbem.pages import site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ATOM = "{http://www.w3.org/2005/Atom}"


def folder(referee: Referee, pages: str = PAGES) -> dict[str, bytes]:
    """All files of a server, by their names."""
    public = Public(SERVER, referee.database, referee.vault)
    home = {"server": SERVER, "address": f"pbem@{SERVER}", "delimiter": "+", "pages": pages, **public.site()}
    found = site.pages(home, public.finished(), (), list(public_tournaments(SERVER, referee.database, referee.vault)))
    return {name: text if isinstance(text, bytes) else text.encode() for name, text in found}


def titles(content: bytes) -> list[str]:
    """The titles of a feed's entries, which must be as the standard has them."""
    feed = ElementTree.fromstring(content)
    assert feed.tag == f"{ATOM}feed"
    for one in (feed, *feed.findall(f"{ATOM}entry")):
        for must in ("id", "title", "updated"):
            (found,) = one.findall(f"{ATOM}{must}")
            assert found.text
        assert re.fullmatch(rf"tag:{SERVER},2026:(de/)?[a-z0-9/]+", one.findtext(f"{ATOM}id") or "")
        assert datetime.fromisoformat(one.findtext(f"{ATOM}updated") or "").tzinfo is not None
        assert [link.get("rel") for link in one.findall(f"{ATOM}link")].count("alternate") == 1
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == SERVER
    ids = [one.text for one in feed.iter(f"{ATOM}id")]
    assert len(ids) == len(set(ids))
    times = [one.findtext(f"{ATOM}updated") for one in feed.findall(f"{ATOM}entry")]
    assert times == sorted(times, key=str, reverse=True)
    assert feed.findtext(f"{ATOM}updated") == (times[0] if times else "1970-01-01T00:00:00Z")
    return [one.findtext(f"{ATOM}title") or "" for one in feed.findall(f"{ATOM}entry")]


def feeds(found: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in found.items() if name.endswith(".xml")}


def test_a_match_from_its_invitation_to_its_end(referee: Referee) -> None:
    assert titles(folder(referee)["feed.xml"]) == []
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, f"new spaceships\n{SMALL}\nend\n")
    assert titles(folder(referee)["feed.xml"]) == ["m1: ann proposes Spaceships"]
    referee.send(bob, "join m1\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", SMALL_ANN))
    referee.send(bob, bob.filled("setup", SMALL_BOB))
    referee.wait(timedelta(hours=1))
    referee.turn((ann, "Rv1"), (bob, ""))
    running = folder(referee)
    assert titles(running["feed.xml"]) == ["m1: ann, bob begin Spaceships"]
    assert titles(running["m1.xml"]) == ["m1: turn 1 is over", "m1: ann, bob begin Spaceships"]
    referee.wait(timedelta(hours=1))
    # What did not change has the same octets, whenever it is made: the clock is not in it.
    assert feeds(folder(referee)) == feeds(running)
    for cell in ("Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    over = folder(referee)
    assert titles(over["feed.xml"]) == ["m1 is over: ann won", "m1: ann, bob begin Spaceships"]
    assert titles(over["m1.xml"])[:2] == ["m1 is over: ann won", "m1: turn 3 is over"]
    assert titles(over["feed.de.xml"])[0] == "m1 ist zu Ende: ann hat gewonnen"
    named = {name: ElementTree.fromstring(over[f"{name}.xml"]).findtext(f"{ATOM}title") for name in ("feed", "m1")}
    assert named == {"feed": SERVER, "m1": f"m1, {SERVER}"}
    entry = re.compile(rb"<id>.*</id>\n<title>m1: .*\n.*")
    before, after = (set(entry.findall(found["m1.xml"])) for found in (running, over))
    assert before < after, "ids and times stay"


def test_links_lead_to_pages_that_are_there(referee: Referee) -> None:
    ann, bob = play(referee)
    referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    for pages in (PAGES, ""):
        found = folder(referee, pages)
        assert set(feeds(found)) == {f"{name}{tag}.xml" for name in ("feed", "m1", "m2") for tag in ("", ".de")}
        for name, content in feeds(found).items():
            links = [link.attrib for link in ElementTree.fromstring(content).iter(f"{ATOM}link")]
            own = [link["href"] for link in links if link["rel"] == "self"]
            assert own == ([PAGES + name] if pages else []), "no reader may be told an address that is not known"
            assert {link["href"].removeprefix(pages) for link in links} <= set(found)
    for page in ("index.html", "m1.html", "index.de.html", "m1.de.html"):
        (feed,) = re.findall(r'<link rel="alternate" type="application/atom\+xml" href="(.*)">', found[page].decode())
        assert feed == page.replace("index", "feed").replace("html", "xml")
    assert '<a href="m2.html">m2</a>' in found["index.html"].decode()
    assert '<a class="button" href="m2.xml">' in found["m2.html"].decode()


def test_nothing_of_a_private_match_and_no_secret_of_a_public_one(tmp_path: Path) -> None:
    def made(setup: str, orders: str) -> dict[str, bytes]:
        place = tmp_path / sha256_hex(f"{setup}{orders}".encode())
        place.mkdir()
        referee = Referee(place)
        ann, bob = referee.begun("settle: 0\nkind: scored\ngames: 2", (ANN, setup))
        referee.turn((ann, "Rv2"), (bob, "Rv5"))
        if orders:
            referee.send(bob, bob.filled("orders", orders))
        referee.send(ann, "new spaceships with bob\nprivacy: private\nend\n")
        referee.send(bob, form_in(bob.text, "accept", lines=1))
        found = feeds(folder(referee))
        referee.close()
        return found

    one = made(BOB, "Gx3")
    assert titles(one["m1.xml"]) == ["m1: game 1, turn 1 is over", "m1: ann, bob begin Spaceships"]
    assert "m2" not in "".join(content.decode() for content in one.values())
    assert made(BOB.replace("LS Rv1", "LS Bz5"), "") == one


def test_a_tournament(referee: Referee) -> None:
    club = Club(referee, "ann", "bob", "carl")
    club.announce("ann")
    closes = str(club.t.terms.closes)[:10]
    announced = f"t1: a tournament of Spaceships, entries until {closes}"
    assert titles(folder(referee)["t1.xml"]) == [announced]
    club.enter("ann", "bob", "carl")
    club.start()
    first, *others = club.awaited
    club.say("ann", f"rule t1 annul {others[0].match}\nreason: <secret>\nend")
    for pairing in club.awaited:
        club.win(pairing, pairing.players[0])
    found = folder(referee)
    assert titles(found["t1.xml"])[0] == "t1 is over"
    assert f"t1, {first.match}: {' and '.join(first.names)}, 2:0" in titles(found["t1.xml"])
    assert titles(found["t1.xml"])[-3:] == ["t1: now played: m1, m2, m3", "t1 begins; players: 3", announced]
    assert {"t1 is over", "t1 begins; players: 3", announced} <= set(titles(found["feed.xml"]))
    assert 'type="application/atom+xml" href="t1.xml"' in found["t1.html"].decode()
    assert 'href="index.de.html"' in found["t1.de.html"].decode()
    assert "secret" not in "".join(content.decode() for content in feeds(found).values())
