"""The sections of a recipe: what can be set, its defaults and bounds.

Always holds: a section is a value, and refuses keys that it does not have.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from seasoned.lab.methods.autoguide import By
from seasoned.llm.opening import ModelSettings, Section
from seasoned.methods.erl import Retrieve
from seasoned.methods.expel.demonstrations import Rerank, RetrieveBy
from seasoned.methods.reflexion import Strategy


class BenchmarkChoice(BaseModel):
    """Which benchmark, and its own options (checked by the benchmark)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.model_extra or {})


class LLMSettings(ModelSettings):
    """The model that acts, and its `temperature`; methods learn and recall at 0."""

    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


class AgentSettings(Section):
    """The agent: its style, and the caps of its replies in tokens (None: `Recipe.caps`).

    `style` is the dialogue's; `shots` are the examples of few-shot. Where the agent acts in several steps, `policy` is
    how, `examples` the worked trajectories it is shown, `repeats` the identical actions in a row that end an attempt
    (0: never; with `same_observation`, only where the observation was the same, too), and `max_actions` how many
    actions end one, beside the benchmark's own limit. A prompt of more than `prompt_tokens` ends one, too (0 or None:
    as many as the model takes). `halt` is another rule that ends an attempt: `reflexion`, with `omega`, `epsilon` and
    `cycle`, or the import path of a function; see `seasoned.agents.halting`. `note_turns` are the dialogue's turns
    after its answer was judged, in the free style (None: as many as are left), `example_notes` the notes of each
    of its worked cases; `tests` are those that an agent which writes programs writes itself first. `guidance` is where
    what is recalled for a task stands: with the `task`, where the prefix cache still serves all before it, or at the
    end of the `system` prompt (ERL, section 2).
    """

    style: Literal["guided", "free"] = "guided"
    policy: Literal["act", "react", "choose", "tools", "coder"] = "react"
    examples: int = Field(default=2, ge=0)
    repeats: int = Field(default=3, ge=0)
    same_observation: bool = True
    max_actions: int | None = Field(default=None, ge=1)
    halt: str = ""
    omega: int = Field(default=1, ge=0)
    epsilon: int = Field(default=30, ge=1)
    cycle: int = Field(default=1, ge=1)
    note_turns: int | None = Field(default=None, ge=1)
    example_notes: int | None = Field(default=None, ge=1)
    prompt_tokens: int | None = Field(default=None, ge=0)
    action_tokens: int | None = Field(default=None, ge=1)
    think_tokens: int | None = Field(default=None, ge=1)
    answer_tokens: int | None = Field(default=None, ge=1)
    note_tokens: int | None = Field(default=None, ge=1)
    shots: int = Field(default=7, ge=0)
    tests: int = Field(default=0, ge=0)
    guidance: Literal["task", "system"] = "task"


class Caps(Section):
    """The longest replies to THINK, ANSWER and NOTE, and the longest action, in tokens."""

    think: int
    answer: int
    note: int
    action: int


SHORT = Caps(think=80, answer=24, note=120, action=32)
ROOMY = Caps(think=2000, answer=2000, note=2000, action=2000)
"""For models behind a server: some reason before they answer, and their reasoning counts."""


class GatherSettings(Section):
    """How training attempts are gathered where the agent acts (ExpeL algorithm 1; Reflexion algorithm 1).

    A failed task is tried again up to `retries` times, each time with what `reflect` says: reflections, the last
    attempt, both, or nothing. `order` is one task after the other, or all open tasks once a trial; by trials, it stops
    after `patience` trials in a row that solved nothing more.

    Where one answer is asked for, tasks are tried again with `answers` alone, and no attempt is told the right answer.

    With `iterate`, each task is tried once, `batch` of them between two learnings, guided by the heuristics that those
    before taught (ERL, appendix E): all of them, or failures alone. Conditions of ERL recall those heuristics.
    """

    retries: int = Field(default=3, ge=0)
    order: Literal["task-first", "trial-first"] = "task-first"
    reflect: Strategy = "reflexion"
    patience: int = Field(default=2, ge=1)
    iterate: Literal["", "all", "failures"] = ""
    batch: int = Field(default=8, ge=1)
    answers: bool = False


class ReflexionSettings(Section):
    """Reflexion: `memory` reflections are shown at most; `attempt_chars` of an attempt (None: by the window)."""

    memory: int = Field(default=3, ge=1)
    attempt_chars: int | None = Field(default=None, ge=100)


class ScaffoldSettings(Section):
    """What helps a small model to write lessons, and no paper has; None: on in the profile `small`, off in `paper`.

    `worked`: a worked attempt is shown, with the lesson that it teaches. `begins`: a lesson has to begin as the
    benchmark says ("answer "). `filters`: heuristics with the word "agent", with words of the prompt, or about how the
    attempt ended are dropped.
    """

    worked: bool | None = None
    begins: bool | None = None
    filters: bool | None = None


