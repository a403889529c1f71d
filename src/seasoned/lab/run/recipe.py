"""Recipe: what an experiment is, read from TOML and `-c key=value` settings.

Always holds: an unknown key is refused with the nearest right one, nothing is read from the environment but
secrets, and `Recipe` written as TOML and read again is the same recipe.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from seasoned.errors import ConfigError
from seasoned.lab.run.faults import faults
from seasoned.lab.run.settings import (
    ROOMY,
    SHORT,
    AgentSettings,
    AutoGuideSettings,
    BenchmarkChoice,
    Caps,
    ERLSettings,
    ExpeLSettings,
    GateSettings,
    GatherSettings,
    Limits,
    LLMSettings,
    MethodSettings,
)
from seasoned.llm.opening import ModelSettings, Section


class Recipe(Section):
    """A whole experiment.

    `train` and `test` count cases, of which a block (a seed and fold) takes at most `limit`. With `folds` of 2 or more
    both are taken together, and each fold is judged by what was learned on the others. `curve` lists smaller training
    counts to evaluate the first learning condition at. `repeats` is how often each test task is run, each time with
    other seeds of the model. `workers` 0 means one a slot. `learner` is the model that writes insights, heuristics and
    guidelines, where that is another than the one that acts; no key of `llm` is taken over.
    With `trust`, lessons whose content stems from an observation alone are not recalled; see `seasoned.trust.lineage`.
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
    learner: ModelSettings | None = None
    agent: AgentSettings = AgentSettings()
    method: MethodSettings = MethodSettings()
    gather: GatherSettings = GatherSettings()
    gate: GateSettings = GateSettings()
    expel: ExpeLSettings = ExpeLSettings()
    erl: ERLSettings = ERLSettings()
    autoguide: AutoGuideSettings = AutoGuideSettings()
    embedder: str = "static"
    trust: bool = False
    episode_limits: Limits = Limits()
    run_limits: Limits = Limits()

    @property
    def at_once(self) -> int:
        """How many attempts are made, or heuristics written, at once: as many as the local server has slots."""
        return self.workers or (self.llm.slots if self.llm.base_url is None else 8)

    @property
    def caps(self) -> Caps:
        """The caps of replies: the settings', else short for the bundled models and roomy for others."""
        usual = SHORT if self.llm.bundled else ROOMY
        return Caps(
            think=self.agent.think_tokens or usual.think,
            answer=self.agent.answer_tokens or usual.answer,
            note=self.agent.note_tokens or usual.note,
            action=self.agent.action_tokens or usual.action,
        )

    @property
    def for_learning(self) -> Recipe:
        """The recipe as methods learn by it: its model is the learner, whose kind decides the caps of replies."""
        if self.learner is None:
            return self
        return self.model_copy(update={"llm": LLMSettings(**self.learner.model_dump())})

    def for_seed(self, seed: int) -> Recipe:
        """The recipe with one seed alone: what methods draw by it then differs from seed to seed."""
        return self.model_copy(update={"seeds": (seed,)})

    @property
    def digest(self) -> str:
        """A short hash of what decides the results (12 hex digits): workers, the run's limits and patience do not."""
        patience = {"timeout", "max_retries"}
        left_out: dict[str, Any] = {"workers": True, "run_limits": True, "llm": patience, "learner": patience}
        if not self.trust:  # as before there was the setting
            left_out["trust"] = True
        text = self.model_dump_json(exclude=left_out)
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
        ConfigError: with every fault, as `seasoned.lab.run.faults` words them.
    """
    try:
        return Recipe.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(faults(error, Recipe, raw)) from None


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
