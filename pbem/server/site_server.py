"""The public site, served over HTTP by `pbem serve --site`: the files of `pbem publish`, read only, nothing computed.

A process of its own brings the files up to date every minute. Put a proxy that speaks HTTPS in front of it.
Implements docs/operating.md, "Pages for the web".
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import threading
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

import structlog

from pbem.bound_process import bound
from pbem.config.values import Listen
from pbem.connections import LimitedThreads
from pbem.server.opening import StartError

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN, SOON = 60.0, 2.0  # seconds between two looks for what changed; after trouble, such as no store yet

log = structlog.get_logger()


class _Site(LimitedThreads, HTTPServer):
    """Serves the files of a folder, each visitor in a thread."""

    at_once = 64
    longest = 600.0

    def __init__(self, place: tuple[str, int], folder: Path) -> None:
        try:
            self.address_family = socket.getaddrinfo(*place)[0][0]
            super().__init__(place, partial(_SiteRequest, directory=str(folder)))
        except OSError as error:
            raise StartError(f"cannot listen at {Listen(*place)}: {error.strerror}") from error


class _SiteRequest(SimpleHTTPRequestHandler):
    """A request for a page: GET or HEAD of a file that was published, and of nothing else."""

    server_version, sys_version = "pbem", ""
    timeout = 10.0

    def send_head(self) -> BinaryIO | None:
        """A file that the list of those that were published names."""
        name = urlsplit(self.path).path.removeprefix("/") or "index.html"
        published: dict[str, str] = {}
        with suppress(OSError, ValueError):  # nothing is published yet
            published = json.loads(Path(self.directory, "published.json").read_bytes())
        if name not in published:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        self.path = f"/{name}"
        return super().send_head()

    def end_headers(self) -> None:
        """No browser takes a file for another type than it has."""
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing: who reads the site is nobody's business."""


@contextmanager
def served_site(place: tuple[str, int], config_file: Path) -> Iterator[tuple[str, int]]:
    """Serve the site at a host and port while this lasts, and keep it up to date; returns the bound host and port.

    Raises `StartError` if it cannot listen there.
    """
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "site")

        def publish(address: str) -> None:
            is_told = False
            while not stop.is_set():
                command = bound("publish", str(folder), "--config", str(config_file))
                with subprocess.Popen(  # noqa: S603 - this very program
                    command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
                ) as done:
                    assert done.stderr is not None
                    wrong = done.stderr.read().decode(errors="replace").strip()
                if done.returncode:
                    log.warning("site not published", error=wrong[-200:])
                elif not is_told:  # before, whoever looks finds nothing there
                    log.info("site published", address=address)
                    is_told = True
                stop.wait(SOON if done.returncode else AGAIN)

        with _Site(place, folder) as site:
            host, port = str(site.server_address[0]), int(site.server_address[1])
            address = f"http://{Listen(host, port)}/"
            publisher = threading.Thread(target=publish, args=(address,), daemon=True)
            threads = [publisher, threading.Thread(target=site.serve_forever, daemon=True)]
            for thread in threads:
                thread.start()
            try:
                yield host, port
            finally:
                stop.set()
                site.shutdown()
                publisher.join()
