"""Recipe: the settings of an experiment, read from TOML and `-c key=value`, and the profiles.

A profile is a paper's settings under one name; `profiles.toml` has them, each with its source in the paper. `small`
sets nothing.

Always holds: an unknown key is an error that names the nearest known one; only secrets are read from the environment; a
`Recipe` that is written as TOML and read again is the same recipe.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.base import read_toml
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
    FactsSettings,
    GateSettings,
    GatherSettings,
    Limits,
    LLMSettings,
    MethodSettings,
    ProbeSettings,
    ReflexionSettings,
    ScaffoldSettings,
    ToolSettings,
)
from seasoned.llm.opening import ModelSettings, Section

Profile = Literal["small", "paper"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

_PROFILES = Path(__file__).with_name("profiles.toml")
_LATER: dict[str, Any] = {
    **dict.fromkeys(("ranker", "longer", "llm.window", "learner.window", "agent.note_turns", "agent.example_notes")),
    **dict.fromkeys(f"expel.{key}" for key in ("room", "insight_chars", "insights_room")),
    **dict.fromkeys(f"erl.{key}" for key in ("room", "rank_room", "chars")),
    **dict.fromkeys(("autoguide.room", "autoguide.contexts_room", "method.retry_temperature")),
    "profile": "small",
    "fold_outcomes": "",
    "reflexion": {"memory": 3, "attempt_chars": None},
    "scaffold": {"worked": None, "begins": None, "filters": None},
    "agent.halt": "",
    "agent.omega": 1,
    "agent.epsilon": 30,
    "agent.cycle": 1,
    "agent.tests": 0,
    "gather.answers": False,
    "method.coupled": False,
}
"""Settings that older runs did not have, with the value that gives their behaviour."""


class Recipe(Section):
    """A whole experiment.

    `train` and `test` count cases, of which a block (a seed and fold) takes at most `limit`. With `folds` of 2 or more,
    both are pooled, and each fold is tested with lessons from the others. `curve` lists smaller training counts at
    which the first learning condition is evaluated. `repeats` is how often each test task is run, each time with
    another seed of the model. `workers` 0 means one per slot. `learner` is the model that writes insights, heuristics
    and guidelines, if it is not the acting model; it inherits no key of `llm`. `ranker` ranks heuristics, and `longer`
    gets the prompts that the acting or the learning model refuses as too long (ExpeL, appendix D.5). `user` plays the
    user if a benchmark has one, and `judge` decides tasks whose success is described in words; both use temperature 0.
    `tools` sets which tools an agent gets. `profile` decides whether lessons are written for small models or as in the
    papers; `profiles.py` has its settings. `fold_outcomes` names a run: folds are also balanced by the outcomes of its
    training attempts. With `trust`, lessons that stem only from an observation are not recalled; see
    `seasoned.trust.lineage`.
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
    user: ModelSettings | None = None
    judge: ModelSettings | None = None
    ranker: ModelSettings | None = None
    longer: ModelSettings | None = None
    profile: Profile = "small"
    fold_outcomes: str = ""
    agent: AgentSettings = AgentSettings()
    method: MethodSettings = MethodSettings()
    gather: GatherSettings = GatherSettings()
    gate: GateSettings = GateSettings()
    probe: ProbeSettings = ProbeSettings()
    reflexion: ReflexionSettings = ReflexionSettings()
    scaffold: ScaffoldSettings = ScaffoldSettings()
    expel: ExpeLSettings = ExpeLSettings()
    erl: ERLSettings = ERLSettings()
    autoguide: AutoGuideSettings = AutoGuideSettings()
    tools: ToolSettings = ToolSettings()
    facts: FactsSettings = FactsSettings()
    embedder: str = "static"
    trust: bool = False
    episode_limits: Limits = Limits()
    run_limits: Limits = Limits()

    @property
    def at_once(self) -> int:
        """How many attempts or learning calls run at once: by default one per slot of the local server, else 8."""
        return self.workers or (self.llm.slots if self.llm.base_url is None else 8)

    @property
    def caps(self) -> Caps:
        """The caps of replies: from the settings, else short for the bundled models and roomy for others."""
        defaults = SHORT if self.llm.bundled else ROOMY
        return Caps(
            think=self.agent.think_tokens or defaults.think,
            answer=self.agent.answer_tokens or defaults.answer,
            note=self.agent.note_tokens or defaults.note,
            action=self.agent.action_tokens or defaults.action,
        )

    @property
    def for_learning(self) -> Recipe:
        """The recipe for learning: its model is the learner, which also decides the caps of replies."""
        if self.learner is None:
            return self
        return self.model_copy(update={"llm": LLMSettings(**self.learner.model_dump())})

    def at_temperature(self, temperature: float) -> Recipe:
        """The recipe with another temperature of the agent."""
        return self.model_copy(update={"llm": self.llm.model_copy(update={"temperature": temperature})})

    def for_seed(self, seed: int) -> Recipe:
        """The recipe with this seed only, so that methods draw differently for each seed."""
        return self.model_copy(update={"seeds": (seed,)})

    @property
    def digest(self) -> str:
        """A hash (12 hex digits) of the settings that decide results: not workers, run limits, timeout, max_retries."""
        patience = {"timeout", "max_retries"}
        left_out: dict[str, Any] = {"workers": True, "run_limits": True, "llm": patience, "learner": patience}
        for name in ("trust", "user", "judge", "tools"):  # older recipes lack these and must keep their hash
            if getattr(self, name) == type(self).model_fields[name].default:
                left_out[name] = True
        raw = json.loads(self.model_dump_json(exclude=left_out))
        for path, default in _LATER.items():
            section, _, key = path.rpartition(".")
            place = raw.get(section) if section else raw
            if isinstance(place, dict) and place.get(key, default) == default:
                place.pop(key, None)
        text = json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def helps(self, aid: Literal["worked", "begins", "filters"], without: str = "") -> bool:
        """Whether an aid of the scaffold is on, for a condition that may work `without` one aid or "all"."""
        if without in (aid, "all"):
            return False
        chosen: bool | None = getattr(self.scaffold, aid)
        return self.profile == "small" if chosen is None else chosen


