"""A letter of a sealed match, however signed and dressed: refused at once, or read alike by the other's program.

The other's program is shown the words with their signature, as a text. If it read them differently, it would not
answer, and its player would lose by the clock.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import pytest
from data.material import KEYS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_a_box.owners import Owner, live, propose
from in_a_box.referee import SERVER, Referee
from msgspec.structs import replace
from signing.dresses import DRESSES, WAYS

from pbem import identity
from pbem.match.events.sealed_events import sealed
from pbem.match.sealed_game import SealedGameState
from pbem.match.transcript import sha256_hex
from pbem.player import secret_vault
from pbem.player.correspondence.standings import Contradiction
from pbem.player.memory import SignedText
from pbem.player.signed_texts import _letters
from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.player.sealed_view import SealedSide


class Post(NamedTuple):
    """Ann may commit to a setup of m2 again and again; and how bob's program reads m1, with the same people."""

    referee: Referee
    bob: Owner
    game: SealedSide
    revisions: Iterator[int]

    def send(self, way: str, dresses: tuple[str, ...]) -> bool:
        """Commit by a letter signed in this way, and dressed in these, one over the other; whether it was taken."""
        rev = next(self.revisions)
        match, ann = self.referee.match(2), self.referee.people["ann@mail.example"]
        commitment = sha256_hex(str(rev).encode())
        place = f"seal m2 game 1\nserver {SERVER}\nplayer ann\nprev {match.prev}\nrev {rev}\n"
        text = f"{place}commitment {commitment}\nend\n".encode()
        for dress in dresses:
            text = DRESSES[dress](text)
        head = f"From: {ann.address}\r\nTo: pbem@{SERVER}\r\nSubject: seal\r\nMessage-ID: <{rev}@mail.example>\r\n"
        raw = head.encode() + WAYS[way](text)
        self.referee.deliver(raw, ann.address)
        seal = self.referee.match(2).setups.get(1)
        if seal is None or seal.rev != rev:
            return False
        shown = self.referee.desk.archive.matches.text(2, sha256_hex(raw))
        assert shown is not None
        begun = replace(self.game.play, match="m2", game=SealedGameState({}, {}))
        (letter,) = _letters(begun, self.game.told.keys, {}, SignedText(shown.encode()))
        assert letter.seat == 1
        assert letter.form.request.sections[0].words == (commitment,)
        return True


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    folder = tmp_path_factory.mktemp("dress")
    with pytest.MonkeyPatch.context() as patch, closing(Referee(folder)) as referee:
        patch.setattr(secret_vault, "_ROUNDS", 10)
        referee.now = datetime.now(UTC).replace(microsecond=0)  # no OpenPGP signature may be later than its receipt
        ann, bob = (Owner(referee, referee.person(name), folder / name / "memory.sqlite") for name in ("ann", "bob"))
        with closing(ann), closing(bob):
            for owner in (ann, bob):
                owner.register()
            for file in ("pgp-anna.pub.asc", "sm-p256.crt"):
                key = identity.parse_key((KEYS / file).read_bytes())
                row = KeyRow(key.format, key.fingerprint, key.public, "2026-03-01T12:00:00Z")
                with referee.database.transaction():
                    referee.desk.players.add_key("ann", row, row.added)
            propose(referee, [ann, bob], "spaceships")
            for _ in live([ann, bob]):
                if sealed(referee.match()).game.commitments:
                    break
            bob.look()
            propose(referee, [ann, bob], "spaceships", "\npace: 4d")
            bob.receive()
            bob.letters.accept("m2", referee.now)
            bob.flush()
            game = bob.agent.game(bob.letters.matches.standing("m1"))
            yield Post(referee, bob, game, count(1))


TAKEN = ["inline ssh", "inline openpgp", "attached ssh", "attached openpgp", "clear-signed"]
HARMLESS = ["as it is", "CR LF", "no last line feed", "byte order mark"]


@pytest.mark.parametrize("dress", HARMLESS)
@pytest.mark.parametrize("way", TAKEN)
def test_plain_words_are_taken(post: Post, way: str, dress: str) -> None:
    assert post.send(way, (dress,))


def test_the_refusal_says_how_to_sign(post: Post) -> None:
    assert not post.send("attached ssh", ("mixed line ends",))
    assert "as UTF-8, with the same line end after every line" in " ".join(
        post.referee.people["ann@mail.example"].text.split()
    )


@pytest.mark.parametrize("dress", DRESSES)
def test_a_dress_is_refused_or_read_alike(post: Post, dress: str) -> None:
    for way in WAYS:
        try:
            post.send(way, (dress,))
        except Contradiction as wrong:
            pytest.fail(f"{way}: {wrong}")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(WAYS)), st.lists(st.sampled_from(list(DRESSES)), min_size=2, max_size=4))
def test_several_dresses_are_refused_or_read_alike(post: Post, way: str, dresses: list[str]) -> None:
    post.send(way, tuple(dresses))
