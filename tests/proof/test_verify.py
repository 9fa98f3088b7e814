"""The proof catches every change: of single bytes, of papers, of entries, and of a transcript signed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import checked, fails, holds, index, nth, retold, with_entry, with_papers
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from vectors.matches import good
from world.mutations import SERVER_KEY, rewritten, signed_again

from pbem.match.documents import Opening, Receipt
from pbem.phrase import harmless
from pbem.proof import bundle
from pbem.proof.signed_letters import BundleLetters
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle


@pytest.fixture(scope="module")
def match() -> Bundle:
    """A finished match: continued, two games of three turns."""
    return good("continued")


@pytest.fixture(scope="module")
def proof(match: Bundle) -> bytes:
    return bundle.write(match)


@pytest.fixture(scope="module")
def running() -> Bundle:
    """The bundle that Ann gets while the second game is played: her own papers of it, and none of Bob's."""
    return good("running")


@pytest.fixture(scope="module")
def resigned() -> Bundle:
    """Bob resigned game 1, and Ann the match."""
    return good("resignation")


class TestTheProof:
    def test_an_honest_match_holds(self, proof: bytes, match: Bundle) -> None:
        checks = holds(proof)
        assert [check.what for check in checks[:3]] == ["bundle", "chain", "server"]
        assert [check.what for check in checks[3:-1]] == [f"entry {entry.seq}" for entry in match.entries]
        assert "ann won, scores [9, 0], agreed length" in checks[-1].found
        assert "by its own word" in checks[2].found

    def test_the_server_key_that_one_knows(self, proof: bytes) -> None:
        key = SERVER_KEY.public_key().public_bytes_raw().hex()
        assert "the key that you gave" in checked(proof, key)[2].found
        assert checked(proof, key.upper())[-1].holds
        for wrong in ("00" * 32, "", "zz", key[:-1]):
            checks = checked(proof, wrong)
            assert len(checks) == 3
            assert not checks[-1].holds
            assert "not the one that you gave" in checks[-1].found

    def test_another_servers_key(self, match: Bundle) -> None:
        fails(signed_again(match, key=Ed25519PrivateKey.from_private_bytes(bytes(32))), "entry 1: heads.txt")
        signatures = list(match.signatures)
        signatures[4] = signatures[5]
        fails(replace(match, signatures=signatures), "entry 5: heads.txt: the server's signature")

    def test_a_key_under_which_one_signature_holds_for_all(self, match: Bundle) -> None:
        neutral = bytes([1, *bytes(31)])  # with S = 0 the equation holds whatever is signed
        forged = signed_again(with_entry(match, 0, lambda body: body.update(server_key=neutral.hex())))
        fails(replace(forged, signatures=[neutral + bytes(32)] * len(forged.entries)), "entry 1", "proves anything")


class TestARewritingServer:
    """The server signs its own rewriting; the letters and the rules speak against it."""

    @pytest.mark.parametrize(
        ("entry", "path", "changes"),
        [
            (2, "openings/game-1-seat-2.txt", {"player": "ann", "seat": 1, "game": 2, "rules": "0" * 64}),
            (2, "openings/game-1-seat-2.txt", {"match": "m2", "server": "other.example"}),
            (11, "receipts/game-2-turn-3-seat-1.txt", {"player": "bob", "seat": 2, "game": 1, "turn": 2, "rev": 2}),
            (11, "receipts/game-2-turn-3-seat-1.txt", {"level": "mailbox", "key": "SHA256:x", "mail": "0" * 64}),
            (11, "receipts/game-2-turn-3-seat-1.txt", {"server": "other.example"}),
        ],
    )
    def test_a_paper_that_names_another_place(
        self, match: Bundle, entry: int, path: str, changes: dict[str, Any]
    ) -> None:
        kind = Opening if path.startswith("openings/") else Receipt
        for name, value in changes.items():
            paper = replace(kind.read(match.papers[path].decode()), **{name: value})
            fails(rewritten(match, path, paper.text().encode()), f"entry {entry}: ")

    @pytest.mark.parametrize(
        ("other", "word"),
        [("game-1-turn-1-seat-1", "letters/game-1-setup-seat-1.eml"), ("game-1-setup-seat-2", "signature of ann")],
    )
    def test_an_opening_of_another_letter(self, match: Bundle, other: str, word: str) -> None:
        letter = "letters/game-1-setup-seat-1.eml"
        fails(rewritten(match, letter, match.papers[f"letters/{other}.eml"]), "entry 2: ", word)

    def test_a_salt_of_an_opening_is_bound_by_the_orders_that_follow(self, match: Bundle) -> None:
        path = "openings/game-1-seat-1.txt"
        opening = replace(Opening.read(match.papers[path].decode()), salt="0" * 64)
        fails(rewritten(match, path, opening.text().encode()), "entry 3: letters/game-1-turn-1-seat-1.eml")


