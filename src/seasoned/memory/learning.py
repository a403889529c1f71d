"""Learning from what was not learned from yet, by one program at a time.

Always holds: each trajectory is given to a method once, whoever asks, and how often programs die in between; what was
learned before an error is kept; an error in the background comes out of `wait`.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from seasoned.errors import ContextLengthError, ParseError, StoreError
from seasoned.memory.screened import ScreenedPool
from seasoned.protocols import Method
from seasoned.store.sql import Store
from seasoned.types import Lesson, new_id

log = logging.getLogger(__name__)

BATCH = 50
"""Trajectories that a method gets at once; after each batch they are marked as learned from."""

LEASE = 60.0
"""Seconds after which the place of a program that died while it learned is free again."""


@dataclass
class Learned:
    """What came of it: how many attempts were learned from, and the lessons that were added or changed, as they ended.

    `quarantined` are those among them that wait for a person. `failed` holds, by the id of an attempt, why the method
    could not learn from it; it is not tried again.
    """

    trajectories: int = 0
    lessons: tuple[Lesson, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def quarantined(self) -> tuple[Lesson, ...]:
        """The lessons that are recalled only once a person releases them."""
        return tuple(lesson for lesson in self.lessons if lesson.status == "quarantined")


class Learning:
    """Learning that goes on in a thread of its own; the program does not end before it does."""

    def __init__(self, work: Callable[[], Learned]) -> None:
        self._result: Future[Learned] = Future()
        self._thread = threading.Thread(target=self._run, args=(work,), name="seasoned-learning")
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._result.done()

    def wait(self) -> Learned:
        """Wait until it has ended, and get what came of it.

        Raises:
            SeasonedError: whatever stopped it; what was learned before is kept.
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


def learn_new(method: Method, name: str, sides: tuple[ScreenedPool, ...]) -> Learned:
    """Let a method learn from the trajectories on each side that it has not learned from, in order.

    While another program learns for the same scope and method, this one waits, and then takes what is left. Where a
    batch fails because a model's reply cannot be used, or a prompt grew too long, its trajectories are tried singly.

    Args:
        method: what learns.
        name: what it has learned from is marked with.
        sides: pools of one store and scope.

    Raises:
        SeasonedError: what the method raises otherwise. The trajectories it was at are learned from next time, but for
            those that have given lessons already.
    """
    store, scope = sides[0].store, sides[0].scope
    result = Learned()
    with _alone(store, f"learn/{name}/{scope}"):
        for side in sides:
            _learn_side(method, name, side, result)
    ids = dict.fromkeys(lesson.id for side in sides for lesson in side.written)
    result.lessons = tuple(lesson for lesson in map(store.get_lesson, ids) if lesson is not None)
    return result


def _learn_side(method: Method, name: str, side: ScreenedPool, result: Learned) -> None:
    store = side.store
    store.mark_begun(side.experience, name)
    size = BATCH
    while batch := store.unlearned(side.experience, name, size):
        try:
            method.learn(batch, side)
        except (ParseError, ContextLengthError) as error:
            if len(batch) > 1:
                result.trajectories += store.mark_begun(side.experience, name)
                size = 1
                continue
            result.failed[batch[0].id] = str(error)
            size = BATCH
        store.mark_learned(name, [trajectory.id for trajectory in batch])
        result.trajectories += len(batch)


@contextmanager
def _alone(store: Store, name: str) -> Iterator[None]:
    """Hold a lease while the block runs, however long; wait for it first."""
    holder = new_id("learner")
    while not store.take_lease(name, holder, LEASE):
        time.sleep(random.uniform(0.02, 0.2))
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(LEASE / 4):
            with suppress(StoreError):  # it is tried again long before the lease ends
                store.take_lease(name, holder, LEASE)

    renewing = threading.Thread(target=renew, name="seasoned-lease", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        with suppress(StoreError):  # it ends by itself
            store.drop_lease(name, holder)
