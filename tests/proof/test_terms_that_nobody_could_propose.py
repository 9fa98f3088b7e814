"""Terms in entry 1 that no option lines give: both verifiers refuse them, though no letter repeats them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attackers.forgers import both
from in_a_box.referee import SERVER, Die, another
from in_a_box.signed_club import SignedClub, signed_tournament
from msgspec.structs import replace
from tournament.forging import chained, checks, verdict
from world.mutations import SERVER_KEY

from pbem.identity import parse_key, ssh
from pbem.match import modes
from pbem.match.events.begun import agree
from pbem.match.pinned_keys import Player
from pbem.match.step import Environment, Signed, Step
from pbem.match.terms import Terms
from pbem.match.transcript import canonical, sha256_hex, statement, written
from pbem.proof.bundle import Bundle, write

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PUBLIC = ssh.public(another("ann"))
KEY = {"format": "ssh", "fingerprint": parse_key(PUBLIC).fingerprint, "public": PUBLIC}


def agreed(
    terms: Terms, proposal: str = "", listed: tuple[dict[str, str], ...] = (KEY,), server: str = SERVER, **lie: Any
) -> bytes:
    """A match that both players have just agreed on, by a proposal, or by the hash of terms with this lie."""
    document = {**terms.document(), **lie}
    rules = sha256_hex(b"pbem terms 1\n" + canonical({"server": server, "match": "m1", "terms": document}))
    consent = f"accept m1 {rules}\n"
    players, letters = [], []
    for name, words in (("ann", proposal or consent), ("bob", consent)):
        text = words if words == consent else f"{words}server {server}\nplayer {name}\n"
        signed = text + ssh.sign(another("ann"), text.encode(), f"pbem@{server}")
        raw = f"From: {name}@mail.example\n\n{signed}".encode()
        letters.append(Signed(raw, "key", KEY["fingerprint"], received=written(NOW)))
        players.append(Player(name, listed))
    public = SERVER_KEY.public_key().public_bytes_raw().hex()
    step = Step(modes.proposed("m1", server, terms), Environment(NOW, Die("agreed"), "pbem 0.1.0", public))
    agree(step, tuple(players), letters)
    (entry,) = step.entries
    entry = replace(entry, body={**entry.body, "terms": document, "rules": rules})
    signature = SERVER_KEY.sign(statement(server, "m1", 1, entry.head))
    return write(Bundle([entry], [signature], {one.path: one.content for one in step.papers}))


def proposed(game: str = "spaceships", **lines: str) -> Terms:
    return Terms.propose(game, lines, ("ann", "bob"), timedelta(minutes=10))


HONEST: dict[str, Terms] = {
    "plain": proposed(),
    "a long match": proposed(kind="scored", games="3", target="9", victory="last game", settle="90s", pace="none"),
    "other times": proposed(grace="0", miss="pass", weekends="free", bank="21d", privacy="private", keys="demanded"),
    "a fleet": proposed(fleet="cost:3", first="1", additional="[1, 2]", additional_allowed="{KC = 2}"),
    "sealed": proposed(sealed="yes"),
    "masters": proposed("dueling-masters", homes="3", mobile_home="true", kind="continued"),
    "some press": proposed(press="between turns"),
    "no press": proposed(press="none"),
    "anonymous": proposed(anonymous="yes"),
    "shooting": proposed("shoot-em-up", board="12x7", unreachable="stands"),
}


@pytest.mark.parametrize("name", HONEST)
def test_whatever_lines_give_holds(name: str) -> None:
    assert both(agreed(HONEST[name]))


LIES: list[dict[str, Any]] = [
    *({"edition": edition} for edition in (0, 7, None, True)),
    *({"settle": settle} for settle in (700_000, -1, "10m", True, None)),
    *({"pace": pace} for pace in (1, 3599, 1_000_001, 7_776_001, None)),
    *({"grace": 8_000_000}, {"bank": 40_000_000}, {"bank": [], "grace": {}}),
    *({"kind": kind} for kind in ("double", 5, None)),
    *({"games": games} for games in (0, 2, None, 10_000, "1")),
    *({"target": 3}, {"target": 0}, {"victory": "most"}, {"miss": "lose"}, {"weekends": []}, {"privacy": []}),
    *({"keys": "none"}, {"sealed": 1}, {"sealed": True}, {"unreachable": "waits"}),
    *({"pace": 0, "unreachable": "loses"}, {"options": {"fleet": "standard"}}, {"options": {"fleet": 7}}),
    *({"options": {"none": 1}}, {"options": {"additional": [0, True]}}, {"options": []}, {"more": 1}),
    *({"kind": "scored", "games": 0}, {"kind": "scored", "target": 10_000}, {"kind": "scored", "games": True}),
    *({"players": ["ann", "ann"]}, {"players": ["seat-1", "seat-2"]}, {"press": "all"}, {"press": None}),
    *({"anonymous": True}, {"anonymous": False}, {"anonymous": 1, "players": ["seat-1", "seat-2"]}),
    {"anonymous": True, "players": ["seat-2", "seat-1"]},
    {"anonymous": True, "players": ["seat-1", "seat-2"], "unreachable": "stands"},
    {"anonymous": True, "players": ["seat-1", "seat-2"], "sealed": True, "keys": "demanded", "settle": 0},
    {"press": "between turns", "sealed": True, "keys": "demanded", "settle": 0},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: str(lie)[:40])
def test_what_no_lines_give_does_not(lie: dict[str, Any]) -> None:
    assert not both(agreed(HONEST["plain"], **lie))
    if not lie.keys() - {"edition", "settle"}:  # what a proposal leaves to the server
        assert not both(agreed(HONEST["plain"], "new spaceships with bob\nend\n", **lie))


def test_an_anonymous_match_is_proposed_to_nobody_by_name() -> None:
    place = f"server {SERVER}\nplayer ann\nrev 1\nanonymous: yes\nend\n"
    assert both(agreed(HONEST["anonymous"], f"new spaceships\n{place}"))
    for name in ("bob", "seat-2", "bob@mail.example"):
        assert not both(agreed(HONEST["anonymous"], f"new spaceships with {name}\n{place}"))


def test_masters_do_not_pass() -> None:
    assert not both(agreed(HONEST["masters"], miss="pass"))


@pytest.mark.parametrize("keys", [(KEY, KEY), (KEY, {**KEY, "fingerprint": KEY["fingerprint"].swapcase()})])
def test_a_key_is_listed_once_by_its_own_fingerprint(keys: tuple[dict[str, str], ...]) -> None:
    assert both(agreed(HONEST["plain"]))
    assert not both(agreed(HONEST["plain"], listed=keys))


NAMES = ["play.example", "localhost", "a-1.b--c", f"{'a' * 63}.b", ".".join(["ab"] * 84)]
NO_NAMES = [
    *(
        "",
        "Play.example",
        "play example",
        "play.example\n",
        "play..example",
        ".play",
        "-a.b",
        "a-.b",
        "a_b.c",
        "a.b.",
    ),
    *("[127.0.0.1]", f"{'a' * 64}.b", ".".join(["ab"] * 85)),
]


@pytest.mark.parametrize("server", [*NAMES, *NO_NAMES])
def test_a_server_has_the_name_of_a_host(server: str) -> None:
    assert both(agreed(HONEST["plain"], server=server)) == (server in NAMES)


# Tournaments, with their letters and as they are on public pages


def announced(club: SignedClub, **change: Any) -> list[bytes]:
    """A tournament with another announcement, whose hash is right, with its letters and without."""
    first, *others = club.entries
    body = {**first.body, **change}
    if "terms" in change:
        body["rules"] = replace(club.state.terms, **change["terms"]).hash(SERVER, "t1")
        body["terms"] = {**first.body["terms"], **change["terms"]}
    entries = chained([replace(first, body=body), *others])
    return [signed_tournament(entries, club.papers), signed_tournament(entries, {})]


TOURNAMENTS = (
    "",
    "format: double round robin\nat-once: 2\ngroup: 5",
    "format: ladder\nidle: 7d\nrematch: 0\nkind: scored\ngames: 2",
    "format: swiss\nround: 7d\nrounds: 3\nentrants: 40\nprograms: yes\nkeys: optional\nmiss: pass\nsettle: 1h",
)


@pytest.mark.parametrize("lines", TOURNAMENTS)
def test_whatever_lines_of_a_tournament_give_holds(lines: str) -> None:
    with_letters, public = announced(SignedClub(lines))
    assert verdict(checks(with_letters)) == "holds"
    assert verdict(checks(public)) == "open"


MATCH = SignedClub().state.terms.match
UNPROPOSED: list[dict[str, Any]] = [
    *({"group": group} for group in (4, 13)),
    *({"at_once": 23}, {"rounds": 1}, {"round": 604_800}, {"places": 4}, {"rematch": 0}, {"idle": 1}, {"longest": 1}),
    *({"format": "swiss", "entrants": 40, "round": 1_000_001}, {"format": "swiss", "entrants": 40, "rounds": 13}),
    *({"entrants": 2}, {"entrants": 129}, {"format": "knockout"}, {"programs": "maybe"}),
    *({"closes": "2026-03-10T12:00:00Z"}, {"closes": "2026-03-10"}, {"match": {}}),
    *({"match": {**MATCH, key: value}} for key, value in {
        "privacy": [], "settle": 700_000, "edition": 7, "more": 1, "players": ["a", "b"], "tournament": None,
        "pace": 0, "miss": "wait", "games": None, "options": {"fleet": "standard"}}.items()),
    {"match": {key: value for key, value in MATCH.items() if key != "bank"}},
]  # fmt: skip


@pytest.mark.parametrize("lie", UNPROPOSED, ids=lambda lie: str(lie)[:40])
def test_what_no_lines_of_a_tournament_give_does_not(lie: dict[str, Any]) -> None:
    for content in announced(SignedClub(), terms=lie):
        assert verdict(checks(content)) == "convicted"


def test_no_announcement_was_received_after_its_entry() -> None:
    for content in announced(SignedClub(), received="2026-03-01T12:30:00Z"):
        assert verdict(checks(content)) == "convicted"


@pytest.mark.parametrize(("at", "whose"), [(0, "organiser"), (1, "player")])
def test_a_key_in_a_tournament_is_listed_once_by_its_own_fingerprint(at: int, whose: str) -> None:
    club = SignedClub("", "ann")
    entry = club.entries[at]
    (key,) = entry.body[whose]["keys"]
    other = {**key, "fingerprint": key["fingerprint"].swapcase()}
    for keys in ([key, key], [key, other], [{**key, "public": "ssh"}]):
        forged = replace(entry, body={**entry.body, whose: {**entry.body[whose], "keys": keys}})
        for papers in (club.papers, {}):
            content = signed_tournament(chained([*club.entries[:at], forged]), papers)
            assert verdict(checks(content)) == "convicted"
