"""`pbem sign`: a filled-in form goes in, the same form with the player's SSH signature comes out.

Thin: the command reads the form and refuses what the server would not read; `pbem.player.signing` makes the
signature. Implements protocol.md, "Identity" (SSH signatures), as `ssh-keygen -Y sign -n pbem@<server>` does.
"""

from __future__ import annotations

from pathlib import Path

import click

from pbem.cli.programs import passphrase, touch, troubles
from pbem.identity import ssh
from pbem.mail.commands import clean, parse
from pbem.player.forms import read_alike
from pbem.player.signing import SigningKey


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, exists=True, allow_dash=True))
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("~/.ssh/id_ed25519"),
    show_default=True,
    help="Your SSH key: a private key, that of a security key, or the .pub of a key in an agent.",
)
@click.option("--server", help="Name of the server, if the form has no line `server`.")
def sign(file: str, key: Path, server: str | None) -> None:
    """Sign a form (orders, setup, confirm, …) with your SSH key, ready to paste into a letter.

    FILE holds the form and nothing else, from its first line to `end`; - reads it from the keyboard or a pipe. If the
    whole form is quoted or indented, quote marks and blanks are removed.
    """
    with click.open_file(file, "rb") as source:
        # Bring a form to the text that is signed: no quote marks, no blanks around lines, LF, a last line end.
        try:
            text = clean(source.read().decode())
        except UnicodeDecodeError as error:
            raise click.ClickException("The form is not text in UTF-8.") from error
        lines = [line.strip() for line in text.strip().split("\n")]
        while any(lines) and all(line.startswith(">") for line in lines if line):
            lines = [line[1:].strip() for line in lines]
        text = "\n".join(lines).strip() + "\n"
    name = _server(text, server)
    with troubles():
        signer = SigningKey(key.expanduser(), "", passphrase, touch)
        signature = signer.sign(read_alike(text).encode(), f"pbem@{name}")
    click.echo((text + signature).encode(), nl=False)


def _server(text: str, server: str | None) -> str:
    """Find the one server that the form is for; what the server would not read is refused before it is signed."""
    if ssh.BEGIN in text:
        raise click.ClickException("This form is signed already.")
    reading = parse(text)
    if reading.ignored:
        first = reading.ignored[0].split("\n")[0]
        raise click.ClickException(f"Only the form may stand in the file; this is no part of it: {first}")
    if not reading.commands:
        raise click.ClickException("There is no form in the file.")
    faults = [fault.message for command in reading.commands for fault in command.faults]
    if faults:
        raise click.ClickException("\n".join(faults))
    named = {command.fields["server"] for command in reading.commands if "server" in command.fields}
    named |= {server.lower()} if server else set()
    if len(named) != 1:
        raise click.ClickException(
            f"The form names several servers: {', '.join(sorted(named))}."
            if named
            else "The form has no line `server`: give --server."
        )
    return named.pop()
