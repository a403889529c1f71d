"""ExpeL (Zhao et al., 2024): insights across tasks, ranked by votes, and an agent's own successes as demonstrations.

Always holds: `learn` writes its changes at its end, all or nothing; what a person pinned, disabled or deleted stays so,
and the model's wording is marked as the model's; nothing from an attempt at a task is recalled for that task.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from seasoned.llm.window import LONG_TEXT, is_roomy, said_of, window_of
from seasoned.methods import check_least
from seasoned.methods.attempts import TOO_LONG, UNUSABLE
from seasoned.methods.expel import extraction
from seasoned.methods.expel.demonstrations import Rerank, RetrieveBy, attempts_at, choose, reflections
from seasoned.methods.expel.operations import Applied, apply
from seasoned.methods.nearest import case_block
from seasoned.protocols import LLM
from seasoned.replies.operations import ADDED, INSIGHT_CHARS, Item, Parsed
from seasoned.text import CAP, holds_words, prompt_line, same_words, tokens
from seasoned.types import Block, Guidance, Lesson, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

FULL = 5
"""From this many insights above `max_insights`, a DOWNVOTE counts three times."""


@dataclass(frozen=True)
class ExpeL:
    """Insights and demonstrations from an agent's own attempts (paper sections 4.2 and 4.3).

    Args:
        llm: extracts the insights; `recall` calls no model.
        about: what kind of tasks these are.
        worked: example attempts (see `worked_pair`) and the insight they should give: a situation and what to do in it.
            They are shown as an earlier exchange, since a small model copies what is merely quoted.
        mode: what to recall: `insights`, own successes (`retrieve`), or `both`.
        chunk: the most successes shown together (L: 8; WebShop 4).
        k: demonstrations (2; HotpotQA 6, FEVER 3).
        max_insights: above this number, the model is asked to remove some first (20; the authors ran HotpotQA and
            ALFWorld with 10, WebShop with 8); 5 above it, a DOWNVOTE counts three times.
        cap: the most insights to keep; the least important are dropped. None: no limit, as in the paper.
        retrieve_by: what must be similar in a demonstration. `task`: the texts of the tasks (as in the paper).
            `thought`, `action` and `step`: the last one of the current attempt, and any one of the success.
            `reflection`: the latest reflection, and the one before the success. `task-then-thought`: the task until
            there is a thought. `rotation`: by the kind of the last step (a thought alone, an action alone, or both with
            the observation). `random`: drawn with the seed and the task. `none`: no demonstrations.
        rerank: how to reorder the best 4k: `length` (shortest first), `thought`, `task`, or not at all.
        manual: worked examples, also candidates for demonstrations.
        demo_tokens: the most tokens of a demonstration (a quarter of its characters); None: those of the longest worked
            example, or no limit without one.
        compare: compare failures with successes (an ablation in the paper's figure 6).
        successes: look at successes by themselves.
        with_reflections: show the reflections on failures when insights are extracted (table 3).
        tell: include demonstrations in the guidance's text, for an agent that does not show them itself.
        human: insights written by a person; none are extracted then (table 3).
        seed: for the order of successes and for random demonstrations.
        structured: ask for operations as JSON, and for lines only if the model fails to write it.
        room: tokens of the attempts in one call (a quarter of their characters); fewer if the model refuses that. None:
            three quarters of a long window, or 2,400.
        insight_chars: characters of an insight. None: 8,000 in a long window, or 300.
        insights_room: tokens of recalled insights; of a longer list, those nearest to the task are recalled (paper
            section 4.3). None: a quarter of a long window, or all.
        full: when the list is full: `above` `max_insights`, or `at` it, as in the released code.
        first: learn from, and show, only the first attempt at each task (figure 6: gathered by ReAct).
        max_tokens: tokens of a reply of the extracting model; more for one that reasons before it answers.
        same_task: recall lessons also for the task that they come from. For recurring work; never in an evaluation.

    Raises:
        ConfigError: a number is out of range, or `worked` has no pair of attempts; see `worked_pair`.
    """

    name: ClassVar[str] = "expel"
    llm: LLM
    about: str = ""
    worked: tuple[Sequence[Trajectory], str, str] | None = None
    mode: Literal["insights", "retrieve", "both"] = "both"
    chunk: int = 8
    k: int = 2
    max_insights: int = 20
    cap: int | None = None
    retrieve_by: RetrieveBy = "task"
    rerank: Rerank = "none"
    manual: tuple[Trajectory, ...] = ()
    demo_tokens: int | None = None
    compare: bool = True
    successes: bool = True
    with_reflections: bool = False
    tell: bool = False
    human: tuple[str, ...] = ()
    seed: int = 0
    structured: bool = True
    room: int | None = None
    insight_chars: int | None = None
    insights_room: int | None = None
    full: Literal["above", "at"] = "above"
    first: bool = False
    max_tokens: int = 400
    same_task: bool = False

    def __post_init__(self) -> None:
        least = {"chunk": 1, "k": 0, "max_insights": 1, "cap": 1, "demo_tokens": 1, "room": 100, "max_tokens": 16}
        check_least(self, least | {"insight_chars": 40, "insights_room": 10})
        if self.worked is not None:
            extraction.worked_pair(self.worked[0])

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Extract insights from training attempts (algorithm 2), starting from those in the pool.

        Attempts at one task come in the order of their trials. The insights do not depend on the mode, so they serve
        all three.

        Raises:
            LLMError: the model failed for another reason than a reply's form or a prompt's length; nothing is written.
            StoreError: when the pool is read-only; no model is called.
        """
        pool.writable()
        if self.first:
            trajectories = [trajectory for trajectory in trajectories if not trajectory.meta.get("trial", 0)]
        if self.human:
            self._add_human(pool)
            return
        calls = extraction.plan_calls(
            trajectories,
            earlier=extraction.attempts_before(trajectories, pool) if self.same_task else (),
            chunk=self.chunk,
            seed=self.seed,
            compare=self.compare,
            successes=self.successes,
            reflections=(lambda ids: reflections(pool, ids)) if self.with_reflections else None,
        )
        if not calls and not any(trajectory.outcome.success for trajectory in trajectories):
            cause = f"none of the {len(trajectories)} attempts succeeded" if trajectories else "no attempt was finished"
            log.warning("%s, so there is nothing to learn insights from", cause)
            pool.passed_over(f"{cause}, so there is nothing to learn insights from")
        extractor, book = extraction.Extractor(self), _Book(pool)
        unused: dict[str, str] = {}  # why an attempt taught nothing
        taught: set[str] = set()
        examples = [*extraction.GOOD, *extraction.BAD, *filter(None, [self.worked_insight])]
        barred = _removed_words(pool)
        for call in calls:
            crowded = len(book.items) + (self.full == "at") > self.max_insights
            parsed = _allowed(extractor.ask(call, book.items, crowded), examples, barred)
            full = len(book.items) >= self.max_insights + FULL
            applied = apply(book.items, parsed.operations, full, self.cap, self.longest_insight)
            for problem in (*parsed.problems, *applied.problems):
                log.info("insights from %s: %s", call, problem)
                pool.passed_over(f"Insights from {call}: {problem}")
            book.take(call, applied)
            if applied.done:
                taught.update(call.sources)
            else:
                why = next((problem for problem in parsed.problems if problem.startswith(TOO_LONG)), UNUSABLE)
                unused |= dict.fromkeys(call.sources, why)
        if cut := said_of(extractor.cuts):
            pool.passed_over(cut)
        book.write(pool)
        unused = {name: why for name, why in unused.items() if name not in taught}
        extraction.skip_unused(pool, trajectories, calls, unused)

    def _add_human(self, pool: ExperiencePool) -> None:
        """Add the insights that a person wrote, instead of the model's."""
        limit = self.longest_insight
        known = {same_words(lesson.text) for lesson in pool.lessons("insight", status=None)}
        texts: dict[str, str] = {}
        for text in self.human:
            texts.setdefault(same_words(text), prompt_line(text, limit))
            if len(prompt_line(text, 2 * limit)) > limit:
                pool.passed_over(f"Of the insight {prompt_line(text, 60)!r} only {limit} characters are kept")
        fresh = [
            Lesson(kind="insight", text=text, importance=ADDED, method="expel", origin="person")
            for words, text in texts.items()
            if words and words not in known
        ]
        pool.add(fresh, why="written by a person", who="person")

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """All insights, most important first, and fitting demonstrations (algorithm 3); during an attempt, for it.

        Raises:
            ConfigError: demonstrations are chosen by similarity, and the pool has no embedder.
        """
        insights: list[Lesson] = []
        if self.mode != "retrieve":
            excluded = set() if self.same_task else attempts_at(task, pool)
            known = sorted(pool.lessons("insight"), key=lambda lesson: -lesson.importance)
            allowed = [lesson for lesson in known if excluded.isdisjoint(lesson.sources)]
            fitting = self._fitting(task, pool, allowed)
            insights = [lesson for lesson in allowed if lesson.id in fitting]
        lines = [prompt_line(lesson.text, max(CAP, self.longest_insight)) for lesson in insights]
        blocks = [Block.listing("Lessons from earlier tasks:", insights, lines)] if insights else []
        examples = choose(self, task, pool, progress) if self.mode != "insights" else ()
        if self.tell and examples:
            blocks.append(case_block(examples))
        return Guidance(lessons=tuple(insights), demonstrations=examples, blocks=tuple(blocks))

    @property
    def longest_insight(self) -> int:
        """The most characters of an insight."""
        return self.insight_chars or (LONG_TEXT if is_roomy(self.llm) else INSIGHT_CHARS)

    @property
    def worked_insight(self) -> str:
        """The insight that the worked attempts should give; "" without them."""
        return f"When {self.worked[1]}, {self.worked[2]}." if self.worked else ""

    def _fitting(self, task: Task, pool: ExperiencePool, insights: Sequence[Lesson]) -> set[str]:
        """The ids of the insights that fit into the room: those nearest to the task, else the most important."""
        room = self.insights_room or ((window_of(self.llm) or 0) // 4 if is_roomy(self.llm) else None)
        sizes = {lesson.id: tokens(lesson.text) for lesson in insights}
        if room is None or sum(sizes.values()) <= room:
            return set(sizes)
        scores = pool.nearness(task.text, [lesson.text for lesson in insights]) if pool.searches else {}
        ids, size = set[str](), 0
        for lesson in sorted(insights, key=lambda lesson: -scores.get(lesson.text, 0.0)):
            size += sizes[lesson.id]
            if ids and size > room:
                break
            ids.add(lesson.id)
        return ids


class _Book:
    """The insights during extraction: the list, the lessons behind it, and the changes to write."""

    def __init__(self, pool: ExperiencePool) -> None:
        insights = sorted(pool.lessons("insight"), key=lambda lesson: -lesson.importance)
        self.items = [Item(lesson.text, lesson.importance, lesson.pinned, lesson.id) for lesson in insights]
        self.lessons = {lesson.id: lesson for lesson in insights}
        self.changes: list[tuple[Literal["add", "update", "remove"], Lesson, str]] = []

    def take(self, call: extraction.Call, applied: Applied) -> None:
        """Take the list after the operations of one reply."""
        kinds = {self.items[o.target - 1].id: o.kind for o in applied.done if o.target is not None}
        items = []
        for item in applied.items:
            kind = kinds.get(item.id, "")
            if not item.id:
                lesson = Lesson(
                    kind="insight", text=item.text, importance=item.count, method="expel", sources=call.sources
                )
                self.changes.append(("add", lesson, f"ADD after {call}"))
                item = replace(item, id=lesson.id)
                self.lessons[item.id] = lesson
            elif kind:
                old = self.lessons[item.id]
                sources = old.sources if kind == "DOWNVOTE" else tuple(dict.fromkeys((*old.sources, *call.sources)))
                news = {"text": item.text, "importance": item.count, "sources": sources}
                if kind == "EDIT":
                    news["origin"] = "model"
                self.lessons[item.id] = old.model_copy(update=news)
                self.changes.append(("update", self.lessons[item.id], f"{kind} after {call}"))
            items.append(item)
        remaining = {item.id for item in items}
        for item_id in (item.id for item in self.items if item.id not in remaining):
            why = f"{kinds.get(item_id, 'over the cap')} after {call}"
            self.changes.append(("remove", self.lessons.pop(item_id), why))
        self.items = items

    def write(self, pool: ExperiencePool) -> None:
        """Write all changes in one transaction. An insight that another program changed meanwhile stays as it is."""
        expected: dict[str, int] = {}
        with pool.store.transaction():
            for what, lesson, why in self.changes:
                if what == "add":
                    (stored,) = pool.add(lesson, why=why)
                    expected[lesson.id] = stored.version
                    continue
                now = pool.store.get_lesson(lesson.id)
                if now is None or now.pinned or now.version != expected.get(lesson.id, lesson.version):
                    log.info("%s was changed by another program meanwhile, so it stays as it is", lesson.id)
                    pool.passed_over(f"{lesson.id} was changed by another program meanwhile, so it stays as it is")
                elif what == "remove":
                    pool.remove(lesson.id, why=why)
                else:
                    stored = pool.update(lesson.model_copy(update={"version": now.version}), why=why)
                    expected[lesson.id] = stored.version


def _allowed(parsed: Parsed, examples: Sequence[str], barred: set[str]) -> Parsed:
    """A reply's operations without those that repeat an example, or what a person removed."""

    refused = [
        operation
        for operation in parsed.operations
        if same_words(operation.text) in barred or any(holds_words(operation.text, example) for example in examples)
    ]
    reasons = (f"{operation}: it is an example, or a person removed it" for operation in refused)
    operations = tuple(operation for operation in parsed.operations if operation not in refused)
    return Parsed(operations, (*parsed.problems, *reasons))


def _removed_words(pool: ExperiencePool) -> set[str]:
    """The words of insights that no reply may add again: disabled, quarantined, or deleted by a person."""
    lessons = pool.lessons("insight", status=None)
    removed = (lesson for lesson in lessons if lesson.status == "quarantined" or pool.taken_away(lesson))
    return {same_words(lesson.text) for lesson in removed} - {""}
