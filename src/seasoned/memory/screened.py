"""Pools for experience of unknown origin: secrets are masked, and text aimed at the model is separated.

A flagged attempt goes into a separate scope, invisible to normal learning and recall. Lessons from it are quarantined.
Always holds: everything stored is masked; a method that learns from flagged attempts sees and changes only quarantined
lessons, and one that learns from others never sees those; forgetting deletes all or nothing, and only in its namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from seasoned.errors import ConfigError, StoreError
from seasoned.memory.equals import AT_ONCE, Words, near_ones, unite, with_another, with_same_words
from seasoned.memory.holdout import drop_counts
from seasoned.pool import ExperiencePool, Who
from seasoned.pool.lineage import alone
from seasoned.pool.state import LessonsSeen
from seasoned.protocols import Embedder
from seasoned.store.lessons import Of, quarantined
from seasoned.store.sql import Store
from seasoned.traces.conversation import said as spoken
from seasoned.trust import Mask, flags, mask, mask_value
from seasoned.trust.lineage import OBSERVED, UNTRUSTED, Trust, lesson_trust
from seasoned.types import Block, Guidance, Lesson, LessonKind, LessonStatus, Trajectory

MAX_LESSON = 10_000
"""Characters of a lesson that a method wrote, or that came from a file; the rest is cut."""

FROM_FLAGGED = "was learned from an attempt whose text seems aimed at the model"

_SEPARATOR = "\n" * 100  # between texts that are checked together: longer than any pattern's match


class ScreenedPool(ExperiencePool):
    """One side of a namespace: a pool that masks and checks everything added.

    With `quarantine`, it is the side that waits for a person: it shows flagged attempts, and quarantined lessons as
    active, and quarantines all new lessons. `method` is the name for lessons without one; methods' lessons with less
    than `trust` wait for a person or a second source.
    """

    def __init__(
        self,
        store: Store,
        namespace: str,
        *,
        embedder: Embedder | None = None,
        masking: Mask = mask,
        method: str = "",
        quarantine: bool = False,
        trust: Trust = Trust.IMPORTED,
    ) -> None:
        self.scopes = f"memory/{namespace}", f"flagged/{namespace}"
        super().__init__(store, self.scopes[0], experience=self.scopes[quarantine], embedder=embedder)
        self.quarantine, self.trust = quarantine, trust
        self.guard: Callable[[Sequence[Lesson]], None] | None = None  # called before each write, in its transaction
        self._masking, self._method, self._words = masking, method, Words()
        self._waiting = LessonsSeen()
        self._waiting_of: LessonsSeen | None = None

    def record(self, trajectory: Trajectory) -> Trajectory:
        """Mask a trajectory and store it on the right side; see `ExperiencePool.record`."""
        screened = screen_trajectory(trajectory, self._masking)
        self.store.add_trajectories(self.scopes["flags" in screened.meta], [screened])
        return screened

    def add(self, lessons: Lesson | Sequence[Lesson], *, why: str = "", who: Who = "model") -> list[Lesson]:
        """Add lessons; flagged ones, and on the quarantine side all, wait for a person.

        A lesson equal to a stored one is not added: the stored lesson is returned in its place, with all sources, and
        its importance counts them.
        """
        several = [lessons] if isinstance(lessons, Lesson) else lessons
        screened = [self._screened(lesson, who) for lesson in several]
        near = near_ones(self, screened)
        nearby = self.nearby
        if nearby is None:
            searched = self.searches and len(screened) <= AT_ONCE  # so the lessons were read just now
            seen = self._known.lessons if searched else super()._current_lessons()
            self._words.refresh(self.store, self.scope, seen)
        with self.store.transaction(self.scope):
            find = self._words.find if nearby is None else with_same_words
            union = unite(self, screened, find(self.store, self.scope, screened), near, who)
            repeated: dict[str, list[Lesson]] = {}
            for lesson, reason in union.again.values():
                repeated.setdefault(reason, []).append(lesson)
            if self.guard is not None:
                self.guard([*union.fresh, *(lesson for lesson, _ in union.again.values())])
            stored = super().add(union.fresh, why=self._masking(why), who=who)
            for reason, group in repeated.items():
                note = self._masking(f"{why}: {reason}" if why else reason)
                stored += self.store.update_lessons(group, who=who, why=note)
            known = {lesson.id: lesson for lesson in stored}
            others = [each for each in union.ids if each not in known]
            known |= {lesson.id: lesson for lesson in (self.store.get_lessons(others) if others else ())}
            return [known[each] for each in union.ids]

    def confirm(self, lesson_ids: Sequence[str], attempts: Sequence[Trajectory], why: str) -> None:
        """Count more attempts as sources of a model's lessons; those that a person pinned or removed stay."""
        stored = self.store.get_lessons(lesson_ids)
        kept = [each for each in stored if not each.pinned and each.status in ("active", "quarantined")]
        names = [attempt.id for attempt in attempts]
        with self._writing(more := [with_another(lesson, names, len(names)) for lesson in kept]):
            self.store.update_lessons(more, who="model", why=why)

    def begin_with(self, other: ExperiencePool) -> None:
        """See `ExperiencePool.begin_with`."""
        super().begin_with(other)
        if isinstance(other, ScreenedPool):
            self._words = other._words

    def update(self, lesson: Lesson, *, why: str = "", who: Who = "model") -> Lesson:
        """Change a lesson; a person's change keeps the state that the person chose.

        So does a lesson that a person released, as long as a method does not change its words.
        """
        screened = self._screened(lesson, who)
        with self._writing([screened]):
            stored = self.store.get_lesson(lesson.id)
            stays = stored is not None and stored.status == "active" and _words(stored) == _words(screened)
            if (who == "person" or stays) and not self.quarantine:
                screened = screened.model_copy(update={"status": lesson.status})
            return super().update(screened, why=self._masking(why), who=who)

    def remove(self, lesson_id: str, *, why: str = "", who: Who = "model", purge: bool = False) -> None:
        """See `ExperiencePool.remove`."""
        with self._writing([]):
            super().remove(lesson_id, why=self._masking(why), who=who, purge=purge)

    def lessons(
        self,
        kind: LessonKind | None = None,
        status: LessonStatus | None = "active",
        key: str | None = None,
        query: str | None = None,
    ) -> list[Lesson]:
        """See `ExperiencePool.lessons`."""
        if not (query and self.quarantine):
            return super().lessons(kind, status, key, query)
        ids = {lesson.id for lesson in self.store.lessons(self.scope, kind=kind, key=key, query=query)}
        return [lesson for lesson in super().lessons(kind, status, key) if lesson.id in ids]

    def found_in_database(
        self, text: str, k: int, kind: LessonKind | None, of: Of
    ) -> list[tuple[Lesson, float]] | None:
        """See `ExperiencePool.found_in_database`; the quarantine side, which is small, is searched in memory."""
        return None if self.quarantine else super().found_in_database(text, k, kind, of)

    def _current_lessons(self) -> LessonsSeen:
        seen = super()._current_lessons()
        if not self.quarantine:
            return seen
        with self._known.lock:
            if self._waiting_of is not seen:
                held = seen.choose(None, "quarantined")
                as_active = {lesson.id: lesson.model_copy(update={"status": "active"}) for lesson in held}
                self._waiting_of, self._waiting = seen, LessonsSeen(seen.change, seen.purges, as_active)
            return self._waiting

    @contextmanager
    def _writing(self, lessons: Sequence[Lesson]) -> Iterator[None]:
        with self.store.transaction(self.scope):
            if self.guard is not None:
                self.guard(lessons)
            yield

    def _screened(self, lesson: Lesson, who: Who) -> Lesson:
        lesson = lesson.model_copy(update={"method": lesson.method or self._method})
        reasons = [FROM_FLAGGED] if self.quarantine else [] if who == "person" else self._distrust(lesson)
        return screen_lesson(lesson, self._masking, reasons, None if who == "person" else MAX_LESSON)

    def _distrust(self, lesson: Lesson) -> list[str]:
        """Why a lesson is trusted too little to be recalled, in the form of `data["flags"]`."""
        if self.trust <= Trust.PAGE:
            return []
        sources = self.store.get_trajectories(lesson.sources)
        if unconfirmed := alone(self, lesson, sources):
            stored = self.store.get_lesson(lesson.id)
            read = alone(self, stored) if stored is not None and stored.status == "active" else None
            # The released words may be written again; new ones may not.
            if read is None or set(unconfirmed.words) - set(read.words) or set(unconfirmed.runs) - set(read.runs):
                return [OBSERVED]
        bare = lesson.model_copy(update={"data": _without_flags(lesson.data)})
        return [UNTRUSTED] if lesson_trust(bare, sources) < self.trust else []

    def reconsider(self) -> list[Lesson]:
        """Release lessons that waited only for a second source and have one now; return them as stored."""
        confirmed = []
        for lesson in quarantined(self.store, self.scope):
            if lesson.data.get("flags") == [OBSERVED] and not self._distrust(lesson):
                why = "a second source says so, too"
                confirmed.append(self.store.update_lesson(released(lesson), who="rule", why=why))
        return confirmed


