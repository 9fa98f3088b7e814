"""A disk that forgets: what was not synced when the power fails is lost, or part of it, or one page is torn.

Here live the `Disk` of one folder and the processes that write to it. The files of the folder are real, and hold what
the machine's memory holds; beside them it is kept what of it is durable. Writes to databases come through a virtual
file system (VFS) of SQLite's, entered by ctypes in the library that Python's own sqlite3 uses, so that the store has
its usual connections, on the usual engine. Other files are compared when they are synced and when the power fails.

The file system that is played is as bad as POSIX allows: unsynced writes reach the disk in any order or not at all,
names of files (made, removed, renamed) likewise, until their folder is synced; a sector of 512 octets is whole. Two
things are believed of SQLite's own code for Unix, and not tried: that it syncs the folder at the first sync of a log
or journal that it has made, and when it removes a file and is told to.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pbem.store.disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

__all__ = ["SECTOR", "Disk", "Faults", "Process"]

SECTOR = 512

_FULL, _CANTOPEN = 13, 14
_IOERR_WRITE, _IOERR_FSYNC, _IOERR_TRUNCATE, _IOERR_DELETE = (10 | number << 8 for number in (3, 4, 6, 10))
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
    """A file, by whatever names: what of it is durable, and what was changed since."""

    mode: int
    held: int
    """A descriptor without rights, as long as which nobody else is given the number of this file."""
    durable: bytearray = field(default_factory=bytearray)
    changes: list[Write | Length] = field(default_factory=list)
    watched: bool = False
    """Whether it is a database's, the changes of which are noted as they are made."""
    folder: bool = False

    def compare(self, now: bytes) -> None:
        """Note what must have been written since the last sync."""
        before = self.durable
        starts = range(0, len(now), SECTOR)
        pieces = [(start, now[start : start + SECTOR]) for start in starts]
        self.changes = [Write(start, piece) for start, piece in pieces if before[start : start + SECTOR] != piece]
        if len(now) != len(before):
            self.changes.append(Length(len(now)))

    def sync(self) -> None:
        """Have all changes durable."""
        for change in self.changes:
            _make(self.durable, change)
        self.changes.clear()

    @property
    def now(self) -> bytes:
        """What the machine's memory holds, as far as it is noted."""
        found = bytearray(self.durable)
        for change in self.changes:
            _make(found, change)
        return bytes(found)


@dataclass
class Faults:
    """How probable it is that the disk refuses something."""

    sync: float = 0.0
    """That a sync fails (EIO): what was to be synced may be lost for ever, though it can still be read."""
    full: float = 0.0
    """That a write finds no room; a part of it may be written."""


