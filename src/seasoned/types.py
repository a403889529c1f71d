"""The types: Task, Step, ToolCall, Trajectory, Outcome, Lesson, Guidance, Block, Usage, Reply.

Floor 0: pydantic models and nothing else. Always holds: they are frozen (a change is a new value), they refuse unknown
fields, and `model_dump_json` followed by `model_validate_json` gives an equal value, whatever text is inside.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Self, TypedDict

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = 1

Message = dict[str, Any]
"""One chat message, as OpenAI's protocol has it: {"role": .., "content": text}. A reply that calls tools has them in
`tool_calls` too, and the result of a call has the role "tool" and the call's id in `tool_call_id`."""


class ChatOptions(TypedDict, total=False):
    """The options of one request to a chat model, for code that passes them on; see `seasoned.protocols.LLM`."""

    schema: Mapping[str, Any] | None
    stop: Sequence[str] | None
    max_tokens: int | None
    temperature: float
    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: str


LessonKind = Literal["reflection", "insight", "heuristic", "note", "guideline", "fact"]
LessonStatus = Literal["active", "disabled", "quarantined", "deleted"]


def new_id(prefix: str) -> str:
    """A fresh, unguessable id such as `les-3f9c2a1b7d04`."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def by_person(who: str) -> bool:
    """Whether a person made a change: "person" in a lesson's history, or "person NAME" where tokens have names."""
    return who == "person" or who.startswith("person ")


def now() -> str:
    """The current time in UTC, as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(_Frozen):
    """The usage of model calls: tokens as the server counted them, US dollars, seconds.

    `cached_tokens` is the part of `prompt_tokens` from a prefix cache. `cost` is None if the price is unknown; unknown
    plus anything stays unknown. `replayed` calls came from the journal and are not in `calls`.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    replayed: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            calls=self.calls + other.calls,
            replayed=self.replayed + other.replayed,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
            seconds=self.seconds + other.seconds,
        )


class ToolCall(_Frozen):
    """A model's call of a tool: its name, its arguments as JSON values, and the call's id ("" for none).

    `unread` has invalid arguments (not a JSON object) unchanged.
    """

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""
    unread: str = ""


class Reply(_Frozen):
    """A model's reply: the text, the calls of tools, the parsed value of a schema, and the usage.

    `odds` has the probability of each choice, for choices of one character, if the server returns it.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    parsed: Any = None
    odds: dict[str, float] = {}
    finish_reason: str = "stop"
    model: str = ""
    usage: Usage = Usage()


TEXT_REPEATS = "text_repeats"
"""The key in a task's data that says that other tasks have the same text."""


class Task(_Frozen):
    """A task to solve. `data` is for the environment only (it has the gold answer); agents never see it.

    Tasks with equal texts count as one task, from which an evaluation recalls nothing. An environment whose tasks
    share a text, such as tickets that name a symptom and hide its cause, sets `data[TEXT_REPEATS]` to True.
    """

    id: str
    text: str
    category: str = ""
    data: dict[str, Any] = Field(default_factory=dict, repr=False)


class Example(_Frozen):
    """One worked case for a prompt, in our own words.

    `choices` are the possible answers, if any. `wrong` is answered first, then the right answer is shown. `reasoning`
    leads to the right answer without any note, if the thought does not. `recalled` are the notes shown with the case,
    `notes` the (key, value) pairs noted after it.
    """

    question: str
    thought: str
    answer: str
    choices: tuple[str, ...] = ()
    wrong: str = ""
    reasoning: str = ""
    recalled: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


class Step(_Frozen):
    """One thought, action and observation. If the action is a `call`, `action` is that call as a line of text."""

    thought: str = ""
    action: str = ""
    observation: str = ""
    reward: float = 0.0
    call: ToolCall | None = None


class Outcome(_Frozen):
    """The outcome of an attempt: success (None: unknown), reward, the reason, and the answer, if any.

    Reasons: `answered`, `won`, `halted` (the environment ended it), `reported` (set by your program), `step_limit`,
    `loop` (the same action with the same observation, repeated), `budget`, `context` (the prompt became too long),
    `error` (infrastructure; not in success rates), `unfinished`.
    """

    success: bool | None = None
    reward: float | None = None
    reason: str = "unfinished"
    answer: str = ""
    detail: str = ""


class Entry(_Frozen):
    """A part of guidance that is kept or removed as a whole, with the ids of its lessons and demonstrations.

    Without ids, the text has no known source.
    """

    text: str
    lesson_ids: tuple[str, ...] = ()
    demonstration_ids: tuple[str, ...] = ()


