"""One attempt: its journal, its limits, its record."""

from pathlib import Path

import pytest

from seasoned.agents.direct import Direct
from seasoned.errors import AuthError, BudgetExceeded, InfrastructureError, RefusedError, RequestError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.episode import Session, episode
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.settings import Limits
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.scripted import ScriptedModel
from seasoned.loop import attempt as attempt_task
from seasoned.types import Guidance

KEY = "s0f0/zero-shot/1"
META = {"benchmark": "emoji", "condition": "zero-shot", "seed": 0, "fold": 0, "split": "test", "trained_on": 0}


@pytest.fixture
def benchmark():
    return load_benchmark("emoji", {"symbols": "codes"}, seed=0)


@pytest.fixture
def attempt(store, benchmark):
    store.add_run("r", "n", "p", {})

    def make(
        llm, *, key=KEY, limits=None, done=None, session=None, guide=Guidance, journal=None, spent=None, aside=None
    ):
        session = session or Session(store, Path("r"), llm, limits or Limits(), done or {})
        key = EpisodeKey.parse(key)

        def act():
            model = session.journaled(journal or str(key), spent or session.meter(), turns=True)
            agent = Direct(llm=model, instruction="Answer.")
            return attempt_task(agent, benchmark.make_env(False), benchmark.test[0], lambda progress: guide())

        return episode(session, key, "pool", act, META, aside)

    return make


def right(benchmark):
    return [f'"{benchmark.test[0].data["answer"]}"']


def test_an_attempt_is_stored_under_its_key_with_what_it_was(attempt, benchmark, store):
    made = attempt(ScriptedModel(right(benchmark)))
    assert store.episodes("r") == {"s0f0/zero-shot/1": made}
    assert store.trajectories("pool") == [made]
    assert made.outcome.success is True
    assert made.benchmark == "emoji"
    assert META.items() <= made.meta.items()


def test_what_is_done_is_not_made_again(attempt, benchmark):
    made = attempt(ScriptedModel(right(benchmark)))
    silent = ScriptedModel([])
    assert attempt(silent, done={EpisodeKey.parse(KEY): made}) is made
    assert silent.requests == []


def test_a_reply_is_in_the_journal_before_it_is_used(attempt, benchmark, store, monkeypatch):
    def full(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "save_episode", full)
        with pytest.raises(KeyboardInterrupt):
            attempt(ScriptedModel(right(benchmark)))
    assert store.episodes("r") == {}
    made = attempt(ScriptedModel([]))
    assert made.outcome.success is True
    assert (made.usage.calls, made.usage.replayed) == (0, 1)


def test_episodes_that_share_their_journal_ask_once_and_others_again(attempt, benchmark):
    model = ScriptedModel(right(benchmark) * 3)
    attempt(model, key="s0f0/a/1", journal="s0f0/1")
    assert attempt(model, key="s0f0/b/1", journal="s0f0/1").usage.replayed == 1
    assert len(model.requests) == 1
    attempt(model, key="s0f0/c/1")
    assert len(model.requests) == 2


def test_what_recall_asked_is_paid_for_by_the_episode(attempt, benchmark, store):
    model = ScriptedModel(["[]", *right(benchmark)])
    session = Session(store, Path("r"), model, Limits(), {})
    aside = Metered(model)
    alone = session.journaled("s0f0/zero-shot/1/recall", aside).chat([{"role": "user", "content": "rank these"}])
    made = attempt(model, session=session, aside=aside)
    assert made.usage.calls == 2
    assert made.meta["aside"] == alone.usage.model_dump()
    assert made.meta["aside"]["prompt_tokens"] > 0
    assert attempt(
        model, key="s0f0/other/1", session=Session(store, Path("r"), ScriptedModel(right(benchmark)), Limits(), {})
    ).meta == {
        **META,
        "invalid": 0,
    }


