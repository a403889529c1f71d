"""ERL (Allard et al., 2026): one heuristic from each single attempt, and the few that a new task needs.

Always holds: an attempt is learned from once; nothing that comes from an attempt at a task is recalled for that task;
heuristics that say the same stand in guidance once, and those that contradict each other stand there together, marked.
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
from seasoned.methods.attempts import NO_OUTCOME, TOO_LONG, UNUSABLE, Sources, thoughts
from seasoned.methods.erl.book import Book, as_block, as_item, as_line, fitting, trigger
from seasoned.methods.erl.heuristics import as_lesson, write_heuristic
from seasoned.methods.expel.demonstrations import attempts_at
from seasoned.methods.ranking import ROOM, rank, rank_each
from seasoned.protocols import LLM, Method
from seasoned.replies.heuristics import Draft
from seasoned.text import TOKEN, guidance_tokens
from seasoned.types import Guidance, Lesson, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

Retrieve = Literal["llm", "embedding", "random", "all", "two-stage"]
Outcomes = Literal["all", "success", "failure"]


@dataclass(frozen=True)
class ERL:
    """Heuristics from single attempts, the most relevant of them recalled (paper section 2).

    Args:
        llm: writes the heuristics, and ranks them where `retrieve` says so.
        about: what kind of tasks these are.
        example: a trigger and an action as they should be; see `write_heuristic`.
        worked: a failed attempt that teaches `example`, and its analysis; see `write_heuristic`.
        begins: the words that every action begins with; see `write_heuristic`.
        goal: gives of a task's text what is wanted, where most of it is something else, such as a room's furniture;
            tasks are compared by that. None: by their whole texts, as in the paper.
        k: heuristics that are recalled.
        retrieve: `llm`: a model scores all; `two-stage`: the `recall_first` nearest, which the model then scores;
            `embedding`: those from the tasks nearest to the new one; `random`: drawn by the seed and the task; `all`.
        recall_first: see `retrieve`.
        on: what heuristics are recalled for: the `task`, before it is begun, as in the paper; or what the attempt
            `thought` of it first, for agents that ask for guidance after that.
        outcomes: whether all are recalled, or only those from successes or failures.
        judge: whether an attempt of unknown outcome is judged by the model; otherwise it is passed over.
        blind: whether known outcomes are hidden from the model too, so that its verdicts can be compared with them.
        first: whether only the first attempt at each task is learned from, where there were retries.
        failures: whether only failures are learned from: known ones, and those that the model itself judges to be some.
        workers: how many heuristics are written at once.
        ranker: the model that ranks; None: `llm`.
        form: of a heuristic: `short`, or as in the `paper` with a rationale and of any length (figures 6 and 8).
        filters: whether what small models write in place of a heuristic is dropped; see `read_heuristic`.
        chars: characters of each part of a heuristic; None: as short as its form is, or 8,000 in a long window.
        max_tokens: of a reply of the model; a ranking gets more where it needs more.
        room: tokens that an attempt may take in a prompt. None: three quarters of a long window, or 2,400.
        rank_room: tokens of heuristics in one prompt of the ranker; more of them take several calls. None: three
            quarters of its window where that is long, or 2,000.
        reasons: whether the ranker scores lists and says in a few words why (figure 9); without, it marks each
            heuristic in a call of its own, which a small model can do and a list it cannot.
        guidance_tokens: tokens of guidance; what does not fit is left out, the last first.
        matched: a method that shows trajectories: at each task the heuristics get as many tokens as its demonstrations
            have, instead of `guidance_tokens`, and never more (paper appendix C.1, figure 5).
        seed: for `random`.
        same_task: whether what comes from attempts at a task may be recalled for it. For work that comes again; an
            evaluation must leave it off.

    Raises:
        ConfigError: a number is out of range, a name is none of those above, or `worked` comes without `example`.
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
        names = {
            "form": ("short", "paper"),
            "retrieve": get_args(Retrieve),
            "outcomes": get_args(Outcomes),
            "on": ("task", "thought"),
        }
        for name, known in names.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} of ERL is one of {', '.join(known)}, not {getattr(self, name)!r}")
        if self.worked is not None and self.example is None:
            raise ConfigError("worked of ERL needs example, the trigger and the action that the attempt teaches")

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Write one heuristic for each attempt that was not learned from before, in order (paper section 2).

        How they are recalled does not matter here: what was learned once serves all variants. An attempt that gives no
        heuristic is passed over, and that is logged.

        Raises:
            LLMError: the model failed otherwise than by its form or its length; what was written before stays.
            StoreError: when the pool is read-only; no model was called then.
        """
        pool.writable()
        # Deleted ones too: what a person removed is not written again.
        known = pool.derived(Sources, "heuristic", None).known
        new = {t.id: t for t in trajectories if t.id not in known and self._teaches(t)}
        pool.skip(
            (t for t in trajectories if t.outcome.success is None and t.id not in known and t.id not in new), NO_OUTCOME
        )
        wanted, cuts, long = list(new.values()), Cuts(), self._chars * 3
        for start in range(0, len(wanted), self.workers):
            batch = wanted[start : start + self.workers]
            drafts = run_jobs(partial(self._write, pool, cuts), batch, self.workers)
            for trajectory, draft in zip(batch, drafts, strict=True):
                if isinstance(draft, str):
                    log.warning("no heuristic of %s: %s", trajectory.id, draft)
                    pool.passed_over(f"no heuristic of {trajectory.id}: {draft}")
                    pool.skip([trajectory], draft)
                elif self.failures and draft.succeeded:
                    log.info("no heuristic of %s: failures are wanted, and it is judged a success", trajectory.id)
                else:
                    lesson = as_lesson(draft, trajectory, self._goal(trajectory.task), long)
                    pool.add(lesson, why="learned from one attempt")
        if cut := said_of(cuts):
            pool.passed_over(cut)

    @property
    def _chars(self) -> int:
        """Characters of each part of a heuristic; 0: those of the short form."""
        return self.chars or (LONG_TEXT if self.form == "paper" or is_roomy(self.llm) else 0)

    def _judges(self, trajectory: Trajectory) -> bool:
        """Whether the model is to say how an attempt ended."""
        return self.blind or trajectory.outcome.success is None

    def _teaches(self, trajectory: Trajectory) -> bool:
        """Whether an attempt is one that is learned from."""
        judges = self._judges(trajectory)
        if trajectory.outcome.reason == "error" or (judges and not (self.blind or self.judge)):
            return False
        if self.first and trajectory.meta.get("trial", 0):
            return False
        return not self.failures or judges or not trajectory.outcome.success

    def _write(self, pool: ExperiencePool, cuts: Cuts, trajectory: Trajectory) -> Draft | str:
        """The heuristic of an attempt, or why there is none."""
        try:
            draft = write_heuristic(
                self.llm,
                trajectory,
                judges=self._judges(trajectory),
                about=self.about,
                example=self.example,
                worked=self.worked,
                begins=self.begins,
                max_tokens=self.max_tokens,
                room=self.room or room_for(self.llm, 2400),
                keep_verdict=partial(pool.keep_verdict, trajectory.id),
                paper=self.form == "paper",
                filters=self.filters,
                chars=self._chars or None,
                cuts=cuts,
            )
        except ContextLengthError as error:
            return f"{TOO_LONG}: {error}"
        return draft or UNUSABLE

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The heuristics that help with a task, the best first; nothing where `on` names the other moment.

        A heading stands above them, but not after a thought: there every token is new to a server's prefix cache. Equal
        ones count as one. A heuristic that is contradicted brings the other one with it, or all that the ranker names,
        so that some more than k may be shown.

        Raises:
            ConfigError: `embedding` or `two-stage`, and the pool has no embedder.
            LLMError: the ranking model failed otherwise than by its form or its length.
        """
        if (progress is None) is (self.on == "thought"):
            return Guidance()
        book, candidates = self._candidates(task, pool)
        thought = "" if progress is None else ", ".join(thoughts(progress))
        chosen, flagged = self._choose(task, thought, pool, book, candidates)
        room = self._tokens_for(task, pool)
        groups = fitting(self._groups(book, candidates, chosen, flagged, room), room, strict=self.matched is not None)
        if not groups:
            return Guidance()
        lessons = tuple(each for group in groups for each in group)
        return Guidance(lessons=lessons, blocks=(as_block(groups, headed=self.on == "task"),))

    def choose(self, task: Task, pool: ExperiencePool) -> list[Lesson]:
        """What retrieval alone picks, best first: at most k, but for `all`. `recall` adds opposites and cuts the text.

        Raises:
            ConfigError, LLMError: as `recall`.
        """
        return self._choose(task, "", pool, *self._candidates(task, pool))[0]

    def _tokens_for(self, task: Task, pool: ExperiencePool) -> int:
        """How many tokens of heuristics a task may be told."""
        if self.matched is None:
            return self.guidance_tokens
        return guidance_tokens(self.matched.recall(task, pool))

    def _goal(self, text: str) -> str:
        """What tasks are compared by."""
        return text if self.goal is None else self.goal(text)

    def _candidates(self, task: Task, pool: ExperiencePool) -> tuple[Book, dict[str, Lesson]]:
        """One lesson for each group of equal ones, by the id of the group's first: one that may be recalled here."""
        book = pool.derived(Book, "heuristic")
        own = set() if self.same_task else attempts_at(task, pool)
        outcome = {"all": None, "success": True, "failure": False}[self.outcomes]
        if not own and outcome is None:
            return book, book.firsts
        candidates: dict[str, Lesson] = {}
        for group in book.groups:
            fits = (
                lesson
                for lesson in group
                if own.isdisjoint(lesson.sources)
                and (outcome is None or lesson.data.get("success", outcome) is outcome)  # a person's are for both
            )
            if (lesson := next(fits, None)) is not None:
                candidates[group[0].id] = lesson
        return book, candidates

    def _choose(
        self, task: Task, thought: str, pool: ExperiencePool, book: Book, candidates: dict[str, Lesson]
    ) -> tuple[list[Lesson], list[tuple[Lesson, Lesson]]]:
        """The heuristics that are recalled, best first, and pairs that the ranker calls contradictory."""
        # A task is compared with the tasks that heuristics come from; a thought, with the situations they are for.
        near: dict[str, Any] = {"text": thought, "of": trigger} if thought else {"text": self._goal(task.text)}
        if self.retrieve == "embedding":
            return book.nearest(pool, lessons=candidates, k=self.k, **near), []
        lessons = list(candidates.values())
        if self.retrieve == "all":
            return lessons, []
        if self.retrieve == "random":
            drawn = random.Random(f"erl-{self.seed}-{task.id}").sample(lessons, min(self.k, len(lessons)))
            return drawn, []
        if self.retrieve == "two-stage":
            lessons = book.nearest(pool, lessons=candidates, k=max(self.recall_first, self.k), **near)
        if len(lessons) <= self.k:
            return lessons, []
        ranker = self.ranker or self.llm
        whole = self.form == "paper" or is_roomy(ranker)
        sought, items = f"{task.text}\n{thought}".strip(), [as_item(lesson, whole) for lesson in lessons]
        asked: dict[str, Any] = {"about": self.about, "max_tokens": self.max_tokens}
        if self.reasons:
            ranking = rank(ranker, sought, items, self.k, room=self.rank_room or room_for(ranker, ROOM), **asked)
        else:
            ranking = rank_each(ranker, sought, items, **asked)
        for problem in ranking.problems:
            log.info("the ranking for %s: %s", task.id, problem)
        chosen = {each.place: lessons[each.place] for each in ranking.scored[: self.k]}
        if len(chosen) < self.k:
            log.info("%d of %d heuristics for %s are chosen by nearness", self.k - len(chosen), self.k, task.id)
            rest = [lesson for place, lesson in enumerate(lessons) if place not in chosen]
            if self.retrieve == "llm":
                rest = book.nearest_or_newest(pool, near, rest)
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
        """The chosen ones, each with those that contradict it, if any; until there are k or more, or enough tokens."""
        rivals: dict[str, list[Lesson]] = {}
        for one, other in flagged:
            rivals.setdefault(one.id, []).append(other)
            rivals.setdefault(other.id, []).append(one)
        groups: list[list[Lesson]] = []
        shown: dict[str, list[Lesson]] = {}  # the group of each
        size = 0
        for lesson in chosen:
            if lesson.id in shown:
                continue
            if (len(shown) >= self.k and self.retrieve != "all") or size > TOKEN * room:
                break
            told_by_words = None if lesson.id in rivals else book.rival(lesson, candidates)
            against = rivals.get(lesson.id, []) if told_by_words is None else [told_by_words]
            group = next((shown[rival.id] for rival in against if rival.id in shown), None)
            if group is None:
                groups.append(group := [])
            for each in (lesson, *against):
                if each.id not in shown:
                    shown[each.id] = group
                    group.append(each)
            size += len(as_line(lesson))
        return groups
