"""`pbem sign`: a filled-in form goes in, the same form with the player's SSH signature comes out.

Here lives the thin command: it reads the form, finds the key, and asks for its passphrase. `identity/ssh` makes the
signature. Implements protocol.md, "Identity" (SSH signatures); it does the same as
`ssh-keygen -Y sign -n pbem@<server>`, for machines without that.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pbem.identity import ssh
from pbem.mail.commands import clean, parse

_TRIES = 3


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, exists=True, allow_dash=True))
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("~/.ssh/id_ed25519"),
    show_default=True,
    help="Your private SSH key.",
)
@click.option("--server", help="Name of the server, if the form has no line `server`.")
def sign(file: str, key: Path, server: str | None) -> None:
    """Sign a form (orders, setup, confirm, …) with your SSH key, ready to paste into a letter.

    FILE holds the form and nothing else, from its first line to `end`; - reads it from the keyboard or a pipe. If the
    whole form is quoted or indented, quote marks and blanks are removed.
    """
    with click.open_file(file, "rb") as source:
        text = _form(source.read())
    name = _server(text, server)
    private = _load(key.expanduser(), f"pbem@{name}", file)
    click.echo(text + ssh.sign(private, text.encode(), f"pbem@{name}"), nl=False)


def _form(data: bytes) -> str:
    """Bring a form to the text that is signed: no quote marks, no blanks around lines, LF, a last line end."""
    try:
        text = clean(data.decode())
    except UnicodeDecodeError as error:
        raise click.ClickException("The form is not text in UTF-8.") from error
    lines = [line.strip() for line in text.strip().split("\n")]
    while any(lines) and all(line.startswith(">") for line in lines if line):
        lines = [line[1:].strip() for line in lines]
    return "\n".join(lines).strip() + "\n"


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


def _load(path: Path, namespace: str, form: str) -> ssh.PrivateKey:
    by_hand = "ssh-keygen -Y sign -n " + shlex.join([namespace, "-f", str(path), form])
    try:
        data = path.read_bytes()
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}. Name your private key with --key.") from error
    try:
        return _unlocked(data, path)
    except ValueError as error:
        # An agent, a security key, a format of its own: ssh-keygen knows them all.
        raise click.ClickException(
            f"{path} cannot be used here: {error}\nSign with OpenSSH itself, then paste the form and the "
            f"signature below it:\n\n    {by_hand}"
        ) from error


def _unlocked(data: bytes, path: Path) -> ssh.PrivateKey:
    try:
        return ssh.load(data)
    except TypeError:
        pass  # the key is encrypted
    for _ in range(_TRIES):
        passphrase = click.prompt(f"Passphrase of {path}", hide_input=True, err=True)
        try:
            return ssh.load(data, passphrase)
        except ssh.UnusableKey:
            raise
        except ValueError:
            click.echo("Wrong passphrase.", err=True)
    raise click.ClickException("The key stays locked.")
