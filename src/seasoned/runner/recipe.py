"""Recipe: what an experiment is, read from TOML and `-c key=value` settings.

Always holds: an unknown key is refused with the nearest right one, nothing is read from the environment but
secrets, and `Recipe` written as TOML and read again is the same recipe.
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seasoned.errors import ConfigError


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BenchmarkChoice(BaseModel):
    """Which benchmark, and its own options (checked by the benchmark)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.model_extra or {})


class LLMSettings(_Section):
    """Which model: "local" is the bundled one; any other name goes to an OpenAI-compatible server.

    `path` is a GGUF file of the user's; `slots` and `context` (tokens a slot) are for the local server; `seed` and
    `temperature` for every call.
    """

    model: str = "local"
    base_url: str | None = None
    path: str | None = None
    slots: int = Field(default=4, ge=1, le=64)
    context: int = Field(default=4096, ge=256)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    seed: int = 0
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=4, ge=0)


class AgentSettings(_Section):
    """The agent: its style, and the caps of its replies in tokens (None: `Recipe.caps`).

    `style` is the dialogue's; `shots` are the examples of few-shot. Where the agent acts in several steps, `policy` is
    how, `examples` the worked trajectories it is shown, and `repeats` the identical actions in a row that end an
    attempt (0: never).
    """

    style: Literal["guided", "free"] = "guided"
    policy: Literal["act", "react", "choose"] = "react"
    examples: int = Field(default=2, ge=0)
    repeats: int = Field(default=3, ge=0)
    action_tokens: int | None = Field(default=None, ge=1)
    think_tokens: int | None = Field(default=None, ge=1)
    answer_tokens: int | None = Field(default=None, ge=1)
    note_tokens: int | None = Field(default=None, ge=1)
    shots: int = Field(default=7, ge=0)


class Caps(_Section):
    """The longest replies to THINK, ANSWER and NOTE, and the longest action, in tokens."""

    think: int
    answer: int
    note: int
    action: int


BUNDLED = ("local", "qwen", "smol")
SHORT = Caps(think=80, answer=24, note=120, action=32)
ROOMY = Caps(think=2000, answer=2000, note=2000, action=2000)
"""For models behind a server: some reason before they answer, and their reasoning counts."""


class GatherSettings(_Section):
    """How training attempts are gathered where the agent acts (ExpeL algorithm 1; Reflexion algorithm 1).

    A failed task is tried again up to `retries` times, each time with what `reflect` says: reflections, the last
    attempt, both, or nothing. `order` is one task after the other, or all open tasks once a trial; by trials, it stops
    after `patience` trials in a row that solved nothing more.
    """

    retries: int = Field(default=3, ge=0)
    order: Literal["task-first", "trial-first"] = "task-first"
    reflect: Literal["none", "last", "reflexion", "last+reflexion"] = "reflexion"
    patience: int = Field(default=2, ge=1)


class ExpeLSettings(_Section):
    """ExpeL (its table 4): `chunk` is L, `k` the demonstrations; the rest are its ablations.

    `human` are insights written by a person, to be used instead of extracted ones.
    """

    chunk: int = Field(default=8, ge=1)
    k: int = Field(default=2, ge=0)
    max_insights: int = Field(default=10, ge=1)
    cap: int | None = Field(default=None, ge=1)
    retrieve_by: Literal[
        "task", "thought", "action", "step", "reflection", "task-then-thought", "rotation", "random", "none"
    ] = "task"
    rerank: Literal["none", "length", "thought", "task"] = "none"
    compare: bool = True
    successes: bool = True
    with_reflections: bool = False
    human: tuple[str, ...] = ()
    structured: bool = True


class ERLSettings(_Section):
    """ERL (its appendix C): `k` heuristics of at most `guidance_tokens`, found by `retrieve`.

    `recall_first` are those that a two-stage retrieval ranks; `judge` lets the model judge attempts of unknown outcome,
    `blind` all of them; `first` learns from first attempts alone; `trajectories` are those of few-shot-trajectories.
    """

    k: int = Field(default=20, ge=1)
    retrieve: Literal["llm", "two-stage", "embedding", "random", "all"] = "two-stage"
    recall_first: int = Field(default=200, ge=1)
    guidance_tokens: int = Field(default=2000, ge=1)
    judge: bool = False
    blind: bool = False
    first: bool = True
    trajectories: int = Field(default=3, ge=1)


class AutoGuideSettings(_Section):
    """AutoGuide: at most `k` guidelines a turn, their context found by the model or by meaning, at `least` so alike."""

    k: int = Field(default=3, ge=1)
    by: Literal["llm", "embedding"] = "llm"
    least: float = 0.5


class MethodSettings(_Section):
    """ExpNote's settings; None takes the benchmark's (`k`, `share`, `on`). `facts` is TeachMe's CSV.

    `trials` are the attempts after the first one that a condition with retries may make at a test task (R1 to R3), and
    `given` a file of lessons (JSON lines) for the condition of that name.
    """

    policy: Literal["last", "merge"] = "merge"
    k: int | None = Field(default=None, ge=1)
    share: float | None = Field(default=None, gt=0, le=1)
    show: int = Field(default=4, ge=1)
    on: Literal["question", "thought"] | None = None
    facts: str = ""
    trials: int = Field(default=3, ge=0)
    given: str = ""