class Disk:
    """One folder, and what of it is durable; all that is random in it comes from `random`.

    What is there when it is made is durable. When it `fail`s nothing reaches it any more, so that those who die of it
    may be unwound in peace; after `restart` there are new processes. Use `power_cut` or `kill` where nobody is about.
    """

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder = folder.resolve()
        self.faults = Faults()
        self.room = 1 << 40
        """How many octets are said to be free."""
        self.power_cuts = 0
        self.lost = 0
        """How many changes were lost in all power cuts."""
        self._random = random
        self._files: dict[int, File] = {}
        self._processes: list[Process] = []
        self._after: dict[Path, File] | None = None
        self._names = self._found()
        for path, file in self._names.items():
            if not file.folder:
                file.durable[:] = (self.folder / path).read_bytes()

    def close(self) -> None:
        """End all processes; the files stay as they are."""
        self._end_processes()
        self._forget_files()

    def process(self) -> Process:
        """A process of the machine, with connections of its own; it dies with the machine, or alone."""
        assert self._after is None, "the machine is down"
        self._processes.append(Process(self))
        return self._processes[-1]

    def power_cut(self) -> None:
        """Let the power fail and come back: whatever was not synced is lost, or kept, or torn."""
        self.fail(power=True)
        self.restart()

    def kill(self) -> None:
        """Let all processes die: what they wrote is in the machine's memory, and not durable yet."""
        self.fail(power=False)
        self.restart()

    def fail(self, *, power: bool) -> None:
        """Let all processes stop here, with the machine or without: nothing of what they still do has an effect."""
        for process in self._processes:
            process.alive = False
        self._after = self._left() if power else self._found()
        for path, file in self._after.items():
            if not (power or file.folder or file.watched):
                file.compare((self.folder / path).read_bytes())
        self.power_cuts += power

    def restart(self) -> None:
        """Let the machine have what was left when it failed, in new files: dead processes have the old ones."""
        assert self._after is not None
        self._end_processes()
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        left, self._after = self._after, None
        made: dict[File, Path] = {}
        for path, file in sorted(left.items()):
            place = self.folder / path
            if file.folder:
                place.mkdir(file.mode)
            elif file in made:
                os.link(made[file], place)
            else:
                place.touch()
                place.chmod(file.mode)
                place.write_bytes(file.now)
                made[file] = place
        old, self._files = self._files, {}
        for path, file in left.items():
            number = (self.folder / path).stat().st_ino
            if number not in self._files:
                os.close(file.held)
                file.held = os.open(self.folder / path, os.O_PATH | os.O_CLOEXEC)
                self._files[number] = file
        for file in set(old.values()) - set(self._files.values()) - set(self._names.values()):
            os.close(file.held)

    def sync(self, path: Path) -> None:
        """Have a file, or the names in a folder, durable."""
        path = path.resolve()
        if path.is_dir():
            self._sync_names(path)
        else:
            file = self._file(path)
            if not file.watched:
                file.compare(path.read_bytes())
            file.sync()

    def _left(self) -> dict[Path, File]:
        """What a power cut leaves of each name and each file, which is durable from then on."""
        now = self._found()
        fate = self._random.choice((0.0, 1.0, self._random.random()))
        left: dict[Path, File] = {}
        for path in sorted(now.keys() | self._names.keys()):
            old, new = self._names.get(path), now.get(path)
            found = new if old is new or self._random.random() < fate else old
            if found is not None and (path.parent == Path() or path.parent in left):
                left[path] = found
        # One page of all is torn.
        torn = self._random.random()
        for path, file in left.items():
            if not (file.folder or file.watched) and now.get(path) is file:
                file.compare((self.folder / path).read_bytes())
        changes = sum(len(file.changes) for file in set(left.values()))
        number = count(int(torn * changes) if changes else 1, -1)
        seen: set[File] = set()
        for file in left.values():
            if file in seen:
                continue
            seen.add(file)
            for change in file.changes:
                if next(number) == 0 and isinstance(change, Write):
                    for piece in _sectors(change):
                        if self._random.random() < 0.5:
                            _make(file.durable, piece)
                    self.lost += 1
                elif self._random.random() < fate:
                    _make(file.durable, change)
                else:
                    self.lost += 1
            file.changes.clear()
        self._names = dict(left)
        return left

    def _found(self) -> dict[Path, File]:
        """All names that there are, and what each is the name of."""
        found: dict[Path, File] = {}
        for folder, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = Path(folder, name)
                found[path.relative_to(self.folder)] = self._file(path)
        return found

    def _file(self, path: Path) -> File:
        about = path.lstat()
        file = self._files.get(about.st_ino)
        if file is None:
            held = os.open(path, os.O_PATH | os.O_CLOEXEC)
            file = self._files[about.st_ino] = File(about.st_mode & 0o777, held, folder=path.is_dir())
        file.mode = about.st_mode & 0o777
        return file

    def _sync_names(self, folder: Path) -> None:
        inner = folder.relative_to(self.folder)
        there = {path for path in self._names if path.parent == inner}
        now = {path.relative_to(self.folder): self._file(path) for path in folder.iterdir()}
        for gone in there - now.keys():
            for path in [path for path in self._names if path == gone or gone in path.parents]:
                del self._names[path]
        self._names.update(now)

    def _end_processes(self) -> None:
        for process in self._processes:
            process.end()
        self._processes.clear()

    def _forget_files(self) -> None:
        for file in {*self._files.values(), *self._names.values()}:
            os.close(file.held)
        self._files.clear()
        self._names.clear()

    # What SQLite does to files of the folder, on its way to the real ones.

    def _opened(self, path: Path) -> File:
        file = self._file(path)
        if not file.watched:
            file.compare(path.read_bytes())
            file.watched = True
        return file

    def _fails(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability

    def _forget_some(self, file: File) -> None:
        """A sync failed: Linux holds what it could not write to be clean, and does not try again."""
        for change in file.changes:
            if self._random.random() < 0.5:
                _make(file.durable, change)
        file.changes.clear()


class Process(pbem.store.disk.Disk):
    """The disk as one process has it."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.alive = True
        self._connections: list[sqlite3.Connection] = []
        self._name = _library().enter(self)

    def connect(self, path: Path, *, wait: float) -> sqlite3.Connection:
        """A connection to a database, the files of which are on this disk."""
        place = f"file:{quote(str(path))}?vfs={self._name}"
        connection = sqlite3.connect(place, timeout=wait, isolation_level=None, check_same_thread=False, uri=True)
        self._connections.append(connection)
        return connection

    def sync(self, path: Path) -> None:
        """Have a file, or the names in a folder, durable; raises OSError."""
        if self.alive:
            self.disk.sync(path)

    def room(self, folder: Path) -> int:  # noqa: ARG002 - there is one folder
        """How many octets are said to be free."""
        return self.disk.room

    def kill(self) -> None:
        """Let this process die alone."""
        self.alive = False
        self.end()

    def end(self) -> None:
        """Close what a dead process has open; nothing is written any more."""
        self.alive = False
        for connection in self._connections:
            with suppress(sqlite3.Error), closing(connection):
                pass
        self._connections.clear()


def _make(content: bytearray, change: Write | Length) -> None:
    """Make a change; what was never written is zeros."""
    end = change.size if isinstance(change, Length) else change.offset + len(change.data)
    content.extend(bytes(max(end - len(content), 0)))
    if isinstance(change, Length):
        del content[end:]
    else:
        content[change.offset : end] = change.data


def _sectors(write: Write) -> Iterator[Write]:
    """A write by its sectors, which a disk writes whole."""
    end = write.offset + len(write.data)
    start = write.offset
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield Write(start, write.data[start - write.offset : stop - write.offset])
        start = stop


# https://www.sqlite.org/c3ref/io_methods.html and vfs.html, as far as it is needed here

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
    """sqlite3_file; what follows is the VFS's own."""

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
    file: File
    path: Path
    unsynced_name: list[Path]
    """The folder that is to be synced with it the first time."""


class _Library:
    """SQLite's library as Python's sqlite3 has it, with a VFS for each process.

    A VFS is never taken out: whatever is still open of a process that died may be closed when nobody thinks of it.
    """

    def __init__(self) -> None:
        import _sqlite3  # noqa: PLC0415 - where it is part of Python's program it has no file

        self._library = ctypes.CDLL(_sqlite3.__file__)
        self._library.sqlite3_vfs_find.restype = POINTER(_Vfs)
        self._library.sqlite3_vfs_register.argtypes = [POINTER(_Vfs), c_int]
        self._unix: _Vfs = self._library.sqlite3_vfs_find(None).contents
        self._processes: dict[int, Process] = {}
        self._kept: list[_Vfs] = []
        self._open: dict[int, _Opened] = {}
        self._tables: dict[int, tuple[_Methods, _Methods]] = {}
        """By the address of one of SQLite's tables of methods, it and ours in its place."""
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
        self._bases: dict[int, _Methods] = {}

    def enter(self, process: Process) -> str:
        """Give a process a VFS of its own; its name."""
        vfs = _Vfs()
        ctypes.pointer(vfs)[0] = self._unix
        vfs.name = f"pbem-{len(self._kept)}".encode()
        for name, method in self._vfs.items():
            setattr(vfs, name, method)
        self._kept.append(vfs)
        self._processes[ctypes.addressof(vfs)] = process
        self._library.sqlite3_vfs_register(ctypes.byref(vfs), 0)
        return str(vfs.name.decode())

    def _opened(self, vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
        process = self._processes[vfs]
        if not process.alive:
            return _CANTOPEN
        status = int(self._unix.open(vfs, name, file, flags, out))
        if status or name is None:
            return status
        path = Path(os.fsdecode(ctypes.string_at(name)))
        if process.disk.folder not in path.parents:
            return status
        there = _OpenFile.from_address(file)
        base = ctypes.addressof(there.methods.contents)
        if base not in self._tables:
            ours = _Methods()
            ctypes.pointer(ours)[0] = there.methods.contents
            for name_of, method in self._ours.items():
                setattr(ours, name_of, method)
            self._tables[base] = (there.methods.contents, ours)
        self._bases[file], ours = self._tables[base]
        there.methods = ctypes.pointer(ours)
        folder = [path.parent] if flags & _WITH_NAME and flags & 4 else []
        self._open[file] = _Opened(process, process.disk._opened(path), path, folder)
        return status

    def _closed(self, file: int) -> int:
        self._open.pop(file)
        return int(self._bases.pop(file).close(file))

    def _written(self, file: int, data: int, size: int, offset: int) -> int:
        opened = self._open[file]
        disk = opened.process.disk
        if not opened.process.alive:
            return _IOERR_WRITE
        full = disk._fails(disk.faults.full)
        if full:
            size = disk._random.randrange(size)
        status = int(self._bases[file].write(file, data, size, offset)) if size else 0
        if not status and size:
            opened.file.changes.append(Write(offset, ctypes.string_at(data, size)))
        return _FULL if full else status

    def _truncated(self, file: int, size: int) -> int:
        opened = self._open[file]
        if not opened.process.alive:
            return _IOERR_TRUNCATE
        status = int(self._bases[file].truncate(file, size))
        if not status:
            opened.file.changes.append(Length(size))
        return status

    def _synced(self, file: int, _flags: int) -> int:
        opened = self._open[file]
        disk = opened.process.disk
        if not opened.process.alive:
            return _IOERR_FSYNC
        if disk._fails(disk.faults.sync):
            disk._forget_some(opened.file)
            return _IOERR_FSYNC
        opened.file.sync()
        while opened.unsynced_name:
            disk._sync_names(opened.unsynced_name.pop())
        return 0

    def _unmapped(self, file: int, remove: int) -> int:
        """A process that died removes nothing."""
        return int(self._bases[file].unmap(file, remove and self._open[file].process.alive))

    def _deleted(self, vfs: int, name: bytes, sync_folder: int) -> int:
        process = self._processes[vfs]
        if not process.alive:
            return _IOERR_DELETE
        status = int(self._unix.delete(vfs, name, sync_folder))
        path = Path(os.fsdecode(name))
        if not status and sync_folder and process.disk.folder in path.parents:
            process.disk._sync_names(path.parent)
        return status


@cache
def _library() -> _Library:
    return _Library()
