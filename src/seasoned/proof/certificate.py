"""The certificate: a file that states which lessons were promoted on which evidence, and that anyone can check.

Always holds: a check calls no model; it recomputes the decision from the stored attempts, and compares the lessons, the
model and the prompts with the present ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seasoned.errors import ConfigError
from seasoned.proof.gate import Look, looks
from seasoned.types import Lesson, Trajectory, now

if TYPE_CHECKING:
    from seasoned.store.sql import Store

NAME = "certificate.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Trial(_Frozen):
    """One gate task: its hash, and the ids of its attempts without and with the lessons (one for each repeat).

    `difference` is the mean success with lessons minus that without. An `excluded` task, in which an attempt of either
    arm ended in a server's error, counts as a tie.
    """

    task: str
    without: tuple[str, ...]
    lessons: tuple[str, ...]
    difference: float
    excluded: bool = False


class Claim(_Frozen):
    """One candidate: its lessons, its trials, the looks at them and the decision.

    `planned` is the intended number of gate tasks; `candidates` divides the levels; with `crossfit`, it certifies the
    method and not this list of lessons.
    """

    condition: str
    block: str = ""
    scope: str
    lessons: Mapping[str, str]
    model: str
    prompts: str
    planned: int
    candidates: int
    excluded: int = Field(
        default=0, description="tasks left out, as an attempt of either arm ended in a server's error"
    )
    trials: tuple[Trial, ...]
    looks: tuple[Look, ...]
    tokens: int = 0
    crossfit: bool = False

    @property
    def promoted(self) -> bool:
        """Whether the last look promoted it."""
        return bool(self.looks) and self.looks[-1].verdict == "promote"


class Certificate(_Frozen):
    """All gates of a run or a memory. `deployed` is the first promoted candidate, or ""."""

    schema_version: int = 1
    run: str = ""
    version: str = ""
    created: str = Field(default_factory=now)
    claims: tuple[Claim, ...]

    @property
    def deployed(self) -> str:
        """The condition of the first promoted claim, in the order of the recipe."""
        return next((claim.condition for claim in self.claims if claim.promoted), "")


def lesson_hash(lesson: Lesson) -> str:
    """SHA-256 (hex) of what decides a lesson's guidance: its kind, key, text, category, importance and data."""
    fields = lesson.model_dump(mode="json", include={"kind", "key", "text", "category", "importance", "data"})
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def task_hash(task_id: str, text: str) -> str:
    """SHA-256 of a task, hex."""
    return hashlib.sha256(f"{task_id}\n{text}".encode()).hexdigest()


def lesson_hashes(lessons: Iterable[Lesson]) -> dict[str, str]:
    """The hashes of lessons by id."""
    return {lesson.id: lesson_hash(lesson) for lesson in lessons}


def trial(without: Sequence[Trajectory], lessons: Sequence[Trajectory]) -> Trial:
    """One gate task from its attempts in both arms, at least one in each."""
    before, after = (_rate(arm) for arm in (without, lessons))
    return Trial(
        task=task_hash(without[0].task_id, without[0].task),
        without=tuple(attempt.id for attempt in without),
        lessons=tuple(attempt.id for attempt in lessons),
        difference=0.0 if before is None or after is None else after - before,
        excluded=before is None or after is None,
    )


def _rate(arm: Sequence[Trajectory]) -> float | None:
    """The share of attempts that succeeded; None if one has no outcome because a server failed."""
    known = [attempt.outcome.success for attempt in arm if attempt.outcome.success is not None]
    return sum(known) / len(known) if len(known) == len(arm) else None


def read_certificate(file: Path) -> Certificate:
    """Read the certificate in a file.

    Raises:
        ConfigError: there is no such file, or it is not a certificate.
    """
    try:
        return Certificate.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the certificate {file} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole file"
        raise ConfigError(f"{file} is not a certificate: {place}: {first['msg']}") from None


def check(certificate: Certificate, store: Store, *, model: str = "", prompts: str = "") -> list[str]:
    """The problems of a certificate today, a sentence each; an empty list if it holds.

    Args:
        certificate: the certificate to check.
        store: holds the attempts and the lessons.
        model: the model in use now; "" if unknown, then it is not compared.
        prompts: the hash of the prompts in use now, likewise.
    """
    return [problem for claim in certificate.claims for problem in _check(claim, store, model, prompts)]


def _check(claim: Claim, store: Store, model: str, prompts: str) -> Iterator[str]:
    name = claim.condition + (f" ({claim.block})" if claim.block else "")
    differences = [each.difference for each in claim.trials]
    if list(claim.looks) != looks(differences, planned=claim.planned, candidates=claim.candidates):
        yield f"{name}: the looks do not follow from the trials"
    named = [one for each in claim.trials for one in (*each.without, *each.lessons)]
    attempts = {one.id: one for one in store.get_trajectories(named)}
    if not attempts and claim.trials:
        yield f"{name}: this store holds none of the gate's attempts: name the store the run was made with (--store)"
        return
    for each in claim.trials:
        arms = [[attempts[i] for i in arm if i in attempts] for arm in (each.without, each.lessons)]
        whole = len(arms[0]) == len(each.without) > 0 and len(arms[1]) == len(each.lessons) > 0
        if not whole or trial(*arms) != each:
            yield f"{name}: an attempt at the task {each.task[:12]} is gone or ended otherwise than the file says"
            break
    current = lesson_hashes(store.lessons(claim.scope, status="active"))
    for what, ids in (
        ("was changed", [i for i in claim.lessons if i in current and current[i] != claim.lessons[i]]),
        ("is gone or disabled", [i for i in claim.lessons if i not in current]),
        ("was added", [i for i in current if i not in claim.lessons]),
    ):
        if ids:
            more = f" (and {len(ids) - 1} more)" if len(ids) > 1 else ""
            yield f"{name}: the lesson {ids[0]}{more} {what} since the gate; run the gate again"
    sources = {i for lesson in store.lessons(claim.scope, status="active") for i in lesson.sources}
    if sources & attempts.keys():
        yield f"{name}: a lesson was learned from an attempt of the gate itself, so the gate proves nothing"
    if model and model != claim.model:
        yield f"{name}: it was tried with the model {claim.model}, and now it is {model}; run the gate again"
    if prompts and prompts != claim.prompts:
        yield f"{name}: the prompts have changed since the gate; run the gate again"
