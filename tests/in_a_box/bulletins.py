"""The bulletin of a letter, for tests: unpacked as docs/attachments.md says, by no code of the server's."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from email.message import Message

FIELD = "X-Pbem-Bulletin"


def unpacked(packed: str) -> bytes:
    """The JSON of a header field of this value."""
    return base64.b64decode("".join(packed.split()), validate=True)


def bulletin(letter: Message) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(unpacked(str(letter[FIELD])))
    return found
