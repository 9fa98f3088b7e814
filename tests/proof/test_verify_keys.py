"""Changes of keys in a bundle: what the proof accepts, and the forgeries of entries and letters that it catches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import fails_for_both, letter_by, nth, proof, with_entry
from in_a_box.referee import SERVER, form_in, own_key
from msgspec.structs import replace
from vectors.matches import SETUPS, SMALL, good, key
from world.mutations import rewritten, signed_again

from pbem.identity import parse_key, ssh
from pbem.match.transcript import sha256_hex
from pbem.store.players import Players

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from in_a_box.referee import Referee

    from pbem.proof.bundle import Bundle

    Change = Callable[[dict[str, Any]], object]


def fingerprint(private: Ed25519PrivateKey) -> str:
    return parse_key(ssh.public(private)).fingerprint


@pytest.fixture
def match() -> Bundle:
    """Ann adds a key, revokes the old one while her orders wait, and recovers by code."""
    return good("keys")


EVIL = {"format": "ssh", "fingerprint": fingerprint(own_key("evil")), "public": ssh.public(own_key("evil"))}
BOBS = good("keys").entries[0].body["players"]["2"]["keys"][0]
LIES: tuple[Change, ...] = (
    lambda content: content.update(seat=3 - content["seat"]),
    lambda content: content.update(seat=3),
    lambda content: content.update(seat="1"),
    lambda content: content.update(change={"added": "revoked"}.get(content["change"], "added")),
    lambda content: content.update(change="taken"),
    lambda content: content.update(how={"signed": "recovery code"}.get(content["how"], "signed")),
    lambda content: content.update(
        how={"recovery code": "mailbox, after notice and delay"}.get(content["how"], "recovery code")
    ),
    lambda content: content.update(added=[*content["added"], EVIL]),
    lambda content: content.update(added=[EVIL]),
    lambda content: content.update(added=[BOBS]),
    lambda content: content["added"][0].update(public=EVIL["public"]) if content["added"] else 1 / 0,
    lambda content: content["added"][0].update(fingerprint=EVIL["fingerprint"]) if content["added"] else 1 / 0,
    lambda content: content.update(added=[] if content["added"] else [EVIL]),
    lambda content: content.update(revoked=[EVIL["fingerprint"]]),
    lambda content: content.update(revoked=[*content["revoked"], EVIL["fingerprint"]]),
    lambda content: content.update(revoked=[] if content["revoked"] else [BOBS["fingerprint"]]),
    lambda content: content.update(letters={}),
    lambda content: content["letters"].update(new=sha256_hex(b"")),
    lambda content: content["letters"].update(other=sha256_hex(b"")),
    lambda content: content.update(more=1),
    lambda content: content.pop("letters"),
)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_part_of_an_entry(match: Bundle, number: int) -> None:
    at = nth(match, "keys", number)
    for lie in LIES:
        try:
            forged = with_entry(match, at, lie)
        except ZeroDivisionError:
            continue  # there is no such part
        fails_for_both(signed_again(forged), f"entry {at + 1}")


def test_a_key_that_the_server_made_up(match: Bundle) -> None:
    """Letters that its own key signed prove it; that an old key asked for it, nothing does."""
    text = f"confirm bob\nserver {SERVER}\nchallenge 0\nfingerprint {EVIL['fingerprint']}\nproof old-key\nend\n"
    letter = letter_by("evil", text)
    at = nth(match, "keys") + 1
    for old in (letter, match.papers["letters/game-1-turn-1-seat-2.eml"]):
        content = {
            "seat": 2,
            "change": "added",
            "how": "signed",
            "added": [EVIL],
            "revoked": [],
            "letters": {"old": sha256_hex(old), "new": sha256_hex(letter)},
        }
        entries = list(match.entries)
        entries.insert(at, replace(entries[at], type="keys", body=content))
        papers = {f"letters/keys-{at + 1}-seat-2-{who}.eml": raw for who, raw in (("old", old), ("new", letter))}
        forged = signed_again(replace(match, entries=entries, papers={**match.papers, **papers}))
        fails_for_both(forged, f"entry {at + 1}")


@pytest.mark.parametrize("name", ["ann", "evil"])
def test_orders_by_a_key_that_was_revoked_before_their_turn_or_never_pinned(match: Bundle, name: str) -> None:
    """The orders of turn 1, signed with the revoked key, count: they waited when it was revoked."""
    path = "letters/game-1-turn-2-seat-1.eml"
    form = form_in(match.papers[path].decode().replace("\r\n", "\n"), "orders")
    fails_for_both(rewritten(match, path, letter_by(name, form)), path, "not one of your keys here")


def test_a_resignation_by_a_key_that_is_revoked_counts_no_more(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike orders, it was asked for by nobody before."""
    monkeypatch.setattr(Players, "revoke_key", lambda *_: None)
    ann, bob = referee.begun(SMALL, SETUPS)
    referee.send(ann, f"key add\n{ssh.public(key('ann'))}\n")
    referee.send(ann, form_in(ann.text, "confirm"), key=key("ann"))
    referee.send(ann, f"key revoke {fingerprint(ann.key)}\n", key=key("ann"))
    referee.send(ann, "resign m1 match\n")
    fails_for_both(proof(referee, bob), "letters/resign-", "not one of your keys here")
