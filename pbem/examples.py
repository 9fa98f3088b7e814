"""The examples: inside the installed package, or beside it in a checkout; and what is made by filling them in.

A new server's files are made of those for operators, a new game's package of marbles. Nothing is written over here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from pbem.mail_providers import provider_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PACKAGE = Path(__file__).parent


def example_folder() -> Path:
    """The folder with pbem.example.toml and what is added to a mail server."""
    installed = _PACKAGE / "examples"
    return installed if installed.is_dir() else _PACKAGE.parent / "config"


def example_game() -> Path:
    """The folder of the package with marbles, a whole game."""
    installed = _PACKAGE / "examples" / "marbles"
    return installed if installed.is_dir() else _PACKAGE.parent / "examples" / "marbles"


def new_game(folder: Path, name: str) -> None:
    """Write a package with a game into a folder: marbles, by another name."""
    module, title = name.replace("-", "_"), name.replace("-", " ").title()
    words = {
        "pbem_marbles": f"pbem_{module}",
        "test_marbles": f"test_{module}",
        "MARBLES": title.upper(),
        "Marbles": title,
        "marbles": name,
    }
    source = example_game()
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place, text = str(path.relative_to(source)), path.read_text("utf-8")
            for old, new in words.items():
                place, text = place.replace(old, new), text.replace(old, new)
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, "utf-8")


def words_of(kind: str, address: str) -> dict[str, str]:
    """The words for the files of a server with this address, as far as they follow from it."""
    local, _, domain = address.rpartition("@")
    label = re.sub(r"[^a-z0-9.]+", "-", local).strip("-.")  # a host name has fewer characters (RFC 1123 2.1)
    provider = provider_of(address)  # hosts of others are guessed by the usual names
    scheme, _, submission = (provider.submission if provider else f"smtps://smtp.{domain}").partition("://")
    port, tls = ("465", "implicit") if scheme == "smtps" else ("587", "starttls")
    # A provider's domain is not ours: no name in it is. `.internal` is nobody's.
    server = domain if kind == "domain" else f"{label}.{domain.replace('.', '-')}.internal"
    imap = provider.imap if provider else f"imap.{domain}"
    mail = {"imap": imap, "submission": submission, "port": port, "tls": tls}
    return {"address": address, "local": local, "domain": domain, "server": server, **mail}


def server_files(kind: str, words: Mapping[str, str]) -> dict[str, str]:
    """The files of a new server, by name: one with a mailbox at a provider, or with a domain of its own."""
    examples = example_folder()
    quoted: dict[str, Callable[[str], str]] = {
        # Both are between double quotes; TOML has the escapes of JSON.
        ".toml": lambda word: json.dumps(word, ensure_ascii=False)[1:-1],
        # systemd.service(5), "Command lines"
        ".service": lambda word: word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$"),
    }

    def filled(path: str) -> str:
        quote = quoted.get(Path(path).suffix, str)
        filling = {name: quote(word) for name, word in words.items()}
        return Template((examples / path).read_text("utf-8")).substitute(filling)

    if kind == "mailbox":
        return {"pbem.toml": filled("init/mailbox.toml"), "pbem.service": filled("init/pbem.service")}
    files = {"pbem.toml": filled("init/domain.toml"), "dns.txt": filled("init/dns.txt")}
    for path in sorted([*examples.glob("systemd/*"), *examples.glob("postfix/*")]):
        text = path.read_text("utf-8").replace("/opt/pbem/.venv/bin/pbem", words["pbem"])
        text = text.replace("play.example", words["domain"])
        text = text.replace("play\\.example", words["domain"].replace(".", "\\."))
        text = text.replace("/^pbem(", f"/^{words['local'].replace('.', chr(92) + '.')}(")
        files[f"{path.parent.name}/{path.name}"] = text
    return files