class Block(_Frozen):
    """A paragraph of guidance: a heading ("" for none) and the entries below it, each on a line of its own."""

    heading: str = ""
    entries: tuple[Entry, ...] = ()

    @property
    def text(self) -> str:
        """The block as a prompt shows it."""
        return "\n".join(filter(None, (self.heading, *(entry.text for entry in self.entries))))

    @classmethod
    def listing(cls, heading: str, lessons: Iterable[Lesson], lines: Iterable[str]) -> Self:
        """A heading with a list of lessons below it, one line each."""
        pairs = zip(lessons, lines, strict=True)
        return cls(heading=heading, entries=tuple(Entry(text=f"- {line}", lesson_ids=(x.id,)) for x, line in pairs))


class Trajectory(_Frozen):
    """The record of one attempt at one task.

    `messages` is the last conversation, including the last reply. If demonstrations changed during the attempt,
    `meta["demonstrations"]` has their ids by step. `guidance` is the text in the prompt, `guidance_blocks` its blocks,
    `lesson_ids` and `demonstration_ids` its sources.
    """

    id: str = Field(default_factory=lambda: new_id("tra"))
    task_id: str
    task: str
    category: str = ""
    benchmark: str = ""
    agent: str = ""
    steps: tuple[Step, ...] = ()
    outcome: Outcome = Outcome()
    guidance: str = ""
    guidance_blocks: tuple[Block, ...] = ()
    lesson_ids: tuple[str, ...] = ()
    demonstration_ids: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    meta: dict[str, Any] = Field(default_factory=dict)
    created: str = Field(default_factory=now)

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the guidance; of older records, the text split at a memory's frames."""
        texts = re.split(r"(?<=>)\n+(?=<)", self.guidance) if self.guidance else ()
        return self.guidance_blocks or tuple(Block(entries=(Entry(text=text),)) for text in texts)


class Lesson(_Frozen):
    """A lesson in plain language.

    `key` is for looking up a note. `importance` counts votes (insights) or repetitions (notes). `sources` are the
    trajectories it came from. `data` has what the method needs besides the text. `version` rises by one with every
    change. Methods never change `pinned` lessons.
    """

    id: str = Field(default_factory=lambda: new_id("les"))
    kind: LessonKind
    text: str
    key: str = ""
    category: str = ""
    importance: float = 1.0
    status: LessonStatus = "active"
    pinned: bool = False
    origin: str = "model"
    method: str = ""
    sources: tuple[str, ...] = ()
    data: dict[str, Any] = Field(default_factory=dict)
    version: int = 1
    created: str = Field(default_factory=now)
    updated: str = Field(default_factory=now)


class Guidance(_Frozen):
    """The result of recall: lessons, demonstrations, and their text for the prompt, in blocks.

    `text` is the blocks with an empty line between them, or "". Text without blocks becomes one block with one entry
    without ids.
    """

    lessons: tuple[Lesson, ...] = ()
    demonstrations: tuple[Trajectory, ...] = ()
    blocks: tuple[Block, ...] = ()
    text: str = ""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        text = _text(self.blocks)
        if self.text and not self.blocks:
            object.__setattr__(self, "blocks", (Block(entries=(Entry(text=self.text),)),))
        elif self.text not in ("", text):
            raise ValueError("the text of guidance must be the text of its blocks: give only one of them")
        else:
            object.__setattr__(self, "text", text)
        return self

    def saying(self, blocks: Iterable[Block]) -> Guidance:
        """The same lessons and demonstrations, with these blocks."""
        return Guidance(lessons=self.lessons, demonstrations=self.demonstrations, blocks=tuple(blocks))

    def without(self, lesson_ids: Iterable[str]) -> Guidance:
        """The same without these lessons: entries about them alone are removed, and headings without entries.

        A lesson that shares an entry with a lesson that stays is kept too.
        """
        gone = set(lesson_ids)
        blocks = []
        for block in self.blocks:
            entries = tuple(each for each in block.entries if not each.lesson_ids or set(each.lesson_ids) - gone)
            if entries or not block.entries:
                blocks.append(block.model_copy(update={"entries": entries}))
        gone -= {name for block in blocks for entry in block.entries for name in entry.lesson_ids}
        lessons = tuple(lesson for lesson in self.lessons if lesson.id not in gone)
        return Guidance(lessons=lessons, demonstrations=self.demonstrations, blocks=tuple(blocks))

    def __add__(self, other: Guidance) -> Guidance:
        """Both together: each lesson and demonstration once, and the other's blocks below, unless already there."""
        repeats = f"\n\n{other.text}\n\n" in f"\n\n{self.text}\n\n"
        return Guidance(
            lessons=tuple({lesson.id: lesson for lesson in (*self.lessons, *other.lessons)}.values()),
            demonstrations=tuple({shown.id: shown for shown in (*self.demonstrations, *other.demonstrations)}.values()),
            blocks=self.blocks if repeats else (*self.blocks, *other.blocks),
        )


def _text(blocks: Iterable[Block]) -> str:
    return "\n\n".join(filter(None, (block.text for block in blocks)))
