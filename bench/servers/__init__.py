"""The contestants: each is started in a process of its own on a free port of the loopback, and stopped again."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CONTESTANTS",
    "absent",
    "folder",
    "free_port",
    "postfix",
    "processor_time",
    "running",
    "sink",
    "stock",
    "stock_process",
]

HERE = Path(__file__).parent
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

POSTFIX = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
maillog_file_prefixes = {folder}
maillog_file = {folder}/mail.log
myhostname = play.example
mydestination =
virtual_mailbox_domains = play.example
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = static:box/
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtp_dns_support_level = disabled
alias_maps =
alias_database =
"""
SERVICES = """
127.0.0.1:{port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
pickup unix n - n 60 1 pickup
postlog unix-dgram n - n - 1 postlogd
"""


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """An empty folder beside the benches, on the disk that they are on, while the block lasts."""
    with tempfile.TemporaryDirectory(prefix=".run-", dir=HERE.parent) as name:
        yield Path(name)


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def absent() -> list[str]:
    """Contestants that cannot run here, each with what it needs."""
    missing = []
    if not shutil.which("smtp-sink", path=SBIN):
        missing.append("smtp-sink (Debian: postfix)")
    if not shutil.which("postfix", path=SBIN):
        missing.append("Postfix to maildir (Debian: postfix)")
    elif os.geteuid() != 0:
        missing.append("Postfix to maildir (needs root: it changes users)")
    return missing


@contextlib.contextmanager
def running(command: list[str], port: int, **more: object) -> Iterator[int]:
    """A server that listens at this port, while the block lasts; gives its process's number."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **(quiet | more)) as process:  # type: ignore[call-overload]  # options by name
        try:
            _wait(port, process)
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def processor_time(process: int) -> float:
    """The processor seconds that a process and all that it started have taken so far."""
    parents, taken = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = stat.read_text().rpartition(") ")[2].split()
            number = int(stat.parent.name)
            parents[number] = int(fields[1])
            taken[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {process}
    while more := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(taken.get(number, 0.0) for number in ours)


def _wait(port: int, process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as talk:
            if talk.recv(3) == b"220":
                return
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        time.sleep(0.05)
    raise RuntimeError("the server does not listen")


@contextlib.contextmanager
def stock() -> Iterator[int]:
    """aiosmtpd as it comes, with its handler that does nothing; gives the port."""
    with stock_process() as (port, _):
        yield port


@contextlib.contextmanager
def stock_process() -> Iterator[tuple[int, int]]:
    """The same; gives the port and the number of its process."""
    port = free_port()
    command = [sys.executable, "-m", "aiosmtpd", "-n", "-c", "aiosmtpd.handlers.Sink", "-l", f"127.0.0.1:{port}"]
    with running(command, port) as process:
        yield port, process


@contextlib.contextmanager
def maildir() -> Iterator[int]:
    """aiosmtpd with its handler that writes to a maildir, without fsync."""
    port = free_port()
    with folder() as kept:
        handler = ["-c", "aiosmtpd.handlers.Mailbox", f"{kept}/box"]
        command = [sys.executable, "-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{port}", *handler]
        with running(command, port):
            yield port


@contextlib.contextmanager
def sink(*options: str) -> Iterator[int]:
    """Postfix's smtp-sink, which throws everything away."""
    port = free_port()
    program = shutil.which("smtp-sink", path=SBIN)
    assert program is not None
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    with running([program, *user, *options, f"127.0.0.1:{port}", "100"], port):
        yield port


@contextlib.contextmanager
def pbem() -> Iterator[int]:
    """Our intake and store, 250 after fsync, with a desk that leaves the letters alone."""
    port = free_port()
    with (
        folder() as kept,
        running([sys.executable, "-m", "bench.servers.intake", str(kept), str(port)], port),
    ):
        yield port


@contextlib.contextmanager
def postfix() -> Iterator[int]:
    """Postfix to a maildir on the same disk."""
    port = free_port()
    mailer = pwd.getpwnam("postfix")
    with folder() as kept:
        kept.chmod(0o755)
        config = kept / "etc"
        for made in (config, kept / "queue", kept / "data", kept / "mail"):
            made.mkdir()
        os.chown(kept / "data", mailer.pw_uid, -1)
        os.chown(kept / "mail", mailer.pw_uid, mailer.pw_gid)
        daemons = subprocess.run(
            [shutil.which("postconf", path=SBIN) or "postconf", "-h", "daemon_directory"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        facts = {"folder": kept, "daemons": daemons, "port": port, "uid": mailer.pw_uid, "gid": mailer.pw_gid}
        (config / "main.cf").write_text(POSTFIX.format(**facts))
        (config / "master.cf").write_text(SERVICES.format(**facts))
        program = shutil.which("postfix", path=SBIN) or "postfix"
        subprocess.run([program, "-c", str(config), "start"], check=True, capture_output=True)
        try:
            _wait(port)
            yield port
        finally:
            subprocess.run([program, "-c", str(config), "stop"], check=False, capture_output=True)


CONTESTANTS = {
    "aiosmtpd, nothing done": stock,
    "aiosmtpd to maildir, no fsync": maildir,
    "Postfix to maildir": postfix,
    "smtp-sink": sink,
    "pbem, 250 after fsync": pbem,
}
