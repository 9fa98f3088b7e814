"""A disk that forgets: when the power fails, unsynced data is lost, in whole or in part, or a page is torn.

Here live the `Disk` of one folder and the processes that write to it. The folder's files are real, and hold what the
machine's memory holds; beside them it is recorded what of it is durable. Writes to databases come through a virtual
file system (VFS) of SQLite's, which ctypes registers in the library that Python's own sqlite3 uses. So the store has
its usual connections and engine. Other files are compared when they are synced and when the power fails.

The simulated file system is as bad as POSIX allows. Unsynced writes reach the disk in any order or not at all, and so
do file names (made, removed, renamed) until their folder is synced; only a sector of 512 octets is atomic. Two things
in SQLite's own code for Unix are trusted and not tested: that it syncs the folder at the first sync of a log or
journal that it has made, and when it is told to on removing a file.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sqlite3
import stat
from contextlib import suppress
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pbem.store.disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

__all__ = ["SECTOR", "Disk", "Faults", "Process"]

SECTOR = 512

_FULL, _CANTOPEN = 13, 14
_IOERR_WRITE, _IOERR_FSYNC, _IOERR_TRUNCATE, _IOERR_DELETE = (10 | number << 8 for number in (3, 4, 6, 10))
_CREATE = 0x4
_WITH_NAME = 0x800 | 0x4000 | 0x80000
"""The kinds of files that are made with their names synced: a main journal, a super-journal, a log."""


class Write(NamedTuple):
    """Octets that were written and not synced."""

    offset: int
    data: bytes


class Length(NamedTuple):
    """A length that was set and not synced."""

    size: int


@dataclass(eq=False)
class File:
    """A file under all its names: its durable content, and the changes since."""

    held: int
    """A descriptor that only keeps the file's number from being reused."""
    mode: int = 0
    durable: bytearray = field(default_factory=bytearray)
    changes: list[Write | Length] = field(default_factory=list)
    watched: bool = False
    """Whether it belongs to a database, whose changes are recorded as they are made."""
    folder: bool = False

    def compare(self, now: bytes) -> None:
        """Record what was written since the last sync."""
        before = self.durable
        starts = range(0, len(now), SECTOR)
        pieces = [(start, now[start : start + SECTOR]) for start in starts]
        self.changes = [Write(start, piece) for start, piece in pieces if before[start : start + SECTOR] != piece]
        if len(now) != len(before):
            self.changes.append(Length(len(now)))

    def sync(self) -> None:
        """Make all changes durable."""
        for change in self.changes:
            _make(self.durable, change)
        self.changes.clear()

    def fail_to_sync(self, random: Random) -> None:
        """Forget that some changes are not durable: Linux does not retry a write that failed."""
        for change in self.changes:
            if random.random() < 0.5:
                _make(self.durable, change)
        self.changes.clear()


@dataclass
class Faults:
    """The probability that the disk refuses an operation."""

    sync: float = 0.0
    """A sync fails (EIO): the data may be lost for good, though it can still be read."""
    full: float = 0.0
    """A write finds no room; a part of it may be written."""


