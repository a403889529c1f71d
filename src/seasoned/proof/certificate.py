"""The certificate: a file that states which lessons were promoted on which evidence, and that anyone can check.

Always holds: a check calls no model; it compares the file with what the store recorded of the gate, recomputes the
decision from the stored attempts, and compares the lessons, the model and the prompts with the present ones. The store
keeps the newest claim of each condition and block on the lessons of a pool.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seasoned.errors import ConfigError, DataError
from seasoned.files import read_text
from seasoned.proof.gate import Look, looks
from seasoned.types import Lesson, Trajectory, now

if TYPE_CHECKING:
    from seasoned.store.sql import Store

NAME = "certificate.json"
_MARK = "claims"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Trial(_Frozen):
    """One gate task: its hash, and the ids of its attempts without and with the lessons (one per repeat).

    `difference` is the mean success with lessons minus that without. An `excluded` task, in which a server's error
    ended an attempt, counts as a tie; so does one whose prompt without lessons the server refused. A prompt that it
    refused only with lessons failed.
    """

    task: str
    without: tuple[str, ...]
    lessons: tuple[str, ...]
    difference: float
    excluded: bool = False

    @property
    def side(self) -> int:
        """1 if the lessons won, -1 if they lost, 0 for a tie.

        A fraction, from repeats, is won or lost with a probability of its size, by a coin that the attempts' random ids
        throw, so it is won as often as lost exactly if the lessons have no effect. By its sign, many small wins would
        outweigh a few large losses.
        """
        named = "\n".join((self.task, *self.without, *self.lessons)).encode("utf-8", "replace")
        coin = int.from_bytes(hashlib.sha256(named).digest()[:7], "big") / 2**56
        return 0 if coin >= abs(self.difference) else 1 if self.difference > 0 else -1


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
    planned: int = Field(ge=0, le=1_000_000)
    candidates: int = Field(ge=1, le=1_000_000)
    excluded: int = Field(default=0, description="tasks left out because of a server's error")
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
    claims: tuple[Claim, ...] = Field(min_length=1)

    @property
    def deployed(self) -> str:
        """The condition of the first promoted claim, in the order of the recipe."""
        return next((claim.condition for claim in self.claims if claim.promoted), "")


@dataclass(frozen=True)
class Standing:
    """The certificate of a pool: what was promoted, on how many tasks won and lost, and what invalidates it today."""

    condition: str
    won: int
    lost: int
    p: float
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing changed since the gate."""
        return not self.problems

    def __str__(self) -> str:
        gate = f"{self.won} tasks won, {self.lost} lost, p = {self.p:.2g}"
        return f"certified ({gate})" if self.holds else f"its certificate is broken: {self.problems[0]}"


def lesson_hash(lesson: Lesson) -> str:
    """SHA-256 (hex) of the fields of a lesson that decide its guidance."""
    fields = lesson.model_dump(mode="json", include={"kind", "key", "text", "category", "importance", "data"})
    # Added only where they are set, so that certificates of earlier versions stay valid.
    fields |= {"pinned": True} if lesson.pinned else {}
    fields |= {"origin": lesson.origin} if lesson.origin != "model" else {}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def task_hash(task_id: str, text: str) -> str:
    """SHA-256 of a task, hex."""
    return hashlib.sha256(f"{task_id}\n{text}".encode()).hexdigest()


def lesson_hashes(lessons: Iterable[Lesson]) -> dict[str, str]:
    """The hashes of lessons by id."""
    return {lesson.id: lesson_hash(lesson) for lesson in lessons}


def trial(without: Sequence[Trajectory], lessons: Sequence[Trajectory]) -> Trial:
    """One gate task from its attempts in both arms, at least one in each."""
    before, after = _rate(without), _rate(lessons, refused=False)
    return Trial(
        task=task_hash(without[0].task_id, without[0].task),
        without=tuple(attempt.id for attempt in without),
        lessons=tuple(attempt.id for attempt in lessons),
        difference=0.0 if before is None or after is None else after - before,
        excluded=before is None or after is None,
    )


def _rate(arm: Sequence[Trajectory], refused: bool | None = None) -> float | None:
    """The share of attempts that succeeded; None if one has no outcome because a server failed.

    `refused` is the outcome of an attempt whose prompt the server refused.
    """
    ends = [refused if attempt.meta.get("refused") else attempt.outcome.success for attempt in arm]
    known = [end for end in ends if end is not None]
    return sum(known) / len(known) if len(known) == len(arm) else None


