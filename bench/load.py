"""The load: letters to an SMTP server over several connections, by Postfix's smtp-source where it is installed.

Without it a small asyncio client does the same at a higher price to the machine; the processor time that the load
cost is given back either way, so that it can be printed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["NAME", "Load", "given", "letters"]

SENDER, RECIPIENT = "anna@mail.example", "pbem@play.example"
SMTP_SOURCE = shutil.which("smtp-source", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
NAME = "smtp-source" if SMTP_SOURCE else "the asyncio client (no smtp-source here)"


@dataclass
class Load:
    """What a load came to: letters a second, the generator's own processor seconds a letter, and how many got 4xx."""

    a_second: float
    cost: float
    refused: int = 0


def letters(port: int, count: int, *, connections: int = 8, octets: int = 2048, keep: bool = True) -> Load:
    """Send so many letters of so many octets; `keep` sends many on each connection, otherwise each has its own."""
    if SMTP_SOURCE:
        command = [SMTP_SOURCE, "-s", str(connections), "-m", str(count), "-l", str(octets)]
        command += [*(["-d"] if keep else []), "-f", SENDER, "-t", RECIPIENT, f"inet:127.0.0.1:{port}"]
    else:
        command = [sys.executable, __file__, *map(str, (port, count, connections, octets, int(keep)))]
    return _timed(command, count)


def given(port: int, raws: Sequence[bytes], folder: Path, *, connections: int = 8) -> Load:
    """Send these very letters, several on each connection; a letter that is asked to come again does so at once."""
    path = folder / "letters.json"
    path.write_text(json.dumps([raw.decode("latin-1") for raw in raws]))
    return _timed([sys.executable, __file__, str(path), str(port), str(connections)], len(raws))


def _timed(command: list[str], count: int) -> Load:
    before = os.times()
    start = time.perf_counter()
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split()
    # Ours says how long it took from when it was ready.
    seconds, refused = (float(said[0]), int(said[1])) if said else (time.perf_counter() - start, 0)
    after = os.times()
    cost = after.children_user - before.children_user + after.children_system - before.children_system
    return Load(count / seconds, cost / count, refused)


async def _send(port: int, raws: Iterator[bytes], connections: int, *, keep: bool) -> None:
    refused = 0

    async def client() -> None:
        nonlocal refused
        writer = None
        for raw in raws:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                await reader.readline()
                writer.write(b"HELO mail.example\r\n")
                await reader.readline()
            while True:
                for line in (f"MAIL FROM:<{_sender(raw)}>", f"RCPT TO:<{RECIPIENT}>", "DATA"):
                    writer.write(line.encode() + b"\r\n")
                    assert (await reader.readline())[:1] in b"23"
                writer.write(raw + b".\r\n")
                reply = await reader.readline()
                if reply.startswith(b"250"):
                    break
                assert reply.startswith(b"4"), reply
                refused += 1
            if not keep:
                writer.write(b"QUIT\r\n")
                await reader.readline()
                writer.close()
                writer = None

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    print(time.perf_counter() - start, refused)


def _sender(raw: bytes) -> str:
    """Who stands in the first line, if that says whom it is from."""
    line = raw[: raw.find(b"\r\n")].decode("latin-1")
    return line.partition("<")[2].rstrip(">") if line.startswith("From: ") and line.endswith(">") else SENDER


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        _port, _count, _connections, _octets, _keep = map(int, sys.argv[1:])
        _body = b"".join(b"%-70d\r\n" % line for line in range(_octets // 72))
        _made = (b"Message-ID: <%d.%d@a.example>\r\n\r\n" % (os.getpid(), n) + _body for n in range(_count))
        asyncio.run(_send(_port, _made, _connections, keep=bool(_keep)))
    else:
        _read = (raw.encode("latin-1") for raw in json.loads(Path(sys.argv[1]).read_text()))
        asyncio.run(_send(int(sys.argv[2]), _read, int(sys.argv[3]), keep=True))