class Disk:
    """One folder, and what of it is durable; all its randomness comes from `random`.

    Its initial content is durable. After `fail` nothing reaches it any more, so that dying processes can be unwound
    safely; after `restart` there are new processes. Use `power_cut` or `kill` if no process is running.
    """

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder = folder.resolve()
        self.random = random
        self.faults = Faults()
        self.fails_after: int | None = None
        """After how many more operations (writes, syncs and so on) the power fails, just before the next."""
        self.power_cuts = 0
        self.lost = 0
        """How many changes were lost in all power cuts."""
        self.torn = 0
        """How many of them were lost in part."""
        self._files: dict[int, File] = {}
        self._all: set[File] = set()
        self._processes: list[Process] = []
        self._left: dict[str, tuple[File, bytes]] | None = None
        self._names = self._there()
        """The file of each durable name; names are relative to the folder."""
        for path, file in self._names.items():
            file.durable[:] = self._read(path, file)

    def close(self) -> None:
        """End all processes; the files stay as they are."""
        self._end_processes()
        self._release(self._all)

    @property
    def down(self) -> bool:
        """Whether it has failed, and waits for its restart."""
        return self._left is not None

    def process(self) -> Process:
        """A process of the machine, with its own connections; it dies with the machine, or alone."""
        assert not self.down
        self._processes.append(Process(self))
        return self._processes[-1]

    def power_cut(self) -> None:
        """Let the power fail and come back: whatever was not synced is lost, or kept, or torn."""
        self.fail(power=True)
        self.restart()

    def kill(self) -> None:
        """Kill all processes: what they wrote is in the machine's memory, and not durable yet."""
        self.fail(power=False)
        self.restart()

    def fail(self, *, power: bool) -> None:
        """Stop all processes, with the machine or without: nothing that they still do has an effect."""
        for process in self._processes:
            process.alive = False
        self.fails_after = None
        names = self._there()
        if power:
            names = self._names = self._lose(names)
            self.power_cuts += 1
        self._left = {
            path: (file, bytes(file.durable) if power else self._read(path, file)) for path, file in names.items()
        }

    def restart(self) -> None:
        """Give the machine what was left after the failure, in new files: dead processes keep the old ones."""
        assert self._left is not None
        self._end_processes()
        for old in self.folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        self._files.clear()
        made: dict[File, Path] = {}
        for path, (file, content) in sorted(self._left.items()):
            place = self.folder / path
            if file in made:
                os.link(made[file], place)
                continue
            if file.folder:
                place.mkdir()
            else:
                place.write_bytes(content)
            place.chmod(file.mode)
            made[file] = place
            os.close(file.held)
            file.held = os.open(place, os.O_PATH | os.O_CLOEXEC)
            self._files[place.stat().st_ino] = file
        self._release(self._all - made.keys() - set(self._names.values()))
        self._left = None

    def sync(self, path: Path) -> None:
        """Make a file, or the names in a folder, durable; what is beside the folder is on another disk."""
        path = path.resolve()
        if not path.is_relative_to(self.folder.resolve()):
            return
        if path.is_dir():
            self._sync_names(path)
        else:
            file = self._file(path)
            if not file.watched:
                file.compare(path.read_bytes())
            file.sync()

    def watch(self, path: Path) -> File:
        """A file that is a database's: its changes are noted from now on, as they are made."""
        file = self._file(path)
        if not file.watched:
            file.compare(path.read_bytes())
            file.watched = True
        return file

    def step(self) -> None:
        """An operation is about to happen: let the power fail, if it is time."""
        if self.fails_after is not None:
            self.fails_after -= 1
            if self.fails_after < 0:
                self.fail(power=True)

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens; at zero, no random number is drawn."""
        return probability > 0 and self.random.random() < probability

    def _lose(self, now: dict[str, File]) -> dict[str, File]:
        """The result of a power cut: which file each name belongs to, and what is durable from then on."""
        fate = self.random.choice((0.0, 1.0, self.random.random()))
        """The probability that unsynced data reached the disk."""
        left: dict[str, File] = {}
        for path in sorted(now.keys() | self._names.keys()):
            old, new = self._names.get(path), now.get(path)
            file = new if old is new or self.chance(fate) else old
            if file is not None and (not _folder(path) or _folder(path) in left):
                left[path] = file
        files = list(dict.fromkeys(left.values()))
        for path, file in now.items():
            if not file.watched:
                file.compare(self._read(path, file))
        tears = sum(len(file.changes) for file in files)
        torn = self.random.randrange(2 * tears) if tears else 0  # often none is
        for file in files:
            for change in file.changes:
                if torn == 0 and isinstance(change, Write):
                    self.torn += 1
                    for sector in _sectors(change):
                        if self.chance(0.5):
                            _make(file.durable, sector)
                elif self.chance(fate):
                    _make(file.durable, change)
                else:
                    self.lost += 1
                torn -= 1
            file.changes.clear()
        return left

    def _there(self, inner: str = "") -> dict[str, File]:
        """All names in a folder of this disk and in the folders in it, and the file that each belongs to."""
        found: dict[str, File] = {}
        for path, file in self._in(inner).items():
            found[path] = file
            if file.folder:
                found |= self._there(path)
        return found

    def _in(self, inner: str) -> dict[str, File]:
        """As `_there`, without the folders in it."""
        folder = f"{self.folder}/{inner}".rstrip("/")
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        return {f"{inner}/{name}".lstrip("/"): self._file(f"{folder}/{name}") for name in names}

    def _read(self, path: str, file: File) -> bytes:
        return b"" if file.folder else (self.folder / path).read_bytes()

    def _file(self, path: str | Path) -> File:
        about = os.lstat(path)
        file = self._files.get(about.st_ino)
        if file is None:
            held = os.open(path, os.O_PATH | os.O_CLOEXEC)
            file = self._files[about.st_ino] = File(held, folder=stat.S_ISDIR(about.st_mode))
            self._all.add(file)
        file.mode = about.st_mode & 0o777
        return file

    def _sync_names(self, folder: Path) -> None:
        inner = "" if folder == self.folder else folder.relative_to(self.folder).as_posix()
        now = self._in(inner)
        for gone in {path for path in self._names if _folder(path) == inner} - now.keys():
            for path in [path for path in self._names if path == gone or path.startswith(f"{gone}/")]:
                del self._names[path]
        self._names.update(now)

    def _end_processes(self) -> None:
        for process in self._processes:
            process.kill()
        self._processes.clear()

    def _release(self, files: set[File]) -> None:
        for file in files:
            os.close(file.held)
        self._all = self._all - files


class Process(pbem.store.disk.Disk):
    """The disk as one process sees it."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.alive = True
        self._connections: list[sqlite3.Connection] = []
        self._vfs = _library().enter(self)

    def connect(self, path: Path, *, wait: float) -> sqlite3.Connection:
        """A connection to a database, the files of which are on this disk."""
        place = f"file:{quote(str(path))}?vfs={self._vfs}"
        connection = sqlite3.connect(place, timeout=wait, isolation_level=None, check_same_thread=False, uri=True)
        self._connections.append(connection)
        return connection

    def sync(self, path: Path) -> None:
        """Make a file, or the names in a folder, durable; raises OSError."""
        self.disk.step()
        if not self.alive or self.disk.chance(self.disk.faults.sync):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        self.disk.sync(path)

    def room(self, folder: Path) -> int:  # noqa: ARG002 - there is one folder
        """The number of free octets that is reported."""
        return 1 << 40

    def kill(self) -> None:
        """Kill this process alone: its files are closed, and it writes nothing any more."""
        self.alive = False
        for connection in self._connections:
            with suppress(sqlite3.Error):
                connection.rollback()  # an open cursor would keep the locks after the connection is closed
            with suppress(sqlite3.Error):
                connection.close()
        self._connections.clear()
        _library().leave(self._vfs)


