"""`pbem init`: the files of a new server, from the answers to three questions. Thin: `pbem.examples` fills them in.

Here live the questions, and the writing, which never overwrites. Implements docs/operating.md, "A mailbox is enough"
and "Install".
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from string import Template

import click

from pbem import examples
from pbem.config.file import faults

KINDS = ("mailbox", "domain")


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


def _free(_ctx: click.Context, _param: click.Parameter, folder: Path) -> Path:
    """The folder, if it has no server yet: nobody wants to be asked three questions first."""
    if (folder / "pbem.toml").exists():
        raise click.ClickException(f"{folder / 'pbem.toml'} already exists: nothing was written")
    return folder


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), callback=_free, is_eager=True)
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
    metavar="ADDRESS",
    prompt="The address that players write to",
    help="The address that players write to.",
)
@click.option(
    "--operator",
    type=_mail_address,
    metavar="ADDRESS",
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
    if not str(folder).isprintable():
        raise click.ClickException("the name of the folder has a character that a unit of systemd cannot have")
    given = {"server": server, "imap": imap, "submission": submission}
    words = {
        **examples.words_of(kind, address.lower()),
        **{name: word for name, word in given.items() if word},
        "operator": operator,
        "pbem": shutil.which("pbem") or str(Path(sys.executable).with_name("pbem")),
        "folder": str(folder.absolute()),
        "examples": str(examples.example_folder()),
    }
    made = examples.server_files(kind, words)
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
Left to do, as root:
  1. useradd --system --home-dir /var/lib/pbem --shell /usr/sbin/nologin pbem
     install -d -o pbem -m 700 /var/lib/pbem
     mkdir -p /etc/pbem && cp $here/pbem.toml /etc/pbem/
     cp $here/systemd/* /etc/systemd/system/
  2. Add $here/postfix/main.cf and master.cf to those in /etc/postfix,
     cp $here/postfix/pbem_* /etc/postfix/, and run: postfix reload
  3. Add the records of $here/dns.txt to the DNS.
  4. sudo -u pbem $pbem check-config --config /etc/pbem/pbem.toml
  5. systemctl enable --now pbem.socket pbem.service
     sudo -u pbem $pbem doctor --config /etc/pbem/pbem.toml""",
}
