"""The keys of a run: under which each episode is stored, and in which journal its model calls are kept.

Always holds: the text of a key is the same in every version, so that runs can be resumed; reading it back gives an
equal key, whatever the id of its task; names here do not begin with the id of the run, as they do in the store.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from seasoned.errors import StoreError
from seasoned.lab.report.episodes import Purpose

TRAINING = "training"
"""What stands in the place of a condition for training attempts."""

LESSONS, ALONE, COINS = ":lessons", ":alone", ":coins"
"""What the condition of attempts of a gate or probe ends in: with lessons, without any, with some withheld by coins."""

_TRIAL = r"#(?P<trial>0|[1-9][0-9]{0,8})"
_ENDS_LIKE_A_TRIAL = re.compile(f".*{_TRIAL}", re.DOTALL)
_KEY = re.compile(
    r"(?P<block>[^/]*)/(?P<condition>[^/@~]*)(?:@(?P<trained_on>[0-9]{1,9}))?(?:~(?P<repeat>[0-9]{1,9}))?"
    rf"/(?P<task_id>.*?)(?:{_TRIAL})?",
    re.DOTALL,
)
_JOURNAL = re.compile(r"(?P<of>.*)/(?P<purpose>learn|reflect|recall)(?P<trial>[0-9]{0,9})", re.DOTALL)

_PURPOSES: dict[str, Purpose] = {"learn": "learning", "reflect": "reflecting", "recall": "recalling"}


@dataclass(frozen=True)
class EpisodeKey:
    """One attempt at one task in one place of a plan.

    As a text it is `s0f1/expnote@20~2/TASK#3`: the block, the condition (or "training") after 20 training cases, in its
    third run over the test tasks, and the fourth attempt at the task. Zeros are left out: `trained_on` is 0 at the last
    point of the learning curve. The trial is written all the same where the task's own id ends like one.
    """

    block: str
    condition: str
    task_id: str
    trained_on: int = 0
    repeat: int = 0
    trial: int = 0

    def __str__(self) -> str:
        ambiguous = _ENDS_LIKE_A_TRIAL.fullmatch(self.task_id)
        return f"{self._task}#{self.trial}" if self.trial or ambiguous else self._task

    @staticmethod
    def parse(text: str) -> EpisodeKey:
        """The key of a text that a store gave back.

        Raises:
            StoreError: it is no key.
        """
        found = _KEY.fullmatch(text)
        if found is None:
            raise StoreError(f"{text!r} is no key of an episode: expected BLOCK/CONDITION/TASK")
        parts = found.groupdict()
        numbers = {name: int(parts[name] or 0) for name in ("trained_on", "repeat", "trial")}
        return EpisodeKey(parts["block"], parts["condition"], parts["task_id"], **numbers)

    @property
    def label(self) -> str:
        """The condition at its point of the curve, in its run over the test tasks: `erl`, `erl@20`, `erl~1`."""
        return label(self.condition, self.trained_on) + (f"~{self.repeat}" if self.repeat else "")

    @property
    def scope(self) -> str:
        """The pool that the attempt is recorded in."""
        return f"{self.block}/{self.label}" + ("" if self.condition == TRAINING else "/test")

    def turns(self, alike: bool) -> str:
        """The journal of the agent's turns.

        With `alike` (at temperature 0 the same request has the same answer) all trials share it and, at a test task,
        all conditions: what one of them asked is known to all, and trying again without any news costs nothing.
        Otherwise both arms of a gate or probe share it, so that a prompt that lessons did not change has one answer.
        """
        return self._common if alike else str(self._of_both_arms)

    def reflecting(self, alike: bool) -> str:
        """The journal of what was reflected before this trial; shared by conditions where they are `alike`."""
        return f"{self._common if alike else self._task}/reflect{self.trial}"

    @property
    def recalling(self) -> str:
        """The journal of recall. At a test task it is that of all conditions: recall asks at temperature 0."""
        return f"{self._task}/recall" if self.condition == TRAINING else self._common

    def journals(self, trials: int) -> Iterator[str]:
        """Every journal that may hold calls for this task at up to so many trials, and on the way to them."""
        numbers = range(1, trials + 1)
        for key in dict.fromkeys((self, self._of_both_arms)):
            yield from (str(replace(key, trial=number)) for number in (0, *numbers))
        for task in (self._task, f"{self.block}/{self.task_id}"):
            yield from (task, f"{task}/recall", *(f"{task}{end}{n}" for n in numbers for end in ("#", "/reflect")))

    @property
    def _of_both_arms(self) -> EpisodeKey:
        return replace(self, condition=judged_as(self.condition))

    @property
    def _task(self) -> str:
        return f"{self.block}/{self.label}/{self.task_id}"

    @property
    def _common(self) -> str:
        return self._task if self.condition == TRAINING else f"{self.block}/{self.task_id}"


def label(condition: str, trained_on: int) -> str:
    """The name of a condition at an earlier point of its learning curve (`expnote@20`), or at the last (0)."""
    return f"{condition}@{trained_on}" if trained_on else condition


def judged_as(condition: str) -> str:
    """The condition that an attempt belongs to: its own, or the one whose gate or probe it was made for."""
    return condition.removesuffix(LESSONS).removesuffix(ALONE).removesuffix(COINS)


def learning(pool: str) -> str:
    """The journal of the calls that wrote the lessons of a pool."""
    return f"{pool}/learn"


@dataclass(frozen=True)
class JournalName:
    """What is in a journal. `label` is "" where conditions share it; learning has no task, a reflection has a trial."""

    purpose: Purpose
    label: str
    task_id: str
    trial: int = 0

    @staticmethod
    def parse(rest: str, task_ids: Container[str]) -> JournalName:
        """Read the name of a journal, after its block, that has more calls than the turns of agents.

        Args:
            rest: the name without the block in front.
            task_ids: those of the block, by which the task is told from the condition before it.
        """
        end = None if rest in task_ids else _JOURNAL.fullmatch(rest)
        of = end["of"] if end else rest
        name, _, task_id = ("", "", of) if of in task_ids else of.partition("/")
        # Without an end it is what conditions share at a test task, where recall asks too.
        purpose, trial = (end["purpose"], int(end["trial"] or 0)) if end else ("recall", 0)
        return JournalName(_PURPOSES[purpose], name, task_id, trial)

    @property
    def condition(self) -> str:
        """The condition of the label."""
        return re.split("[@~]", self.label)[0]