def released(lesson: Lesson) -> Lesson:
    """The lesson as active, without the reasons why it was quarantined."""
    return lesson.model_copy(update={"status": "active", "data": _without_flags(lesson.data)})


def _without_flags(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "flags"}


def screen_lesson(
    lesson: Lesson, masking: Mask = mask, reasons: Sequence[str] = (), longest: int | None = MAX_LESSON
) -> Lesson:
    """The lesson with its secrets masked; an active one is quarantined if it is flagged, or for the given reasons.

    The reasons are in `data["flags"]`. A text longer than `longest` characters is cut.
    """
    fields = {name: mask_value(getattr(lesson, name), masking) for name in ("text", "key", "category", "data")}
    if longest is not None and len(fields["text"]) > longest:
        fields["text"] = f"{fields['text'][: longest - 1]}…"
    data = _without_flags(fields["data"])
    reasons = [*reasons, *flags(_SEPARATOR.join((fields["key"], fields["text"], *_texts(data))))]
    if reasons:
        fields["data"] = {**data, "flags": reasons}
        fields["status"] = "quarantined" if lesson.status == "active" else lesson.status
    return lesson.model_copy(update=fields)


def screen_trajectory(trajectory: Trajectory, masking: Mask = mask) -> Trajectory:
    """The trajectory with its secrets masked, and in `meta["flags"]` why its text seems aimed at the model, if it does.

    The agent's own text is checked less strictly than text from outside; system messages and the guidance are the
    user's own.
    """
    kept = {"id", "created", "usage", "lesson_ids", "demonstration_ids", "guidance_blocks"}
    values = trajectory.model_dump()
    masked = {name: value if name in kept else mask_value(value, masking) for name, value in values.items()}
    masked["guidance_blocks"] = _masked(trajectory, masking)
    clean = Trajectory.model_validate(masked)
    texts = {role: [spoken(m) for m in clean.messages if m.get("role") == role] for role in ("user", "assistant")}
    if clean.guidance:
        texts["user"] = [text.replace(clean.guidance, "") for text in texts["user"]]
    outside = [clean.task, *(step.observation for step in clean.steps), *texts["user"]]
    inside = [clean.outcome.answer, *(f"{step.thought}\n{step.action}" for step in clean.steps), *texts["assistant"]]
    reasons = dict.fromkeys((*flags(_SEPARATOR.join(outside)), *flags(_SEPARATOR.join(inside), foreign=False)))
    meta = _without_flags(clean.meta)
    return clean.model_copy(update={"meta": {**meta, "flags": list(reasons)} if reasons else meta})


