"""The attempt of a ReAct or Reflexion log that is being read, and where its next line of text goes.

Always holds: an attempt without a step is a problem and no attempt; nothing raises.
"""

from __future__ import annotations

from seasoned.traces.react_attempts import ACTION, SEEN, Attempt
from seasoned.traces.react_lines import THINK
from seasoned.traces.source import Problem


class Open:
    """The attempts that are read, the open one last; a reader of lines tells what comes next."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.done: list[Attempt] = []
        self.open: Attempt | None = None
        self.into: list[str] | None = None  # what plain text is added to
        self.task: list[str] = []  # of the attempt before, for its next trial
        self.section = ""
        self.held: list[str] = []  # rulers that may belong to the text, or end it

    def begin(self, place: int, environment: int = -1) -> None:
        """Another attempt, with its task to come."""
        self.open = Attempt(place, environment=environment, section=self.section)
        self.into = self.open.task

    def end(self) -> None:
        """No more steps come, but what is said of the attempt still may."""
        self.into = None
        if self.open is not None:
            self.open.ended = True

    def close(self) -> None:
        """Puts the open attempt with those that are done."""
        now, self.open, self.into, self.held = self.open, None, None, []
        if now is None:
            return
        now.steps = [step for step in now.steps if any("".join(part).strip() for part in step)]
        self.task = now.task
        if now.steps:
            self.done.append(now)
        else:
            self.problems.append(Problem(f"line {now.line}", "a task without a step"))

    def stray(self, place: int) -> None:
        """Names a line that belongs to nothing."""
        self.problems.append(Problem(f"line {place}", "text that belongs to no attempt"))

    def is_seen(self) -> bool:
        """Whether plain text here would be observed in an attempt with labels."""
        now = self.open
        return now is not None and now.labelled and bool(now.steps) and self.into is now.steps[-1][SEEN]

    def is_quoted(self, count: int) -> bool:
        """Whether a step is of the trial before: some logs print it in place of the reflection, without a word."""
        now = self.open
        if now is None or not now.judged or now.gold or self.into is not now.after or count > 1:
            return False
        return not any(line.strip() for line in now.after)

    def labelled(self, place: int, count: int) -> Attempt:
        """The open attempt, or a new one at the same task where the count of steps begins anew."""
        now = self.open
        again = now is not None and bool(now.steps) and count <= 1 and (now.ended or now.begins_anew(count))
        if now is None or again:
            task = "\n".join(now.task if now is not None else self.task)
            environment = now.environment if now is not None else -1
            self.close()
            self.begin(place, environment=environment)
            assert self.open is not None
            self.open.task, self.open.again = [task] if task else [], True
        assert self.open is not None
        self.open.labelled, self.open.count = True, count
        return self.open

    def act(self, now: Attempt, said: str) -> None:
        """Adds a command, or a thought that is written as one and goes with the command after it."""
        thinks = THINK.match(said)
        if not now.steps or now.text(ACTION) or now.text(SEEN).casefold() not in ("", "ok."):
            now.begin_step()
        thought, action, seen = now.steps[-1]
        seen.clear()
        if thinks:
            inner = said[thinks.end() :]
            thought.append(inner.removesuffix("]") if "[" in thinks.group() else inner)
            self.into = seen
        else:
            action.extend([said] if said else [])
            self.into = seen if not now.labelled else action
