"""Memory: for people who bring their own agent. Guidance before an attempt, the record of it, and learning from it.

One namespace of a store is two scopes: "memory/NAME" holds the attempts and all lessons, "flagged/NAME" the attempts
whose text seems aimed at the model. Always holds: namespaces never see one another; secrets are masked before anything
is stored; recall calls no model (but where a method that was handed over does); quarantined lessons are never recalled;
an attempt is stored once, when it is finished or when its block, its memory or the program ends, and one that was never
finished is stored as unknown; what is held back from an attempt is drawn by its id, never chosen. A program that a
signal kills has no end of its own: with SIGKILL, and with SIGTERM unless the program makes an exit of it, open attempts
are lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, SupportsFloat, overload

from seasoned.errors import ConfigError, SeasonedError, StoreError
from seasoned.llm.clients import AnyModel
from seasoned.memory.attempt import Attempt, close_open, outcome_of
from seasoned.memory.auto import TOKENS, Background, DayBudget, Ledger, ToLearn, judge_unknown, to_learn
from seasoned.memory.editing import (
    as_task,
    checked_category,
    checked_key,
    checked_kind,
    checked_snapshot_name,
    checked_text,
)
from seasoned.memory.gate import Try, run_gate
from seasoned.memory.guidance import complete, framed
from seasoned.memory.holdout import META, EffectReport, Holdout, Retire, check_shares
from seasoned.memory.learning import Learned, Learning, learn_new, way_of
from seasoned.memory.opening import LateModel, check_arguments, judge, open_embedder
from seasoned.memory.screened import Forgotten, ScreenedPool, forget, screen_trajectory
from seasoned.memory.verdicts import revise
from seasoned.methods import make_method, method_name
from seasoned.pool import ExperiencePool, Who
from seasoned.proof.certificate import Certificate
from seasoned.protocols import Embedder, Method
from seasoned.store.sql import Difference, Snapshot, Store
from seasoned.store.versions import NOW, difference
from seasoned.store.waiting import waits
from seasoned.trust import Secret, mask, masker
from seasoned.trust.lineage import TRUST_NAMES, Trust, TrustName
from seasoned.types import Guidance, Lesson, LessonKind, LessonStatus, Task, Trajectory, new_id

__all__ = ["Attempt", "EffectReport", "Forgotten", "Learned", "Learning", "Memory"]

log = logging.getLogger(__name__)

_DEFAULTS = {"retrieve": "embedding", "by": "embedding", "same_task": True}
"""What a memory wants of a method made by name: recall without a model, also of what came from the same task."""


class Memory:
    """What an agent's attempts taught, in one namespace of a store. Safe in threads; each process opens its own.

    `pool` holds the attempts and lessons, `quarantine` the flagged attempts and the lessons that wait for a person.
    """

    def __init__(
        self,
        store: str | Path | Store,
        *,
        method: str | Method = "erl",
        llm: AnyModel | None = None,
        namespace: str = "default",
        embedder: str | Embedder | None = "auto",
        judge: bool | None = None,
        learn: Literal["auto", "manual"] | None = None,
        learn_budget: str | int | None = TOKENS,
        success_at: float = 1.0,
        cap: int = 6000,
        secrets: Sequence[Secret] | None = None,
        holdout: float = 0.0,
        withhold: float = 0.0,
        retire: Retire = "off",
        trust: TrustName = "imported",
        **options: Any,
    ) -> None:
        """Open a memory; the model is opened when it is first needed.

        Args:
            store: a file (made where there is none), a postgresql:// address, or a store, which stays open.
            method: how attempts become lessons: a name that `seasoned.methods.make_method` knows, or a method.
            llm: the model that learns and judges: "local" for the bundled one, another name for an OpenAI-compatible
                server, a model, a client of OpenAI's or Anthropic's SDK, a function that answers messages (see
                `seasoned.llm.clients`), or None: then methods that need one can only recall.
            namespace: whose memory: an agent, a user, a project.
            embedder: for recall by meaning: a name that `seasoned.embed.embedder` knows, an embedder, or None;
                "auto" is "static" where it is installed, else "hashing".
            judge: let the model decide whether attempts succeeded that were finished without anybody knowing; None does
                so where it learns by itself.
            learn: "auto" learns in the background from what was recorded, "manual" when `learn` is called; None is
                "auto" where there is a model.
            learn_budget: what learning in the background may use a day, such as "$0.50" or "200k tokens"; None for no
                limit.
            success_at: rewards count as success from here on.
            cap: the most characters of guidance.
            secrets: what is masked in all that is stored; None for what `seasoned.trust.mask` takes.
            holdout: the share of attempts that get no guidance, such as 0.1, so that `effect` can tell what it does.
            withhold: the probability that a recalled lesson is left out, for the effect of single lessons.
            retire: "auto" disables lessons, or switches all guidance off, where the evidence of harm is strong.
            trust: the least trusted source that lessons may have to be recalled without a person: "page", "imported",
                "unchecked", "checked" or "person"; see `seasoned.trust.lineage`. What has less waits in quarantine.
                With "page", a lesson may say what an observation alone said.
            options: of the method, such as `k=3`.

        Raises:
            ConfigError: when an argument has the wrong type or value.
            MissingExtraError: when a library of the embedder is not installed.
            StoreError: when the store cannot be opened.
        """
        check_arguments(store, namespace, cap, success_at, secrets)
        check_shares(holdout, withhold, retire)
        if learn not in (None, "auto", "manual"):
            raise ConfigError(f"learn is 'auto' or 'manual', and was {learn!r:.80}")
        by_itself = learn == "auto" or (learn is None and llm is not None)
        judge = by_itself and llm is not None if judge is None else judge
        self.budget = DayBudget.read(learn_budget)
        if judge and llm is None:
            raise ConfigError("judge=True asks a model, and the memory has none: Memory(.., llm='gpt-5-mini')")
        if trust not in TRUST_NAMES:
            raise ConfigError(f"trust is one of {', '.join(TRUST_NAMES)}, and was {trust!r:.80}")
        self.namespace, self.trust = namespace, Trust(TRUST_NAMES.index(trust) + 1)
        self._model = LateModel(llm)
        # Without an embedder nothing is found by meaning; all heuristics within the cap are better than none.
        blind = {"retrieve": "all"} if embedder is None else {}
        defaults = {**_DEFAULTS, **blind, **({"judge": True} if judge else {})}
        self.method = make_method(method, self._model, defaults=defaults, **options)
        self._name = method_name(self.method)
        self._judge, self._success_at, self._cap = judge, success_at, cap
        self._auto = Background(self._learn_by_itself) if by_itself else None
        self._masking = mask if secrets is None else masker(secrets)
        self._embedder = open_embedder(embedder)
        self._learning: list[Learning] = []
        self._lock = threading.Lock()
        self._owned = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store(store, timeout=30.0)
        self.pool, self.quarantine = self._sides()
        self._ledger = Ledger(self.store, self.pool.scope)
        self._holdout = Holdout(self.pool, share=holdout, withhold=withhold, retire=retire)

    def __repr__(self) -> str:
        off = ""
        with suppress(SeasonedError):  # of a store that is closed
            off = f", {self._holdout.off!r}" if self._holdout.off else ""
        return f"Memory({self.store.where!r}, method={self._name!r}, namespace={self.namespace!r}{off})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Store attempts that were never finished, learn what waits, if by itself, and close what was opened here.

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
            if self._auto is not None:
                self._auto.flush()
            self._model.close()
        if self._owned:
            self.store.close()

    def attempt(self, task: str | Task, category: str = "", agent: str = "") -> Attempt:
        """Begin an attempt: recall for it when it is entered or first used, record it until it is finished.

        With a holdout, its id decides whether it is shown what was recalled, also by `advise` on the way.

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
        attempt_id, begun = new_id("tra"), dict[str, Any]()
        draw = cache(lambda: self._holdout.draw(attempt_id))

        def first() -> Guidance:
            begun["trial"] = self.store.count_trajectories(self.pool.scopes, wanted.id)
            return complete(self.method.recall(wanted, self.pool), wanted, self.pool, self._cap, show=draw().show)

        def ask(progress: Trajectory) -> Guidance:
            if draw().silent:
                return Guidance()
            return framed(draw().show(self.method.recall(wanted, self.pool, progress)), self._cap)

        limits: dict[str, Any] = {"success_at": self._success_at, "cap": self._cap}
        drawn = lambda: {**begun, **draw().meta} if begun else {}  # noqa: E731
        return Attempt(wanted, first, self._keep, ask, agent=agent, attempt_id=attempt_id, drawn=drawn, **limits)

    def recall(self, task: str | Task, category: str = "", k: int | None = None) -> Guidance:
        """What was learned for a task. Its text is delimited, capped, and said to be advice; "" when there is nothing.

        Unless the method recalls heuristics itself, those nearest to the task, such as those of `add`, are added. With
        `k` it is at most that many lessons, but lessons that stand together, such as contradicting ones, stay together.
        Nothing is held back here, since there is no attempt to count; but where guidance is switched off, it is "".
        """
        if self._holdout.off:
            return Guidance()
        return self._recalled(self._task(task, category), self.pool, k)

    def record(self, trajectory: Trajectory) -> Trajectory:
        """Store an attempt made elsewhere, masked; gives it as stored, with `meta["flags"]` where it was flagged.

        Raises:
            StoreError: when its id is taken by another.
        """
        return self._keep(trajectory, False)

    def outcome(
        self,
        attempt_id: str,
        success: bool | SupportsFloat | None,
        reward: float | None = None,
        why: str = "",
        who: Who = "person",
    ) -> Trajectory:
        """Say how a recorded attempt ended after all. All verdicts stay in `meta["verdicts"]`, with time and author.

        What a model learned from a wrong verdict alone is set to deleted, and the next `learn` takes the attempt again.

        Args:
            attempt_id: of an attempt of this namespace.
            success: True, False, or a reward, as for `Attempt.finish`.
            reward: where it is not 1 for a success and 0 for a failure.
            why: one line for the record.
            who: who says so.

        Raises:
            ConfigError: when `success` or `reward` is none of these.
            StoreError: when there is no such attempt in this namespace.
        """
        verdict = outcome_of(success, "", "", self._success_at)
        if reward is not None:
            given = outcome_of(reward, "", "", self._success_at).reward
            verdict = verdict.model_copy(update={"reward": given})
        if verdict.success is None:
            raise ConfigError("say how the attempt ended: True, False, or a reward")
        with self.store.transaction(*self.pool.scopes):
            revised = revise(self.pool, attempt_id, verdict, who=who, why=self._masking(why))
            said = self._holdout.count(revised)
        _tell(said)
        self._poke()
        return revised

    def effect(self) -> EffectReport:
        """Whether guidance helps, from what `holdout` and `withhold` held back; it may be asked every day.

        Raises:
            ConfigError: nothing was ever held back in this namespace; the sentence says how to begin.
        """
        return self._holdout.report(self.namespace)

    def certify(
        self, tasks: Sequence[str | Task], attempt: Try, *, agent: str = "", waiting: bool = False
    ) -> Certificate:
        """Try the lessons on tasks that nothing was learned from, each without them and with them; see docs/proof.md.

        Args:
            tasks: at least 6, and none that was attempted in this memory; 60 find most useful effects.
            attempt: called with a task and the guidance for it ("" for none), says whether it worked out.
            agent: names the agent and its model in the certificate.
            waiting: try the lessons that wait for a second source as well, and release them if they are promoted.

        Returns:
            The certificate: `deployed` is "" where the lessons did not prove themselves. Write `model_dump_json()`
            into a file, and `seasoned certify --check FILE` checks it.

        Raises:
            ConfigError: as `seasoned.memory.gate.run_gate`.
        """
        chosen = [self._task(task, "") for task in tasks]
        return run_gate(self.pool, self._recalled, chosen, attempt, agent, self._name, waiting)

    def _recalled(self, wanted: Task, pool: ExperiencePool, k: int | None = None) -> Guidance:
        return complete(self.method.recall(wanted, pool), wanted, pool, self._cap, k)

    def resume(self, why: str) -> None:
        """Show guidance again that `retire="auto"` switched off; the evidence against it begins anew.

        Raises:
            ConfigError: when it is not switched off, or no reason is given.
        """
        self._holdout.resume(self._masking(why))

    @overload
    def learn(self, *, background: Literal[False] = False, again: bool = False) -> Learned: ...
    @overload
    def learn(self, *, background: Literal[True], again: bool = False) -> Learning: ...
    def learn(self, *, background: bool = False, again: bool = False) -> Learned | Learning:
        """Learn from all attempts that were not learned from yet, whichever program recorded them.

        Args:
            background: return at once, with a handle; its `wait()` gives the result, or raises what went wrong.
            again: also try what was tried with the same model and taught nothing; see `waiting`.

        Raises:
            LLMError: when the model fails. What was learned before is kept, and the next call goes on.
        """

        if self._auto is not None:
            self._auto.done()
        if not background:
            return self._learn(again)
        with self._lock:
            learning = Learning(lambda: self._learn(again))
            self._learning = [*(each for each in self._learning if not each.done), learning]
        return learning

    def to_learn(self) -> ToLearn:
        """What `learn` would take now: attempts, calls of the model, tokens, dollars; and what waits for what."""
        sides = self.pool, self.quarantine
        return to_learn(self.method, self._name, self._model.name, sides, self._ledger, judges=self._judge)

    def waiting(self) -> dict[str, str]:
        """By the id of an attempt, why it taught nothing yet; it is learned from once that changes."""
        return dict(wait for scope in self.pool.scopes for wait in waits(self.store, scope, self._name))

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
        same["trust"] = self.trust
        usual = ScreenedPool(self.store, self.namespace, **same)
        return usual, ScreenedPool(self.store, self.namespace, quarantine=True, **same)

    def _learn(self, again: bool = False) -> Learned:
        sides = self._sides()
        for fresh, known in zip(sides, (self.pool, self.quarantine), strict=True):
            fresh.begin_with(known)
        learned = Learned()
        try:
            if self._judge:
                judge_unknown(self._model, sides, self._name, way_of(self.method))
            learned = learn_new(self.method, self._name, sides, again=again)
        finally:
            learned.usage = self._model.taken()
            self._ledger.add(learned.usage)
        return learned

    def _learn_by_itself(self) -> None:
        self._model.before = lambda used: self._ledger.check(self.budget, used)
        try:
            self._learn()
        finally:
            self._model.before = None

    def _poke(self) -> None:
        if self._auto is not None:
            self._auto.poke()

    def _task(self, task: str | Task, category: str) -> Task:
        return as_task(task, category, self._masking)

    def _keep(self, trajectory: Trajectory, ask: bool) -> Trajectory:
        if ask and self._judge and self._auto is None:
            trajectory = judge(screen_trajectory(trajectory, self._masking), self._model)
        with self.store.transaction(*self.pool.scopes):
            kept = self.pool.record(trajectory)
            said = self._holdout.count(kept) if META in trajectory.meta else []
        _tell(said)
        self._poke()
        return kept


def _tell(retired: Iterable[str]) -> None:
    for sentence in retired:
        log.warning("%s", sentence)
