"""`pbem witness`: from cron, with a Maildir and drafts, and what ended between remembering and answering."""

from __future__ import annotations

import mailbox
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.cli.witness import witness
from pbem.player import mail_out
from pbem.player.checkpoint_witness import Witness, load
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.cosigning import REPEATED
from pbem.tlog.note import Note, signed
from pbem.tlog.tree import leaf_hash, root
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.player.account_file import Account
    from pbem.player.memory import SentForm

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    mailbox.Maildir(tmp_path / "in")
    (tmp_path / "out").mkdir()
    file = tmp_path / "witness.toml"
    log = VerifierKey("l.example", LOG, KEY.public_key().public_bytes_raw())
    file.write_text(
        f'name = "w.example"\naddress = "w@mail.example"\nmail_in = "maildir:{tmp_path}/in"\n'
        f'mail_out = "drafts:{tmp_path}/out"\nlogs = ["{log} pbem@l.example"]\n'
    )
    return file


def request(leaf: bytes, log: str = "l.example", number: int = 1) -> bytes:
    """A letter that asks to cosign a log of one leaf."""
    text = str(Checkpoint(log, 1, root(1, lambda _level, _number: leaf_hash(leaf))))
    head = f"From: pbem@{log}\nMessage-ID: <{number}@{log}>\nContent-Type: text/plain; charset=utf-8\n\n"
    return f"{head}{CosignRequest(0, (), Note(text, (signed(log, KEY, text),)))}".encode()


def run(settings: Path, *words: str, status: int = 0) -> str:
    done = CliRunner().invoke(witness, ["--config", str(settings), *words])
    assert done.exit_code == status, done.output
    return done.output


def answers(settings: Path) -> list[str]:
    found = sorted((settings.parent / "out").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    return [path.read_text() for path in found]


def test_from_cron_each_letter_is_answered_once_and_what_was_refused_is_printed(settings: Path) -> None:
    box = mailbox.Maildir(settings.parent / "in")
    assert "cosigning as w.example+" in run(settings, "--once")
    box.add(request(b"one"))
    box.add(b"From: stranger@mail.example\n\nold 0\n\nHello!\n")
    assert "cosigned: l.example 1\n" in run(settings, "--once")
    assert "l.example" not in run(settings, "--once")
    (answer,) = answers(settings)
    assert "\nTo: pbem@l.example" in answer
    assert run(settings, "--refused") == ""
    box.add(request(b"two"))
    assert "forked: l.example 1\n" in run(settings, "--once")
    assert len(answers(settings)) == 2
    shown = run(settings, "--refused")
    assert shown.index("This was cosigned here") < shown.index("This came now")
    assert shown.count("\nl.example\n1\n") == 2


def test_a_log_that_is_forgotten_begins_anew_and_what_was_known_is_kept(settings: Path) -> None:
    box = mailbox.Maildir(settings.parent / "in")
    run(settings, "--once")
    assert "nothing is remembered of a log 'l.example'" in run(settings, "--forget", "l.example", status=1)
    box.add(request(b"one"))
    run(settings, "--once")
    box.add(request(b"two"))
    assert "forked: l.example 1\n" in run(settings, "--once")
    note = run(settings, "--forget", "l.example").partition("\n\n")[2]
    assert "\n\n— l.example " in note
    assert note in run(settings, "--refused").partition("\nforgotten l.example\n\n")[2]
    box.add(request(b"two", number=2))
    assert "cosigned: l.example 1\n" in run(settings, "--once")


def test_what_ends_before_its_answer_left_answers_at_the_next_start(settings: Path) -> None:
    run(settings, "--once")
    with closing(Witness(load(settings))) as first, closing(Witness(load(settings))) as second:
        assert first.receive(request(b"one"), "a", NOW) == "cosigned: l.example 1"
        assert second.has_seen("a")
        assert second.receive(request(b"one"), "b", NOW) == "behind: l.example 1", "the same, by another way"
    run(settings, "--once")
    assert len(answers(settings)) == 2
    run(settings, "--once")
    assert len(answers(settings)) == 2


def test_an_address_that_takes_no_mail_keeps_no_other_log_waiting(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = VerifierKey("dead.example", LOG, KEY.public_key().public_bytes_raw())
    settings.write_text(settings.read_text().replace("logs = [", f'logs = ["{other} pbem@dead.example", '))
    send, tried = mail_out.send, []

    def refusing(account: Account, sent: SentForm) -> str:
        if sent.to == "pbem@dead.example":
            tried.append(sent.id)
            raise mail_out.NotSent("550 no such domain")
        return send(account, sent)

    monkeypatch.setattr(mail_out, "send", refusing)
    run(settings, "--once")
    box = mailbox.Maildir(settings.parent / "in")
    box.add(request(b"one", "dead.example"))
    box.add(request(b"one", "dead.example"))
    run(settings, "--once")
    box.add(request(b"one"))
    assert "no mail to pbem@dead.example now" in run(settings, "--once")
    (answer,) = answers(settings)
    assert "\nTo: pbem@l.example" in answer
    assert len(tried) == 2, "once each time, not once for each letter"
    # Nor do its letters lie ready without end.
    with closing(Witness(load(settings))) as witness:
        for number in range(1, REPEATED * 2):
            witness.receive(request(b"one", "dead.example", number), f"again {number}", NOW + timedelta(days=number))
        assert len(list(witness.unsent())) == REPEATED


def test_settings_that_cannot_be_are_named(settings: Path) -> None:
    text = settings.read_text()
    settings.write_text(text.replace('name = "w.example"', 'name = "w example"'))
    assert "a name without blanks or + is expected" in run(settings, "--once", status=1)
    settings.write_text(text.replace("pbem@l.example", ""))
    assert "write the key, a blank, and its mail address" in run(settings, "--once", status=1)
