"""A referee who notes each letter that leaves, and what of its octets two worlds must share."""

from __future__ import annotations

import email
import io
import itertools
import re
import zipfile
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from in_a_box.bulletins import FIELD, unpacked
from in_a_box.referee import START, Mailbox, Referee

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = timedelta(hours=1)
DIGITS = re.compile(
    rb"(?<![0-9a-f])(?:[0-9a-f]{128}|[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{12}(?=\.))(?![0-9a-f])"
    rb"|(?<=\+write\.)[a-z2-7]{20}(?=@)"
)
"""Signatures, hashes and salts; half a signature; Message-IDs, their marks, and boundaries; tokens of addresses."""
ARMOR = re.compile(rb"(?s)(?<=-----BEGIN SSH SIGNATURE-----).*?(?=-----END SSH SIGNATURE-----)")


class Watched(Referee):
    """A referee who notes when each letter left, and with which bytes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.noted: list[tuple[str, timedelta, bytes]] = []
        self.views: list[bytes] = []
        self.counts: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)
        super().__init__(folder)

    def raw(self, person: Mailbox, text: str, **given: Any) -> bytes:
        self.sent = self.counts[person.name]
        return super().raw(person, text, **given)

    def collect(self) -> None:
        while row := self.outbox.lease(self.now):
            self.noted.append((row.recipient, self.now - START, row.raw))
            self.people[row.recipient].letters.bring(row.raw)
            with self.database.transaction():
                self.outbox.delivered(row.id, "250 ok", self.now)

    def until(self, time: datetime) -> None:
        while self.now < time:
            self.wait(min(2 * HOUR, time - self.now))


def blotted(content: bytes) -> bytes:
    """The content with the digits of hashes and of chance blotted out, their number kept."""
    content = DIGITS.sub(lambda found: b"<%d>" % len(found[0]), content)
    return ARMOR.sub(lambda found: b"<%d>" % len(found[0]), content)


def contents(raw: bytes) -> Iterator[bytes | tuple[str, int, bytes]]:
    """A letter's headers and the contents of its parts, those of a bundle one by one."""
    message = email.message_from_bytes(raw)
    for part in message.walk():
        yield blotted("".join(f"{name}: {value}\n" for name, value in part.items() if name != FIELD).encode())
        if part[FIELD]:
            yield blotted(unpacked(part[FIELD]))
        if part.is_multipart():
            continue
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if part.get_content_type() == "application/zip":
            with zipfile.ZipFile(io.BytesIO(content)) as bundle:
                yield from ((info.filename, info.file_size, blotted(bundle.read(info))) for info in bundle.infolist())
        else:
            yield blotted(content)
