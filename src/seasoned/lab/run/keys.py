"""A run in its store: the keys of its episodes, the names of the journals with their model calls, its marks on pools.

Always holds: the text of a key is the same in every version, so that runs can be resumed; parsing it gives an equal
key, whatever the task's id; names of journals here lack the run's id, with which they begin in the store. Lessons that
a person wrote, or changed last, stay when a pool is learned again.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seasoned.errors import StoreError
from seasoned.pool import JUDGED
from seasoned.store.sql import Store
from seasoned.types import Trajectory, by_person

if TYPE_CHECKING:
    from seasoned.lab.report.html import Purpose

TRAINING = "training"
"""The name in place of a condition for training attempts."""

LESSONS, ALONE, COINS = ":lessons", ":alone", ":coins"
"""Endings of the condition in keys of a gate or probe: with lessons, without any, with some withheld by coins."""

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
    """The key of one attempt at one task.

    As a text it is `s0f1/expnote@20~2/TASK#3`: the block, the condition (or "training") after 20 training cases, in its
    third run over the test tasks, and the fourth attempt at the task. Zeros are left out, unless the task's id ends
    like a trial. `trained_on` is 0 at the last point of the learning curve.
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
        """The key of a text from the store; a StoreError if it is none."""
        match = _KEY.fullmatch(text)
        if match is None:
            raise StoreError(f"{text!r} is no key of an episode: expected BLOCK/CONDITION/TASK")
        parts = match.groupdict()
        numbers = {name: int(parts[name] or 0) for name in ("trained_on", "repeat", "trial")}
        return EpisodeKey(parts["block"], parts["condition"], parts["task_id"], **numbers)

    @property
    def label(self) -> str:
        """The condition with its point of the curve and its run over the test tasks: `erl`, `erl@20`, `erl~1`."""
        return label(self.condition, self.trained_on) + (f"~{self.repeat}" if self.repeat else "")

    @property
    def scope(self) -> str:
        """The name of the pool that records the attempt."""
        return f"{self.block}/{self.label}" + ("" if self.condition == TRAINING else "/test")

    def turns(self, alike: bool) -> str:
        """The journal of the agent's turns.

        With `alike` (at temperature 0, where the same request gets the same reply), all trials share it and, at a test
        task, all conditions: no request is paid twice. Otherwise only both arms of a gate or probe share it, so that a
        prompt that lessons did not change gets one reply.
        """
        return self._common if alike else str(self._of_both_arms)

    def reflecting(self, alike: bool) -> str:
        """The journal of the reflection before this trial; conditions share it if requests are `alike`."""
        return f"{self._common if alike else self._task}/reflect{self.trial}"

    @property
    def recalling(self) -> str:
        """The journal of recall; at a test task all conditions share it, since recall uses temperature 0."""
        return f"{self._task}/recall" if self.condition == TRAINING else self._common

    def journals(self, trials: int) -> Iterator[str]:
        """Every journal that may hold calls for this task: its turns, reflections and recalls in up to `trials`."""
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
    """The name of a condition at an earlier point of its learning curve (`expnote@20`), or at the last one (0)."""
    return f"{condition}@{trained_on}" if trained_on else condition


def judged_as(condition: str) -> str:
    """The condition that an attempt belongs to: its own, or the one whose gate or probe needed it."""
    return condition.removesuffix(LESSONS).removesuffix(ALONE).removesuffix(COINS)


def learning(pool: str) -> str:
    """The journal of the calls that wrote the lessons of a pool."""
    return f"{pool}/learn"


@dataclass(frozen=True)
class JournalName:
    """The content of a journal. `label` is "" if conditions share it; only a task's journal has a `task_id`."""

    purpose: Purpose
    label: str
    task_id: str
    trial: int = 0

    @staticmethod
    def parse(rest: str, task_ids: Container[str]) -> JournalName:
        """Parse the name of a journal, without its block, that holds other calls than an agent's turns.

        The ids of the block's tasks separate the task from the condition before it.
        """
        end = None if rest in task_ids else _JOURNAL.fullmatch(rest)
        owner = end["of"] if end else rest
        name, _, task_id = ("", "", owner) if owner in task_ids else owner.partition("/")
        # Conditions share a journal without an ending, which also holds the calls of recall.
        purpose, trial = (end["purpose"], int(end["trial"] or 0)) if end else ("recall", 0)
        return JournalName(_PURPOSES[purpose], name, task_id, trial)

    @property
    def condition(self) -> str:
        """The condition of the label."""
        return re.split("[@~]", self.label)[0]


# Marks

GATE = "gate"
"""The mark that holds the claim of a gate that was decided."""
TRIED = "tried"
"""The mark that holds the hashes of the lessons that a gate tries."""
PROBE = "probe"
"""The mark that holds a probe's estimates for a condition's lessons."""
_LEARNED, _REPLACED = "learned", "replaced"


def left_out(store: Store, scope: str, attempts: Iterable[Trajectory]) -> list[Trajectory]:
    """The attempts that a pool has not learned from yet: all if its learning is not complete."""
    if not is_learned(store, scope):
        return list(attempts)
    known = _learned(store, scope).get("from")
    # An earlier version stored no ids, so these attempts cannot be known.
    return [] if known is None else [t for t in attempts if t.id not in known]


def is_learned(store: Store, scope: str) -> bool:
    """Whether a pool's learning is complete."""
    return store.marked(scope, _LEARNED) is not None


def mark_learned(store: Store, scope: str, attempts: Iterable[Trajectory], problems: Sequence[str] = ()) -> None:
    """Store that a pool's learning is complete, with its attempts and problems; a person may change it from now on."""
    store.mark(scope, _LEARNED, {"from": [t.id for t in attempts], "problems": list(problems)})


def unlearn(store: Store, scope: str, why: str) -> None:
    """Remove a pool's lessons, but not those that a person wrote or changed last."""
    with store.transaction():
        for lesson in store.lessons(scope):
            if not by_person(store.history(lesson.id)[-1].who):
                store.remove_lesson(lesson.id, who="rule", why=why, purge=True)
        store.unmark(scope, _LEARNED)
        store.unmark(f"{scope}{JUDGED}")


def problems_of(store: Store, scope: str) -> tuple[str, ...]:
    """The problems of learning a pool; empty if the learning is not complete."""
    return tuple(map(str, _learned(store, scope).get("problems", ())))


def replaced(store: Store, experience: str) -> frozenset[str]:
    """The ids of training attempts that were discarded and made again; lessons that a person kept may name them."""
    return frozenset(store.marked(experience, _REPLACED) or ())


def mark_replaced(store: Store, experience: str, keys: Iterable[str], run_id: str) -> None:
    """Store the training attempts among these episodes of a run, which are about to be made again."""
    prefix = experience.removeprefix(f"{run_id}/") + "/"
    made = store.episodes(run_id)
    gone = {made[key].id for key in keys if key.startswith(prefix)}
    if gone:
        store.mark(experience, _REPLACED, sorted(gone | replaced(store, experience)))


def _learned(store: Store, scope: str) -> dict[str, Any]:
    mark = store.marked(scope, _LEARNED)
    return mark if isinstance(mark, dict) else {}


def gate_scope(run_id: str, block: str, condition: str) -> str:
    """The scope of the marks `GATE`, `TRIED` and `PROBE` of a condition in a block."""
    return f"{run_id}/{block}/{condition}"


def forget_gate(store: Store, run_id: str, block: str, condition: str) -> None:
    """Forget the decisions of a gate and a probe, since their lessons or attempts are made again."""
    for name in (GATE, TRIED, PROBE):
        store.unmark(gate_scope(run_id, block, condition), name)