class ExpeLSettings(Section):
    """ExpeL (its table 4): `chunk` is L, `k` the demonstrations; the rest are its ablations.

    An own success of more than `demo_tokens` is not shown (None: than the longest worked attempt has). `human` are
    insights written by a person, to be used instead of extracted ones. `room`, `insight_chars` and `insights_room` are
    those of `ExpeL` (None: by the model's window).
    """

    chunk: int = Field(default=8, ge=1)
    k: int = Field(default=2, ge=0)
    demo_tokens: int | None = Field(default=None, ge=1)
    max_insights: int = Field(default=20, ge=1)
    cap: int | None = Field(default=None, ge=1)
    retrieve_by: RetrieveBy = "task"
    rerank: Rerank = "none"
    compare: bool = True
    successes: bool = True
    with_reflections: bool = False
    human: tuple[str, ...] = ()
    structured: bool = True
    room: int | None = Field(default=None, ge=100)
    insight_chars: int | None = Field(default=None, ge=40)
    insights_room: int | None = Field(default=None, ge=10)


class ERLSettings(Section):
    """ERL (its appendix C): `k` heuristics of at most `guidance_tokens`, found by `retrieve`.

    `recall_first` are those that a two-stage retrieval ranks; with `reasons` a ranking is of lists and tells why,
    without each is marked on its own, as small models need it (None: with, unless a bundled model ranks). `judge` lets
    the model judge attempts of unknown outcome, `blind` all of them; `first` learns from first attempts alone;
    `trajectories` are those of few-shot-trajectories. `room`, `rank_room` and `chars` are those of `ERL` (None: by the
    model's window).
    """

    k: int = Field(default=20, ge=1)
    retrieve: Retrieve = "two-stage"
    recall_first: int = Field(default=200, ge=1)
    reasons: bool | None = None
    guidance_tokens: int = Field(default=2000, ge=1)
    judge: bool = False
    blind: bool = False
    first: bool = True
    trajectories: int = Field(default=3, ge=1)
    room: int | None = Field(default=None, ge=100)
    rank_room: int | None = Field(default=None, ge=100)
    chars: int | None = Field(default=None, ge=40)


class AutoGuideSettings(Section):
    """AutoGuide: at most `k` guidelines a turn, their context found by the model or by meaning, at `least` so alike.

    `room` and `contexts_room` are those of `AutoGuide` (None: by the model's window).
    """

    k: int = Field(default=3, ge=1)
    by: By = "llm"
    least: float = 0.5
    room: int | None = Field(default=None, ge=100)
    contexts_room: int | None = Field(default=None, ge=100)


class FactsSettings(Section):
    """Facts: `explore` seconds before the first task, `each` facts of at most so many `functions` a task, `mends`."""

    explore: float = Field(default=90.0, ge=0)
    each: int = Field(default=3, ge=1)
    functions: int = Field(default=8, ge=1)
    mends: int = Field(default=2, ge=0)
    unsafe: bool = False


class MethodSettings(Section):
    """ExpNote's settings; None takes the benchmark's (`k`, `share`, `on`). `facts` is TeachMe's CSV.

    `trials` are the attempts after the first one that a condition with retries may make at a test task (R1 to R3);
    `order` and `patience` are theirs as `gather` has them. With `coupled`, the condition `retry` makes as many trials
    as those with reflections did, and no stopping rule of its own; `retry_temperature` is that of its attempts after
    the first (None: the agent's). `given` is a file of lessons (JSON lines).
    """

    policy: Literal["last", "merge"] = "merge"
    k: int | None = Field(default=None, ge=1)
    share: float | None = Field(default=None, gt=0, le=1)
    show: int = Field(default=4, ge=1)
    on: Literal["question", "thought"] | None = None
    facts: str = ""
    trials: int = Field(default=3, ge=0)
    order: Literal["task-first", "trial-first"] = "task-first"
    patience: int = Field(default=2, ge=1)
    given: str = ""
    coupled: bool = False
    retry_temperature: float | None = Field(default=None, ge=0.0, le=2.0)


class GateSettings(Section):
    """How conditions with `+gate` are decided: on so many training `tasks` that nothing is learned from.

    With `crossfit` of 2 or more parts no task is held back: what was learned on all parts but one is tried on that one.
    """

    tasks: int = Field(default=60, ge=0)
    crossfit: int = Field(default=0, ge=0)


class ProbeSettings(Section):
    """How conditions with `+probed` choose lessons: on so many training `tasks` that nothing else is done with.

    Each lesson that is recalled for one is withheld with the chance `share`, by a coin of its own.
    """

    tasks: int = Field(default=40, ge=3)
    share: float = Field(default=0.5, gt=0, lt=1)


class ToolSettings(Section):
    """What is offered to an agent that calls tools: `all`, or those `relevant` to its task.

    Relevant are those that attempts at the task's family have needed, and `k` more that are found by meaning.
    """

    offer: Literal["all", "relevant"] = "all"
    k: int = Field(default=8, ge=0)


class Limits(Section):
    """Limits on tokens, US dollars, model calls and seconds; None is no limit."""

    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)
    calls: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