def read_certificate(file: Path) -> Certificate:
    """The certificate in a file; ConfigError if there is no such file, or it is not a certificate."""
    try:
        return Certificate.model_validate_json(read_text(file))
    except DataError as error:
        raise ConfigError(f"the certificate cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole file"
        raise ConfigError(f"{file} is not a certificate: {place}: {first['msg']}") from None


def check(certificate: Certificate, store: Store, *, model: str = "", prompts: str = "") -> list[str]:
    """The problems of a certificate today, a sentence each; none if it holds.

    `store` holds the attempts and the lessons. `model` and `prompts`, a hash, are those in use now; what is "" is not
    compared.
    """
    return [problem for claim in certificate.claims for problem in _check(claim, store, model, prompts)]


def recorded(store: Store, scope: str) -> list[Claim]:
    """The newest claim of each condition and block on the lessons of a pool."""
    try:
        return [Claim.model_validate(one) for one in store.marked(scope, _MARK) or ()]
    except (ValidationError, TypeError):
        return []  # written by another version, so ignored


def keep_claim(store: Store, claim: Claim) -> None:
    """Store the decision of a gate on the lessons of a pool."""
    kept = [one for one in recorded(store, claim.scope) if _place(one) != _place(claim)]
    store.mark(claim.scope, _MARK, [one.model_dump(mode="json") for one in [*kept, claim]])


def standing(store: Store, scope: str) -> Standing | None:
    """The certificate of a pool today, from the newest claim that promoted its lessons, or None."""
    promoted = [claim for claim in recorded(store, scope) if claim.promoted and not claim.crossfit]
    if not promoted:
        return None
    claim, last = promoted[-1], promoted[-1].looks[-1]
    problems = check(Certificate(claims=(claim,)), store)
    return Standing(claim.condition, last.won, last.lost, last.p, tuple(problems))


def _place(claim: Claim) -> tuple[str, str]:
    return claim.condition, claim.block


def _check(claim: Claim, store: Store, model: str, prompts: str) -> Iterator[str]:
    name = claim.condition + (f" ({claim.block})" if claim.block else "")
    attempts = {one.id: one for one in store.get_trajectories(_named(claim))}
    if not attempts and claim.trials:
        yield f"{name}: this store holds none of the gate's attempts: name the store of the run (--store)"
        return
    kept = [one for one in recorded(store, claim.scope) if _place(one) == _place(claim)]
    if not kept:
        yield f"{name}: this store has no record of such a gate, so the file's origin is unknown"
        return
    if kept != [claim]:
        yield f"{name}: the store has another record of this gate: the file was changed, or the gate was run again"
        return
    yield from (f"{name}: {problem}" for problem in (*_evidence(claim, attempts), *_lessons(claim, store)))
    if model and model != claim.model:
        yield f"{name}: the gate used the model {claim.model}, and now it is {model}; run the gate again"
    if prompts and claim.prompts and prompts != claim.prompts:
        yield f"{name}: the prompts have changed since the gate; run the gate again"


def _named(claim: Claim) -> list[str]:
    return list(dict.fromkeys(one for each in claim.trials for one in (*each.without, *each.lessons)))


def _evidence(claim: Claim, attempts: Mapping[str, Trajectory]) -> Iterator[str]:
    """The problems of the attempts, or of the decision that they led to."""
    sides = [each.side for each in claim.trials]
    if list(claim.looks) != looks(sides, planned=claim.planned, candidates=claim.candidates):
        yield "the looks do not follow from the trials"
    for each in claim.trials:
        arms = [[attempts[i] for i in arm if i in attempts] for arm in (each.without, each.lessons)]
        if not all(arms) or trial(*arms) != each:  # the trial names the attempts, so none may be missing
            yield f"an attempt at the task {each.task[:12]} is missing, or its outcome differs from the file's"
            break


def _lessons(claim: Claim, store: Store) -> Iterator[str]:
    """The problems of today's lessons."""
    active = store.lessons(claim.scope, status="active")
    current = lesson_hashes(active)
    kept = claim.lessons.keys() & current.keys()
    for what, ids in (
        ("was changed", [i for i in claim.lessons if i in kept and current[i] != claim.lessons[i]]),
        ("is gone or disabled", [i for i in claim.lessons if i not in kept]),
        ("was added", [i for i in current if i not in kept]),
    ):
        if ids:
            more = f" (and {len(ids) - 1} more)" if len(ids) > 1 else ""
            yield f"the lesson {ids[0]}{more} {what} since the gate; run the gate again"
    if {source for lesson in active for source in lesson.sources}.intersection(_named(claim)):
        yield "a lesson was learned from an attempt of the gate itself, so the gate proves nothing"
