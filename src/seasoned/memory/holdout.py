"""Holds back guidance from a share of attempts, so that a memory can measure whether it helps, and stop harm.

Always holds: a keyed hash of the attempt decides what is held back; an attempt for which nothing was recalled counts
for neither side; each outcome is counted once, when it is known; the counts of namespaces never mix, even if an attempt
was copied.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from seasoned.errors import ConfigError
from seasoned.pool import ExperiencePool
from seasoned.proof.effect import ALPHA, Effect, Evidence, Use, effect, is_withheld
from seasoned.store.pages import lesson_counts
from seasoned.store.sql import Store
from seasoned.trust import mask
from seasoned.types import Guidance, Lesson, Trajectory, now

META = "holdout"
"""The key in a trajectory's `meta`: what was shown, what was held back, and the probabilities."""
ESTIMATED = 30  # the number of lessons in a report: those with the strongest evidence of harm, then the most used
LIMIT = 1 / ALPHA
"""The evidence of harm at which all guidance is switched off; for a single lesson, times the number of lessons."""
_KEY, _OFF, _SWITCHED, _ALL, _RESTARTS = "key", "off", "switched", "all", "restarts"

Retire = Literal["off", "auto"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Switched(_Frozen):
    """When all guidance was switched off or on again, by whom and why."""

    at: str
    on: bool
    who: str
    why: str


class LessonEffect(_Frozen):
    """One lesson: its uses, its effect (None: not estimated), and its evidence of harm.

    `uses` counts attempts with a known outcome for which it was recalled, shown or withheld. It is retired if `harm`
    reaches `limit`, unless it is pinned.
    """

    lesson_id: str
    text: str
    status: str
    pinned: bool
    version: int
    uses: int
    effect: Effect | None
    harm: float
    limit: float


class EffectReport(_Frozen):
    """Whether guidance helps in one namespace: over all attempts, by category and by month, and lesson by lesson.

    `overall` is None while no outcome is known, or if only single lessons are withheld; `verdict` is "helps", "harms"
    or "not known yet". `waiting` counts attempts of unknown outcome. `off` says why guidance is switched off, or "".
    """

    namespace: str
    verdict: str
    overall: Effect | None
    categories: dict[str, Effect]
    months: dict[str, Effect]
    lessons: tuple[LessonEffect, ...]
    waiting: int
    harm: float
    limit: float
    off: str
    switched: tuple[Switched, ...]


class _Row(NamedTuple):
    """An attempt as counted; a list in the store. `lessons` are (id, shown, chance)."""

    shown: bool
    chance: float
    outcome: float | None
    known: str
    category: str
    created: str
    lessons: list[tuple[str, bool, float]]


class Draw:
    """The random draws of one attempt, without guidance at all if it is `off`."""

    def __init__(self, attempt_id: str, *, key: bytes, share: float, withhold: float, off: bool) -> None:
        self._id, self._key, self._share, self._withhold, self._off = attempt_id, key, share, withhold, off
        self._held = is_withheld(key, attempt_id, share) if share else False
        self._lessons: dict[str, bool] = {}  # by id, whether it is shown
        self._recalled = False

    @property
    def silent(self) -> bool:
        """Whether nothing recalled from here on will be shown."""
        return self._off or (self._recalled and self._held)

    @property
    def meta(self) -> dict[str, Any]:
        """The record for the trajectory's `meta`; empty if nothing was recalled yet."""
        if not self._recalled or self._off or not (self._share or self._withhold):
            return {}
        lessons = {} if self._held else self._lessons
        return {
            META: {
                "shown": not self._held,
                "chance": 1 - self._share,
                "lessons": list(lessons),
                "withheld": [name for name, shown in lessons.items() if not shown],
                "lesson_chance": 1 - self._withhold,
                "seal": seal(self._key, self._id),
            }
        }

    def show(self, guidance: Guidance) -> Guidance:
        """The part of the guidance to show. A lesson that shares an entry with another is never withheld alone."""
        if not guidance.text or self._off:
            return Guidance() if self._off else guidance
        self._recalled = True
        if self._held:
            return Guidance()
        if self._withhold:
            for name in _single(guidance):
                self._lessons[name] = not is_withheld(self._key, self._id, self._withhold, name)
        return guidance.without(name for name, shown in self._lessons.items() if not shown)


class Holdout:
    """The random draws of one memory, and their results, kept in the store. Safe in threads and processes.

    A `share` of attempts gets no guidance; a recalled lesson is left out of an attempt with the probability `withhold`.
    `retire` "auto" disables lessons, or all guidance, once the evidence of harm is strong enough.
    """

    def __init__(self, pool: ExperiencePool, *, share: float = 0.0, withhold: float = 0.0, retire: Retire = "off"):
        self._pool, self._store = pool, pool.store
        self._share, self._withhold, self._retire = float(share), float(withhold), retire
        self._switch, self._rows, self._evidence = _scopes(pool.scope)

    @property
    def off(self) -> str:
        """Why guidance is switched off, or ""."""
        return str(self._store.marked(self._switch, _OFF) or "")

    def draw(self, attempt_id: str) -> Draw:
        """The draws of an attempt."""
        key = self._key if self._share or self._withhold else b""
        return Draw(attempt_id, key=key, share=self._share, withhold=self._withhold, off=bool(self.off))

    def resume(self, why: str) -> None:
        """Show guidance again, with new evidence. Raises ConfigError if it is on already, or without a reason."""
        if not why.strip():
            raise ConfigError("give the reason to show guidance again: memory.resume('lesson 3 is corrected')")
        with self._store.transaction(self._pool.scope):
            if not self.off:
                raise ConfigError(f"the guidance of {self._pool.scope} is not switched off, so there is nothing to do")
            self._turn(on=True, who="person", why=why)
            self._store.unmark(self._switch, _OFF)
            self._store.unmark(self._evidence, _ALL)

    def count(self, attempt: Trajectory) -> list[str]:
        """Count a recorded attempt; call it within a transaction that locks the pool's scope.

        An attempt of unknown outcome waits. A counted attempt is not counted again; a changed outcome replaces the old
        one in the effect, but the evidence of harm keeps the first.

        Returns:
            A sentence for each retired lesson, or for switching off guidance.
        """
        kept = attempt.meta.get(META)
        if not isinstance(kept, Mapping):
            return []
        row = _row(attempt, kept)
        if row is None or kept.get("seal") != seal(self._key, attempt.id):
            return []  # drawn by another memory
        before = _read_row(self._store.marked(self._rows, attempt.id))
        if before is not None and before.outcome is not None:
            self._store.mark(self._rows, attempt.id, list(row._replace(known=before.known)))
            return []
        self._store.mark(self._rows, attempt.id, list(row))
        if row.outcome is None:
            return []
        weighed = list(self._weighed(row, row.outcome))
        return list(self._retired(weighed)) if self._retire == "auto" else []

    def report(self, namespace: str) -> EffectReport:
        """Whether guidance helps. Raises ConfigError if nothing was ever held back, with how to begin."""
        rows = [row for row in map(_read_row, self._store.marks(self._rows).values()) if row is not None]
        if not rows:
            raise ConfigError(
                f"nothing was held back in the namespace {namespace!r} yet, so there is nothing to compare with: open "
                "the memory with Memory(.., holdout=0.1), and one attempt in ten gets no guidance"
            )
        known = sorted((row for row in rows if row.outcome is not None), key=lambda row: row.known)
        uses = [(row, Use(row.shown, row.chance, row.outcome or 0.0)) for row in known if row.chance < 1]
        overall = effect([use for _, use in uses]) if uses else None
        return EffectReport(
            namespace=namespace,
            verdict=overall.verdict if overall else "not known yet",
            overall=overall,
            categories=dict(_parts((row.category or "(none)", use) for row, use in uses)),
            months=dict(_parts((row.created[:7], use) for row, use in uses)),
            lessons=tuple(self._lessons(known)),
            waiting=len(rows) - len(known),
            harm=_read(self._store.marked(self._evidence, _ALL)).value,
            limit=LIMIT,
            off=self.off,
            switched=tuple(Switched(**each) for each in self._store.marked(self._switch, _SWITCHED) or ()),
        )

    def _lessons(self, known: Sequence[_Row]) -> Iterator[LessonEffect]:
        uses: dict[str, list[Use]] = {}
        for row in known:
            for name, shown, chance in row.lessons:
                uses.setdefault(name, []).append(Use(shown, chance, row.outcome or 0.0))
        states = self._store.marks(self._evidence) if uses else {}
        lessons = self._store.get_lessons(list(uses))
        limit = self._limit() if lessons else LIMIT
        harm = {lesson.id: _read(states.get(_mark(lesson.id))).value for lesson in lessons}
        lessons.sort(key=lambda lesson: (-harm[lesson.id], -len(uses[lesson.id]), lesson.id))
        for place, lesson in enumerate(lessons):
            yield LessonEffect(
                **lesson.model_dump(include={"text", "status", "pinned", "version"}),
                lesson_id=lesson.id,
                uses=len(uses[lesson.id]),
                effect=effect(uses[lesson.id]) if place < ESTIMATED else None,
                harm=harm[lesson.id],
                limit=limit,
            )

    def _weighed(self, row: _Row, outcome: float) -> Iterator[tuple[Lesson | None, Evidence]]:
        """Add one outcome to the evidence on all guidance (None) and on each lesson with a draw."""
        if row.chance < 1:
            evidence = _read(self._store.marked(self._evidence, _ALL)).after(Use(row.shown, row.chance, outcome))
            self._store.mark(self._evidence, _ALL, _state(evidence))
            yield None, evidence
        stored = {lesson.id: lesson for lesson in self._store.get_lessons([name for name, _, _ in row.lessons])}
        for name, shown, chance in row.lessons:
            if (lesson := stored.get(name)) is None:  # forgotten meanwhile
                continue
            state = self._store.marked(self._evidence, _mark(name))
            # A lesson with other words is another lesson; a retired one that was enabled again starts again.
            same = isinstance(state, list) and len(state) == 5 and state[3:] == [_digest(lesson), False]
            if state is not None and not same:
                self._store.mark(self._evidence, _RESTARTS, self._restarts() + 1)
            evidence = (_read(state) if same else Evidence()).after(Use(shown, chance, outcome))
            self._store.mark(self._evidence, _mark(name), [*_state(evidence), _digest(lesson), False])
            yield lesson, evidence

    def _retired(self, weighed: Iterable[tuple[Lesson | None, Evidence]]) -> Iterator[str]:
        for lesson, evidence in weighed:
            if evidence.value < LIMIT:
                continue
            evidence_text = f"evidence of harm {evidence.value:,.0f} after {evidence.uses:,} attempts"
            if lesson is None:
                if not self.off:
                    why = f"guidance was switched off: {evidence_text}, and the limit is {LIMIT:.0f}"
                    self._turn(on=False, who="rule", why=why)
                    self._store.mark(self._switch, _OFF, why)
                    yield why
            elif evidence.value >= (limit := self._limit()) and lesson.status == "active" and not lesson.pinned:
                if self._store.scope_of(lesson.id) != self._pool.scope:
                    continue  # a user's method may recall from elsewhere
                why = f"retired: {evidence_text}, and the limit is {limit:,.0f}"
                self._pool.update(lesson.model_copy(update={"status": "disabled"}), why=why, who="rule")
                self._store.mark(self._evidence, _mark(lesson.id), [*_state(evidence), _digest(lesson), True])
                yield f"the lesson {lesson.id} was {why}"

    def _turn(self, *, on: bool, who: str, why: str) -> None:
        before = self._store.marked(self._switch, _SWITCHED) or []
        self._store.mark(self._switch, _SWITCHED, [*before, {"at": now(), "on": on, "who": who, "why": why}])

    def _limit(self) -> float:
        """The limit for a single lesson. It counts all lessons ever, since a limit that fell would guarantee less.

        So disabled and deleted ones count, and a lesson whose evidence started again counts once more.
        """
        return LIMIT * max(1, sum(lesson_counts(self._store, self._pool.scope).values()) + self._restarts())

    def _restarts(self) -> int:
        known = self._store.marked(self._evidence, _RESTARTS)
        return known if isinstance(known, int) else 0

    @cached_property
    def _key(self) -> bytes:
        if self._store.marked(self._switch, _KEY) is None:
            self._store.mark(self._switch, _KEY, secrets.token_hex(16), replace=False)
        return str(self._store.marked(self._switch, _KEY)).encode()


def check_shares(share: object, withhold: object, retire: object) -> None:
    """Raise ConfigError if a probability is below 0 or not below 1, or if `retire` has nothing to rest on."""
    for name, value in (("holdout", share), ("withhold", withhold)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ConfigError(f"{name} must be a share of at least 0 and below 1, such as 0.1, not {value!r}")
    if retire not in ("off", "auto"):
        raise ConfigError(f"retire must be 'off' or 'auto', not {retire!r}")
    if retire == "auto" and not share and not withhold:
        raise ConfigError(
            "retire='auto' needs attempts to compare with: add holdout=0.1 for all guidance, and withhold=0.2 for "
            "single lessons"
        )


def read_effect(store: Store, namespace: str) -> EffectReport:
    """Whether guidance helps in a namespace of a store; see `Holdout.report`."""
    return Holdout(ExperiencePool(store, f"memory/{namespace}")).report(namespace)


def resume_guidance(store: Store, namespace: str, why: str) -> None:
    """Show the guidance of a namespace again; see `Holdout.resume`."""
    Holdout(ExperiencePool(store, f"memory/{namespace}")).resume(mask(why))


def drop_counts(store: Store, scope: str, ids: Sequence[str] | None = None) -> None:
    """Delete the counts of these attempts and lessons of a scope, or all of them and the key."""
    switch, rows, evidence = _scopes(scope)
    for each in (switch, rows, evidence) if ids is None else ():
        store.unmark(each)
    for name in ids or ():
        store.unmark(rows, name)
        store.unmark(evidence, _mark(name))


def seal(key: bytes, attempt_id: str) -> str:
    """A seal that only the memory that drew for this attempt can write."""
    return hmac.new(key, f"seal\n{attempt_id}".encode(), hashlib.sha256).hexdigest()[:12]


def _scopes(scope: str) -> tuple[str, str, str]:
    """The scopes of marks: the key and the switch, attempts, evidence. The purpose comes first: names are arbitrary."""
    return f"holdout/{scope}", f"holdout-attempts/{scope}", f"holdout-evidence/{scope}"


def _mark(lesson_id: str) -> str:
    return f"lesson/{lesson_id}"


def _single(guidance: Guidance) -> Iterator[str]:
    """The lessons that occur only in their own entries, so that leaving them out leaves out nothing else."""
    entries = [entry.lesson_ids for block in guidance.blocks for entry in block.entries]
    shared = {name for names in entries if len(names) > 1 for name in names}
    return (name for name in dict.fromkeys(name for names in entries for name in names) if name not in shared)


def _row(attempt: Trajectory, kept: Mapping[str, Any]) -> _Row | None:
    """The attempt as counted; None if the record of its draw has another form, or a server's error ended it."""
    if attempt.outcome.reason == "error":
        return None
    success, reward = attempt.outcome.success, attempt.outcome.reward
    outcome = None if success is None else float(success) if reward is None else min(1.0, max(0.0, reward))
    with suppress(KeyError, TypeError, ValueError):
        chance, single, left = float(kept["chance"]), float(kept["lesson_chance"]), set(kept["withheld"])
        lessons = [(str(name), name not in left, single) for name in kept["lessons"]] if single < 1 else []
        return _Row(bool(kept["shown"]), chance, outcome, now(), attempt.category, attempt.created, lessons)
    return None


def _read_row(value: object) -> _Row | None:
    return _Row(*value) if isinstance(value, list) and len(value) == len(_Row._fields) else None


def _parts(rows: Iterable[tuple[str, Use]]) -> Iterator[tuple[str, Effect]]:
    """The effect in each part that has attempts on both sides, by name."""
    parts: dict[str, list[Use]] = {}
    for name, use in rows:
        parts.setdefault(name, []).append(use)
    for name, uses in sorted(parts.items()):
        if len({use.shown for use in uses}) == 2:
            yield name, effect(uses)


def _state(evidence: Evidence) -> list[Any]:
    return [evidence.uses, evidence.total, list(evidence.logs)]


def _read(state: Any) -> Evidence:
    """The stored evidence; empty if there is none, or it has another form."""
    match state:
        case [int(uses), float() | int() as total, list(logs), *_] if len(logs) == len(Evidence().logs):
            return Evidence(uses, float(total), tuple(map(float, logs)))
        case _:
            return Evidence()


def _digest(lesson: Lesson) -> str:
    return hashlib.sha256(f"{lesson.key}\n{lesson.text}".encode("utf-8", "replace")).hexdigest()[:12]
