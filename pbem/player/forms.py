"""The texts that a player signs: forms and sentences, each with its place, as the server's letters print them.

Pure. Before anybody signs a form, it is read again as the server reads it, so that no text that was filled
in can end it, or begin another command. Implements protocol.md, "Identity" (the signed forms).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.mail.commands import parse
from pbem.player import PlayerTrouble
from pbem.proof.normal_form import UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_ODD = UNCLEAR.pattern + "|[\ud800-\udfff]"
"""Characters that the server refuses in signed text; and octets that are no UTF-8, which no letter can hold."""


class Unfit(PlayerTrouble):
    """The values make no valid form; the text says why."""


def block(head: str, place: Mapping[str, object], text: str, *, final: bool = False) -> str:
    """A form with a text in it: a setup, orders, a proposal, press."""
    lines = [head, *(f"{name} {value}" for name, value in place.items())]
    lines += ["final"] if final else []
    lines += [text.strip("\n")] if text.strip() else []
    return checked("\n".join([*lines, "end", ""]))


def text_of(form: str) -> str:
    """The text in a form of orders."""
    (command,) = parse(form).commands
    return str(getattr(command.request, "text", ""))


def sentence(words: str, place: Mapping[str, object], comment: str = "") -> str:
    """A sentence with its place, and lines of comment after it."""
    return block(words, place, "") if place else checked(f"{words}\n{comment}")


def registration(name: str, public_key: str, secret: str) -> str:
    """The unsigned request for an account. The answer is recognised by the secret in the key's comment."""
    kind, blob, *_ = public_key.split()
    return checked(f"register {name}\n{kind} {blob} {secret}@pbem\n")


def checked(form: str) -> str:
    """The form, if the server will find exactly one command without fault in it; raises `Unfit`.

    A letter has one kind of line end: a text that has others would not be signed as it leaves.
    """
    form = read_alike("".join(f"{line}\n" for line in form.splitlines()))
    reading = parse(form)
    faults: Sequence[str] = [fault.message for command in reading.commands for fault in command.faults]
    if faults:
        raise Unfit("; ".join(faults))
    ignored = [line for run in reading.ignored for line in run.splitlines() if not line.startswith("#")]
    if len(reading.commands) != 1 or ignored or reading.optout:
        if not reading.commands:
            first = (form.split() or ["nothing"])[0]
            raise Unfit(f"`{first}` is no command of the server's: `pbem play ask help` lists them")
        raise Unfit("that would be more than one command: no other line of it may begin with a command's name")
    return form


def read_alike(text: str) -> str:
    """The text, if all programs read the same in it; raises `Unfit`."""
    odd = re.search(_ODD, text)
    if odd is not None:
        raise Unfit(
            f"it contains a character that programs read in different ways, U+{ord(odd[0]):04X}: leave it out"
        )
    return text
