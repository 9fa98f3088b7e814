"""The first server: without any configuration, or by `pbem init`; what it writes can be used as it is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from pbem.cli.group import group
from pbem.config.file import faults, load
from pbem.server.daemon import Daemon
from pbem.server.opening import StartError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration that there is none of, for somebody in an empty folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("PBEM_CONFIG", raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return tmp_path / "data" / "pbem" / "pbem.toml"


async def no_server(_: Daemon) -> None:
    raise StartError("not now")


def test_without_a_configuration_one_is_made_and_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Daemon, "run", no_server)
    done = CliRunner().invoke(group, ["serve"])
    assert done.exit_code == 4
    assert faults(home)[0] == []
    config = load(home)
    for words in (
        str(home),
        str(config.smtp.listen),
        config.mail_address,
        config.smarthost.maildirs,
        "pbem play try",
    ):
        assert words in done.output
    config_of_house, without = home.read_text(), home.read_text().replace('[house]\nconfig = "house.toml"\n', "")
    home.write_text(without)
    assert "pbem play try" not in CliRunner().invoke(group, ["serve"]).output, "there is no house to play with"
    home.write_text(config_of_house)
    home.write_text(home.read_text() + "# mine\n")
    CliRunner().invoke(group, ["serve"])
    assert home.read_text().endswith("# mine\n"), "what is there is not made again"
    (home.parents[2] / "empty" / "pbem.toml").write_text('server = "here.example"\n')
    assert "not now" in CliRunner().invoke(group, ["serve"]).output
    assert "for trying" not in CliRunner().invoke(group, ["serve"]).output
    # Every command finds the same one, and the environment comes first.
    assert "there is no store" in CliRunner().invoke(group, ["status"]).output
    named = CliRunner().invoke(group, ["serve"], env={"PBEM_CONFIG": "/nowhere/pbem.toml"})
    assert "/nowhere/pbem.toml: No such file" in named.output
    assert "for trying" not in named.output


@pytest.mark.parametrize("kind", ["mailbox", "domain"])
def test_init_writes_what_can_be_used(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "games"
    answers = f"{kind}\nMy.Games@mail.example\nme@example.org\n"
    done = CliRunner().invoke(group, ["init", str(folder)], input=answers)
    assert done.exit_code == 0, done.output
    wrong, config = faults(folder / "pbem.toml")
    assert not wrong
    assert config is not None
    assert (config.mail_address, config.operator) == ("my.games@mail.example", "me@example.org")
    texts = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert not [name for name, text in texts.items() if "play.example" in text or "play\\.example" in text]
    assert not [name for name, text in texts.items() if "$server" in text or "$address" in text]
    if kind == "mailbox":
        assert config.server == "my.games.mail-example.internal"
        assert (config.mailbox.imap, config.smarthost.host) == ("imap.mail.example", "smtp.mail.example")
        assert config.smarthost.tls == "implicit"
        assert texts.keys() == {"pbem.toml", "pbem.service"}
        assert f'--config "{folder}/pbem.toml"' in texts["pbem.service"]
    else:
        assert config.server == "mail.example"
        assert {"dns.txt", "postfix/main.cf", "systemd/pbem.service"} <= texts.keys()
        for words in ("MX   10 mail.mail.example.", "v=spf1 mx -all", "v=DMARC1"):
            assert words in texts["dns.txt"]
        assert r"/^my\.games(\+[^@]+)?@mail\.example$/" in texts["postfix/pbem_recipients"]
    for name in filter(None, re.findall(r"(?m)^# .* (\S+/pbem.example.toml) explains", texts["pbem.toml"])):
        assert Path(name).is_file(), name
    assert not [name for name, text in texts.items() if re.search(r"(?<![./\w])(docs|config)/|\$examples", text)]
    if kind == "domain":
        assert "useradd --system" in done.output
        # `check-config` as that user comes before systemd makes the folder.
        assert "install -d -o pbem -m 700 /var/lib/pbem\n" in done.output
        assert re.search(r"sudo -u pbem \S+ check-config", done.output)
        assert "openssl genrsa" in texts["dns.txt"]
        assert f"cp {folder}/pbem.toml /etc/pbem/" in done.output
    again = CliRunner().invoke(group, ["init", str(folder)], input="")
    assert again.exit_code == 4
    assert "already exists: nothing was written" in again.output


def test_init_takes_options_and_says_what_is_no_address(tmp_path: Path) -> None:
    options = [
        "--kind",
        "mailbox",
        "--operator",
        "me@example.org",
        "--server",
        "games.example",
        "--imap",
        "i.example",
    ]
    done = CliRunner().invoke(group, ["init", str(tmp_path), *options, "--address", "me@gmail.com"])
    assert done.exit_code == 0, done.output
    config = load(tmp_path / "pbem.toml")
    assert (config.server, config.mailbox.imap, config.smarthost.host) == (
        "games.example",
        "i.example",
        "smtp.gmail.com",
    )
    on_icloud = CliRunner().invoke(group, ["init", str(tmp_path / "i"), *options, "--address", "me@icloud.com"])
    assert on_icloud.exit_code == 0, on_icloud.output
    assert load(tmp_path / "i/pbem.toml").smarthost.tls == "starttls"
    bad = CliRunner().invoke(group, ["init", str(tmp_path / "x"), *options, "--address", "nonsense"])
    assert bad.exit_code == 2
    assert '"nonsense" is not an address' in bad.output
    assert not (tmp_path / "x").exists()


ASKED = ("--address", "--operator", "--server")  # whatever kind it is; the others are of a provider
HOSTILE = (
    ("--address", 'ga"mes@mail.example'),
    ("--address", "spïel@mail.example"),
    ("--address", "a@b@mail.example"),
    ("--address", "a|b.*@mail.example"),
    ("--operator", 'me@mail.example"\n[smtp]\nlisten = "0.0.0.0:25'),
    ("--operator", "games@mail.example"),
    ("--server", '"""'),
    ("--server", "a b"),
    ("--imap", 'x"\npassword_command = "id'),
    ("--imap", "x y"),
    ("--submission", "x\ny"),
)


