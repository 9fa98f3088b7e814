"""`make night`: what fits one night on two cores, and one page of what it showed.

A shorter night tries a share of each part, drawn by its seed.

Two parts run at once, and those that measure time alone, at the end. A result is written when its part ends, so that
a night that was interrupted goes on with what is not done, on the same tree; what was too slow is tried again then.
What does not fit is not run, and is not called passed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from night.parts import ROOT, parts, tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from night.parts import Part

PATIENCE, MOMENT = 4.0, 10.0
"""A part is too slow when it takes so many times what it should, and so many minutes: perhaps it hangs."""
LAST_WORDS = 10.0  # seconds in which a part that is ended may clean up
A_NIGHT = 8.0  # hours in which two cores try everything
TAIL = 40  # lines of output on the page


class Night:
    """The parts of one night, and the folder of their results."""

    def __init__(self, folder: Path, title: str, *lanes: Sequence[Part], alone: Sequence[Part] = ()) -> None:
        self.folder, self.title, self.lanes, self.alone = folder, title, lanes, alone
        self.parts = [part for lane in (*lanes, alone) for part in lane]
        folder.mkdir(parents=True, exist_ok=True)

    def result(self, part: Part) -> dict[str, Any] | None:
        """Its command, status (None if it was too slow), minutes and last lines; nothing while it is not done."""
        with suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads(self._place(part, "json").read_text("utf-8"))
            return found
        return None

    def left(self) -> bool:
        """Whether there is something to do."""
        return any(map(self._is_due, self.parts))

    def _is_due(self, part: Part) -> bool:
        """Whether it can be run, and neither passed nor failed yet."""
        result = self.result(part)
        return not part.missing and (result is None or result["status"] is None)

    def _place(self, part: Part, kind: str) -> Path:
        return self.folder / f"{part.name.replace(' ', '-').replace(',', '')}.{kind}"

    async def run(self, hours: float) -> None:
        """Run what is not done and fits; what runs when the time is over is ended, and not done."""
        self._until = time.monotonic() + hours * 3600
        task = asyncio.current_task()
        assert task is not None
        # Not as SIGINT, which a shell has its background jobs ignore.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        self._tell()
        await asyncio.gather(*map(self._lane, self.lanes))
        await self._lane(self.alone)

    async def _lane(self, lane: Sequence[Part]) -> None:
        for part in lane:
            left = (self._until - time.monotonic()) / 60
            if self._is_due(part) and part.minutes <= left:
                await self._part(part, left)

    async def _part(self, part: Part, left: float) -> None:
        began, limit, status = time.monotonic(), part.minutes * PATIENCE + MOMENT, None
        print(f"{datetime.now(UTC):%H:%M} {part.name}: {part.command}", flush=True)
        with self._place(part, "log").open("wb") as log:
            child = await asyncio.create_subprocess_shell(
                part.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            try:
                with suppress(TimeoutError):
                    status = await asyncio.wait_for(child.wait(), 60 * min(limit, left))
            finally:
                await _end(child)
        if status is None and left < limit:
            return  # the night ended, and perhaps the part was not too slow
        tail = self._place(part, "log").read_text("utf-8", "replace").splitlines()[-TAIL:]
        minutes = round((time.monotonic() - began) / 60, 1)
        said = {"command": part.command, "status": status, "minutes": minutes, "tail": tail}
        _write(self._place(part, "json"), json.dumps(said))
        self._tell()

    def _tell(self) -> None:
        _write(self.folder / "page.md", "\n".join(self._page()))

    def _page(self) -> Iterator[str]:
        done = {part.name: result for part in self.parts if (result := self.result(part))}
        bad = {name: result for name, result in done.items() if result["status"] != 0}
        yield f"# {self.title}\n"
        yield f"{len(done)} of {len(self.parts)} parts were run; {len(bad)} did not pass.\n"
        yield "| part | result | minutes | its last line |\n|---|---|---|---|"
        for part in self.parts:
            if part.name not in done:
                yield f"| {part.name} | not run{part.missing and f': {part.missing}'} | | |"
                continue
            status, minutes, tail = (done[part.name][name] for name in ("status", "minutes", "tail"))
            said = (
                "passed" if status == 0 else "too slow, and ended" if status is None else f"FAILED, status {status}"
            )
            told = [line.replace("|", "/") for line in tail if line.strip() and not line.startswith("make[")]
            yield f"| {part.name} | {said} | {minutes} | {told[-1] if told else ''} |"
        for name, result in bad.items():
            yield "\n".join(["", f"## {name}", "```", *result["tail"], "```"])
        yield "\n".join(
            ["", "## To repeat", *(f"- {name}: `{result['command']}`" for name, result in done.items()), ""]
        )


async def _end(child: asyncio.subprocess.Process) -> None:
    """End a part, and what it has started: its shell dies at once, and the others clean up."""
    for which in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, TimeoutError):
            os.killpg(child.pid, which)
            async with asyncio.timeout(LAST_WORDS):
                while True:
                    os.killpg(child.pid, 0)
                    await asyncio.sleep(0.05)
    await child.wait()


def _write(path: Path, text: str) -> None:
    """Write all of it, or nothing."""
    new = path.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make night")
    parser.add_argument("--hours", type=float, default=A_NIGHT, help="when it ends at the latest")
    parser.add_argument("--share", type=float, help="of each part, what is tried: all in eight hours")
    asked, nights, name = parser.parse_args(), ROOT / "build" / "night", tree()
    hours: float = asked.hours
    share: float = asked.share or min(hours / A_NIGHT, 1.0)
    last = sorted(int(folder.name.partition("-")[0]) for folder in nights.glob(f"*-{name}"))[-1:]
    for seed in (*last, int(f"{datetime.now(UTC):%y%m%d%H%M}")):
        one, other, alone = parts(share, seed)
        night = Night(
            nights / f"{seed}-{name}", f"Night {seed}, tree {name}, {share:.0%} of each part", one, other, alone=alone
        )
        if night.left():
            break
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(night.run(hours))
    print(night.folder / "page.md")


if __name__ == "__main__":
    main()
