"""Other models that take part in an attempt: a user and a judge."""

import json
from dataclasses import replace

import pytest

from seasoned.errors import BudgetExceeded, ConfigError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run import partners, plan
from seasoned.lab.run.partners import for_recipe
from seasoned.llm import opening
from seasoned.llm.scripted import ScriptedModel


class Asking:
    """An environment that asks the user once before each case."""

    def __init__(self, env, user):
        self.env, self.user = env, user

    def reset(self, task, *, seed=None):
        said = self.user.chat([{"role": "user", "content": "What do you want?"}]).text
        observation, info = self.env.reset(task, seed=seed)
        return f"{said}\n{observation}", info

    def step(self, action):
        return self.env.step(action)

    def close(self):
        self.env.close()


@pytest.fixture
def spoken(monkeypatch):
    """EMOJI with a user, and with a judge for its first test task."""
    load = load_benchmark

    def with_user(name, options, *, seed):
        emoji = load(name, options, seed=seed)
        return replace(
            emoji,
            models=("user",),
            judged=frozenset({emoji.test[0].id, emoji.train[0].id}),
            with_models=lambda reveal, models: Asking(emoji.make_env(reveal), models["user"]),
        )

    monkeypatch.setattr(plan, "load_benchmark", with_user)


@pytest.fixture
def users(monkeypatch):
    """The models that are opened, by name."""
    opened = {}

    class Open:
        def __init__(self, settings):
            self.model = opened.setdefault(settings.model, ScriptedModel(lambda messages: "A code.", name="customer"))

        def __enter__(self):
            return self.model

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(opening, "open_llm", Open)
    return opened


def test_the_users_calls_are_metered_apart(recipe, go, spoken, users, journal):
    directory = go(recipe(conditions=["disabled"], user={"model": "someone"}))
    rows = [json.loads(line) for line in (directory / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 5
    assert all(row["others"]["user"]["calls"] == 1 for row in rows)
    assert len(users["someone"].requests) == 5
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    phases = summary["conditions"][0]["phases"]
    assert phases["others"]["user"]["calls"] == 5
    assert phases["total"]["calls"] == sum(row["usage"]["calls"] for row in rows)
    assert "the user, apart" in (directory / "report.html").read_text(encoding="utf-8")
    assert json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["user"] == "customer"
    assert "left out" in summary["run"]["source"]


def test_they_count_against_the_runs_limits_and_not_the_episodes(recipe, go, spoken, users):
    go(recipe(conditions=["disabled"], user={"model": "someone"}, episode_limits={"calls": 3}))
    with pytest.raises(BudgetExceeded):
        go(recipe(conditions=["disabled"], user={"model": "someone"}, run_limits={"calls": 16}, test=6))


def test_a_model_that_is_the_agents_own_is_not_opened_twice(recipe, go, spoken, users, apprentice):
    def both(messages):
        return "A code." if messages[0]["content"] == "What do you want?" else apprentice(messages)

    go(recipe(conditions=["disabled"], user={}), llm=ScriptedModel(both))
    assert users == {}


def test_tasks_that_need_a_judge_are_left_out_without_one(recipe, spoken):
    whole = plan.load_benchmark("emoji", {}, seed=0)
    without = for_recipe(whole, recipe(user={}))
    assert whole.test[0] not in without.test
    assert len(without.test) == len(whole.test) - 1
    assert "2 tasks that need a judge are left out" in without.source
    assert for_recipe(whole, recipe(user={}, judge={})).test == whole.test


def test_a_recipe_names_those_that_take_part(recipe, spoken):
    with pytest.raises(ConfigError, match=r"a model plays the user: .* -c user\.model"):
        plan.make_plan(recipe())


def test_and_no_others(recipe):
    emoji = load_benchmark("emoji", {}, seed=0)
    for part in ("user", "judge"):
        with pytest.raises(ConfigError, match=f"names a {part}.*leave it out"):
            for_recipe(emoji, recipe(**{part: {}}))
    assert partners.partners_of(recipe()) == {}
    assert recipe().digest == recipe(user=None).digest != recipe(user={}).digest