def load_recipe(path: str | Path, settings: Sequence[str] = (), profile: str = "") -> Recipe:
    """Read a recipe, and apply a profile, if any, and `key=value` settings (dotted keys, TOML values).

    The path is a file, or the name of a recipe that comes with Seasoned: `emoji`, `paper/expel_table2`. The recipe
    overrides the profile that it names, the given profile overrides the recipe, and the settings, in order, override
    both.

    Raises:
        ConfigError: the file is missing or not TOML, a key is unknown, or a value has the wrong type.
    """
    file = Path(path)
    try:
        raw = tomllib.loads(_own_recipe(file).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        there = [*own_recipes(), *sorted(str(p) for p in Path("experiments").glob("*.toml"))]
        near = difflib.get_close_matches(str(path), there, n=3, cutoff=0.5) or there
        raise ConfigError(f"there is no recipe {file}; there are {', '.join(near)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the recipe {file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the recipe {file} is not valid TOML: {error}") from error
    return make_recipe(_profiled(raw, settings, profile))


def _profiled(raw: dict[str, Any], settings: Sequence[str], asked: str) -> dict[str, Any]:
    """The raw recipe, overlaid with the profiles that it and the caller name, and with the settings last."""
    merged = settings_of(settings, raw)
    benchmark, profile = merged.get("benchmark"), merged.get("profile", "small")
    name = benchmark.get("name") if isinstance(benchmark, dict) else ""
    name = name if isinstance(name, str) else ""
    asked = asked or ("" if profile == raw.get("profile", "small") else profile)
    if asked:
        raw = laid_over(raw, profile_settings(str(asked), name))
    elif profile == "paper":
        raw = laid_over(profile_settings(profile, name), raw)
    else:
        return merged
    return settings_of(settings, raw)


def own_recipes() -> list[str]:
    """The names of the recipes that come with Seasoned."""
    folder = _recipes()
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.toml"))


def _recipes() -> Path:
    """The folder of recipes: in an installed package beside its modules, in a checkout `experiments`."""
    here = Path(__file__).resolve()
    installed = here.parents[1] / "recipes"
    return installed if installed.is_dir() else here.parents[4] / "experiments"


def _own_recipe(file: Path) -> Path:
    """The file; if it does not exist, the recipe of Seasoned that it names."""
    if file.exists() or file.is_absolute():
        return file
    name = file.as_posix().removeprefix("experiments/").removesuffix(".toml")
    return _recipes() / f"{name}.toml" if name in own_recipes() else file


def make_recipe(raw: Mapping[str, Any]) -> Recipe:
    """A checked recipe from plain data, or a ConfigError with all faults, in the words of `seasoned.lab.run.faults`."""
    try:
        return Recipe.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(faults(error, Recipe, raw)) from None


def settings_of(settings: Sequence[str], under: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`key=value` settings (else a ConfigError) as nested data, unchecked, merged over a copy of `under`."""
    raw = laid_over(under or {}, {})
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


def profile_settings(profile: str, benchmark: str) -> dict[str, Any]:
    """The settings of a profile for a benchmark, in the form of a recipe: the general ones, and the benchmark's if any.

    Raises:
        ConfigError: there is no such profile.
    """
    if profile not in PROFILES:
        raise ConfigError(f"there is no profile {profile!r}: there are {', '.join(PROFILES)}")
    if profile == "small":
        return {"profile": "small"}
    special = _papers().get(benchmark, {}) if benchmark != profile else {}
    return laid_over(_papers()[profile], special)


def laid_over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both, merged section by section; `over` wins."""
    both = {key: laid_over(value, {}) if isinstance(value, Mapping) else value for key, value in under.items()}
    for key, value in over.items():
        below = both.get(key)
        both[key] = laid_over(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


@cache
def _papers() -> dict[str, Any]:
    return read_toml(_PROFILES)
