"""`pbem init`: the files of a new server, from the answers to three questions. Thin: their contents are in config/.

Here live the questions, the guesses made from the answers, and the writing, which never overwrites. Implements
docs/operating.md, "A mailbox is enough" and "Install".
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from string import Template

import click

from pbem.config.file import faults
from pbem.examples import example_folder

KINDS = ("mailbox", "domain")
PROVIDERS = {
    "gmail.com": ("imap.gmail.com", "smtp.gmail.com"),
    "googlemail.com": ("imap.gmail.com", "smtp.gmail.com"),
    "fastmail.com": ("imap.fastmail.com", "smtp.fastmail.com"),
    "icloud.com": ("imap.mail.me.com", "smtp.mail.me.com"),
    "posteo.de": ("posteo.de", "posteo.de"),
    "gmx.net": ("imap.gmx.net", "mail.gmx.net"),
    "gmx.de": ("imap.gmx.net", "mail.gmx.net"),
    "web.de": ("imap.web.de", "smtp.web.de"),
}
"""IMAP and submission of some providers; all others are guessed by the usual names."""


def _mail_address(text: str) -> str:
    """A mail address; a prompt asks again until it gets one. Raises BadParameter."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,255}", text.strip()):
        raise click.BadParameter(f'"{text}" is not an address: write one such as games@example.org')
    return text.strip()


def _another(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The operator's own address: reports of trouble must not go where the server reads."""
    if value.lower() == ctx.params.get("address", "").lower():
        raise click.BadParameter("give an address of your own, not the one that players write to", ctx, param)
    return value


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    prompt="Do you use a mailbox at a provider, or your own domain with a mail server",
    default=KINDS[0],
    help="Letters are in a mailbox at a provider, or come through the mail server of your own domain.",
)
@click.option(
    "--address",
    type=_mail_address,
    prompt="The address that players write to",
    help="The address that players write to.",
)
@click.option(
    "--operator",
    type=_mail_address,
    callback=_another,
    prompt="Your own address, for reports of trouble",
    help="Your own address, for reports of trouble.",
)
@click.option("--server", help="The server's permanent name; by default made from the address.")
@click.option("--imap", help="The provider's IMAP server; otherwise guessed.")
@click.option("--submission", help="The provider's submission server; otherwise guessed.")
def init(
    folder: Path, kind: str, address: str, operator: str, server: str | None, imap: str | None, submission: str | None
) -> None:
    """Write the configuration of a new server into FOLDER, and list what remains to be done.

    For a mailbox: pbem.toml and a unit for systemd. For a domain: pbem.toml, units, the lines for Postfix, and the
    DNS records to add. Nothing is overwritten.
    """
    address = address.lower()
    local, _, domain = address.rpartition("@")
    label = re.sub(r"[^a-z0-9.]+", "-", local).strip("-.")  # a host name has fewer characters (RFC 1123 2.1)
    guessed = PROVIDERS.get(domain, (f"imap.{domain}", f"smtp.{domain}"))
    if not str(folder).isprintable():
        raise click.ClickException("the name of the folder has a character that a unit of systemd cannot have")
    words = {
        "address": address,
        "local": local,
        "domain": domain,
        "operator": operator,
        # A provider's domain is not ours: no name in it is. `.internal` is nobody's.
        "server": server or (domain if kind == "domain" else f"{label}.{domain.replace('.', '-')}.internal"),
        "imap": imap or guessed[0],
        "submission": submission or guessed[1],
        "pbem": shutil.which("pbem") or str(Path(sys.executable).with_name("pbem")),
        "folder": str(folder.absolute()),
    }
    made = dict(_files(kind, words))
    if there := [name for name in made if (folder / name).exists()]:
        raise click.ClickException(f"{folder / there[0]} already exists: nothing was written")
    with tempfile.TemporaryDirectory() as place:  # judged before it is written
        draft = Path(place, "pbem.toml")
        draft.write_text(made["pbem.toml"], "utf-8")
        wrong, _ = faults(draft)
    for fault in wrong:
        click.echo(f"FAULT  {fault}")
    if wrong:
        raise click.ClickException("nothing was written: please try again with other answers")
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        click.echo(f"wrote {path}")
    click.echo(Template(_NEXT[kind]).substitute(words, here=shlex.quote(words["folder"])))


def _toml(word: str) -> str:
    """A text as it is written between double quotes; TOML has the escapes of JSON."""
    return json.dumps(word, ensure_ascii=False)[1:-1]


def _unit(word: str) -> str:
    """A text as it is written between double quotes in a unit (systemd.service(5), "Command lines")."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


def _files(kind: str, words: dict[str, str]) -> list[tuple[str, str]]:
    """The files to write, by name."""
    examples = example_folder()

    def filled(path: str) -> str:
        quoted = {".toml": _toml, ".service": _unit}.get(Path(path).suffix, str)
        filling = {name: quoted(word) for name, word in words.items()}
        return Template((examples / path).read_text("utf-8")).substitute(filling)

    if kind == "mailbox":
        return [("pbem.toml", filled("init/mailbox.toml")), ("pbem.service", filled("init/pbem.service"))]
    files = [("pbem.toml", filled("init/domain.toml")), ("dns.txt", filled("init/dns.txt"))]
    for path in sorted([*examples.glob("systemd/*"), *examples.glob("postfix/*")]):
        text = path.read_text("utf-8").replace("/opt/pbem/.venv/bin/pbem", words["pbem"])
        text = text.replace("play.example", words["domain"])
        text = text.replace("play\\.example", words["domain"].replace(".", "\\."))
        text = text.replace("/^pbem(", f"/^{words['local'].replace('.', chr(92) + '.')}(")
        files.append((f"{path.parent.name}/{path.name}", text))
    return files


_NEXT = {
    "mailbox": """
Left to do:
  1. Write the account's password (many providers want an "app password") into a file of your own:
       (umask 077; cat > $here/password)      # paste it, Return, Ctrl-D
  2. pbem check-config --config $here/pbem.toml
  3. pbem serve --config $here/pbem.toml
  4. Write a letter to $address that says: help
     The answer comes within a minute. pbem.service keeps the server running.""",
    "domain": """
Left to do, as docs/operating.md, "Install", has it:
  1. Copy pbem.toml to /etc/pbem/, systemd/* to /etc/systemd/system/.
  2. Add postfix/main.cf and master.cf to your own, copy the tables beside them, and run: postfix reload
  3. Add the records of dns.txt to the DNS.
  4. pbem check-config --config /etc/pbem/pbem.toml
  5. systemctl enable --now pbem.socket pbem.service && pbem doctor --config /etc/pbem/pbem.toml""",
}
