"""The progress of an experiment for a person: a bar with time left, running accuracy, tokens and cost.

Always holds: everything goes to standard error, and standard output is left to results; without a terminal, a plain
line every few seconds replaces the bar.
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

_SECONDS = 15.0  # between two lines
_SPEED_LINES = 20  # lines over which the speed is measured


class Watch:
    """Counts episodes as they end and shows them. `quiet` shows nothing."""

    def __init__(self, total: int, *, quiet: bool = False, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self.quiet = quiet
        self.usage = Usage()
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._bars: dict[str, TaskID] = {}
        self._printed = time.monotonic()
        self._begun = now()
        self._done, self._had, self._total = 0, 0, total
        self._marks = deque([(self._printed, 0)], _SPEED_LINES)
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
        """Begin a stage of `total` episodes, or extend the stage of this name."""
        with self._lock:
            if name in self._bars:
                self._bar.update(self._bars[name], total=(self._bar.tasks[self._bars[name]].total or 0) + total)
            else:
                self._bars[name] = self._bar.add_task(name, total=total, solved="", used="")
                self._counts[name] = (0, 0, 0)

    def more(self, name: str) -> None:
        """Plan one more episode of a stage: a task is tried again."""
        with self._lock:
            self._total += 1
            self._bar.update(self._all, total=self._total)
            self._bar.update(self._bars[name], total=(self._bar.tasks[self._bars[name]].total or 0) + 1)

    @contextmanager
    def learns(self, name: str, most: int) -> Iterator[Callable[[], None]]:
        """Show that a condition learns, with at most `most` model calls; yields a function to call before each."""
        began, calls = time.monotonic(), 0
        bar: TaskID | None = None

        def before_call() -> None:
            nonlocal calls, bar
            with self._lock:
                calls += 1
                expected = max(most, calls)
                if bar is None:
                    bar = self._bar.add_task(f"{name} learns", total=expected, solved="calls", used="")
                # The call that begins now is not yet done.
                self._bar.update(bar, completed=calls - 1, total=expected)
                if self._is_time():
                    self._print(f"{name} learns: call {calls:,} of at most {expected:,}")

        yield before_call
        with self._lock:
            if bar is not None:
                self._bar.update(bar, completed=calls, total=calls)
            spent = time.monotonic() - began  # no episode ends while learning, so it must not slow the estimate
            self._marks = deque(((at + spent, made) for at, made in self._marks), _SPEED_LINES)

    def say(self, text: str) -> None:
        """Show one line."""
        if not self.quiet:
            self.console.print(text, soft_wrap=True)

    def ended(self, stage: str, trajectory: Trajectory) -> None:
        """Count an episode of a stage that ended."""
        with self._lock:
            n, solved, errors = self._counts[stage]
            known = trajectory.outcome.success is not None
            counts = (n + known, solved + bool(trajectory.outcome.success), errors + (not known))
            self._counts[stage] = counts
            self.usage = self.usage + trajectory.usage
            self._done += 1
            self._had += trajectory.created < self._begun  # made before this run was resumed, so it took no time now
            rate = f"{counts[1]}/{counts[0]} = {counts[1] / counts[0]:.0%}" if counts[0] else ""
            rate += f" {counts[2]} err" if counts[2] else ""
            self._bar.update(self._bars[stage], advance=1, solved=rate)
            self._bar.update(self._all, advance=1, used=_used(self.usage))
            self._line(stage, rate)

    def _line(self, stage: str, rate: str) -> None:
        if not self._is_time() and self._done < self._total:
            return
        made = self._done - self._had
        at, (past, before) = time.monotonic(), self._marks[0]
        left = (at - past) / max(made - before, 1) * (self._total - self._done)
        self._marks.append((at, made))
        self._print(
            f"{self._done}/{self._total} episodes, {stage}: {rate}, {_used(self.usage)}, about {left:.0f} s left"
        )

    def _is_time(self) -> bool:
        """Whether a new line is due."""
        return time.monotonic() - self._printed >= _SECONDS

    def _print(self, line: str) -> None:
        """Print a line if there is no terminal."""
        if not self.quiet and not self.console.is_terminal:
            self._printed = time.monotonic()
            self.console.print(line, soft_wrap=True)


def _used(usage: Usage) -> str:
    cost = f", ${usage.cost:.4f}" if usage.cost else ""
    return f"{usage.prompt_tokens:,} in, {usage.completion_tokens:,} out{cost}"
