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
    as many as the model takes). `guidance` is where what is recalled for a task stands: with the `task`, where the
    prefix cache still serves all before it, or at the end of the `system` prompt (ERL, section 2).
    """

    style: Literal["guided", "free"] = "guided"
    policy: Literal["act", "react", "choose"] = "react"
    examples: int = Field(default=2, ge=0)
    repeats: int = Field(default=3, ge=0)
    same_observation: bool = True
    max_actions: int | None = Field(default=None, ge=1)
    prompt_tokens: int | None = Field(default=None, ge=0)
    action_tokens: int | None = Field(default=None, ge=1)
    think_tokens: int | None = Field(default=None, ge=1)
    answer_tokens: int | None = Field(default=None, ge=1)
    note_tokens: int | None = Field(default=None, ge=1)
    shots: int = Field(default=7, ge=0)
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

    With `iterate`, each task is tried once, `batch` of them between two learnings, guided by the heuristics that those
    before taught (ERL, appendix E): all of them, or failures alone. Conditions of ERL recall those heuristics.
    """

    retries: int = Field(default=3, ge=0)
    order: Literal["task-first", "trial-first"] = "task-first"
    reflect: Strategy = "reflexion"
    patience: int = Field(default=2, ge=1)
    iterate: Literal["", "all", "failures"] = ""
    batch: int = Field(default=8, ge=1)


class ExpeLSettings(Section):
    """ExpeL (its table 4): `chunk` is L, `k` the demonstrations; the rest are its ablations.

    An own success of more than `demo_tokens` is not shown (None: than the longest worked attempt has). `human` are
    insights written by a person, to be used instead of extracted ones.
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


class ERLSettings(Section):
    """ERL (its appendix C): `k` heuristics of at most `guidance_tokens`, found by `retrieve`.

    `recall_first` are those that a two-stage retrieval ranks; with `reasons` a ranking is of lists and tells why,
    without each is marked on its own, as small models need it (None: with, unless a bundled model ranks). `judge` lets
    the model judge attempts of unknown outcome, `blind` all of them; `first` learns from first attempts alone;
    `trajectories` are those of few-shot-trajectories.
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


class AutoGuideSettings(Section):
    """AutoGuide: at most `k` guidelines a turn, their context found by the model or by meaning, at `least` so alike."""

    k: int = Field(default=3, ge=1)
    by: By = "llm"
    least: float = 0.5


class MethodSettings(Section):
    """ExpNote's settings; None takes the benchmark's (`k`, `share`, `on`). `facts` is TeachMe's CSV.

    `trials` are the attempts after the first one that a condition with retries may make at a test task (R1 to R3);
    `order` and `patience` are theirs as `gather` has them. `given` is a file of lessons (JSON lines).
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


class GateSettings(Section):
    """How conditions with `+gate` are decided: on so many training `tasks` that nothing is learned from.

    With `crossfit` of 2 or more parts no task is held back: what was learned on all parts but one is tried on that one.
    """

    tasks: int = Field(default=60, ge=0)
    crossfit: int = Field(default=0, ge=0)


class Limits(Section):
    """Limits on tokens, US dollars, model calls and seconds; None is no limit."""

    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)
    calls: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
