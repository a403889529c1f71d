"""Summary: the results of a run, which `summary.json` holds and every report shows.

Always holds: rates are 0..1 and null without episodes; differences and efficiency are in percentage points; seconds are
model seconds; an unknown cost is null. Intervals are Wilson's at 95%, with distinct tasks as trials. Version 2 always
has all fields of version 1; a summary of version 1 is read as version 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seasoned.errors import DataError
from seasoned.proof.gate import Look

VERSION: Literal[2] = 2
Interval = tuple[float, float]


class Part(BaseModel):
    """An immutable part of a summary; unknown fields that another version wrote are ignored."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    def to_json(self) -> dict[str, Any]:
        """The part in the form of `summary.json`."""
        return self.model_dump(mode="json", by_alias=True)


class Run(Part):
    """The caller's description of the run; additional fields are kept.

    `parameters` has the parameters of conditions, such as {"k": 10, "retrieve": "embedding"}.
    """

    model_config = ConfigDict(extra="allow")

    id: str = ""
    name: str = ""
    benchmark: str = ""
    source: str = ""
    model: str = ""
    learner: str = ""
    seeds: tuple[int | str, ...] = ()
    folds: int = 0
    repeats: int = 1
    conditions: tuple[str, ...] = ()
    parameters: dict[str, dict[str, Any]] = {}
    method: str | None = None
    started: str = ""
    finished: str = ""
    version: str = ""


class Tokens(Part):
    """Tokens of model calls; the cached ones are a part of the prompt."""

    prompt: int
    cached: int
    completion: int
    total: int


class Spent(Part):
    """The usage of calls: tokens, US dollars, calls really made, model seconds."""

    tokens: Tokens
    cost: float | None
    calls: int
    seconds: float


class Learning(Spent):
    """The usage of writing a condition's lessons, and the number of its problems (see `PoolProblems`)."""

    problems: int = 0


class Phases(Part):
    """The usage of a condition by part (ERL, table 4). Learning, recall and rollout add up to the total.

    Conditions that share their lessons have the same `learning`. `recall` has the calls of test episodes that rank or
    choose lessons, or reflect; `rollout` has the agent's turns. `others` are partners, such as a simulated user, and
    not part of the total.
    """

    learning: Spent
    recall: Spent
    rollout: Spent
    total: Spent
    others: dict[str, Spent] = {}


class Solved(Part):
    """The number of episodes that count, and how many of them were solved."""

    n: int
    successes: int


class Score(Solved):
    """`Solved` with the rate and its interval."""

    accuracy: float | None
    interval: Interval


class SeedScore(Solved):
    """The test episodes of one seed and fold."""

    seed: int
    fold: int
    accuracy: float | None


class Trial(Part):
    """The results up to a trial; 0 is the first attempt (Reflexion, figures 2 and 3; ExpeL, table 2).

    `attempts` were made in this trial; `solved` of `n` tasks were solved in it or before. `points` and `p` are against
    trial 0 (see `stats.paired`), and null for trial 0. `errors` are not in `n`; `reasons` counts how the last attempts
    at unsolved tasks ended.
    """

    trial: int
    attempts: int
    n: int
    solved: int
    accuracy: float | None
    interval: Interval
    points: float | None
    p: float | None
    errors: int
    reasons: dict[str, int]


class AtK(Part):
    """pass@k (at least one of k runs solves a task) and pass^k (all do): means over the n tasks with k or more runs."""

    k: int
    n: int
    pass_at: float = Field(alias="pass@k")
    pass_at_interval: Interval = Field(alias="pass@k_interval")
    pass_hat: float = Field(alias="pass^k")
    pass_hat_interval: Interval = Field(alias="pass^k_interval")


class Reliability(Part):
    """A condition over several runs of the test: the rate of each, their mean and its standard error.

    The errors are null for a single run. `reward` and `reward_error` are the same for the runs' mean rewards; null if
    no reward is known.
    """

    rates: tuple[float, ...]
    mean: float | None
    error: float | None
    reward: float | None = None
    reward_error: float | None = None
    figures: tuple[AtK, ...] = ()


