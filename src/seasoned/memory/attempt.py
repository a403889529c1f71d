"""An attempt at one task: its guidance, and its record until it is finished.

Always holds: an attempt is stored once, when it is finished or when its block, its memory or the program ends; later
calls are refused; its first guidance is recalled once, before any other use of it.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, SupportsFloat

from seasoned.errors import ConfigError, ContractError
from seasoned.jobs import off_loop, waited
from seasoned.memory.chat import Chat, read_chat
from seasoned.memory.checks import Check, ask, read
from seasoned.memory.opening import finite
from seasoned.protocols import Advise
from seasoned.types import Guidance, Outcome, Step, Task, Trajectory, new_id

Keep = Callable[[Trajectory, bool], Trajectory]
"""Stores a finished attempt and returns it as stored; its second argument says whether a model may judge it."""

_open: set[Attempt] = set()


class Attempt:
    """An attempt at one task, from `Memory.attempt`. Safe in threads; use it in a `with` block, or call `finish`.

    `async with` recalls and stores outside the event loop. `task` is its task, and `id` its id in the store.
    """

    def __init__(
        self,
        task: Task,
        recall: Callable[[], Guidance],
        keep: Keep,
        ask: Advise | None = None,
        *,
        agent: str = "",
        success_at: float = 1.0,
        cap: int | None = None,
        attempt_id: str = "",
        drawn: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.id, self.task = attempt_id or new_id("tra"), task
        self._recall, self._keep, self._ask, self._drawn = recall, keep, ask, drawn
        self._agent, self._success_at, self._cap = agent, success_at, cap
        self._shown: Guidance | None = None  # until it begins
        self._recalled = self._first = Guidance()  # all guidance so far, and the first
        self._steps: list[Step] = []
        self._chat = Chat([], [], 0)
        self._kept: Trajectory | None = None
        self._lock = threading.RLock()
        _open.add(self)

    def __repr__(self) -> str:
        return f"Attempt({self.task.text[:60]!r}, {'finished' if self._kept else f'{len(self._steps)} steps'})"

    @property
    def guidance(self) -> Guidance:
        """The guidance for this attempt: put `guidance.text` into the prompt."""
        return self._begun()

    def __enter__(self) -> Self:
        self._begun()
        return self

    async def __aenter__(self) -> Self:
        return await off_loop(self.__enter__)

    async def __aexit__(self, *how: Any) -> None:
        await off_loop(self.__exit__, *how)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._kept is not None:
            return
        try:
            self._unfinished("" if kind is None else f"ended by {kind.__name__}")
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"The attempt could not be stored either: {failure}")

    def step(self, action: str = "", observation: str = "", thought: str = "", reward: float = 0.0) -> None:
        """Record the next step; values other than text are converted to text.

        Raises:
            ContractError: when the attempt was finished.
            ConfigError: when the reward is not a finite number.
        """
        finite_reward = finite(reward)
        if finite_reward is None:
            raise ConfigError(f"the reward of a step must be a finite number, not {reward!r}")
        step = Step(thought=str(thought), action=str(action), observation=str(observation), reward=finite_reward)
        with self._lock:
            self._still_open("a step")
            self._steps.append(step)

    def advise(self) -> Guidance:
        """Recall again during the attempt: guidance for the steps so far, if the method has any (`autoguide` has).

        New guidance counts from here on, and all guidance is stored with the attempt. `guidance` then has the first
        and the newest guidance, or only the newest if both are longer than the memory's cap.

        Raises:
            ContractError: when the attempt was finished.
        """
        with self._lock:
            self._still_open("a question")
            fresh = self._ask(self._trajectory(Outcome())) if self._ask else Guidance()
            self._recalled += fresh
            both = self._recalled.saying((self._first + fresh).blocks)
            fits = self._cap is None or len(both.text) <= self._cap
            self._shown = both if fits else both.saying(fresh.blocks or self._first.blocks)
        return fresh

    def messages(self, messages: Iterable[object]) -> None:
        """Record the conversation from chat messages; see `memory.chat.read_chat`.

        A longer list that begins like the last one replaces it; any other list is added. The steps are read from the
        messages unless `step` was used. Anything else is skipped, and counted in `meta["broken_messages"]`.

        Raises:
            ContractError: when the attempt was finished.
            ConfigError: when it is not a list of messages.
        """
        if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
            raise ConfigError(f"messages must be a list of chat messages, not {messages!r:.80}")
        chat = read_chat(messages)
        with self._lock:
            self._still_open("messages")
            old = self._chat
            if chat.messages[: len(old.messages)] != old.messages:
                chat = Chat(old.messages + chat.messages, old.steps + chat.steps, old.broken + chat.broken)
            self._chat = chat

    def made(self, answer: str = "") -> Trajectory:
        """The record so far, as a check sees it: the steps have the tool calls and their results."""
        with self._lock:
            return self._trajectory(Outcome(answer=answer))

    def finish(
        self, success: bool | SupportsFloat | Check | None = None, answer: str = "", detail: str = ""
    ) -> Trajectory:
        """Store the attempt with its outcome; it survives the end of the process once this returns.

        Args:
            success: True, False, a reward (a success if it reaches the memory's `success_at`), a check that decides
                (see `seasoned.memory.checks`), or None for unknown; a memory with a judge then asks its model.
            answer: the agent's answer, if any.
            detail: remarks on the outcome.

        Returns:
            The attempt as stored.

        Raises:
            ContractError: when it was finished already; the stored record stays.
            ConfigError: when `success` is none of these.
            StoreError: when it cannot be stored. It is still open, so `finish` can be called again.
        """
        why = ""
        if callable(success):
            success, why = read(waited(ask(success, self.made(str(answer)), answer)))
        outcome = outcome_of(success, str(answer), str(detail) or why, self._success_at)
        with self._lock:
            self._still_open("an outcome")
            return self._store(outcome, ask=True)

    def _unfinished(self, detail: str) -> None:
        with self._lock:
            if self._kept is None:
                self._store(Outcome(detail=detail), ask=False)

    def _store(self, outcome: Outcome, *, ask: bool) -> Trajectory:
        self._kept = self._keep(self._trajectory(outcome), ask)
        _open.discard(self)
        return self._kept

    def _trajectory(self, outcome: Outcome) -> Trajectory:
        broken = {"broken_messages": self._chat.broken} if self._chat.broken else {}
        return Trajectory(
            id=self.id,
            task_id=self.task.id,
            task=self.task.text,
            category=self.task.category,
            agent=self._agent,
            steps=tuple(self._steps or self._chat.steps),
            outcome=outcome,
            guidance=self._recalled.text,
            guidance_blocks=self._recalled.blocks,
            lesson_ids=tuple(lesson.id for lesson in self._recalled.lessons),
            demonstration_ids=tuple(t.id for t in self._recalled.demonstrations),
            messages=tuple(self._chat.messages),
            meta={"trial": 0, **self._drawn(), **broken},
        )

    def _begun(self) -> Guidance:
        with self._lock:
            if self._shown is None:
                self._recalled = self._first = self._shown = self._recall()
            return self._shown

    def _still_open(self, what: str) -> None:
        if self._kept is not None:
            raise ContractError(
                f"{what} came too late: the attempt at {self.task.text[:60]!r} was finished already, and is stored as "
                f"{self._kept.id} (success: {self._kept.outcome.success}); begin another with memory.attempt(..)"
            )
        self._begun()  # recall before anything else


def outcome_of(success: bool | SupportsFloat | None, answer: str, detail: str, success_at: float) -> Outcome:
    """The outcome for the arguments of `finish`. Raises ConfigError if `success` is not True, False, None or finite."""
    solved: bool | None = None
    reward: float | None = None
    if isinstance(success, bool):
        solved, reward = success, float(success)
    elif success is not None:
        reward = finite(success)
        if reward is None:
            raise ConfigError(f"an outcome must be True, False, None or a finite reward, not {success!r}")
        solved = reward >= success_at
    return Outcome(
        success=solved, reward=reward, reason="answered" if answer else "reported", answer=answer, detail=detail
    )


def close_open(keep: Keep | None = None) -> None:
    """Store unfinished attempts: those of one memory, by its `keep`, or all. Raises the first StoreError at the end."""
    first: Exception | None = None
    for attempt in [each for each in list(_open) if keep is None or each._keep == keep]:
        try:
            attempt._unfinished("never finished")
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


@atexit.register
def _at_exit() -> None:
    with suppress(Exception):  # the store was closed, or opened before a fork: nobody can handle that at exit
        close_open()
