"""ERL (Allard et al., 2026): one heuristic from each single attempt, and the few that help with a new task.

Always holds: each attempt is learned from once; nothing from an attempt at a task is recalled for that task; guidance
shows equal heuristics once, and contradicting ones together and marked.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from seasoned.errors import ConfigError, ContextLengthError
from seasoned.jobs import run_jobs
from seasoned.llm.window import LONG_TEXT, Cuts, is_roomy, room_for, said_of
from seasoned.methods import check_least
from seasoned.methods.attempts import NO_OUTCOME, TOO_LONG, UNUSABLE, thoughts
from seasoned.methods.erl.book import Book, as_block, as_item, as_line, fitting, origin, trigger
from seasoned.methods.erl.heuristics import as_lesson, write_heuristic
from seasoned.methods.expel.demonstrations import attempts_at
from seasoned.methods.ranking import ROOM, rank, rank_each
from seasoned.protocols import LLM, Method
from seasoned.replies.heuristics import LONG_CHARS, PART_CHARS, Draft
from seasoned.text import TOKEN, guidance_tokens
from seasoned.types import Guidance, Lesson, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

Retrieve = Literal["llm", "embedding", "random", "all", "two-stage"]
Outcomes = Literal["all", "success", "failure"]


@dataclass(frozen=True)
class ERL:
    """Heuristics from single attempts; the most relevant are recalled (paper section 2).

    Args:
        llm: writes the heuristics, and ranks them where `retrieve` says so.
        about: what kind of tasks these are.
        example: a model trigger and action, if tasks have something in common.
        worked: a failed attempt that teaches `example`, and its analysis. They are shown as an earlier exchange, since
            a small model copies what is quoted; not used if the model judges.
        begins: words that every action must begin with, if only such actions help; the schema enforces them.
        goal: extracts the goal from a task's text when most of it is something else, such as a room's furniture; tasks
            are compared by it. None: by their whole texts, as in the paper.
        k: number of heuristics to recall.
        retrieve: `llm`: a model scores all; `two-stage`: the model scores the `recall_first` nearest; `embedding`:
            those from the tasks nearest to the new one; `random`: drawn with the seed and the task; `all`.
        recall_first: see `retrieve`.
        on: what heuristics are recalled for: the `task`, before the attempt, as in the paper; or the attempt's first
            `thought`, for agents that ask for guidance after it.
        outcomes: recall all, or only those from successes or failures.
        judge: let the model judge attempts of unknown outcome; otherwise they are skipped.
        blind: hide known outcomes from the model too, to compare its verdicts with them.
        first: learn only from the first attempt at each task.
        failures: learn only from failures: known ones, and those that the model judges to be failures.
        workers: number of heuristics written at once.
        ranker: model that ranks; None: `llm`.
        form: form of a heuristic: `short`, or as in the `paper`, of any length and with a rationale (figures 6 and 8).
        filters: drop what small models write instead of a heuristic; see `read_heuristic`.
        chars: characters of each part of a heuristic; None: those of its form, or 8,000 in a long window.
        max_tokens: tokens of a reply; a ranking gets more if it needs more.
        room: tokens of an attempt in a prompt, halved up to three times if that is too long. None: three quarters of a
            long window, or 2,400.
        rank_room: tokens of heuristics in one prompt of the ranker; more take several calls. None: three quarters of a
            long window, or 2,000.
        reasons: let the ranker score lists and give short reasons (figure 9); False: it rates each heuristic in its own
            call, which small models do better.
        guidance_tokens: tokens of guidance; the last heuristics are left out if they do not fit.
        matched: a method that shows trajectories: at each task the heuristics get at most as many tokens as its
            demonstrations, instead of `guidance_tokens` (paper appendix C.1, figure 5).
        seed: seed for `random`.
        same_task: recall lessons also for the task that they come from. For recurring work; never in an evaluation.

    Raises:
        ConfigError: a number is out of range, a name is not one of those above, or `worked` comes without `example`.
    """

    name: ClassVar[str] = "erl"
    llm: LLM
    about: str = ""
    example: tuple[str, str] | None = None
    worked: tuple[Trajectory, str] | None = None
    begins: str = ""
    goal: Callable[[str], str] | None = None
    k: int = 20
    retrieve: Retrieve = "llm"
    recall_first: int = 200
    on: Literal["task", "thought"] = "task"
    outcomes: Outcomes = "all"
    judge: bool = False
    blind: bool = False
    first: bool = False
    failures: bool = False
    workers: int = 1
    ranker: LLM | None = None
    form: Literal["short", "paper"] = "short"
    filters: bool = True
    chars: int | None = None
    max_tokens: int = 300
    room: int | None = None
    rank_room: int | None = None
    reasons: bool = True
    guidance_tokens: int = 2000
    matched: Method | None = None
    seed: int = 0
    same_task: bool = False

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("k", "recall_first", "workers", "guidance_tokens"), 1)
        check_least(self, {**counts, "max_tokens": 16, "room": 100, "rank_room": 100, "chars": 40})
        names = {"form": ("short", "paper"), "on": ("task", "thought")}
        names |= {"retrieve": get_args(Retrieve), "outcomes": get_args(Outcomes)}
        for name, allowed in names.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} of ERL is one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.worked is not None and self.example is None:
            raise ConfigError("worked of ERL needs example, the trigger and the action that the attempt teaches")

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Write one heuristic for each attempt not learned from yet, in order (paper section 2).

        The lessons do not depend on how they are recalled, so they serve all variants. An attempt that gives no
        heuristic is skipped and logged.

        Raises:
            LLMError: the model failed for another reason than a reply's form or a prompt's length; earlier heuristics
                stay stored.
            StoreError: when the pool is read-only; no model is called.
        """
        pool.writable()
        # Includes deleted lessons: what a person removed is not written again.
        known = pool.taught("heuristic", trajectories)
        new = {t.id: t for t in trajectories if t.id not in known and self._teaches(t)}
        done = known | new.keys()
        pool.skip((t for t in trajectories if t.outcome.success is None and t.id not in done), NO_OUTCOME)
        attempts, cuts, long = list(new.values()), Cuts(), self._chars * 3
        for start in range(0, len(attempts), self.workers):
            batch = attempts[start : start + self.workers]
            drafts = run_jobs(partial(self._write, pool, cuts), batch, self.workers)
            for trajectory, draft in zip(batch, drafts, strict=True):
                if isinstance(draft, str):
                    log.warning("no heuristic of %s: %s", trajectory.id, draft)
                    pool.passed_over(f"no heuristic of {trajectory.id}: {draft}")
                    pool.skip([trajectory], draft)
                elif self.failures and draft.succeeded:
                    log.info("no heuristic of %s, which the model judges a success: only failures teach", trajectory.id)
                else:
                    lesson = as_lesson(draft, trajectory, self._goal(trajectory.task), long)
                    pool.add(lesson, why="learned from one attempt")
        if cut := said_of(cuts):
            pool.passed_over(cut)

    @property
    def _chars(self) -> int:
        """Characters of each part of a heuristic; 0: the short form's."""
        return self.chars or (LONG_TEXT if self.form == "paper" or is_roomy(self.llm) else 0)

    @property
    def part_chars(self) -> dict[str, int]:
        """The most characters of each part of a heuristic; only the paper's form has a `rationale`."""
        limits = LONG_CHARS if self.form == "paper" else PART_CHARS
        return {part: self._chars or most for part, most in limits.items()}

    def judges(self, trajectory: Trajectory) -> bool:
        """Whether this attempt's outcome is hidden from the model, which then judges it (appendix C.2)."""
        return self.blind or trajectory.outcome.success is None

    def _teaches(self, trajectory: Trajectory) -> bool:
        """Whether to learn from an attempt."""
        judges = self.judges(trajectory)
        if trajectory.outcome.reason == "error" or (judges and not (self.blind or self.judge)):
            return False
        if self.first and trajectory.meta.get("trial", 0):
            return False
        return not self.failures or judges or not trajectory.outcome.success

    def _write(self, pool: ExperiencePool, cuts: Cuts, trajectory: Trajectory) -> Draft | str:
        """Write the heuristic of an attempt, or say why there is none."""
        try:
            return write_heuristic(self, trajectory, partial(pool.keep_verdict, trajectory.id), cuts) or UNUSABLE
        except ContextLengthError as error:
            return f"{TOO_LONG}: {error}"

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The heuristics that help with a task, best first; empty when `on` names the other moment.

        They have a heading, except after a thought, where every token is new to a server's prefix cache. Equal ones
        count once. A heuristic brings the one that contradicts it, or all that the ranker names, so more than k may be
        shown.

        Raises:
            ConfigError: `embedding` or `two-stage` without an embedder in the pool.
            LLMError: the ranking model failed for another reason than a reply's form or a prompt's length.
        """
        if (progress is None) is (self.on == "thought"):
            return Guidance()
        thought = "" if progress is None else ", ".join(thoughts(progress))
        book, candidates = self._candidates(task, pool, thought)
        chosen, flagged = self._choose(task, thought, pool, book, candidates)
        room = self.guidance_tokens if self.matched is None else guidance_tokens(self.matched.recall(task, pool))
        groups = fitting(self._groups(book, candidates, chosen, flagged, room), room, strict=self.matched is not None)
        if not groups:
            return Guidance()
        lessons = tuple(each for group in groups for each in group)
        return Guidance(lessons=lessons, blocks=(as_block(groups, headed=self.on == "task"),))

    def choose(self, task: Task, pool: ExperiencePool) -> list[Lesson]:
        """The heuristics that retrieval picks, best first (`all`: more than k); `recall` adds opposites and cuts."""
        return self._choose(task, "", pool, *self._candidates(task, pool))[0]

    def _goal(self, text: str) -> str:
        """The part of a task's text that tasks are compared by."""
        return text if self.goal is None else self.goal(text)

    def _candidates(self, task: Task, pool: ExperiencePool, thought: str = "") -> tuple[Book, dict[str, Lesson]]:
        """For each group of equal lessons one that may be recalled here, by the id of the group's first.

        If the database searches the pool, only the nearest lessons are considered, also for contradictions.
        """
        found = None
        if self.retrieve in ("embedding", "two-stage"):
            few = 20 + 2 * max(self.k, self.recall_first if self.retrieve == "two-stage" else 0)
            near = (thought, trigger) if thought else (self._goal(task.text), origin)
            found = pool.found_in_database(near[0], few, "heuristic", near[1])
        if found is None:
            book = pool.derived(Book, "heuristic")
        else:
            book = Book([lesson for lesson, _ in found], nearest_first=True)
        excluded = set() if self.same_task else attempts_at(task, pool)
        outcome = {"all": None, "success": True, "failure": False}[self.outcomes]
        if not excluded and outcome is None:
            return book, book.firsts
        candidates: dict[str, Lesson] = {}
        for group in book.groups:
            fits = (
                lesson
                for lesson in group
                if excluded.isdisjoint(lesson.sources)
                and (outcome is None or lesson.data.get("success", outcome) is outcome)  # a person's count as both
            )
            if (lesson := next(fits, None)) is not None:
                candidates[group[0].id] = lesson
        return book, candidates

    def _choose(
        self, task: Task, thought: str, pool: ExperiencePool, book: Book, candidates: dict[str, Lesson]
    ) -> tuple[list[Lesson], list[tuple[Lesson, Lesson]]]:
        """The heuristics to recall, best first, and the pairs that the ranker calls contradictory."""
        # Compare a task with the tasks that heuristics come from, and a thought with the situations they are for.
        near: dict[str, Any] = {"text": thought, "of": trigger} if thought else {"text": self._goal(task.text)}
        if self.retrieve == "embedding":
            return book.nearest(pool, lessons=candidates, k=self.k, **near), []
        lessons = list(candidates.values())
        if self.retrieve == "all":
            return lessons, []
        if self.retrieve == "random":
            sample = random.Random(f"erl-{self.seed}-{task.id}").sample(lessons, min(self.k, len(lessons)))
            return sample, []
        if self.retrieve == "two-stage":
            lessons = book.nearest(pool, lessons=candidates, k=max(self.recall_first, self.k), **near)
        if len(lessons) <= self.k:
            return lessons, []
        ranker = self.ranker or self.llm
        full_texts = self.form == "paper" or is_roomy(ranker)
        query, items = f"{task.text}\n{thought}".strip(), [as_item(lesson, full_texts) for lesson in lessons]
        options: dict[str, Any] = {"about": self.about, "max_tokens": self.max_tokens}
        if self.reasons:
            ranking = rank(ranker, query, items, self.k, room=self.rank_room or room_for(ranker, ROOM), **options)
        else:
            ranking = rank_each(ranker, query, items, **options)
        for problem in ranking.problems:
            log.info("the ranking for %s: %s", task.id, problem)
        chosen = {each.place: lessons[each.place] for each in ranking.scored[: self.k]}
        if len(chosen) < self.k:
            log.info("%d of %d heuristics for %s are chosen by nearness", self.k - len(chosen), self.k, task.id)
            rest = [lesson for place, lesson in enumerate(lessons) if place not in chosen]
            if self.retrieve == "llm":
                by_id = {lesson.id: lesson for lesson in rest}
                rest = book.nearest(pool, lessons=by_id, **near) if pool.searches else rest[::-1]
            chosen |= {-1 - place: lesson for place, lesson in enumerate(rest[: self.k - len(chosen)])}
        return list(chosen.values()), [(lessons[one], lessons[other]) for one, other in ranking.contradictions]

    def _groups(
        self,
        book: Book,
        candidates: dict[str, Lesson],
        chosen: Sequence[Lesson],
        flagged: Sequence[tuple[Lesson, Lesson]],
        room: int,
    ) -> list[list[Lesson]]:
        """Group each chosen heuristic with those that contradict it, until there are k or enough tokens."""
        rivals: dict[str, list[Lesson]] = {}
        for one, other in flagged:
            rivals.setdefault(one.id, []).append(other)
            rivals.setdefault(other.id, []).append(one)
        groups: list[list[Lesson]] = []
        group_of: dict[str, list[Lesson]] = {}  # by the id of a lesson
        size = 0
        for lesson in chosen:
            if lesson.id in group_of:
                continue
            if (len(group_of) >= self.k and self.retrieve != "all") or size > TOKEN * room:
                break
            by_words = None if lesson.id in rivals else book.rival(lesson, candidates)
            against = rivals.get(lesson.id, []) if by_words is None else [by_words]
            group = next((group_of[rival.id] for rival in against if rival.id in group_of), None)
            if group is None:
                groups.append(group := [])
            for each in (lesson, *against):
                if each.id not in group_of:
                    group_of[each.id] = group
                    group.append(each)
            size += len(as_line(lesson))
        return groups