def test_an_episodes_limit_is_an_outcome_and_the_runs_is_raised(attempt, benchmark, store):
    made = attempt(ScriptedModel(right(benchmark)), limits=Limits(calls=0))
    assert (made.outcome.success, made.outcome.reason) == (False, "budget")
    with pytest.raises(BudgetExceeded):
        attempt(Metered(ScriptedModel(right(benchmark)), Budget(calls=0), scope="run"), key="s0f0/zero-shot/2")
    assert "s0f0/zero-shot/2" not in store.episodes("r")


def test_what_recalls_and_who_acts_share_one_budget(attempt, benchmark, store):
    model = ScriptedModel(["[]", *right(benchmark)])
    session = Session(store, Path("r"), model, Limits(calls=1), {})
    spent = session.meter()
    aside = Metered(model, parent=spent)

    def guide():
        session.journaled("s0f0/zero-shot/1/recall", aside).chat([{"role": "user", "content": "rank these"}])
        return Guidance()

    made = attempt(model, session=session, guide=guide, spent=spent, aside=aside)
    assert (made.outcome.success, made.outcome.reason, made.usage.calls) == (False, "budget", 1)
    assert len(model.requests) == 1


def test_a_limit_that_is_crossed_before_the_agent_begins_is_an_outcome_too(attempt, store, benchmark):
    model = ScriptedModel([])

    def guided(scope):
        meter = Metered(model, Budget(calls=0), scope=scope)
        return lambda: meter.chat([{"role": "user", "content": "rank these"}])

    made = attempt(model, guide=guided("episode"))
    assert (made.outcome.success, made.outcome.reason) == (False, "budget")
    assert "budget of 0 calls" in made.outcome.detail
    with pytest.raises(BudgetExceeded):
        attempt(model, guide=guided("run"), key="s0f0/zero-shot/2")


def test_a_server_error_is_recorded_and_a_wrong_key_stops(attempt):
    made = attempt(ScriptedModel([InfrastructureError("gone")]))
    assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (None, "error", "gone")
    with pytest.raises(AuthError):
        attempt(ScriptedModel([AuthError("wrong key")]), key="s0f0/zero-shot/2")


def test_only_errors_in_a_row_are_counted(attempt, benchmark, store):
    gone = InfrastructureError("gone")
    model = ScriptedModel([*[gone] * 4, *right(benchmark), *[gone] * 5])
    session = Session(store, Path("r"), model, Limits(), {})
    for n in range(9):
        attempt(model, key=f"s0f0/zero-shot/{n}", session=session)
    with pytest.raises(InfrastructureError, match="5 episodes in a row"):
        attempt(model, key="s0f0/zero-shot/9", session=session)
    assert len(store.episodes("r")) == 10


def test_a_prompt_that_is_refused_is_an_error_of_its_task_alone(attempt, benchmark, store):
    model = ScriptedModel([RefusedError("filtered")] * 12)
    session = Session(store, Path("r"), model, Limits(), {})
    for n in range(6):
        made = attempt(model, key=f"s0f0/zero-shot/{n}", session=session)
        assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (None, "error", "filtered")
        assert made.meta["refused"] is True
    made = attempt(model, key="s0f0/zero-shot/6", session=session, guide=lambda: model.chat([]))
    assert (made.outcome.reason, made.meta) == ("error", {"refused": True, **META})
    with pytest.raises(RequestError):
        attempt(ScriptedModel([RequestError("no such model")]), key="s0f0/zero-shot/7")


def test_a_request_that_is_refused_at_every_task_stops_the_run(benchmark, store):
    store.add_run("r", "n", "p", {})
    model = ScriptedModel([RefusedError("no such field")] * 5)
    session = Session(store, Path("r"), model, Limits(), {})

    def at(task):
        agent = Direct(llm=model, instruction="x")
        key = EpisodeKey("s0f0", "z", task.id)
        return episode(session, key, "pool", lambda: attempt_task(agent, benchmark.make_env(False), task), META)

    for task in benchmark.test[:4]:
        at(task)
    with pytest.raises(InfrastructureError, match=r"5 episodes in a row.*no such field"):
        at(benchmark.test[4])
