"""Learning from new attempts, by one program at a time.

Always holds: each trajectory is given to a method once, whichever program asks and however often programs die in
between; an attempt that taught nothing waits with a reason, and is tried again when its outcome, the model or the judge
changes; an attempt equal to one already learned from costs no model call; nothing is learned from attempts forgotten
meanwhile, nor by a program that lost its lease; lessons from before an error are kept; `wait` raises an error in the
background.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from seasoned.errors import ContextLengthError, LLMError, ParseError, RequestError, StoreError
from seasoned.memory.equals import attempt_key
from seasoned.memory.opening import NoModel
from seasoned.memory.screened import ScreenedPool
from seasoned.methods.attempts import NO_OUTCOME, TOO_LONG
from seasoned.protocols import Method
from seasoned.store.pages import lessons_of
from seasoned.store.sql import Store
from seasoned.store.waiting import let_wait, pending, settled
from seasoned.types import Lesson, Trajectory, Usage, new_id

log = logging.getLogger(__name__)

BATCH = 50
"""Trajectories per batch; after each batch they are marked as learned from."""

NO_MODEL = "the memory has no model to learn with"
_LOOKED_AT = 500  # newest attempts at a task to search for an equal one

LEASE = 60.0
"""Seconds after which the lease of a program that died while learning is free again."""


@dataclass
class Learned:
    """The result of learning: how many attempts were learned from, and the lessons that were added or changed.

    `quarantined` are those of them that wait for a person. `skipped` says, by the id of an attempt, why it taught
    nothing yet; it waits until that changes. `equal` attempts were counted as sources of the lessons of an equal one.
    `usage` is that of the memory's model.
    """

    trajectories: int = 0
    lessons: tuple[Lesson, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    equal: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def failed(self) -> dict[str, str]:
        """The part of `skipped` that was too long for the model, or whose reply was not usable."""
        return {name: why for name, why in self.skipped.items() if why not in (NO_OUTCOME, NO_MODEL)}

    @property
    def reasons(self) -> dict[str, int]:
        """How many attempts were skipped for each reason, the most frequent first."""
        return dict(Counter(why.partition(":")[0] for why in self.skipped.values()).most_common())

    @property
    def quarantined(self) -> tuple[Lesson, ...]:
        """The lessons that are recalled only once a person releases them."""
        return tuple(lesson for lesson in self.lessons if lesson.status == "quarantined")


class Learning:
    """Learning in its own thread; the program does not end before it does."""

    def __init__(self, work: Callable[[], Learned]) -> None:
        self._result: Future[Learned] = Future()
        self._thread = threading.Thread(target=self._run, args=(work,), name="seasoned-learning")
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._result.done()

    def wait(self) -> Learned:
        """Wait until it has ended, and return the result.

        Raises:
            SeasonedError: whatever stopped it; earlier lessons are kept.
        """
        return self._result.result()

    def join(self) -> None:
        """Wait until it has ended, well or not."""
        self._thread.join()

    def _run(self, work: Callable[[], Learned]) -> None:
        try:
            self._result.set_result(work())
        except BaseException as error:
            log.warning("learning in the background stopped: %s", error)
            self._result.set_exception(error)


def way_of(method: Method) -> str:
    """The way a method learns, to try again in another way: its model and judge."""
    llm = getattr(method, "llm", None)
    return f"{getattr(llm, 'name', '')}{' judging' if getattr(method, 'judge', False) else ''}"


def learn_new(method: Method, name: str, sides: tuple[ScreenedPool, ...], *, again: bool = False) -> Learned:
    """Let a method learn from the new trajectories on each side, in order.

    While another program learns for the same scope and method, this one waits, and then takes the rest. If a batch
    fails because a reply is unusable, a prompt too long, or the server refused it, its trajectories are tried one by
    one; if all are refused, the error is raised, since it is not theirs.

    Args:
        method: the method.
        name: the method's name in marks.
        sides: pools of one store and scope.
        again: also try attempts that taught nothing in the same way before.

    Raises:
        SeasonedError: any other error of the method. The current trajectories are learned from next time, except those
            that already gave lessons.
    """
    store, scope = sides[0].store, sides[0].scope
    result = Learned()
    written: dict[str, None] = {}
    with _alone(store, f"learn/{name}/{scope}") as keep:
        for side in sides:
            try:
                _Turn(method, name, side, keep, result, written, None if again else way_of(method)).learn()
            finally:
                side.guard = None
        written.update(dict.fromkeys(lesson.id for lesson in sides[0].reconsider()))
    result.lessons = tuple(lesson for lesson in map(store.get_lesson, written) if lesson is not None)
    for reason, count in result.reasons.items():
        if reason == NO_MODEL:
            log.warning("nothing was learned: %s (attempts that wait: %d); open it with llm=..", reason, count)
        else:
            log.info("%d attempts taught nothing yet: %s", count, reason)
    if held := result.quarantined:
        reasons = Counter(reason for lesson in held for reason in lesson.data.get("flags", ()))
        log.warning(
            "%d of %d lessons wait for review and are not recalled until then (%s): "
            "`seasoned lessons list --status quarantined` shows them, `seasoned lessons release` releases them",
            *(len(held), len(result.lessons), "; ".join(reasons)),
        )
    return result


class _Gone(StoreError):  # noqa: N818 - only caught here: the batch is learned from again
    """The source of a lesson was forgotten meanwhile."""


@dataclass
class _Turn:
    """A method's turn at the rest of one side; results go into `result`, ids of lessons into `written`.

    `refused` are attempts tried one by one whose requests the server refused: they are to blame only if it answered
    others. `more` is whether attempts may be left after the present batch.
    """

    method: Method
    name: str
    side: ScreenedPool
    keep: Callable[[], None]
    result: Learned
    written: dict[str, None]
    way: str | None = ""
    refused: dict[str, LLMError] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    more: bool = True

    def learn(self) -> None:
        """Learn from the rest in batches; the attempts of a failed batch are tried one by one."""
        self.side.store.mark_begun(self.side.experience, self.name)
        try:
            while self.more and (batch := self._next(BATCH)):
                if not self._learn_from(batch):
                    self.more = True  # the others of the batch
                    of_batch = {trajectory.id for trajectory in batch}
                    while (one := self._next(1)) and one[0].id in of_batch:
                        self._learn_from(one)
        except NoModel:
            left = pending(self.side.store, self.side.experience, self.name, None, None)
            self.result.skipped |= {attempt.id: NO_MODEL for attempt in left if attempt.id not in self.result.skipped}
        if self.refused:
            raise next(iter(self.refused.values()))

    def _next(self, most: int) -> list[Trajectory]:
        """The next trajectories that were not refused; none if a whole batch was.

        Those equal to one that the method has dealt with are settled, and those equal to another of the batch wait for
        it.
        """
        store, experience = self.side.store, self.side.experience
        while len(self.refused) < BATCH:
            purges = store.changes(experience)[1]
            passed = {*self.refused, *(self.tried if self.way is None else ())}
            trajectories = pending(store, experience, self.name, self.way, most + len(passed))
            batch = [trajectory for trajectory in trajectories if trajectory.id not in passed][:most]
            self.side.guard = self._guard(batch, purges)
            self.more = len(batch) == most
            if not batch:
                return []
            self.keep()
            if not getattr(self.method, "llm", None):
                return batch
            equals: dict[str, list[Trajectory]] = {}
            for attempt in batch:
                equals.setdefault(attempt_key(attempt), []).append(attempt)
            single = [first for first, *others in equals.values() if not self._settle(first, others)]
            self.more |= len(single) < len(batch)
            if single:
                return single
        return []

    def _settle(self, attempt: Trajectory, others: Sequence[Trajectory]) -> bool:
        """Whether an attempt equals one that the method has dealt with, so that it and its equals need no model."""
        store, equals = self.side.store, [attempt, *others]
        names, key = {each.id for each in equals}, attempt_key(attempt)
        there = store.trajectories(self.side.experience, task_id=attempt.task_id)[-_LOOKED_AT:]
        same = [each.id for each in there if each.id not in names and attempt_key(each) == key]
        done = settled(store, self.name, same, self.way or "")
        if not done:
            return False
        earlier = min(done, key=lambda name: (done[name] != "", same.index(name)))
        if why := done[earlier]:
            self._wait({each.id: why for each in equals})
            return True
        taught = [lesson.id for lesson in lessons_of(store, earlier, 1000) if lesson.origin == "model"]
        self.side.confirm(taught, equals, f"{earlier} had taught it: {len(equals)} equal to it")
        self._mark([each.id for each in equals])
        self.result.equal += len(equals)
        return True

    def _guard(self, batch: Sequence[Trajectory], purges: int) -> Callable[[Sequence[Lesson]], None]:
        """Make the check before lessons are written, in the same transaction.

        Args:
            batch: the attempts to learn from.
            purges: the count of permanent deletions when the batch was read.
        """
        store = self.side.store

        def guard(lessons: Sequence[Lesson]) -> None:
            self.keep()
            if store.changes(self.side.experience)[1] != purges:
                sources = {trajectory.id for trajectory in batch}
                for lesson in lessons:
                    stored = store.get_lesson(lesson.id)
                    sources |= set(lesson.sources).difference(stored.sources if stored else ())
                there = {trajectory.id for trajectory in store.get_trajectories(list(sources))}
                if sources - there:
                    raise _Gone("an attempt was forgotten while it was learned from, so what came of it is not kept")
            self.written.update(dict.fromkeys(lesson.id for lesson in lessons))

        return guard

    def _learn_from(self, batch: Sequence[Trajectory]) -> bool:
        """Learn from a batch; False if one of its attempts makes it fail, so that they must be tried one by one."""
        ids = [trajectory.id for trajectory in batch]
        self.side.skipped.clear()
        try:
            self.method.learn(batch, self.side)
            skipped = {name: why for name, why in self.side.skipped.items() if name in ids}
            self._wait(skipped)
            self._mark([name for name in ids if name not in skipped])
        except _Gone:
            self._mark_begun()
            self.more = True  # the rest of the batch comes again
        except (ParseError, ContextLengthError, RequestError) as error:
            if len(batch) > 1:
                self._mark_begun()
                return False
            if isinstance(error, RequestError):
                self.refused[ids[0]] = error
            else:
                self._fail({ids[0]: error})
        answered = self.written or set(self.result.failed).difference(self.refused)
        if self.refused and answered:
            self._fail(self.refused)
            self.refused = {}
        return True

    def _fail(self, errors: Mapping[str, LLMError]) -> None:
        self._wait({trajectory_id: _why(error) for trajectory_id, error in errors.items()})

    def _wait(self, reasons: Mapping[str, str]) -> None:
        """Record why these taught nothing, so that they are tried again only in another way."""
        let_wait(self.side.store, self.name, reasons, way_of(self.method))
        self.result.skipped |= reasons
        self.tried |= set(reasons)

    def _mark(self, ids: Sequence[str]) -> None:
        self.side.store.mark_learned(self.name, ids)
        self.result.trajectories += len(ids)

    def _mark_begun(self) -> None:
        self.result.trajectories += self.side.store.mark_begun(self.side.experience, self.name)


def _why(error: LLMError) -> str:
    return f"{TOO_LONG}: {error}" if isinstance(error, ContextLengthError) else str(error)


@contextmanager
def _alone(store: Store, name: str) -> Iterator[Callable[[], None]]:
    """Hold a lease during the block, after waiting for it. Yields a function that raises once it is lost."""
    holder = new_id("learner")
    while not store.take_lease(name, holder, LEASE):
        time.sleep(random.uniform(0.02, 0.2))
    ended, until = threading.Event(), time.time() + LEASE

    def keep() -> None:
        if time.time() >= until - LEASE / 2:  # before, nobody can have taken it
            take_again()

    def take_again() -> None:
        nonlocal until
        present = time.time()
        if not store.keep_lease(name, holder, LEASE):
            raise StoreError(
                f"this program stood still for more than {LEASE:g} s while it learned, and another has taken its turn; "
                "what was stored is kept, and the other goes on from there: learn again for what is left"
            )
        until = present + LEASE

    def renew() -> None:
        while not ended.wait(LEASE / 4):
            with suppress(StoreError):  # it is renewed long before the lease ends; a lost lease stays lost
                take_again()

    renewing = threading.Thread(target=renew, name="seasoned-lease", daemon=True)
    renewing.start()
    try:
        yield keep
    finally:
        ended.set()
        renewing.join()
        with suppress(StoreError):  # it expires by itself
            store.drop_lease(name, holder)