class Limits(_Section):
    """Limits on tokens, US dollars, model calls and seconds; None is no limit."""

    tokens: int | None = None
    cost: float | None = None
    calls: int | None = None
    seconds: float | None = None


class Recipe(_Section):
    """A whole experiment.

    `train` and `test` count cases, of which a block (a seed and fold) takes at most `limit`. With `folds` of 2 or more
    both are taken together, and each fold is judged by what was learned on the others. `curve` lists smaller training
    counts to evaluate the first learning condition at. `repeats` is how often each test task is run, each time with
    another seed of the model. `workers` 0 means one a slot.
    """

    name: str
    benchmark: BenchmarkChoice
    conditions: tuple[str, ...] = Field(default=("disabled", "few-shot", "expnote"), min_length=1)
    baseline: str = "disabled"
    train: int = Field(default=60, ge=0)
    test: int = Field(default=60, ge=1)
    limit: int | None = Field(default=None, ge=1)
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    folds: int = Field(default=0, ge=0)
    curve: tuple[int, ...] = ()
    repeats: int = Field(default=1, ge=1)
    workers: int = Field(default=0, ge=0)
    llm: LLMSettings = LLMSettings()
    agent: AgentSettings = AgentSettings()
    method: MethodSettings = MethodSettings()
    gather: GatherSettings = GatherSettings()
    expel: ExpeLSettings = ExpeLSettings()
    erl: ERLSettings = ERLSettings()
    autoguide: AutoGuideSettings = AutoGuideSettings()
    embedder: str = "static"
    episode_limits: Limits = Limits()
    run_limits: Limits = Limits()

    @property
    def caps(self) -> Caps:
        """The caps of replies: the settings', else short for the bundled models and roomy for others."""
        bundled = self.llm.base_url is None and self.llm.model in BUNDLED
        usual = SHORT if bundled else ROOMY
        return Caps(
            think=self.agent.think_tokens or usual.think,
            answer=self.agent.answer_tokens or usual.answer,
            note=self.agent.note_tokens or usual.note,
            action=self.agent.action_tokens or usual.action,
        )

    @property
    def digest(self) -> str:
        """A short hash of what decides the results (12 hex digits): workers, the run's limits and patience do not."""
        patience = {"timeout", "max_retries"}
        text = self.model_dump_json(exclude={"workers": True, "run_limits": True, "llm": patience})
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def load_recipe(path: str | Path, settings: Sequence[str] = ()) -> Recipe:
    """Read a recipe and put `key=value` settings (dotted keys, TOML values) over it.

    Raises:
        ConfigError: if the file is missing or no TOML, a key is unknown, or a value is of the wrong kind.
    """
    file = Path(path)
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        near = ", ".join(sorted(str(p) for p in Path("experiments").glob("*.toml"))) or "none in experiments/"
        raise ConfigError(f"expected a recipe at {file}, but there is no such file; recipes here: {near}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the recipe {file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the recipe {file} is not valid TOML: {error}") from error
    for setting in settings:
        _put(raw, setting)
    return make_recipe(raw)


def make_recipe(raw: Mapping[str, Any]) -> Recipe:
    """A checked recipe from plain data.

    Raises:
        ConfigError: with one line per fault; an unknown key is named with the nearest known one.
    """
    try:
        return Recipe.model_validate(raw)
    except ValidationError as error:
        raise ConfigError("; ".join(_fault(e) for e in error.errors())) from None


def settings_of(settings: Sequence[str]) -> dict[str, Any]:
    """`key=value` settings as nested data, unchecked.

    Raises:
        ConfigError: if one is not of that form.
    """
    raw: dict[str, Any] = {}
    for setting in settings:
        _put(raw, setting)
    return raw


def _put(raw: dict[str, Any], setting: str) -> None:
    key, sign, text = setting.partition("=")
    key = key.strip()
    if not sign or not key:
        raise ConfigError(f"expected a setting as key=value, such as llm.model=gpt-5-mini, but got {setting!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *folders, last = key.split(".")
    place = raw
    for folder in folders:
        inner = place.setdefault(folder, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{key} cannot be set: {folder} is a value, not a section")
        place = inner
    place[last] = value


def _fault(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(where, list(_keys(Recipe)), n=1, cutoff=0.5)
        if not near:
            ends = {key.rsplit(".", 1)[-1]: key for key in _keys(Recipe)}
            near = [ends[k] for k in difflib.get_close_matches(where.rsplit(".", 1)[-1], list(ends), n=1)]
        hint = f"did you mean {near[0]}?" if near else "see `seasoned run --help`"
        return f"there is no setting {where}; {hint}"
    if error["type"] == "missing":
        return f"the setting {where} is missing"
    return f"the setting {where} is wrong: {error['msg'].lower()}, but it is {error['input']!r}"


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{prefix}{name}.")
