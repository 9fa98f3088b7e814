"""The one command in a text, and what it asks for."""

from __future__ import annotations

from judges.reasons import is_whole

from pbem.mail.commands import AnyCommand, parse

HASH = "8c1f" * 16
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAw362hYWQR531Y7nR5wcGcvoixDAdC31uo4y4apagdp"


def asked(command: AnyCommand) -> dict[str, object]:
    """The arguments before a block: those of the request that are no defaults, and its game and turn."""
    request, form = command.request, command.form
    of_blocks = {"text", "options", "sections"}
    found = {name: getattr(request, name) for name in request.__struct_fields__ if name not in of_blocks}
    bare = type(request)()
    place = {"game": form.game, "turn": form.turn}
    asked = {name: value for name, value in found.items() if value != getattr(bare, name)}
    return asked | {name: value for name, value in place.items() if value is not None}


def only(text: str) -> AnyCommand:
    found = parse(text).commands
    assert len(found) == 1, found
    assert all(is_whole(fault.message) for fault in found[0].faults)
    return found[0]