class TestResignations:
    @pytest.mark.parametrize("wrong", [0, -1, 3, 9])
    @pytest.mark.parametrize("number", [0, 1])
    def test_no_seat_reads_from_the_end(self, resigned: Bundle, number: int, wrong: int) -> None:
        """Seat -1 would be Ann by her key, and Bob's resignation by the rules: she would win what she gave up."""
        at = nth(resigned, "resigned", number)
        word = "`seat` names a seat that there is not" if wrong > 0 else "its body has not the form of one"
        fails(retold(resigned, at, seat=wrong), f"entry {at + 1}: resigned: {word}")


class TestARunningGame:
    """Its secrets come after its end; what is in the bundle must be what the entries name, and where they name it."""

    def test_it_holds(self, running: Bundle) -> None:
        checks = holds(running)
        assert checks[-2].what == "game 2"
        assert "not revealed yet" in checks[-2].found
        assert "goes on; scores so far [3, 3]" in checks[-1].found

    def test_the_finished_game_is_still_proved(self, running: Bundle) -> None:
        fails(with_papers(running, {"records/game-1.pbem.toml": b"x"}), "entry 6: records/game-1.pbem.toml")
        fails(retold(running, nth(running, "ended"), winners=[2]), "entry 5")

    @pytest.mark.parametrize("kind", ["closed", "ended", "resigned", "agreed", "commitments", "turn", "revealed"])
    def test_nothing_else_hides_behind_what_is_not_revealed(
        self, running: Bundle, match: Bundle, resigned: Bundle, kind: str
    ) -> None:
        """Each as it stands somewhere else."""
        others = (*running.entries, *match.entries, *resigned.entries)
        following = ("turn", 2, 2)  # that one may
        hidden = ("revealed", 2, None)  # what says that game 2 is revealed leaves nothing unchecked: found before it
        found = [entry for entry in others if entry.type == kind and _place(entry) not in (following, hidden)]
        assert found
        for entry in found:
            forged = replace(running, entries=[*running.entries, replace(entry, time=running.entries[-1].time)])
            fails(signed_again(forged), f"entry {len(running.entries) + 1}: `{kind}` does not follow here")

    def test_nor_what_is_no_entry_at_all(self, running: Bundle) -> None:
        note = replace(running.entries[-1], type="note", body={"game": 2})
        forged = signed_again(replace(running, entries=[*running.entries, note]))
        fails(forged, f"entry {len(running.entries) + 1}: `note` is no type of entry")

    def test_no_other_game_begins_than_was_to_begin(self, running: Bundle, match: Bundle) -> None:
        """The game of a paused or ended match would be believed without being replayed."""
        at = index(running, "commitments", 2)
        first = running.entries[at]
        time = match.entries[-1].time
        pause = replace(first, type="paused", body={"by": "operator", "reason": "a test"})

        def begun(found: Bundle, *entries: Entry) -> Bundle:
            return signed_again(replace(found, entries=entries))

        papers = {path: octets for path, octets in running.papers.items() if "/game-2" not in path}
        before = replace(running, papers=papers)
        holds(begun(before, *running.entries[:at], first))
        other_game, other_options = {**first.body, "game": 3}, {**first.body, "options": {}}
        for forged in (
            begun(before, *running.entries[:at], replace(first, body=other_game)),
            begun(before, *running.entries[:at], replace(first, body=other_options)),
            begun(before, *running.entries[:at], pause, first),
            begun(match, *match.entries, replace(first, body=other_game, time=time)),
        ):
            fails(forged, f"entry {len(forged.entries)}: `commitments` does not follow here")
        dealt = begun(before, *running.entries[:at], replace(first, body={**first.body, "chance": "0" * 64}))
        fails(dealt, "`chance` is for games with dice or cards")

    def test_a_match_whose_end_is_not_revealed_is_not_proved(self, match: Bundle) -> None:
        entries = [entry for entry in match.entries if entry.type != "revealed"]
        fails(signed_again(replace(match, entries=entries)), "is not revealed")

    def test_nor_the_word_that_it_is_revealed(self, running: Bundle, match: Bundle) -> None:
        entry = replace(match.entries[index(match, "revealed", 2)], time=running.entries[-1].time)
        forged = replace(running, entries=[*running.entries, entry])
        fails(signed_again(forged), "entry 7: traces/game-2-setup.txt: is missing")


def _place(entry: Entry) -> tuple[str, int | None, int | None]:
    return entry.type, entry.body.get("game"), entry.body.get("turn")


class TestHostileBundles:
    """Whoever writes a bundle signs it with a key of his own: verification answers, whatever is in it."""

    def test_an_error_that_nobody_thought_of_is_a_failed_check(self, proof: bytes) -> None:
        class Broken(BundleLetters):
            def proved_form(self, *_: object) -> Any:
                raise ZeroDivisionError("oh")

        checks = list(verify(proof, reader=Broken))
        assert not checks[-1].holds
        assert "ZeroDivisionError: oh" in checks[-1].found

    def test_what_is_found_stays_on_its_line(self) -> None:
        """A value could hold line ends and control characters, to write lines of their own into the answer."""
        assert harmless("2\nok    result     bob won\x1b[2K\u202e") == r"2\nok    result     bob won\x1b[2K\u202e"