def _masked(trajectory: Trajectory, masking: Mask) -> tuple[Block, ...]:
    """The blocks of the guidance without secrets; empty if a secret extends from one entry into the next."""
    blocks = tuple(
        Block(
            heading=masking(block.heading),
            entries=tuple(entry.model_copy(update={"text": masking(entry.text)}) for entry in block.entries),
        )
        for block in trajectory.guidance_blocks
    )
    return blocks if Guidance(blocks=blocks).text == masking(trajectory.guidance) else ()


def _words(lesson: Lesson) -> tuple[Any, ...]:
    return lesson.text, lesson.key, lesson.category, _without_flags(lesson.data)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, including keys."""
    if isinstance(value, str):
        yield value
    inside = value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in inside:
        yield from _texts(each)


class Forgotten(NamedTuple):
    """How many attempts and lessons were deleted; `kept` are lessons with other sources too.

    Some of those may mention the forgotten attempts only in an earlier version. `erased` is False if another program
    was reading: SQLite's log beside the file then has the deleted data until the store is closed or scrubbed.
    """

    attempts: int
    lessons: int
    kept: tuple[str, ...] = ()
    erased: bool = True


GATE = "/gate"
"""The end of the scope of a memory's gate attempts."""


def forget(pool: ScreenedPool, ids: Sequence[str], *, everything: bool) -> Forgotten:
    """Forget these ids or everything; see `Memory.forget`."""
    if bool(ids) == everything:
        raise ConfigError("give what is to be forgotten: ids of attempts or lessons, or everything=True")
    store = pool.store
    with store.transaction(*pool.scopes):
        if everything:
            counts = [store.clear_scope(scope) for scope in reversed(pool.scopes)]
            drop_counts(store, pool.scope)
            store.clear_scope(f"{pool.scope}{GATE}")
            done = Forgotten(sum(attempts for attempts, _ in counts), sum(lessons for _, lessons in counts))
        else:
            done = _forget_some(pool, list(dict.fromkeys(ids)))
        store.drop_loose_vectors()
    return done._replace(erased=store.scrub())


def _forget_some(pool: ScreenedPool, ids: Sequence[str]) -> Forgotten:
    store = pool.store
    lessons = [i for i in ids if store.scope_of(i) == pool.scope]
    attempts = [i for i in ids if i not in lessons]
    removed = sum(store.remove_trajectories(scope, attempts) for scope in pool.scopes)
    if removed < len(attempts):
        raise StoreError(
            f"not all of these are attempts or lessons of {pool.scope!r}, so nothing was deleted: "
            f"{', '.join(attempts[:5])}"
        )
    if attempts:
        store.blank_demonstrations(pool.scopes, attempts)
    taught = store.lessons_from(pool.scope, attempts) if attempts else {}
    alone = [i for i, others in taught.items() if not others and i not in lessons]
    for lesson_id in (*lessons, *alone):
        store.remove_lesson(lesson_id, who="person", purge=True)
    drop_counts(store, pool.scope, [*ids, *alone])
    return Forgotten(removed, len(lessons) + len(alone), tuple(i for i in taught if taught[i] and i not in lessons))