def _folder(path: str) -> str:
    """The folder of a name; "" for the outermost."""
    return path.rpartition("/")[0]


def _make(content: bytearray, change: Write | Length) -> None:
    """Apply a change; what was never written is zeros."""
    begin = change.size if isinstance(change, Length) else change.offset
    if begin > len(content):
        content.extend(bytes(begin - len(content)))
    if isinstance(change, Length):
        del content[begin:]
    else:
        content[begin : begin + len(change.data)] = change.data


def _sectors(write: Write) -> Iterator[Write]:
    """A write, split into sectors, which a disk writes whole."""
    end = write.offset + len(write.data)
    start = write.offset
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield Write(start, write.data[start - write.offset : stop - write.offset])
        start = stop


# https://www.sqlite.org/c3ref/io_methods.html and vfs.html, as far as needed here

_FILE = c_void_p
_Close = CFUNCTYPE(c_int, _FILE)
_WriteTo = CFUNCTYPE(c_int, _FILE, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, _FILE, c_int64)
_Sync = CFUNCTYPE(c_int, _FILE, c_int)
_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, _FILE, c_int, POINTER(c_int))
_Delete = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_Sleep = CFUNCTYPE(c_int, c_void_p, c_int)


class _Methods(Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = [
        ("version", c_int),
        ("close", _Close),
        ("read", c_void_p),
        ("write", _WriteTo),
        ("truncate", _Truncate),
        ("sync", _Sync),
        *((name, c_void_p) for name in ("size", "lock", "unlock", "check", "control", "sector", "device")),
        *((name, c_void_p) for name in ("map", "lock_map", "barrier")),
        ("unmap", _Sync),
        *((name, c_void_p) for name in ("fetch", "unfetch")),
    ]


class _OpenFile(Structure):
    """sqlite3_file; the fields after it are the VFS's own."""

    _fields_ = [("methods", POINTER(_Methods))]


class _Vfs(Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", _Open),
        ("delete", _Delete),
        *((name, c_void_p) for name in ("access", "full_path")),
        *((name, c_void_p) for name in ("dl_open", "dl_error", "dl_sym", "dl_close", "random")),
        ("sleep", _Sleep),
        *((name, c_void_p) for name in ("time", "error", "time64", "set_call", "get_call", "next_call")),
    ]


class _Opened(NamedTuple):
    """A file that a process has open through SQLite."""

    process: Process
    methods: _Methods
    """SQLite's own, for the real file."""
    write: Callable[[int, int, int, int], int]
    """The one of them that is called most often."""
    file: File
    made_in: Path | None
    """The folder that is synced with its first sync."""

    def refused(self) -> bool:
        """Whether its process is dead by now."""
        if self.process.disk.fails_after is not None:
            self.process.disk.step()
        return not self.process.alive


class _Library:
    """SQLite's library as Python's sqlite3 has it, with a VFS for each process.

    A VFS is never unregistered: files of a dead process may still be closed at any time.
    """

    def __init__(self) -> None:
        import _sqlite3  # noqa: PLC0415 - if it is built into Python, it has no file

        self._library = ctypes.CDLL(_sqlite3.__file__)
        self._library.sqlite3_vfs_find.restype = POINTER(_Vfs)
        self._library.sqlite3_vfs_register.argtypes = [POINTER(_Vfs), c_int]
        self._unix: _Vfs = self._library.sqlite3_vfs_find(None).contents
        self._kept: list[_Vfs] = []
        self._processes: dict[str, Process] = {}
        self._open: dict[int, _Opened] = {}
        self._tables: dict[int, tuple[_Methods, Callable[[int, int, int, int], int]]] = {}
        """By the address of one of SQLite's method tables: our table in its place, and SQLite's `write`."""
        self._ours: dict[str, Any] = {
            "close": _Close(self._closed),
            "write": _WriteTo(self._written),
            "truncate": _Truncate(self._truncated),
            "sync": _Sync(self._synced),
            "unmap": _Sync(self._unmapped),
        }
        self._vfs: dict[str, Any] = {
            "open": _Open(self._opened),
            "delete": _Delete(self._deleted),
            "sleep": _Sleep(lambda _, microseconds: microseconds),
        }

    def enter(self, process: Process) -> str:
        """Give a process a VFS of its own; returns its name."""
        vfs = _Vfs()
        ctypes.pointer(vfs)[0] = self._unix
        name = f"pbem-{len(self._kept)}"
        vfs.name = name.encode()
        for part, method in self._vfs.items():
            setattr(vfs, part, method)
        self._kept.append(vfs)
        self._processes[name] = process
        self._library.sqlite3_vfs_register(ctypes.byref(vfs), 0)
        return name

    def leave(self, name: str) -> None:
        """Forget a process that is dead."""
        self._processes.pop(name, None)

    def _opened(self, vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
        process = self._process(vfs)
        if process is None:
            return _CANTOPEN
        status = int(self._unix.open(vfs, name, file, flags, out))
        if status or name is None:
            return status
        path = Path(os.fsdecode(ctypes.string_at(name)))
        if process.disk.folder not in path.parents:
            return status
        there = _OpenFile.from_address(file)
        methods = there.methods.contents
        base = ctypes.addressof(methods)
        if base not in self._tables:
            ours = _Methods()
            ctypes.pointer(ours)[0] = methods
            for part, method in self._ours.items():
                setattr(ours, part, method)
            self._tables[base] = ours, methods.write
        ours, write = self._tables[base]
        there.methods = ctypes.pointer(ours)
        made_in = path.parent if flags & _WITH_NAME and flags & _CREATE else None
        self._open[file] = _Opened(process, methods, write, process.disk.watch(path), made_in)
        return status

    def _process(self, vfs: int) -> Process | None:
        """The process that is about to do something, if it lives."""
        process = self._processes.get(_Vfs.from_address(vfs).name.decode())
        if process is not None:
            process.disk.step()
        return process if process is not None and process.alive else None

    def _closed(self, file: int) -> int:
        return int(self._open.pop(file).methods.close(file))

    def _written(self, file: int, data: int, size: int, offset: int) -> int:
        opened = self._open[file]
        if opened.refused():
            return _IOERR_WRITE
        disk = opened.process.disk
        full = disk.faults.full and disk.chance(disk.faults.full)
        if full:
            size = disk.random.randrange(size)
        status = opened.write(file, data, size, offset) if size else 0
        if not status and size:
            opened.file.changes.append(Write(offset, ctypes.string_at(data, size)))
        return _FULL if full else status

    def _truncated(self, file: int, size: int) -> int:
        opened = self._open[file]
        if opened.refused():
            return _IOERR_TRUNCATE
        status = int(opened.methods.truncate(file, size))
        if not status:
            opened.file.changes.append(Length(size))
        return status

    def _synced(self, file: int, _flags: int) -> int:
        opened = self._open[file]
        if opened.refused():
            return _IOERR_FSYNC
        disk = opened.process.disk
        if disk.chance(disk.faults.sync):
            opened.file.fail_to_sync(disk.random)
            return _IOERR_FSYNC
        opened.file.sync()
        if opened.made_in is not None:
            disk.sync(opened.made_in)
            self._open[file] = opened._replace(made_in=None)
        return 0

    def _unmapped(self, file: int, remove: int) -> int:
        """A process that died removes nothing."""
        opened = self._open[file]
        return int(opened.methods.unmap(file, remove and opened.process.alive))

    def _deleted(self, vfs: int, name: bytes, sync_folder: int) -> int:
        process = self._process(vfs)
        if process is None:
            return _IOERR_DELETE
        status = int(self._unix.delete(vfs, name, sync_folder))
        path = Path(os.fsdecode(name))
        if not status and sync_folder and process.disk.folder in path.parents:
            process.disk.sync(path.parent)
        return status


@cache
def _library() -> _Library:
    return _Library()
