"""The configuration file: every key documented with its default, and clear words for what is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pbem.config.file import ConfigError, faults, home, load, parse
from pbem.config.server import Config
from pbem.config.values import Listen
from pbem.mailbox import password
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

EXAMPLE = Path(__file__).parents[1] / "config" / "pbem.example.toml"
REQUIRED = {"server"}


def documented(table: dict[str, Any], prefix: str = "") -> set[str]:
    """The dotted names of all keys in a TOML table."""
    names: set[str] = set()
    for key, value in table.items():
        names |= documented(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return names


def existing(kind: type[msgspec.Struct], prefix: str = "") -> set[str]:
    """The dotted names of all keys that the configuration knows."""
    names: set[str] = set()
    for field in msgspec.structs.fields(kind):
        nested = isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
        names |= existing(field.type, f"{prefix}{field.name}.") if nested else {prefix + field.name}
    return names


def write(folder: Path, text: str) -> Path:
    path = folder / "pbem.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_example_documents_every_key_and_no_other() -> None:
    assert documented(tomllib.loads(EXAMPLE.read_text("utf-8"))) == existing(Config)


def test_the_example_shows_the_defaults() -> None:
    assert parse(tomllib.loads(EXAMPLE.read_text("utf-8"))) == Config(server="play.example")


def test_a_comment_stands_above_every_table_and_required_key() -> None:
    lines = EXAMPLE.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("["):
            assert lines[number + 1].startswith("#"), line
        if line.partition(" ")[0] in REQUIRED:
            assert lines[number - 1].startswith("#"), line


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = (
        'server = "a.example"\nstore = "s/x.db"\n[lmtp]\nlisten = "unix:run/l"\n[smarthost]\npassword_file = "p"\n'
        '[smtp]\ncertificate = "c.pem"\ncertificate_key = "/k.pem"'
    )
    config = load(write(tmp_path, text))
    assert config.store == tmp_path / "s/x.db"
    assert config.store_key == tmp_path / "keys" / "store.key"
    assert config.lmtp.listen.path == tmp_path / "run/l"
    assert config.smarthost.password_file == str(tmp_path / "p")
    assert (config.smtp.certificate, config.smtp.certificate_key) == (str(tmp_path / "c.pem"), "/k.pem")
    assert config.mail_address == "pbem@a.example"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "server is missing"),
        ('server = "a"\nstroe = "x"', "stroe is no key of this file"),
        ('server = "a"\n[smtp]\nport = 25', "smtp.port is no key of this file"),
        ('server = "a"\nx = 1\ny = 2', "x is no key of this file; y is no key of this file"),
        ('server = "a"\n[smtp]\nlisten = "25"', '"25" is no place to listen'),
        ('server = "a"\n[smtp]\nlisten = "h:65536"', "is no place to listen"),
        ('server = "a"\n[smtp]\ncertificate = "c.pem"', "belong together"),
        ('server = "a"\n[clock]\nsettle = 10', "a text in quotes is expected"),
        ('server = "a"\n[clock]\nsettle = "ten"', '"ten" is no duration'),
        ('server = "a"\n[limits]\nparts = 0', "limits.parts: a whole number of at least 1 is expected"),
        ('server = "a"\n[limits]\nletters_kept = "365001d"', '"365001d" is longer than a thousand years'),
        ('server = "a"\n[limits]\nletters_kept = "23h"', "letters_kept is shorter than a day"),
        ('server = "a"\n[limits]\nreading = "0s"', "reading is no time at all"),
        ('server = "a"\n[limits]\nidle = "0m"', "idle is no time at all"),
        ('server = "a"\n[limits]\nsession = "0h"', "session is no time at all"),
        ('server = "a"\n[smarthost]\ntimeout = "0s"', "smarthost: timeout is no time at all"),
        ('server = "a"\n[mailbox]\ntimeout = "0s"', "mailbox: timeout is no time at all"),
        ('server = "a"\n[delivery]\ngive_up = "0d"', "delivery: give_up is no time at all"),
        ('server = "a"\n[delivery]\nfirst_retry = "0s"', "delivery: first_retry is no time at all"),
        ('server = "A.example"', "a host name in lower case is expected"),
        ('server = "a\\r\\nb"', "control characters"),
        ('server = "a"\ndelimiter = "."', "delimiter"),
        ('server = "a"\naddress = "p-b@a"\ndelimiter = "-"', "stands in the address"),
        ('server = "a"\ndelimiter = ""', "letters are fetched from a [mailbox]"),
        ('server = "a"\n[mailbox]\nmaildir = "/x"\npoll = "31m"', "at most half of clock.outage"),
        ('server = "a"\n[mailbox]\nimap = "i.example"', "needs password_file, password_command or token_command"),
        ('server = "a"\n[mailbox]\nimap = "i"\nmaildir = "m"\npassword_file = "p"', "give one of them"),
        ('server = "a"\n[smarthost]\npassword_file = "p"\npassword_command = "c"', "give one of them"),
        (
            'server = "a"\n[mailbox]\nimap = "i.example"\npassword_file = "p"\ntoken_command = "c"',
            "mailbox: password_file, password_command and token_command: give one of them",
        ),
        ('server = "a"\n[smarthost]\ntoken_command = "c"', "token_command needs user"),
        ('server = "a"\n[smarthost]\nhost = "s.example"\nuser = "u"\ntoken_command = "c"', "shows the token to"),
        (
            'server = "a"\n[smarthost]\nhost = "s.example"\nuser = "u"\npassword_command = "p"',
            'smarthost: tls = "none" shows the password to the network: one of starttls, implicit is possible',
        ),
        ('server = "a"\naddress = "x"', "no simple address"),
        ('server = "a"\noperator = "x"', "no address"),
        ('server = "a"\n[house]\nname = "x"\naddress = "x"', 'house: address = "x" is no address'),
        ('server = "a"\n[house]\nname = "The House"', "the name of a player in lower case is expected"),
        ("server = ", "Invalid value"),
    ],
)
def test_faults_are_named_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[smarthost]\nport = 2525", "127.0.0.1:2525 is where smtp listens"),
        ('[lmtp]\nlisten = "0.0.0.0:24"\n[smarthost]\nport = 24', "is where lmtp listens"),
        ('[smtp]\nlisten = "mx.example:25"\n[smarthost]\nhost = "mx.example"', "mx.example:25 is where smtp listens"),
        ('[smtp]\nlisten = "192.0.2.1:25"', ""),
        ('operator = "Pbem+x@a"', "is the server itself"),
        ('operator = "pbem@a"', "is the server itself"),
        ('operator = "pbem@b"\n[smarthost]\nport = 587', ""),
    ],
)
def test_loops_are_found(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, f'server = "a"\n{text}')
    assert load(path)
    assert message in "".join(faults(path)[0])
    assert bool(faults(path)[0]) == bool(message)


@pytest.mark.parametrize("box", [{"imap": "i.example", "password_file": "p"}, {"maildir": "m"}])
def test_without_sub_addresses_letters_are_fetched_from_either_mailbox(box: dict[str, object]) -> None:
    assert parse({"server": "a", "delimiter": "", "mailbox": box}).mailbox


def test_the_house_has_a_name_where_there_is_one(tmp_path: Path) -> None:
    assert load(write(tmp_path, 'server = "a"')).house_name == ""
    run_here = load(write(tmp_path, 'server = "a"\n[house]\nconfig = "opponent.toml"'))
    assert (run_here.house_name, run_here.house.config) == ("house", str(tmp_path / "opponent.toml"))
    assert load(write(tmp_path, 'server = "a"\n[house]\nconfig = "o.toml"\nname = "robo"')).house_name == "robo"
    run_apart = load(write(tmp_path, 'server = "a"\n[house]\nname = "robo"'))
    assert (run_apart.house_name, run_apart.house.config, run_apart.house.address) == ("robo", "", "")


def test_the_address_of_the_house_is_that_of_its_own_file_unless_another_is_given(tmp_path: Path) -> None:
    text = 'server = "a"\n[house]\nconfig = "opponent.toml"\n'
    assert load(write(tmp_path, text)).house.address == ""
    (tmp_path / "opponent.toml").write_text('memory = "m"\n[account]\nname = "house"\naddress = "h@a.example"\n')
    assert load(write(tmp_path, text)).house.address == "h@a.example"
    assert load(write(tmp_path, f'{text}address = "o@a.example"')).house.address == "o@a.example"
    (tmp_path / "opponent.toml").write_text("no table")
    assert load(write(tmp_path, text)).house.address == ""


def test_the_default_place_is_in_the_users_data_folder() -> None:
    assert home({"XDG_DATA_HOME": "/data", "HOME": "/home/ann"}) == Path("/data/pbem/pbem.toml")
    assert home({"HOME": "/home/ann"}) == Path("/home/ann/.local/share/pbem/pbem.toml")
    assert home({}) == Path("/.local/share/pbem/pbem.toml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["127.0.0.1:0", "[::1]:2525", "localhost:65535", "unix:/run/pbem", "systemd", ""])
def test_places_to_listen_read_and_write_alike(text: str) -> None:
    assert str(Listen.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000, "no TOML: brackets in brackets, too deep"),
        ("a = " + "{x = " * 3000, "no TOML: brackets in brackets, too deep"),
        ('[mailbox]\nimap = "a b"\npassword_file = "x"', "mailbox.imap = 'a b': a host name is expected"),
        ('[smarthost]\nhost = "a/b"', "smarthost.host = 'a/b': a host name is expected"),
        ('[smarthost]\nhost = "a..b"', "smarthost.host = 'a..b': a host name is expected"),
        ('[mailbox]\nimap = ".b"\npassword_file = "x"', "mailbox.imap = '.b': a host name is expected"),
        ('[smtp]\nlisten = "127.0.0..1:25"', 'smtp.listen: "127.0.0..1:25" is no place to listen'),
        ('store = "a\\u0000b"', "store = 'a\\x00b': control characters"),
        ('[mailbox]\nimap = "a\\nb"\npassword_file = "x"', "mailbox.imap = 'a\\nb': control characters"),
    ],
)
def test_whatever_is_in_a_file_its_faults_are_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pbem.toml").write_text('server = "play.example"\n' + text, "utf-8")
    wrong, _ = faults(tmp_path / "pbem.toml")
    assert [fault for fault in wrong if fault.startswith(said)], wrong


def test_witnesses_are_known_by_one_key_each(tmp_path: Path) -> None:
    def key(name: str, kind: int = COSIGNATURE, url: str = "https://w.example/logs") -> str:
        return f'"{VerifierKey(name, kind, bytes(32))} {url}"'

    def said(*keys: str) -> str:
        path = write(tmp_path, f'server = "play.example"\n[witness]\ncosigners = [{", ".join(keys)}]\n')
        return "\n".join(faults(path)[0])

    assert not said(*(key(f"w{number}") for number in range(15)))
    assert "room for 15" in said(*(key(f"w{number}") for number in range(16)))
    assert "cosigners: two of them have one name" in said(key("w"), key("w"))
    assert "is the key of no other cosigner" in said(key("w", LOG))
    assert "is the key of no other cosigner" in said(key("play.example"))
    assert "the hash in the key" in said(key("w").replace("w+", "v+"))
    for url in ("https://w.example", "https://w.example:8443/of/logs/", "http://127.0.0.1:80", "http://[::1]:80/x"):
        assert not said(key("w", url=url))
    assert "by https" in said(key("w", url="http://w.example/"))
    for url in (
        "",
        "w@mail.example",
        "ftp://w.example",
        "https://",
        "https://w.example/a b",
        "https://u:p@w.example",
        "https://w.example?x",
        "https://w.example:0",
    ):
        assert "write the key" in said(key("w", url=url)), url
    for url in ("https://w.example:99999", "https://[:::]"):
        assert "cosigners" in said(key("w", url=url)), url


def test_the_mark_that_notepad_begins_with_is_taken(tmp_path: Path) -> None:
    """A byte order mark; in the file of a password as well."""
    path = write(tmp_path, '\N{ZERO WIDTH NO-BREAK SPACE}server = "a.example"\n')
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert load(path).server == "a.example"
    assert faults(path)[0] == []
    secret = tmp_path / "password"
    secret.write_bytes(b"\xef\xbb\xbfopen sesame\r\n")
    secret.chmod(0o600)
    assert password(str(secret), "") == "open sesame"
