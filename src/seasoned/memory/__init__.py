"""Memory: for people who bring their own agent. Guidance before an attempt, the record of it, and learning from it.

One namespace of a store is two scopes: "memory/NAME" holds the attempts and all lessons, "flagged/NAME" the attempts
whose text seems aimed at the model. Always holds: namespaces never see one another; secrets are masked before anything
is stored; recall calls no model (but where a method that was handed over does); quarantined lessons are never recalled;
an attempt is stored once, when it is finished or when its block, its memory or the program ends, and one that was never
finished is stored as unknown. A program that a signal kills has no end of its own: with SIGKILL, and with SIGTERM
unless the program makes an exit of it, open attempts are lost.
"""

from __future__ import annotations

import atexit
import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, SupportsFloat, overload

from seasoned.errors import ConfigError, ContractError, StoreError
from seasoned.memory.chat import read_chat
from seasoned.memory.editing import checked_category, checked_key, checked_kind, checked_snapshot_name, checked_text
from seasoned.memory.guidance import complete, framed
from seasoned.memory.learning import Learned, Learning, learn_new
from seasoned.memory.opening import LateModel, check_arguments, finite, judge, open_embedder
from seasoned.memory.screened import Forgotten, ScreenedPool, forget, screen_trajectory
from seasoned.methods import make_method, method_name
from seasoned.pool import Who
from seasoned.protocols import LLM, Advise, Embedder, Method
from seasoned.store.sql import Difference, Snapshot, Store
from seasoned.store.versions import NOW, difference
from seasoned.trust import Secret, mask, masker
from seasoned.types import Guidance, Lesson, LessonKind, LessonStatus, Message, Outcome, Step, Task, Trajectory, new_id

__all__ = ["Attempt", "Forgotten", "Learned", "Learning", "Memory"]

Keep = Callable[[Trajectory, bool], Trajectory]
"""Stores a finished attempt and gives it back as stored; its second argument says whether a model may judge it."""

_DEFAULTS = {"retrieve": "embedding", "by": "embedding", "same_task": True}
"""What a memory wants of a method made by name: recall without a model, also of what came from the same task."""
_open: set[Attempt] = set()


