"""The tools of the MCP server, with their arguments and results.

Always holds: input of clients is untrusted: its size is bounded and its secrets are masked; unknown arguments and
fields are refused, and so are lessons that would never be recalled.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seasoned.errors import ConfigError
from seasoned.memory import Memory
from seasoned.memory.attempt import outcome_of
from seasoned.memory.holdout import EffectReport
from seasoned.memory.verdicts import META
from seasoned.methods import method_name
from seasoned.store.tokens import Visitor
from seasoned.traces.source import task_name
from seasoned.trust import mask
from seasoned.types import Lesson, LessonKind, Step, Trajectory

MAX_TEXT = 20_000
"""The most characters of a task or an answer (longer ones are refused), and of a step's texts (they are cut)."""
MAX_STEPS = 1000
MAX_LESSONS = 100
"""The most lessons that an attempt may name."""

CALLER: ContextVar[Visitor] = ContextVar("caller", default=Visitor())  # noqa: B039 - the default is frozen
"""The owner of a call's token; on standard input and output, no token is needed."""

_RECALLED_KINDS = dict.fromkeys(("erl", "nearestcases", "reflexion"), "")
_RECALLED_KINDS |= {"expnote": "note", "expel": "insight", "autoguide": "guideline"}
"""The kind of notes that a method recalls beside heuristics, which every memory recalls."""


class StepGiven(BaseModel):
    """One step of an attempt, as a client tells it."""

    model_config = ConfigDict(extra="forbid")

    action: str = ""
    observation: str = ""
    thought: str = ""
    reward: float = 0.0


class LessonTold(BaseModel):
    """A lesson, as a client is told it."""

    id: str
    kind: str
    key: str
    text: str
    importance: float
    status: str


class Recalled(BaseModel):
    """What was learned for a task: `guidance` for the prompt ("": nothing yet), and the lessons in it."""

    guidance: str
    lessons: list[LessonTold]


class Recorded(BaseModel):
    """An attempt as it was stored; `flags` say why lessons from it will wait for a person.

    `unknown` are the ids among its `lessons` that the memory does not have; they were left out.
    """

    id: str
    steps: int
    success: bool | None
    flags: list[str]
    unknown: list[str]


class Judged(BaseModel):
    """An attempt with its later outcome; `verdicts` is how many there are in its record."""

    id: str
    success: bool | None
    reward: float | None
    verdicts: int


class Taught(BaseModel):
    """What learning took, or would take: attempts, calls of the model, tokens and dollars (null: the price is unknown).

    `lessons` were added or changed; `waiting` counts, by the reason, the attempts that taught nothing yet.
    """

    attempts: int
    calls: int
    tokens: int
    cost: float | None
    lessons: list[LessonTold]
    waiting: dict[str, int]


class Listed(BaseModel):
    """Lessons, and how many there are in all."""

    lessons: list[LessonTold]
    total: int