class Condition(Score, Spent):
    """The test episodes of one condition.

    `tasks` is the number of distinct tasks in the n episodes; `lessons` is the mean size of a pool; `cached_share`
    leaves out the first episode; `turns` and `reward` are means; `mean` and `error` (standard) are over seeds and
    folds; `familiar` separates tasks that share their goal with a training task ("yes") from others ("no"), and is
    empty if the benchmark defines no goals; `outcomes` are as in ExpeL, figures 25 to 27; `trials` is empty unless
    tasks were tried again; `learning` is null if no lessons are written; `phases` is null in a summary of an older
    version.
    """

    name: str
    tasks: int
    errors: int
    trained_on: int
    lessons: float | None
    cached_share: float | None
    turns: float | None
    reward: float | None
    per_seed: tuple[SeedScore, ...]
    mean: float | None
    error: float | None
    categories: dict[str, Solved]
    familiar: dict[Literal["yes", "no"], Solved] = {}
    reasons: dict[str, int]
    outcomes: dict[Literal["success", "failed", "halted"], int]
    trials: tuple[Trial, ...] = ()
    reliability: Reliability
    learning: Learning | None = None
    phases: Phases | None = None
    experience: float | None = None


class Pair(Part):
    """Two conditions on the episodes that both finished; `points` is b's rate minus a's. See `stats.paired`."""

    a: str
    b: str
    n: int
    both: int
    only_a: int
    only_b: int
    neither: int
    points: float | None
    tasks: int
    test: Literal["mcnemar", "sign-flip"] = "mcnemar"
    p: float


class CurvePoint(Score):
    """A condition after `trained_on` training cases (ExpNote, figure 3); at the last point, of the largest fold."""

    condition: str
    trained_on: int
    tasks: int


class Transition(Part):
    """The outcomes of the baseline's failures and successes under a condition (ExpNote, figure 4)."""

    condition: str
    n: int
    ff: int = Field(alias="F=>F")
    ft: int = Field(alias="F=>T")
    tt: int = Field(alias="T=>T")
    tf: int = Field(alias="T=>F")


class Efficiency(Part):
    """Points gained per lesson (ExpNote, equation 4)."""

    condition: str
    type: Literal["positive", "negative"]
    lessons: float
    points: float
    points_per_lesson: float | None


class LessonEffect(Part):
    """A lesson and the outcomes of test tasks with it: no proof of its effect, since lessons are recalled together.

    `condition`, `seed` and `fold` are those of its learning ("" or null if unknown); `sources` counts its training
    attempts; `recalled` counts test episodes; `baseline_n`, `baseline_successes` and `baseline_accuracy` are of the
    same tasks under the baseline; `points` is the difference on the tasks that both finished.
    """

    id: str
    kind: str
    key: str
    text: str
    status: str
    importance: float
    condition: str
    seed: int | None
    fold: int | None
    sources: dict[Literal["solved", "unsolved"], int]
    recalled: int
    n: int
    successes: int
    accuracy: float | None
    baseline_n: int
    baseline_successes: int
    baseline_accuracy: float | None
    points: float | None


class OriginScore(Score):
    """A condition in one category of task, with its points over the baseline."""

    points: float | None


class Origin(Part):
    """Heuristics from successes and failures in one category ("" for all), and their scores (ERL, figure 2b)."""

    category: str
    lessons: dict[Literal["success", "failure"], int]
    conditions: dict[str, OriginScore]


class Judgements(Part):
    """How often a model judged its own attempts rightly, among those with a known outcome (ERL, appendix C.2).

    The wrong verdicts are `claimed` (a failure called a success) and `missed`.
    """

    n: int
    right: int
    accuracy: float | None
    interval: Interval
    claimed: int
    missed: int


class Steps(Part):
    """The mean figures per attempt of a condition, over all n attempts (ExpeL, table 6).

    A figure is null if the trajectories lack it. Tokens of thoughts, actions and observations are of Llama 2's
    vocabulary; guidance tokens are counted as in `erl-matched` (`seasoned.text.guidance_tokens`).
    """

    condition: str
    n: int
    thoughts: float | None
    actions: float | None
    invalid: float | None
    observations: float | None = None
    prompt_tokens: float
    completion_tokens: float
    calls: float
    thought_tokens: float | None = None
    action_tokens: float | None = None
    observation_tokens: float | None = None
    guidance_tokens: float | None = None