class Memory:
    """What an agent's attempts taught, in one namespace of a store. Safe in threads; each process opens its own.

    `pool` holds the attempts and lessons, `quarantine` the flagged attempts and the lessons that wait for a person.
    """

    def __init__(
        self,
        store: str | Path | Store,
        *,
        method: str | Method = "erl",
        llm: str | LLM | None = None,
        namespace: str = "default",
        embedder: str | Embedder | None = "auto",
        judge: bool = False,
        success_at: float = 1.0,
        cap: int = 6000,
        secrets: Sequence[Secret] | None = None,
        **options: Any,
    ) -> None:
        """Open a memory; the model is opened when it is first needed.

        Args:
            store: a file (made where there is none), a postgresql:// address, or a store, which stays open.
            method: how attempts become lessons: a name that `seasoned.methods.make_method` knows, or a method.
            llm: the model that learns and judges: "local" for the bundled one, another name for an OpenAI-compatible
                server, a model, or None: then methods that need one can only recall.
            namespace: whose memory: an agent, a user, a project.
            embedder: for recall by meaning: a name that `seasoned.embed.embedder` knows, an embedder, or None;
                "auto" is "static" where it is installed, else "hashing".
            judge: let the model decide whether attempts succeeded that were finished without anybody knowing.
            success_at: rewards count as success from here on.
            cap: the most characters of guidance.
            secrets: what is masked in all that is stored; None for what `seasoned.trust.mask` takes.
            options: of the method, such as `k=3`.

        Raises:
            ConfigError: when an argument has the wrong type or value.
            MissingExtraError: when a library of the embedder is not installed.
            StoreError: when the store cannot be opened.
        """
        check_arguments(store, namespace, cap, success_at, secrets)
        if judge and llm is None:
            raise ConfigError("judge=True asks a model, and the memory has none: Memory(.., llm='gpt-5-mini')")
        self.namespace = namespace
        self._model = LateModel(llm)
        # Without an embedder nothing is found by meaning; all heuristics within the cap are better than none.
        blind = {"retrieve": "all"} if embedder is None else {}
        defaults = {**_DEFAULTS, **blind, **({"judge": True} if judge else {})}
        self.method = make_method(method, self._model, defaults=defaults, **options)
        self._name = method_name(self.method)
        self._judge, self._success_at, self._cap = judge, success_at, cap
        self._masking = mask if secrets is None else masker(secrets)
        self._embedder = open_embedder(embedder)
        self._learning: list[Learning] = []
        self._lock = threading.Lock()
        self._owned = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store(store, timeout=30.0)
        self.pool, self.quarantine = self._sides()

    def __repr__(self) -> str:
        return f"Memory({self.store.where!r}, method={self._name!r}, namespace={self.namespace!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Wait for learning in the background, store attempts that were never finished, close what was opened here.

        Raises:
            StoreError: when an attempt cannot be stored. It and the store stay open, so call `close` again.
        """
        with self._lock:
            running = list(self._learning)
        for learning in running:
            learning.join()  # its errors come out of its wait()
        try:
            close_open(self._keep)
        finally:
            self._model.close()
        if self._owned:
            self.store.close()

    def attempt(self, task: str | Task, category: str = "", agent: str = "") -> Attempt:
        """Begin an attempt: recall for it now, record it until it is finished.

        Args:
            task: what has to be done. Equal texts are the same task.
            category: which family of tasks it belongs to, where a method makes a difference; "" for what the task says.
            agent: the name of who tries, for the record.

        Raises:
            ConfigError: when the task is empty.
        """
        wanted = self._task(task, category)
        if not wanted.text.strip():
            raise ConfigError("an attempt is at a task, and this one has no text: say what is to be done")
        trial = self.store.count_trajectories(self.pool.scopes, wanted.id)

        def ask(progress: Trajectory) -> Guidance:
            return framed(self.method.recall(wanted, self.pool, progress), self._cap)

        limits: dict[str, Any] = {"success_at": self._success_at, "cap": self._cap}
        return Attempt(wanted, self.recall(wanted), self._keep, ask, agent=agent, trial=trial, **limits)

    def recall(self, task: str | Task, category: str = "", k: int | None = None) -> Guidance:
        """What was learned for a task. Its text is delimited, capped, and said to be advice; "" when there is nothing.

        Unless the method recalls heuristics itself, those nearest to the task, such as those of `add`, are added. With
        `k` it is at most that many lessons, but lessons that stand together, such as contradicting ones, stay together.
        """
        wanted = self._task(task, category)
        return complete(self.method.recall(wanted, self.pool), wanted, self.pool, self._cap, k)

    def record(self, trajectory: Trajectory) -> Trajectory:
        """Store an attempt made elsewhere, masked; gives it as stored, with `meta["flags"]` where it was flagged.

        Raises:
            StoreError: when its id is taken by another.
        """
        return self._keep(trajectory, False)

    @overload
    def learn(self, *, background: Literal[False] = False) -> Learned: ...
    @overload
    def learn(self, *, background: Literal[True]) -> Learning: ...
    def learn(self, *, background: bool = False) -> Learned | Learning:
        """Learn from all attempts that were not learned from yet, whichever program recorded them.

        Args:
            background: return at once, with a handle; its `wait()` gives the result, or raises what went wrong.

        Raises:
            ConfigError: when the method needs a model and there is none.
            LLMError: when the model fails. What was learned before is kept, and the next call goes on.
        """

        def work() -> Learned:
            sides = self._sides()
            for fresh, known in zip(sides, (self.pool, self.quarantine), strict=True):
                fresh.begin_with(known)
            return learn_new(self.method, self._name, sides)

        if not background:
            return work()
        with self._lock:
            learning = Learning(work)
            self._learning = [*(each for each in self._learning if not each.done), learning]
        return learning

    def lessons(
        self, kind: LessonKind | None = None, status: LessonStatus | None = "active", query: str | None = None
    ) -> list[Lesson]:
        """The lessons of a kind and a state (None: all), those that hold the query, in order of insertion."""
        return self.pool.lessons(kind, status, query=query)

    def add(
        self,
        text: str | Sequence[str],
        *,
        kind: LessonKind = "heuristic",
        key: str = "",
        category: str = "",
        why: str = "",
        who: Who = "person",
    ) -> list[Lesson]:
        """Add lessons in words; a text that seems aimed at the model waits in quarantine.

        Args:
            text: one lesson, or several that are added together.
            kind: heuristics are recalled whatever the method; other kinds by the methods that have them.
            key: what a note is looked up by, or the id of a reflection's task; both need one.
            category: which family of tasks it is for.
            why: one line for the history.
            who: who says so.

        Returns:
            The lessons as stored.

        Raises:
            ConfigError: when a text is none, empty, or longer than 10,000 characters, there is no such kind, or a note
                or a reflection has no key.
        """
        several = text if isinstance(text, Iterable) and not isinstance(text, str) else [text]
        texts = [checked_text(each) for each in several]
        stored, family = checked_key(checked_kind(kind), key), checked_category(category)
        fresh = [Lesson(kind=kind, text=each, key=stored, category=family, origin=who) for each in texts]
        return self.pool.add(fresh, why=why or "added by hand", who=who)

    def release(self, lesson_id: str, *, why: str = "", who: Who = "person") -> Lesson:
        """Let a quarantined lesson be recalled.

        Raises:
            StoreError: when there is no such lesson in quarantine.
        """
        lesson = self.store.get_lesson(lesson_id)
        if lesson is None or self.store.scope_of(lesson_id) != self.pool.scope or lesson.status != "quarantined":
            raise StoreError(f"there is no lesson {lesson_id} in quarantine; memory.quarantine.lessons() has those")
        changed = lesson.model_copy(update={"status": "active"})
        return self.store.update_lesson(changed, who=who, why=self._masking(why) or "released from quarantine")

    def forget(self, *ids: str, everything: bool = False) -> Forgotten:
        """Delete attempts and lessons for good, with their history and vectors; no snapshot brings them back.

        With an attempt go the lessons that came from it alone. Those that others taught as well stay and are named in
        the result: read them, and forget them too where they tell what was to be forgotten. Attempts that were shown
        what is forgotten lose the guidance they had. `erased` says whether SQLite's log could be emptied.

        Args:
            ids: of attempts and lessons.
            everything: all of this namespace.

        Raises:
            ConfigError: when neither is given, or both.
            StoreError: when an id is not in this namespace; nothing is deleted then.
        """
        return forget(self.pool, ids, everything=everything)

    def snapshot(self, name: str, *, why: str = "", who: Who = "person") -> Snapshot:
        """Name the present state of all lessons; see `Store.add_snapshot`."""
        named = checked_snapshot_name(name, self._masking)
        return self.store.add_snapshot(self.pool.scope, named, who=who, why=self._masking(why))

    def diff(self, before: str, after: str = NOW) -> Difference:
        """What led from one state to another: each the name of a snapshot, a time, or "now"."""
        return difference(*(self.store.lessons_at(self.pool.scope, when) for when in (before, after)))

    def rollback(self, when: str, *, why: str = "", who: Who = "person") -> Difference:
        """Bring back the lessons of a snapshot or a time, as new versions; see `Store.rollback`."""
        return self.store.rollback(self.pool.scope, when, who=who, why=self._masking(why))

    def _sides(self) -> tuple[ScreenedPool, ScreenedPool]:
        same: dict[str, Any] = {"embedder": self._embedder, "masking": self._masking, "method": self._name}
        usual = ScreenedPool(self.store, self.namespace, **same)
        return usual, ScreenedPool(self.store, self.namespace, quarantine=True, **same)

    def _task(self, task: str | Task, category: str) -> Task:
        if isinstance(task, Task):
            masked = {"id": self._masking(task.id), "text": self._masking(task.text)}
            return task.model_copy(update={**masked, "category": category or task.category})
        if not isinstance(task, str):
            raise ConfigError(f"a task is a text or a seasoned.Task, and was {task!r:.80}")
        text = self._masking(task)
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        return Task(id=f"task-{digest}", text=text, category=category)

    def _keep(self, trajectory: Trajectory, ask: bool) -> Trajectory:
        if ask and self._judge:
            trajectory = judge(screen_trajectory(trajectory, self._masking), self._model)
        return self.pool.record(trajectory)


class Attempt:
    """An attempt at one task, from `Memory.attempt`. Safe in threads; use it in a `with` block, or call `finish`.

    `guidance` is what was recalled for it: put `guidance.text` into the prompt. `task` is what it is at, and `id` what
    it is stored under.
    """

    def __init__(
        self,
        task: Task,
        guidance: Guidance,
        keep: Keep,
        ask: Advise | None = None,
        *,
        agent: str = "",
        trial: int = 0,
        success_at: float = 1.0,
        cap: int | None = None,
    ) -> None:
        self.id = new_id("tra")
        self.task, self.guidance = task, guidance
        self._recalled, self._first, self._cap = guidance, guidance.blocks, cap  # all of it so far, and the first
        self._ask = ask
        self._keep, self._agent, self._trial, self._success_at = keep, agent, trial, success_at
        self._steps: list[Step] = []
        self._read: list[Step] = []
        self._messages: list[Message] = []
        self._broken = 0
        self._kept: Trajectory | None = None
        self._lock = threading.RLock()
        _open.add(self)

    def __repr__(self) -> str:
        return f"Attempt({self.task.text[:60]!r}, {'finished' if self._kept else f'{len(self._steps)} steps'})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._kept is not None:
            return
        try:
            self._unfinished("" if kind is None else f"ended by {kind.__name__}")
        except Exception as trouble:
            if error is None:
                raise
            error.add_note(f"The attempt could not be kept either: {trouble}")

    def step(self, action: str = "", observation: str = "", thought: str = "", reward: float = 0.0) -> None:
        """Record one step, in the order in which they are made; what is no text is kept as its text.

        Raises:
            ContractError: when the attempt was finished.
            ConfigError: when the reward is no finite number.
        """
        given = finite(reward)
        if given is None:
            raise ConfigError(f"the reward of a step is a finite number, and was {reward!r}")
        made = Step(thought=str(thought), action=str(action), observation=str(observation), reward=given)
        with self._lock:
            self._still_open("a step")
            self._steps.append(made)

    def advise(self) -> Guidance:
        """Ask again on the way: guidance for what was done so far, where the method has any (`autoguide` has).

        What is new counts as in force from here on, and all of it is kept with the attempt. `guidance` then holds the
        first guidance and the newest or, where both together are longer than the memory's cap, the newest.

        Raises:
            ContractError: when the attempt was finished.
        """
        with self._lock:
            self._still_open("a question")
            fresh = self._ask(self._trajectory(Outcome())) if self._ask else Guidance()
            self._recalled += fresh
            both = self._recalled.saying((Guidance(blocks=self._first) + fresh).blocks)
            fits = self._cap is None or len(both.text) <= self._cap
            self.guidance = both if fits else both.saying(fresh.blocks or self._first)
        return fresh

    def messages(self, messages: Iterable[object]) -> None:
        """Record the conversation, as chat messages have it; see `memory.chat.read_chat`.

        Called again with a longer list that begins as the last one did, it keeps the longer one; any other list is
        added. The steps are read from it unless `step` was used. What is no message is passed over, and counted in
        `meta["broken_messages"]`.

        Raises:
            ContractError: when the attempt was finished.
            ConfigError: when it is no list of messages.
        """
        if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
            raise ConfigError(f"messages are a list of chat messages, and were {messages!r:.80}")
        chat = read_chat(messages)
        with self._lock:
            self._still_open("messages")
            longer = chat.messages[: len(self._messages)] == self._messages
            self._messages = chat.messages if longer else [*self._messages, *chat.messages]
            self._read = chat.steps if longer else [*self._read, *chat.steps]
            self._broken = chat.broken if longer else self._broken + chat.broken

    def finish(self, success: bool | SupportsFloat | None = None, answer: str = "", detail: str = "") -> Trajectory:
        """Store the attempt with its outcome; it is safe from the end of the process when this returns.

        Args:
            success: True, False, a reward (success from the memory's `success_at` on), or None for unknown: then a
                memory with `judge=True` asks its model.
            answer: what the agent answered, if anything.
            detail: anything worth knowing about how it ended.

        Returns:
            The attempt as it was stored.

        Raises:
            ContractError: when it was finished already; what was stored first stays.
            ConfigError: when `success` is none of these.
            StoreError: when it cannot be stored. It is open still, so `finish` can be called again.
        """
        outcome = outcome_of(success, str(answer), str(detail), self._success_at)
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
        return Trajectory(
            id=self.id,
            task_id=self.task.id,
            task=self.task.text,
            category=self.task.category,
            agent=self._agent,
            steps=tuple(self._steps or self._read),
            outcome=outcome,
            guidance=self._recalled.text,
            guidance_blocks=self._recalled.blocks,
            lesson_ids=tuple(lesson.id for lesson in self._recalled.lessons),
            demonstration_ids=tuple(t.id for t in self._recalled.demonstrations),
            messages=tuple(self._messages),
            meta={"trial": self._trial, **({"broken_messages": self._broken} if self._broken else {})},
        )

    def _still_open(self, what: str) -> None:
        if self._kept is not None:
            raise ContractError(
                f"{what} came for the attempt at {self.task.text[:60]!r}, which was finished already and is kept as "
                f"{self._kept.id} (success: {self._kept.outcome.success}); begin another with memory.attempt(..)"
            )


def outcome_of(success: bool | SupportsFloat | None, answer: str, detail: str, success_at: float) -> Outcome:
    """The outcome that `finish` was told.

    Raises:
        ConfigError: when `success` is neither True, False, None nor a finite number.
    """
    solved: bool | None = None
    reward: float | None = None
    if isinstance(success, bool):
        solved, reward = success, float(success)
    elif success is not None:
        reward = finite(success)
        if reward is None:
            raise ConfigError(f"the outcome of an attempt is True, False, None or a finite reward, and was {success!r}")
        solved = reward >= success_at
    return Outcome(
        success=solved, reward=reward, reason="answered" if answer else "reported", answer=answer, detail=detail
    )


def close_open(keep: Keep | None = None) -> None:
    """Store the attempts that were never finished: those of one memory, by its function, or all.

    Raises:
        StoreError: when one cannot be stored; the others were tried all the same.
    """
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
    with suppress(Exception):  # of a store that was closed, or opened before a fork: nobody is left to hear
        close_open()
