"""Memory, for people who bring their own agent: guidance before an attempt, the attempt's record, and learning from it.

A namespace has two scopes: "memory/NAME" for attempts and all lessons, "flagged/NAME" for suspected prompt injections.
Always holds: namespaces are separate; secrets are masked before anything is stored; recall calls no model (unless a
method of your own does); quarantined lessons are never recalled; an attempt is stored once, when it is finished or when
its block, its memory or the program ends, and an unfinished one is stored as unknown; an attempt's id decides which
lessons are withheld. A signal does not finish an attempt: after SIGKILL, or SIGTERM without a handler, open attempts
are lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, Self, SupportsFloat, overload

from seasoned.errors import ConfigError, SeasonedError, StoreError
from seasoned.llm.clients import AnyModel
from seasoned.memory import editing
from seasoned.memory.attempt import Attempt, close_open, outcome_of
from seasoned.memory.auto import TOKENS, Background, DayBudget, Ledger, ToLearn, judge_unknown, to_learn
from seasoned.memory.gate import Try, run_gate
from seasoned.memory.guidance import complete, framed
from seasoned.memory.holdout import META, EffectReport, Holdout, Retire, check_shares
from seasoned.memory.learning import Learned, Learning, learn_new, way_of
from seasoned.memory.opening import LateModel, check_arguments, judge, keep_method, open_embedder
from seasoned.memory.screened import Forgotten, ScreenedPool, forget, screen_trajectory
from seasoned.memory.verdicts import revise
from seasoned.methods import make_method, method_name
from seasoned.pool import ExperiencePool, Who
from seasoned.proof.certificate import Certificate
from seasoned.protocols import Embedder, Method
from seasoned.store.sql import Difference, Snapshot, Store
from seasoned.store.versions import NOW, difference
from seasoned.store.waiting import waits
from seasoned.telemetry import observed
from seasoned.trust import Secret, mask, masker
from seasoned.trust.lineage import TRUST_NAMES, Trust, TrustName
from seasoned.types import Guidance, Lesson, LessonKind, LessonStatus, Task, Trajectory, new_id

__all__ = ["Attempt", "EffectReport", "Forgotten", "Learned", "Learning", "Memory"]

log = logging.getLogger(__name__)

_DEFAULTS = {"retrieve": "embedding", "by": "embedding", "same_task": True}
"""Default options of methods made by name: recall calls no model, and includes lessons from the same task."""


class Memory:
    """Records an agent's attempts, learns lessons from them, and recalls the relevant ones. Thread-safe.

    A memory is one namespace of a store; each process opens its own. `pool` has the attempts and lessons, `quarantine`
    the flagged attempts and the lessons that wait for review. The model is opened at its first use.

    Args:
        store: a file (created if missing), a postgresql:// address, or a store, which stays open.
        method: the method that learns and recalls: a name for `seasoned.methods.make_method`, or an object.
        llm: the model that learns and judges: "local" for the bundled one, another name for an OpenAI-compatible
            server, a model, a client of OpenAI's or Anthropic's SDK, or a function that answers messages (see
            `seasoned.llm.clients`). Without one, methods that need a model can only recall.
        namespace: the name of the memory: an agent, a user, a project.
        embedder: for search by meaning: a name for `seasoned.embed.embedder`, an embedder, or None. "auto" is
            "static" if installed, else "hashing".
        judge: let the model judge attempts with an unknown outcome. None: only if it learns automatically.
        learn: "auto" learns in the background, "manual" only when `learn` is called. None is "auto" if there is a
            model.
        learn_budget: the daily limit of background learning, such as "$0.50" or "200k tokens"; None for no limit.
        success_at: the least reward that counts as a success.
        cap: the maximum number of characters of guidance.
        secrets: patterns to mask before anything is stored; None for the patterns of `seasoned.trust.mask`.
        holdout: the share of attempts without guidance, such as 0.1, so that `effect` can measure it.
        withhold: the probability of leaving out a recalled lesson, to measure single lessons.
        retire: "auto" disables lessons, or all guidance, if the evidence of harm is strong enough.
        trust: the least trust that a lesson needs to be recalled without review: "page", "imported", "unchecked",
            "checked" or "person"; see `seasoned.trust.lineage`. Other lessons are quarantined. With "page", a
            lesson may come from an observation alone.
        options: options of the method, such as `k=3`.

    Raises:
        ConfigError: when an argument has the wrong type or value.
        MissingExtraError: when a library of the embedder is not installed.
        StoreError: when the store cannot be opened.
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
        check_arguments(store, namespace, cap, success_at, secrets)
        check_shares(holdout, withhold, retire)
        if learn not in (None, "auto", "manual"):
            raise ConfigError(f"learn must be 'auto' or 'manual', not {learn!r:.80}")
        automatic = learn == "auto" or (learn is None and llm is not None)
        judge = automatic and llm is not None if judge is None else judge
        self.budget = DayBudget.read(learn_budget)
        if judge and llm is None:
            raise ConfigError("judge=True needs a model, and the memory has none: Memory(.., llm='gpt-5-mini')")
        if trust not in TRUST_NAMES:
            raise ConfigError(f"trust must be one of {', '.join(TRUST_NAMES)}, not {trust!r:.80}")
        self.namespace, self.trust = namespace, Trust(TRUST_NAMES.index(trust) + 1)
        self._model = LateModel(llm)
        # Without an embedder there is no search by meaning; all heuristics within the cap are better than none.
        blind = {"retrieve": "all"} if embedder is None else {}
        defaults = {**_DEFAULTS, **blind, **({"judge": True} if judge else {})}
        self.method = make_method(method, self._model, defaults=defaults, **options)
        self._name = method_name(self.method)
        self._judge, self._success_at, self._cap = judge, success_at, cap
        self._auto = Background(self._learn_automatically) if automatic else None
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
        with suppress(SeasonedError):  # the store may be closed
            off = f", {self._holdout.off!r}" if self._holdout.off else ""
        return f"Memory({self.store.where!r}, method={self._name!r}, namespace={self.namespace!r}{off})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def close(self) -> None:
        """Store unfinished attempts, finish automatic learning, and close what this memory opened.

        Raises:
            StoreError: when an attempt cannot be stored. The store stays open, so you can call `close` again.
        """
        with self._lock:
            running = list(self._learning)
        for learning in running:
            learning.join()  # its wait() raises its errors
        try:
            close_open(self._keep)
        finally:
            if self._auto is not None:
                self._auto.flush()
            self._model.close()
        if self._owned:
            self.store.close()

    def attempt(self, task: str | Task, category: str = "", agent: str = "") -> Attempt:
        """Begin an attempt: recall lessons for the task, and record the steps until it is finished.

        Equal texts are the same task. `category` is for methods that use it ("": the task's own), `agent` for the
        record. With a holdout, the attempt's id decides whether it gets guidance, also from `advise`.

        Raises:
            ConfigError: when the task is empty.
        """
        masked = editing.as_task(task, category, self._masking)
        if not masked.text.strip():
            raise ConfigError("the task of an attempt has no text: say what to do")
        attempt_id, begun = new_id("tra"), dict[str, Any]()
        draw = cache(lambda: self._holdout.draw(attempt_id))

        def first() -> Guidance:
            begun["trial"] = self.store.count_trajectories(self.pool.scopes, masked.id)
            return self._recalled(masked, self.pool, show=draw().show)

        def ask(progress: Trajectory) -> Guidance:
            if draw().silent:
                return Guidance()
            return framed(draw().show(self.method.recall(masked, self.pool, progress)), self._cap)

        limits: dict[str, Any] = {"success_at": self._success_at, "cap": self._cap}
        drawn = lambda: {**begun, **draw().meta} if begun else {}  # noqa: E731
        return Attempt(masked, first, self._keep, ask, agent=agent, attempt_id=attempt_id, drawn=drawn, **limits)

    def recall(self, task: str | Task, category: str = "", k: int | None = None) -> Guidance:
        """Recall the lessons for a task. The text is delimited, limited in length, and marked as advice; "" if empty.

        Unless the method recalls heuristics itself, the nearest heuristics, such as those of `add`, are included. `k`
        limits the number of lessons; contradicting ones stay together. A holdout withholds nothing here, because there
        is no attempt to count. If guidance is switched off, the text is "".
        """
        if self._holdout.off:
            return Guidance()
        return self._recalled(editing.as_task(task, category, self._masking), self.pool, k)

    def record(self, trajectory: Trajectory) -> Trajectory:
        """Store an attempt made elsewhere, masked. Returns it as stored, with `meta["flags"]` if it was flagged.

        Raises:
            StoreError: when another attempt has its id.
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
        """Set the outcome of a recorded attempt. All verdicts stay in `meta["verdicts"]`, with time and author.

        Lessons from a wrong verdict alone are set to deleted, and the next `learn` uses the attempt again.

        Args:
            attempt_id: of an attempt in this namespace.
            success: True, False, or a reward, as for `Attempt.finish`.
            reward: a reward other than 1 for a success and 0 for a failure.
            why: the reason, one line for the record.
            who: the author of the verdict.

        Raises:
            ConfigError: when `success` or `reward` has another type or value.
            StoreError: when this namespace has no such attempt.
        """
        verdict = outcome_of(success, "", "", self._success_at)
        if reward is not None:
            given = outcome_of(reward, "", "", self._success_at).reward
            verdict = verdict.model_copy(update={"reward": given})
        if verdict.success is None:
            raise ConfigError("say how the attempt ended: True, False, or a reward")
        with self.store.transaction(*self.pool.scopes):
            revised = revise(self.pool, attempt_id, verdict, who=who, why=self._masking(why))
            retired = self._holdout.count(revised)
        self._recorded(retired)
        return revised

    def effect(self) -> EffectReport:
        """Measure whether guidance helps, from attempts that `holdout` and `withhold` left without it.

        The interval stays valid if you look every day.

        Raises:
            ConfigError: when this namespace never had a holdout; the message says how to begin.
        """
        return self._holdout.report(self.namespace)

    def certify(
        self, tasks: Sequence[str | Task], attempt: Try, *, agent: str = "", waiting: bool = False
    ) -> Certificate:
        """Test the lessons on unseen tasks, each without and with them; see docs/proof.md.

        Args:
            tasks: at least 6 tasks that were not attempted in this memory; 60 detect most useful effects.
            attempt: a function of a task and its guidance ("" for none) that returns whether the attempt succeeded.
            agent: the names of the agent and its model, for the certificate.
            waiting: also test lessons that wait for a second source, and release them if they are promoted.

        In the certificate, `deployed` is "" if the lessons were not promoted. Write its `model_dump_json()` into a
        file, and check that with `seasoned certify --check FILE`.

        Raises:
            ConfigError: as in `seasoned.memory.gate.run_gate`.
        """
        chosen = [editing.as_task(task, "", self._masking) for task in tasks]
        return run_gate(self.pool, self._recalled, chosen, attempt, agent, self._name, waiting)

    def _recalled(self, task: Task, pool: ExperiencePool, k: int | None = None, **how: Any) -> Guidance:
        with observed("recall", self.namespace) as note:
            guidance = complete(self.method.recall(task, pool), task, pool, self._cap, k, **how)
            note(lessons=len(guidance.lessons))
        return guidance

    def resume(self, why: str) -> None:
        """Switch guidance on again after `retire="auto"`; the evidence starts from zero; see `Holdout.resume`."""
        self._holdout.resume(self._masking(why))

    @overload
    def learn(self, *, background: Literal[False] = False, again: bool = False) -> Learned: ...
    @overload
    def learn(self, *, background: Literal[True], again: bool = False) -> Learning: ...
    def learn(self, *, background: bool = False, again: bool = False) -> Learned | Learning:
        """Learn from all new attempts, even if another program recorded them.

        With `background`, it returns a handle at once; its `wait()` returns the result, or raises the error. `again`
        also tries skipped attempts again, with the same model; see `waiting`.

        Raises:
            LLMError: when the model fails. The lessons so far are kept, and the next call continues.
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
        """Estimate what `learn` would use now: attempts, model calls, tokens, dollars; and what waits, and why."""
        sides = self.pool, self.quarantine
        return to_learn(self.method, self._name, self._model.name, sides, self._ledger, judges=self._judge)

    def waiting(self) -> dict[str, str]:
        """The skipped attempts by id, with the reason. `learn` tries them again when the reason changes."""
        return dict(wait for scope in self.pool.scopes for wait in waits(self.store, scope, self._name))

    def lessons(
        self, kind: LessonKind | None = None, status: LessonStatus | None = "active", query: str | None = None
    ) -> list[Lesson]:
        """The lessons of a kind and status (None: all) that contain the query, in order of insertion."""
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
        """Add lessons, and return them as stored. A suspected prompt injection is quarantined.

        Args:
            text: one lesson, or several to add together.
            kind: every method recalls heuristics; other kinds need a method that recalls them.
            key: the key of a note, or the id of a reflection's task; required for both.
            category: the category of tasks it is for.
            why: the reason, one line for the history.
            who: the author.

        Raises:
            ConfigError: when a text is not a string, empty, or longer than 10,000 characters, the kind is unknown, or a
                note or a reflection has no key.
        """
        several = text if isinstance(text, Iterable) and not isinstance(text, str) else [text]
        texts = [editing.checked_text(each) for each in several]
        fields: dict[str, Any] = {"key": editing.checked_key(editing.checked_kind(kind), key)}
        fields["category"] = editing.checked_category(category)
        # A lesson from neither a person nor an attempt is an import, and stays one when attempts confirm it.
        data = {} if who == "person" else {"imported": True}
        fresh = [Lesson(kind=kind, text=each, origin=who, data=data, **fields) for each in texts]
        return self.pool.add(fresh, why=why or "added by hand", who=who)

    def release(self, lesson_id: str, *, why: str = "", who: Who = "person") -> Lesson:
        """Release a lesson from quarantine, so that it can be recalled.

        Raises:
            StoreError: when the quarantine has no such lesson.
        """
        lesson = self.store.get_lesson(lesson_id)
        if lesson is None or self.store.scope_of(lesson_id) != self.pool.scope or lesson.status != "quarantined":
            raise StoreError(f"there is no lesson {lesson_id} in quarantine; memory.quarantine.lessons() lists all")
        changed = lesson.model_copy(update={"status": "active"})
        return self.store.update_lesson(changed, who=who, why=self._masking(why) or "released from quarantine")

    def forget(self, *ids: str, everything: bool = False) -> Forgotten:
        """Delete attempts and lessons for good, or this whole namespace, with their history and vectors.

        No snapshot restores them. Lessons that came from a deleted attempt alone are deleted too. Lessons with other
        sources stay, and the result names them: read them, and forget them too if needed. Attempts that were shown
        deleted text lose their guidance.

        Raises:
            ConfigError: when neither is given, or both.
            StoreError: when an id is not in this namespace; then nothing is deleted.
        """
        return forget(self.pool, ids, everything=everything)

    def snapshot(self, name: str, *, why: str = "", who: Who = "person") -> Snapshot:
        """Name the current state of all lessons; see `Store.add_snapshot`."""
        named = editing.checked_snapshot_name(name, self._masking)
        return self.store.add_snapshot(self.pool.scope, named, who=who, why=self._masking(why))

    def diff(self, before: str, after: str = NOW) -> Difference:
        """The changes between two states, each the name of a snapshot, a time, or "now"."""
        return difference(*(self.store.lessons_at(self.pool.scope, when) for when in (before, after)))

    def rollback(self, when: str, *, why: str = "", who: Who = "person") -> Difference:
        """Restore the lessons of a snapshot or a time, as new versions; see `Store.rollback`."""
        return self.store.rollback(self.pool.scope, when, who=who, why=self._masking(why))

    def _sides(self) -> tuple[ScreenedPool, ScreenedPool]:
        same: dict[str, Any] = {"embedder": self._embedder, "masking": self._masking, "method": self._name}
        side = partial(ScreenedPool, self.store, self.namespace, trust=self.trust, **same)
        return side(), side(quarantine=True)

    def _learn(self, again: bool = False) -> Learned:
        sides, learned = self._sides(), Learned()
        for fresh, known in zip(sides, (self.pool, self.quarantine), strict=True):
            fresh.begin_with(known)
        with observed("learn", self.namespace) as note:
            try:
                if self._judge:
                    judge_unknown(self._model, sides, self._name, way_of(self.method))
                learned = learn_new(self.method, self._name, sides, again=again)
                keep_method(self.store, self.pool.scope, self._name)
            finally:
                learned.usage = self._model.taken()
                self._ledger.add(learned.usage)
            note(attempts=learned.trajectories, lessons=len(learned.lessons), tokens=learned.usage.tokens)
        return learned

    def _learn_automatically(self) -> None:
        self._model.before = lambda used: self._ledger.check(self.budget, used)
        try:
            self._learn()
        finally:
            self._model.before = None

    def _keep(self, trajectory: Trajectory, ask: bool) -> Trajectory:
        if ask and self._judge and self._auto is None:
            trajectory = judge(screen_trajectory(trajectory, self._masking), self._model)
        with observed("record", self.namespace) as note, self.store.transaction(*self.pool.scopes):
            kept = self.pool.record(trajectory)
            note(steps=len(kept.steps), successes=int(kept.outcome.success is True), attempts=1)
            retired = self._holdout.count(kept) if META in trajectory.meta else []
        self._recorded(retired)
        return kept

    def _recorded(self, retired: Iterable[str]) -> None:
        """Log what an outcome retired, and learn in the background soon."""
        for sentence in retired:
            log.warning("%s", sentence)
        if self._auto is not None:
            self._auto.poke()