class GuidancePoint(Score):
    """A condition with its mean guidance tokens (ERL, figure 5).

    `points` and `p` are against few-shot-trajectories, and null for that condition.
    """

    condition: str
    guidance_tokens: float | None
    points: float | None
    p: float | None


class PoolProblems(Part):
    """The problems of learning a pool, in sentences, with the conditions that share it, its seed and fold."""

    conditions: tuple[str, ...]
    seed: int
    fold: int
    problems: tuple[str, ...]


class Gate(Part):
    """A gate's decision on a condition in one block: its looks at the gate tasks, the last of which decides.

    `of` is the condition whose lessons were tried; `excluded` tasks had a server error and count as ties; with
    `crossfit`, the gate tried the method, not this list of lessons.
    """

    condition: str
    of: str
    block: str
    planned: int
    candidates: int
    excluded: int
    looks: tuple[Look, ...]
    promoted: bool
    tokens: int
    crossfit: bool = False


class Probed(Part):
    """A probe's estimate for one lesson: its effect as a share of 1, raw and shrunk, from `uses` probe tasks.

    It certifies nothing. A lesson that was not recalled for any probe task has no estimate.
    """

    condition: str
    block: str
    lesson_id: str
    text: str
    uses: int
    raw: float
    effect: float
    deviation: float
    kept: bool


class TrainingPart(Solved):
    """The training attempts of one condition."""

    errors: int
    outcomes: dict[Literal["success", "failed", "halted"], int]
    trials: tuple[Trial, ...] = ()


class Training(Solved, Spent):
    """All training attempts: tasks, and usage including that of repeated attempts."""

    errors: int
    conditions: dict[str, TrainingPart]


class Summary(Part):
    """The results of a run.

    All conditions are compared with `baseline`; the headline is about `method` (null if there is none); `remarks` are
    sentences that a reader needs to understand the figures correctly; `pairs` has every two conditions, with the
    baseline as a; `cached_share` is the share of cached test prompts after each condition's first episode; `lessons`
    begin with the most recalled.
    """

    schema_version: Literal[2] = VERSION
    run: Run
    baseline: str
    method: str | None
    headline: str
    remarks: tuple[str, ...]
    conditions: tuple[Condition, ...]
    pairs: tuple[Pair, ...]
    curve: tuple[CurvePoint, ...]
    transitions: tuple[Transition, ...]
    efficiency: tuple[Efficiency, ...]
    cached_share: float | None
    lessons: tuple[LessonEffect, ...]
    origins: tuple[Origin, ...] = ()
    judgements: Judgements | None = None
    steps: tuple[Steps, ...] = ()
    guidance: tuple[GuidancePoint, ...] = ()
    problems: tuple[PoolProblems, ...] = ()
    gates: tuple[Gate, ...] = ()
    probes: tuple[Probed, ...] = ()
    training: Training

    def condition(self, name: str | None) -> Condition | None:
        """The condition of this name, or None."""
        return next((one for one in self.conditions if one.name == name), None)

    def pair(self, a: str, b: str | None) -> Pair | None:
        """The comparison of two conditions in this order, or None."""
        return next((pair for pair in self.pairs if (pair.a, pair.b) == (a, b)), None)


def parse_summary(value: object) -> Summary:
    """A summary from JSON, of this version or an earlier one; else a DataError, which does not name the run."""
    if not isinstance(value, Mapping) or not {"headline", "conditions", "run"} <= value.keys():
        raise DataError("does not hold a summary: expected a JSON object with a headline, conditions and run")
    version = value.get("schema_version", 1)
    if isinstance(version, int) and version > VERSION:
        raise DataError(f"is a summary of version {version}, and this program reads versions up to {VERSION}")
    try:
        return Summary.model_validate({**value, "schema_version": VERSION})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"has another form than this version writes ({where}: {first['msg']})") from error