@pytest.mark.parametrize(
    ("kind", "option", "answer"),
    [("mailbox", *pair) for pair in HOSTILE] + [("domain", *pair) for pair in HOSTILE if pair[0] in ASKED],
)
def test_init_writes_nothing_that_cannot_be_used(tmp_path: Path, kind: str, option: str, answer: str) -> None:
    """After a slip it asks again; and an answer cannot set more than it was asked for."""
    given = {"--kind": kind, "--address": "games@mail.example", "--operator": "me@mail.example"}
    folder = tmp_path / "games"
    for answers, hostile in ((given | {option: answer}, True), (given, False)):
        words = [word for both in answers.items() for word in both]
        done = CliRunner().invoke(group, ["init", str(folder), *words])
        assert (done.exit_code != 0) == hostile, done.output
        assert folder.exists() != hostile
        assert ("FAULT" in done.output or "Invalid value" in done.output) == hostile


def test_init_asks_again_for_what_is_no_address_of_one_s_own(tmp_path: Path) -> None:
    typed = "mailbox\nnonsense\ngames@mail.example\ngames@mail.example\nme@home.example\n"
    done = CliRunner().invoke(group, ["init", str(tmp_path / "games")], input=typed)
    assert done.exit_code == 0, done.output
    config = load(tmp_path / "games" / "pbem.toml")
    assert (config.mail_address, config.operator) == ("games@mail.example", "me@home.example")


def test_init_quotes_the_folder_for_systemd_and_for_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / 'my "own" $HOME 100%h\'s'
    words = ["--kind", "mailbox", "--address", "j.doe_1@mail.example", "--operator", "me@mail.example"]
    done = CliRunner().invoke(group, ["init", str(folder), *words])
    assert done.exit_code == 0, done.output
    assert load(folder / "pbem.toml").server == "j.doe-1.mail-example.internal"
    unit = (folder / "pbem.service").read_text()
    assert f'--config "{tmp_path}/my \\"own\\" $$HOME 100%%h\'s/pbem.toml"\n' in unit
    (command,) = (line.strip() for line in done.output.splitlines() if "check-config" in line)
    assert shlex.split(command.partition(". ")[2])[-1] == str(folder / "pbem.toml")
    broken = CliRunner().invoke(group, ["init", str(tmp_path / "a\nb"), *words])
    assert broken.exit_code == 4
    assert not (tmp_path / "a\nb").exists()
