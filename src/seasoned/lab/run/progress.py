"""The progress of an experiment for a person: a bar with time left, running accuracy, tokens and cost.

Always holds: everything goes to standard error, so that standard output stays for results; without a terminal there
is a plain line every few seconds instead of a bar.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as TimeLeft

from seasoned.types import Trajectory, Usage, now

_EVERY = 15.0
_LOOKS_BACK = 20  # lines: how fast it goes is measured over these


class Watch:
    """Counts episodes as they end and shows them. `quiet` shows nothing."""

    def __init__(self, total: int, *, quiet: bool = False, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self.quiet = quiet
        self.usage = Usage()
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._bars: dict[str, TaskID] = {}
        self._said = time.monotonic()
        self._begun = now()
        self._done, self._had, self._total = 0, 0, total
        self._marks = deque([(self._said, 0)], _LOOKS_BACK)
        self._bar = Progress(
            TextColumn("{task.description:<24}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[solved]:>10}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeLeft(),
            TextColumn("{task.fields[used]}"),
            console=self.console,
            disable=quiet or not self.console.is_terminal,
            speed_estimate_period=120,
        )
        self._all = self._bar.add_task("all", total=total, solved="", used="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` episodes begins (or goes on, under the same name)."""
        with self._lock:
            if name in self._bars:
                self._bar.update(self._bars[name], total=(self._bar.tasks[self._bars[name]].total or 0) + total)
            else:
                self._bars[name] = self._bar.add_task(name, total=total, solved="", used="")
                self._counts[name] = (0, 0, 0)

    def more(self, name: str) -> None:
        """One more episode of a stage than was foreseen: a task is tried again."""
        with self._lock:
            self._total += 1
            self._bar.update(self._all, total=self._total)
            self._bar.update(self._bars[name], total=(self._bar.tasks[self._bars[name]].total or 0) + 1)

    @contextmanager
    def learns(self, name: str, most: int) -> Iterator[Callable[[], None]]:
        """A condition learns, with so many calls of a model at most; gives what is to be done before each call."""
        began, asked = time.monotonic(), 0
        bar: TaskID | None = None

        def before_call() -> None:
            nonlocal asked, bar
            with self._lock:
                asked += 1
                whole = max(most, asked)
                if bar is None:
                    bar = self._bar.add_task(f"{name} learns", total=whole, solved="calls", used="")
                # The call that begins now is not done.
                self._bar.update(bar, completed=asked - 1, total=whole)
                if self._is_time():
                    self._print(f"{name} learns: call {asked:,} of at most {whole:,}")

        yield before_call
        with self._lock:
            if bar is not None:
                self._bar.update(bar, completed=asked, total=asked)
            spent = time.monotonic() - began  # no episode could end in it, so it says nothing about how long one takes
            self._marks = deque(((at + spent, made) for at, made in self._marks), _LOOKS_BACK)

    def say(self, text: str) -> None:
        """One line for the person."""
        if not self.quiet:
            self.console.print(text, soft_wrap=True)

    def ended(self, stage: str, trajectory: Trajectory) -> None:
        """An episode of a stage ended."""
        with self._lock:
            n, solved, errors = self._counts[stage]
            known = trajectory.outcome.success is not None
            counts = (n + known, solved + bool(trajectory.outcome.success), errors + (not known))
            self._counts[stage] = counts
            self.usage = self.usage + trajectory.usage
            self._done += 1
            self._had += trajectory.created < self._begun  # by a run that is resumed: it took no time now
            rate = f"{counts[1]}/{counts[0]} = {counts[1] / counts[0]:.0%}" if counts[0] else ""
            rate += f" {counts[2]} err" if counts[2] else ""
            self._bar.update(self._bars[stage], advance=1, solved=rate)
            self._bar.update(self._all, advance=1, used=_used(self.usage))
            self._line(stage, rate)

    def _line(self, stage: str, rate: str) -> None:
        if not self._is_time() and self._done < self._total:
            return
        made = self._done - self._had
        at, (then, before) = time.monotonic(), self._marks[0]
        left = (at - then) / max(made - before, 1) * (self._total - self._done)
        self._marks.append((at, made))
        self._print(
            f"{self._done}/{self._total} episodes, {stage}: {rate}, {_used(self.usage)}, about {left:.0f} s left"
        )

    def _is_time(self) -> bool:
        """Whether the last line is long enough ago."""
        return time.monotonic() - self._said >= _EVERY

    def _print(self, line: str) -> None:
        """A line for those who have no terminal."""
        if not self.quiet and not self.console.is_terminal:
            self._said = time.monotonic()
            self.console.print(line, soft_wrap=True)


def _used(usage: Usage) -> str:
    cost = f", ${usage.cost:.4f}" if usage.cost else ""
    return f"{usage.prompt_tokens:,} in, {usage.completion_tokens:,} out{cost}"
