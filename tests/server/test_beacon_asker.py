"""The beacon of a tournament's lot: asked for by HTTP over real sockets, checked, and what the desk does with it."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from desk.test_tournaments import Club
from in_a_box.referee import Referee
from in_a_box.stores import place
from machines.house import House, configured, move_in, run
from machines.waiting import at_once
from machines.witness_double import serving
from msgspec.structs import replace

from pbem.config.server import TournamentsConfig
from pbem.proof.tournament_proof import verify_tournament
from pbem.server.beacon_asker import LEASE, BeaconAsker
from pbem.server.desk_opening import open_desk
from pbem.server.server_clock import Machine
from pbem.smtp.delivery import Means
from pbem.tournament import lot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.json_object import JsonObject

HOUR = timedelta(hours=1)
SIGNATURE = "b5" * 48


class Drand:
    """A server of drand's, which says this of each round."""

    def __init__(self, signature: Callable[[int], str] = lambda _: SIGNATURE) -> None:
        self.signature = signature
        self.asked: list[str] = []
        self.says: tuple[int, bytes] | None = None

    def __call__(self, path: str, _body: bytes) -> tuple[int, str, bytes]:
        self.asked.append(path)
        if self.says is not None:
            return self.says[0], "application/json", self.says[1]
        round_ = int(path.rpartition("/")[2])
        signature = self.signature(round_)
        randomness = sha256(bytes.fromhex(signature)).hexdigest()
        said = {"round": round_, "randomness": randomness, "signature": signature}
        return 200, "application/json", json.dumps(said).encode()


class Drawing:
    """A tournament whose lot has a beacon, at a server that asks for it when it is told to."""

    def __init__(self, referee: Referee) -> None:
        referee.config = replace(referee.config, tournaments=TournamentsConfig(beacon="https://drand.example"))
        referee.open_desk()
        self.referee = referee
        self.woken = 0
        self.club = Club(referee, "ann", "bob", "carl")
        self.club.announce("ann", "lot: drand")
        self.club.enter("ann", "bob", "carl")
        self.beacon = self.club.t.terms.beacon or {}

    def ask(self, url: str) -> float:
        """A round of the asker."""

        async def scene() -> float:
            means = Means(lambda: self.referee.now, at_once, self.wake, longest_wait=10**9)
            asker = BeaconAsker(self.referee.desk.tournaments.beacons, url, means)
            wait = await asker._round()
            await asyncio.gather(*asker._under_way)
            return wait

        return asyncio.run(scene())

    def wake(self) -> None:
        self.woken += 1
        self.referee.work()

    def until_out(self) -> None:
        self.referee.wait(lot.out_at(self.beacon) - self.referee.now)


@pytest.fixture
def drawing(referee: Referee) -> Drawing:
    return Drawing(referee)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[tuple[JsonObject, str]]:
    """What was checked; only one signature holds."""
    found: list[tuple[JsonObject, str]] = []

    def holds(beacon: JsonObject, signature: str) -> bool:
        found.append((beacon, signature))
        return bytes.fromhex(signature)[-48:] == bytes.fromhex(SIGNATURE)

    monkeypatch.setattr(lot, "holds", holds)
    return found


def test_a_lot_is_drawn_with_the_beacon_once_it_is_out(drawing: Drawing, held: list[tuple[JsonObject, str]]) -> None:
    drand, club = Drand(), drawing.club
    with serving(drand) as url:
        assert drawing.ask(url) > 3600
        assert not drand.asked, "before its time nobody is asked"
        drawing.until_out()
        assert club.t.phase == "open"
        assert "entries are closed" in club.say("bob", f"enter t1 {club.t.rules}")
        drawing.ask(url)
    assert drand.asked == [f"/of/logs/{lot.NETWORK}/public/{drawing.beacon['round']}"]
    assert held == [(drawing.beacon, SIGNATURE)]
    assert (club.t.phase, club.t.beacon) == ("playing", SIGNATURE)
    assert drawing.woken == 1
    for pairing in club.awaited:
        club.win(pairing, min(pairing.players))
    found = list(verify_tournament(drawing.referee.desk.tournaments.archive.bundle(1, letters=True), club.bundles()))
    assert {check.standing for check in found} == {"ok"}
    assert drawing.referee.desk.tournaments.beacons.next_due() is None