class Tools:
    """The tools; a class because they share the memory. Their docstrings are what a client's model reads."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def recall(
        self,
        task: Annotated[str, Field(description="The text of the task.")],
        k: Annotated[int, Field(description="At most this many; contradicting ones stay together.", ge=1, le=50)] = 10,
        category: Annotated[str, Field(description="The family of tasks it belongs to.")] = "",
    ) -> Recalled:
        """What was learned for a task. Call it before you begin, and use of the guidance what fits."""
        guidance = self.memory.recall(_bounded("task", task), _bounded("category", category, 200), k)
        return Recalled(guidance=guidance.text, lessons=[_as_listed(lesson) for lesson in guidance.lessons])

    def record(
        self,
        task: Annotated[str, Field(description="The text of the task, as it was given to recall.")],
        steps: Annotated[list[StepGiven], Field(description="What was done, in order.")],
        success: Annotated[bool | None, Field(description="Whether it worked; leave it out if unknown.")] = None,
        reward: Annotated[float | None, Field(description="How well it worked, from 0 to 1.")] = None,
        answer: Annotated[str, Field(description="The answer that was given.")] = "",
        category: Annotated[str, Field(description="The family of tasks it belongs to.")] = "",
        lessons: Annotated[
            list[str] | None, Field(description="The ids of the recalled lessons that were used.")
        ] = None,
    ) -> Recorded:
        """Keep an attempt, so that lessons can be learned from it. Call it when the task is over, failed or not."""
        by = _editor()
        if len(steps) > MAX_STEPS:
            raise ConfigError(f"an attempt has at most {MAX_STEPS} steps, and this has {len(steps)}: leave some out")
        known_ids, unknown_ids = self._split(lessons or [])
        masked = mask(_bounded("task", task))
        name = task_name(masked)
        trial = self.memory.store.count_trajectories(self.memory.pool.scopes, name)
        outcome = outcome_of(reward if success is None else success, _bounded("answer", answer), "", 1.0)
        attempt = Trajectory(
            task_id=name,
            task=masked,
            category=_bounded("category", category, 200),
            agent="mcp",
            steps=tuple(_step(step) for step in steps),
            outcome=outcome if reward is None else outcome.model_copy(update={"reward": reward}),
            lesson_ids=tuple(known_ids),
            meta={"source": "mcp", "trial": trial, **({"by": by} if by else {})},
        )
        stored = self.memory.record(attempt)
        flags = [str(flag) for flag in stored.meta.get("flags", ())]
        return Recorded(
            id=stored.id, steps=len(stored.steps), success=stored.outcome.success, flags=flags, unknown=unknown_ids
        )

    def outcome(
        self,
        id: Annotated[str, Field(description="The id of the attempt, as record gave it.")],
        success: Annotated[bool, Field(description="Whether it worked after all.")],
        reward: Annotated[float | None, Field(description="How well it worked, from 0 to 1.")] = None,
        why: Annotated[str, Field(description="Why, in one line.")] = "",
    ) -> Judged:
        """Set or correct the outcome of an attempt that was recorded. Earlier verdicts stay in its record."""
        by = _editor()
        reason = f"{_bounded('why', why, 1000)} (over MCP{f' by {by}' if by else ''})".strip()
        attempt = self.memory.outcome(_bounded("id", id, 200), success, reward, reason, "model")
        outcome = attempt.outcome
        return Judged(id=attempt.id, success=outcome.success, reward=outcome.reward, verdicts=len(attempt.meta[META]))

    def learn(
        self, estimate: Annotated[bool, Field(description="Only say what it would take; nothing is learned.")] = False
    ) -> Taught:
        """Learn now from the attempts that were not learned from yet. It asks a model, so it takes time."""
        before = self.memory.to_learn()
        if estimate:
            return Taught(
                lessons=[], **{name: getattr(before, name) for name in Taught.model_fields if name != "lessons"}
            )
        _editor()
        if before.calls and not before.model:
            raise ConfigError("this server has no model to learn with: start it as in `seasoned mcp --llm local`")
        learned = self.memory.learn()
        return Taught(
            attempts=learned.trajectories,
            calls=learned.usage.calls,
            tokens=learned.usage.tokens,
            cost=learned.usage.cost,
            lessons=[_as_listed(lesson) for lesson in learned.lessons],
            waiting={**learned.reasons, **self.memory.to_learn().waiting},
        )

    def note(
        self,
        text: Annotated[str, Field(description="What is worth knowing next time, in one or two sentences.")],
        key: Annotated[str, Field(description="The words it is looked up by; for the kind note alone.")] = "",
        kind: Annotated[
            LessonKind,
            Field(description="heuristic: advice, which is always recalled; note: a fact under a key, if notes are."),
        ] = "heuristic",
        category: Annotated[str, Field(description="The family of tasks it is for.")] = "",
    ) -> LessonTold:
        """Keep a lesson in your own words. One that seems aimed at the model waits until a person releases it."""
        by = _editor()
        self._recallable(kind, key)
        fields = {"key": _bounded("key", key, 200), "category": _bounded("category", category, 200)}
        why = f"noted over MCP by {by}" if by else "noted over MCP"
        (lesson,) = self.memory.add(text, kind=kind, who="model", why=why, **fields)
        return _as_listed(lesson)

    def listed(
        self,
        kind: Annotated[LessonKind | None, Field(description="Only this kind.")] = None,
        query: Annotated[str, Field(description="Only those whose text or key contains this.")] = "",
        limit: Annotated[int, Field(description="At most this many.", ge=1, le=200)] = 20,
    ) -> Listed:
        """The lessons in the memory, the most important first."""
        lessons = self.memory.lessons(kind, query=_bounded("query", query, 1000) or None)
        lessons.sort(key=lambda lesson: -lesson.importance)
        return Listed(lessons=[_as_listed(lesson) for lesson in lessons[:limit]], total=len(lessons))

    def effect(self) -> EffectReport:
        """Whether guidance helps: the effect with its interval, by category and month, and what harms."""
        return self.memory.effect()

    def _recallable(self, kind: LessonKind, key: str) -> None:
        """Refuse lessons that would never be recalled, such as guidelines with a key, which are for single steps."""
        name = method_name(self.memory.method)
        if kind != "heuristic" and (kind != _RECALLED_KINDS.get(name, kind) or (kind == "guideline" and key)):
            raise ConfigError(
                f"this memory recalls with {name}, which would never recall this {kind}: leave `kind` out, and it is "
                "kept as a heuristic, which is always recalled; or start the server with another --method"
            )

    def _split(self, ids: Sequence[str]) -> tuple[list[str], list[str]]:
        """Split ids into those of lessons of this memory, and the others; ConfigError if there are too many."""
        if len(ids) > MAX_LESSONS:
            raise ConfigError(f"an attempt names at most {MAX_LESSONS} lessons, and this {len(ids)}: leave some out")
        store, scope = self.memory.store, self.memory.pool.scope
        known = {name: store.scope_of(name) == scope for name in ids}
        return [name for name in known if known[name]], [name[:100] for name in known if not known[name]]


def _editor() -> str:
    """The name of the caller; ConfigError if the caller may only read."""
    caller = CALLER.get()
    if caller.role == "reader":
        raise ConfigError(f"the token of {caller.name} reads and changes nothing: ask for one with the role editor")
    return caller.name


def wrong(error: ValidationError) -> str:
    """A sentence that says what is wrong with a call's arguments."""
    faults = []
    for fault in error.errors()[:3]:
        place = [str(part) for part in fault["loc"]] or ["the call"]
        if fault["type"] == "extra_forbidden":
            faults.append(f"{'.'.join(place[:-1])}: {unknown(place[-1:], StepGiven.model_fields)}")
        else:
            faults.append(f"{'.'.join(place)}: {fault['msg'].lower()}")
    return f"the call does not fit the tool: {'; '.join(faults)}; see the tool's input schema"


def unknown(given: Iterable[str], known: Iterable[str]) -> str:
    """A sentence about the first name that is not known; "" if all are known."""
    names = list(known)
    wrong = next((name for name in given if name not in names), None)
    if wrong is None:
        return ""
    near = difflib.get_close_matches(wrong, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"there is no {wrong[:60]!r}; {hint}"


def _bounded(name: str, text: str, limit: int = MAX_TEXT) -> str:
    if len(text) > limit:
        raise ConfigError(f"the {name} has at most {limit:,} characters, and this has {len(text):,}: shorten it")
    if name == "task" and not text.strip():
        raise ConfigError("the task is empty: give its text")
    return text


def _step(given: StepGiven) -> Step:
    masked = map(mask, (given.thought, given.action, given.observation))  # before the cut, which may split a secret
    thought, action, observation = (text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…" for text in masked)
    return Step(thought=thought, action=action, observation=observation, reward=given.reward)


def _as_listed(lesson: Lesson) -> LessonTold:
    return LessonTold(**{name: getattr(lesson, name) for name in LessonTold.model_fields})
