"""Benchmarks that ask for one answer, and their environment, whose actions are THINK, NOTE, RECALL and ANSWER.

Always holds: a task is scored at most once, by its first ANSWER; the right answer is named only after that, and only in
training; RECALL is left to the agent, because an environment has no notes; for any action, a step returns Gymnasium's
five values and raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.errors import ContractError
from seasoned.lab.benchmarks.base import MAX_TURNS, PROMPTS, Benchmark, named, read_toml, split
from seasoned.replies.commands import RIGHT, WRONG, Command, parse
from seasoned.types import Example, Task

OK = "OK."
UNKNOWN = "Nobody knows whether this is right."
COMMANDS = "That is no command. There are THINK[thought], NOTE[key]: text, RECALL[words] and ANSWER[answer]."
NOTE_FORM = "Nothing was noted. A note has a key and a text: NOTE[key]: text"
ANSWERED = "You have answered already. Write NOTE[key]: text, or END."

MAX_ANSWER = 200
"""The most characters of an answer in `info`."""

NOTE_TURNS = 4
"""Turns for thinking and noting after the answer of a training case (ExpNote, appendix B: n = 4)."""


class Scored(NamedTuple):
    """The answer that was read, and whether it is right (None: the task has no known answer)."""

    answer: str
    success: bool | None


Score = Callable[[str, Mapping[str, Any]], Scored]
"""Scores the text of an ANSWER against a task's `data`; must not raise, whatever the text."""


@dataclass(eq=False)
class AnswerEnvironment:
    """One case at a time: the question, commands until the answer, and in training a few turns for notes.

    The first ANSWER in an action counts, even an empty one; the text after it was written without the feedback, and is
    ignored. With `reveal`, the feedback names the right answer, and up to `note_turns` actions follow until END. After
    `max_turns` without an answer the case ends, and counts as wrong.
    """

    score: Score
    reveal: bool
    max_turns: int
    note_turns: int = NOTE_TURNS
    _task: Task | None = field(default=None, init=False)
    _turns: int = field(default=0, init=False)
    _answered: bool = field(default=False, init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a case: returns the question, and {"choices": [...]} if it has some. `seed` changes nothing."""
        self._task, self._turns, self._answered = task, 0, False
        question = str(task.data.get("question") or task.text)
        return question, {"choices": list(task.data["choices"])} if task.data.get("choices") else {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action, which may contain several commands; the reward is 1.0 for a right answer.

        The info of the step that is scored has "success" and "answer"; a case that ends without an answer has neither.
        ContractError if there was no `reset`, or the case has ended.
        """
        if self._task is None:
            raise ContractError("step was called before reset or after the end of the case: call reset(task) first")
        self._turns += 1
        commands = parse(action)
        if self._answered:
            return self._noted(commands)
        answer = next((c.text for c in commands if c.name == "ANSWER"), None)
        if answer is not None:
            return self._scored(self._task, answer)
        observation = _observe(commands)
        truncated = self._turns >= self.max_turns
        if truncated:
            self._task = None
        return observation, 0.0, False, truncated, {} if observation == OK else {"invalid": True}

    def close(self) -> None:
        """End the case, if one is open. May be called again."""
        self._task = None

    def _scored(self, task: Task, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        scored = self.score(text, task.data)
        words = UNKNOWN if scored.success is None else RIGHT if scored.success else WRONG
        observation = words.format(answer=task.data.get("answer", "")) if self.reveal else ""
        self._answered, self._turns = True, 0
        terminated = not self.reveal or self.note_turns <= 0
        if terminated:
            self._task = None
        info = {"success": scored.success, "answer": scored.answer[:MAX_ANSWER]}
        return observation, 1.0 if scored.success else 0.0, terminated, False, info

    def _noted(self, commands: Sequence[Command]) -> tuple[str, float, bool, bool, dict[str, Any]]:
        names = {c.name for c in commands}
        ends = "END" in names
        if useful := [c for c in commands if c.name not in ("ANSWER", "END")]:
            observation = _observe(useful)
        else:
            observation = OK if ends else ANSWERED if "ANSWER" in names else COMMANDS
        terminated = ends or self._turns >= self.note_turns
        if terminated:
            self._task = None
        return observation, 0.0, terminated, False, {} if observation == OK else {"invalid": True}


def answer_benchmark(
    name: str,
    tasks: Sequence[Task],
    score: Score,
    *,
    seed: int,
    share: float,
    source: str | Sequence[Path],
    **more: Any,
) -> Benchmark:
    """A benchmark that asks for one answer, with the texts of `prompts/<name>.toml`; see `split` for the pools."""
    train, test = split(tasks, name=name, seed=seed, share=share)
    return Benchmark(
        name=name,
        train=train,
        test=test,
        max_turns=MAX_TURNS,
        make_env=partial(AnswerEnvironment, score, max_turns=MAX_TURNS),
        source=source if isinstance(source, str) else named(source),
        **prompts(name),
        **more,
    )


@cache
def prompts(benchmark: str) -> dict[str, Any]:
    """The texts of the prompts, as fields of a `Benchmark`, from `prompts/<benchmark>.toml`."""
    raw = read_toml(PROMPTS / f"{benchmark}.toml")
    return {
        **{key: " ".join(raw[key].split()) for key in ("instruction", "think_hint", "note_hint")},
        "examples": tuple(Example.model_validate(example) for example in raw["example"]),
        "heuristic": tuple(raw["heuristic"]) if "heuristic" in raw else None,
        "rule_begins": raw.get("rule_begins", ""),
    }


def _observe(commands: Sequence[Command]) -> str:
    """`OK` if at least one command is valid; otherwise advice on what to write."""
    if any(c.name == "THINK" or (c.text and (c.name == "RECALL" or (c.name == "NOTE" and c.key))) for c in commands):
        return OK
    return NOTE_FORM if any(c.name == "NOTE" for c in commands) else COMMANDS