@pytest.mark.parametrize(
    "says",
    [
        (404, b"not yet"),
        (425, b""),
        (500, b""),
        (302, b""),
        (200, b"no JSON"),
        (200, b"[]"),
        (200, b"\xff"),
        (200, b'{"round": 1, "signature": "' + SIGNATURE.encode() + b'"}'),
        (200, b'{"round": ROUND, "signature": "' + b"ab" * 48 + b'"}'),
        (200, b'{"round": ROUND, "signature": 7}'),
        (200, b'{"round": ROUND, "signature": ""}'),
        # The same point in other digits: no entry may have it so.
        (200, b'{"round": ROUND, "signature": "' + b"B5" * 48 + b'"}'),
        (200, b'{"round": ROUND, "signature": "' + b"b5 " * 48 + b'"}'),
        (200, b'{"round": ROUND, "signature": "00' + b"b5" * 48 + b'"}'),
        (200, b"*" * 1000),
        (200, b'{"more": ' + b"[" * 8000 + b"]" * 8000 + b"}"),
    ],
)
@pytest.mark.usefixtures("held")
def test_what_does_not_hold_is_no_beacon_and_is_asked_for_again(drawing: Drawing, says: tuple[int, bytes]) -> None:
    drand = Drand()
    drand.says = says[0], says[1].replace(b"ROUND", str(drawing.beacon["round"]).encode())
    drawing.until_out()
    with serving(drand) as url:
        drawing.ask(url)
        assert drawing.referee.desk.tournaments.beacons.next_due() == drawing.referee.now + timedelta(minutes=1)
        assert drawing.club.t.phase == "open"
        drand.says = None
        drawing.referee.wait(timedelta(minutes=1))
        drawing.ask(url)
    assert drawing.club.t.beacon == SIGNATURE


@pytest.mark.usefixtures("held")
def test_who_asked_and_died_is_followed_by_another(drawing: Drawing) -> None:
    drawing.until_out()
    beacons = drawing.referee.desk.tournaments.beacons
    assert len(beacons.due(drawing.referee.now, drawing.referee.now + LEASE)) == 1
    assert not beacons.due(drawing.referee.now, drawing.referee.now + LEASE)
    drawing.referee.wait(LEASE)
    with serving(Drand()) as url:
        drawing.ask(url)
    assert drawing.club.t.phase == "playing"


def test_a_beacon_that_nobody_reaches_is_waited_for_three_days(drawing: Drawing) -> None:
    club = drawing.club
    drawing.until_out()
    drawing.ask("http://127.0.0.1:1")
    drawing.referee.wait(lot.PATIENCE - 2 * HOUR)
    assert club.t.phase == "open"
    drawing.referee.wait(2 * HOUR)
    assert (club.t.phase, club.t.beacon) == ("playing", lot.UNREACHABLE)
    assert drawing.referee.desk.tournaments.beacons.next_due() is None


@pytest.mark.usefixtures("held")
def test_a_server_that_was_down_for_days_asks_before_it_gives_up(drawing: Drawing) -> None:
    drawing.until_out()
    drawing.referee.wait(lot.PATIENCE + 5 * HOUR)
    assert drawing.club.t.phase == "open"
    with serving(Drand()) as url:
        drawing.ask(url)
    assert drawing.club.t.beacon == SIGNATURE


def test_a_desk_that_begins_again_waits_for_it_all_the_same(
    drawing: Drawing, held: list[tuple[JsonObject, str]]
) -> None:
    drawing.until_out()
    drawing.referee.open_desk()
    with serving(Drand()) as url:
        drawing.ask(url)
    assert drawing.club.t.beacon == SIGNATURE
    assert held


def test_a_signature_of_a_network_is_checked_as_it_is(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of our own, whose key the terms name; and a signature of it for another round."""
    pytest.importorskip("py_ecc")
    from py_ecc.bls.g2_primitives import G1_to_pubkey, G2_to_signature  # noqa: PLC0415
    from py_ecc.bls.hash_to_curve import hash_to_G1  # noqa: PLC0415
    from py_ecc.optimized_bls12_381 import G2, multiply  # noqa: PLC0415

    def signature(round_: int) -> str:
        message = sha256(round_.to_bytes(8, "big")).digest()
        hashed = hash_to_G1(message, b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_", sha256)
        return bytes(G1_to_pubkey(multiply(hashed, 2026))).hex()

    monkeypatch.setattr(lot, "QUICKNET", bytes(G2_to_signature(multiply(G2, 2026))).hex())
    drawing = Drawing(referee)
    drawing.until_out()
    drand = Drand(lambda round_: signature(round_ + 1))
    with serving(drand) as url:
        drawing.ask(url)
        assert drawing.club.t.phase == "open"
        drand.signature = signature
        referee.wait(timedelta(minutes=1))
        drawing.ask(url)
    assert drawing.club.t.beacon == signature(int(str(drawing.beacon["round"])))
    found = list(verify_tournament(referee.desk.tournaments.archive.bundle(1, letters=True), drawing.club.bundles()))
    assert [check.standing for check in found if check.what == "beacon"] == ["ok"]


@pytest.mark.usefixtures("held")
def test_a_server_asks_its_beacon(tmp_path: Path) -> None:
    """The daemon, its desk and its asker together, in a second after the round is out."""
    with closing(Referee(tmp_path)) as referee:
        out = lot.out_at(Drawing(referee).beacon)
    drand = Drand()

    async def scene(house: House) -> None:
        base = house.daemon._post_base
        await house.until(lambda: base.scalar("SELECT phase FROM tournaments") == "playing")

    with serving(drand) as url:
        config = configured(tmp_path, tournaments=TournamentsConfig(beacon=url))
        config = replace(config, store=place(tmp_path / "store.sqlite"))
        move_in(config, bytes(range(32)))
        run(config, scene, desk=open_desk, machine=Machine(lambda: out + timedelta(seconds=1)))
    assert len(drand.asked) == 1
