"""The sections of a recipe: the settings, their defaults and bounds.

Always holds: a section is a value, and an unknown key is an error.
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
    """Which benchmark, and its options (checked by the benchmark)."""

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

    `style` is the dialogue's; `shots` are the examples of few-shot. For an agent that acts in several steps, `policy`
    is how it acts and `examples` how many worked trajectories it sees. `repeats` identical actions in a row end an
    attempt (0: never; with `same_observation`, only if the observation repeats, too), and so do `max_actions` actions,
    beside the benchmark's limit, and a prompt of more than `prompt_tokens` (0 or None: as many as the model takes).
    `halt` is another rule that ends an attempt: `reflexion`, with `omega`, `epsilon` and `cycle`, or the import path of
    a function; see `seasoned.agents.halting`. `note_turns` are the dialogue's turns after its answer was judged, in the
    free style (None: as many as are left), and `example_notes` the notes of each of its worked cases. `tests` are the
    tests that an agent writes before its program. `guidance` is the place of guidance in the prompt: with the `task`,
    which keeps the prefix cache valid up to there, or at the end of the `system` prompt (ERL, section 2).
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
"""For models behind a server: some reason before they answer, and their reasoning counts as part of the reply."""


class GatherSettings(Section):
    """How training attempts are gathered for an agent that acts (ExpeL algorithm 1; Reflexion algorithm 1).

    A failed task is tried again up to `retries` times, each time with the guidance that `reflect` names: reflections,
    the last attempt, both, or none. `order` is one task after the other, or all open tasks once per trial; in that
    order, gathering stops after `patience` trials in a row that solved nothing more.

    In benchmarks that ask for one answer, tasks are tried again only with `answers`, and no attempt is told the right
    answer.

    With `iterate`, each task is tried once. ERL learns after every `batch` tasks, from all attempts or only from
    failures, and its heuristics guide the next batch (ERL, appendix E). Conditions of ERL recall these heuristics.
    """

    retries: int = Field(default=3, ge=0)
    order: Literal["task-first", "trial-first"] = "task-first"
    reflect: Strategy = "reflexion"
    patience: int = Field(default=2, ge=1)
    iterate: Literal["", "all", "failures"] = ""
    batch: int = Field(default=8, ge=1)
    answers: bool = False


class ReflexionSettings(Section):
    """Reflexion: at most `memory` reflections are shown, and `attempt_chars` of an attempt (None: by the window)."""

    memory: int = Field(default=3, ge=1)
    attempt_chars: int | None = Field(default=None, ge=100)


class ScaffoldSettings(Section):
    """Aids for small models that write lessons, in no paper. None: on in the profile `small`, off in `paper`.

    `worked`: the prompt shows a worked attempt and its lesson. `begins`: a lesson has to begin as the benchmark says
    ("answer "). `filters`: drops heuristics with the word "agent", with words of the prompt, or about how the attempt
    ended.
    """

    worked: bool | None = None
    begins: bool | None = None
    filters: bool | None = None


class ExpeLSettings(Section):
    """ExpeL (its table 4): `chunk` is L, `k` the demonstrations; the rest are its ablations.

    A success longer than `demo_tokens` is not shown (None: longer than the longest worked attempt). `human` are
    insights that a person wrote, used instead of extracted ones. `room`, `insight_chars` and `insights_room` are as in
    `ExpeL` (None: by the model's window).
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

    A two-stage retrieval ranks `recall_first` heuristics. With `reasons`, the model ranks lists and gives its reasons;
    without, it marks each heuristic on its own, as small models need (None: with, unless a bundled model ranks).
    `judge` lets the model judge attempts of unknown outcome, `blind` all of them; `first` learns only from first
    attempts; `trajectories` is k of few-shot-trajectories. `room`, `rank_room` and `chars` are as in `ERL` (None: by
    the model's window).
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
    """AutoGuide: at most `k` guidelines a turn, for a context that the model names or an embedder finds.

    `least` is the lowest similarity that an embedder accepts. `room` and `contexts_room` are as in `AutoGuide` (None:
    by the model's window).
    """

    k: int = Field(default=3, ge=1)
    by: By = "llm"
    least: float = 0.5
    room: int | None = Field(default=None, ge=100)
    contexts_room: int | None = Field(default=None, ge=100)


class FactsSettings(Section):
    """Facts: seconds to `explore` before the first task; per task, `each` facts of at most `functions`, and `mends`."""

    explore: float = Field(default=90.0, ge=0)
    each: int = Field(default=3, ge=1)
    functions: int = Field(default=8, ge=1)
    mends: int = Field(default=2, ge=0)
    unsafe: bool = False


class MethodSettings(Section):
    """ExpNote's settings; None takes the benchmark's (`k`, `share`, `on`). `facts` is TeachMe's CSV.

    `trials` are the attempts after the first one that a condition with retries may make at a test task (R1 to R3), with
    `order` and `patience` as in `gather`. With `coupled`, the condition `retry` makes as many trials as the conditions
    with reflections, without a stopping rule; `retry_temperature` is the temperature of its attempts after the first
    (None: the agent's). `given` is a file of lessons (JSON lines).
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
    """How conditions with `+gate` are decided: on `tasks` training tasks that are held back from learning.

    With `crossfit` of 2 or more parts, no task is held back: each part tries the lessons learned on the other parts.
    """

    tasks: int = Field(default=60, ge=0)
    crossfit: int = Field(default=0, ge=0)


class ProbeSettings(Section):
    """How conditions with `+probed` choose lessons: on `tasks` training tasks that have no other use.

    Each lesson that is recalled for such a task is withheld with probability `share`, independently.
    """

    tasks: int = Field(default=40, ge=3)
    share: float = Field(default=0.5, gt=0, lt=1)


class ToolSettings(Section):
    """Which tools an agent is offered: `all`, or the tools `relevant` to its task.

    Relevant are the tools that attempts at the task's family have needed, and the `k` nearest to the task in meaning.
    """

    offer: Literal["all", "relevant"] = "all"
    k: int = Field(default=8, ge=0)


class Limits(Section):
    """Limits on tokens, US dollars, model calls and seconds; None is no limit."""

    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)
    calls: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
