"""A part of a run: what its steps share, and its episodes with their journal, limits and record."""

from pathlib import Path

import pytest

from seasoned.errors import AuthError, BudgetExceeded, InfrastructureError, RefusedError, RequestError
from seasoned.lab.run.answering import direct
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.part import Part, Session, seed_shift, trial_by_trial, until_solved
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.settings import Limits
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Guidance, Outcome, Trajectory

KEY = "s0f0/zero-shot/1"
ABOUT = {"benchmark": "emoji", "condition": "zero-shot", "seed": 0, "fold": 0, "split": "test", "trained_on": 0}
ABOUT |= {"trial": 0, "repeat": 0}
RANK = [{"role": "user", "content": "rank these"}]


@pytest.fixture
def parts(recipe):
    def make(**changes):
        plan = make_plan(recipe(**changes))
        session = Session(None, Path("runs/one"), ScriptedModel([]), Limits(), {})
        return [Part(plan, block, session, Watch(0, quiet=True)) for block in plan.blocks]

    return make


def test_each_part_has_its_own_seed_and_pools(parts):
    first, second = parts(seeds=[3, 5])
    assert (first.recipe.seeds, second.recipe.seeds) == ((3,), (5,))
    assert first.benchmark is first.block.benchmark
    assert [part.experience for part in (first, second)] == ["one/s3f0/training", "one/s5f0/training"]
    assert first.scope("s3f0/erl") == "one/s3f0/erl"


def test_no_two_attempts_draw_with_the_same_seed():
    keys = [EpisodeKey("s0f0", "erl", "a", 0, turn, trial) for trial in range(4) for turn in range(100)]
    drawn = [seed_shift(key, alike=False) for key in keys]
    assert len(set(drawn)) == len(drawn)
    assert 0 not in drawn
    assert {seed_shift(key, alike=True) for key in keys} == {0}


@pytest.fixture
def plan(recipe):
    return make_plan(recipe(conditions=["zero-shot", "expnote"], baseline="zero-shot"))


@pytest.fixture
def session(store):
    store.add_run("r", "n", "p", {})

    def make(llm, limits=None, done=None):
        return Session(store, Path("r"), llm, limits or Limits(), done or {})

    return make


@pytest.fixture
def attempt(plan, session):
    """Makes an attempt at the first test task, or at another, with a model or in a session."""

    def make(llm_or_session, key=KEY, *, recall=lambda aside, progress: Guidance(), task=0, **options):
        shared = llm_or_session if isinstance(llm_or_session, Session) else session(llm_or_session, **options)
        part = Part(plan, plan.blocks[0], shared, Watch(0, quiet=True))
        parsed = EpisodeKey.parse(key)
        part.watch.stage(parsed.condition, 1)
        return part.episode(parsed, part.block.test[task], direct("zero-shot"), recall)

    return make


@pytest.fixture
def right(plan):
    """The right answer to the first test task, as a reply."""
    return [f'"{plan.blocks[0].test[0].data["answer"]}"']


def test_an_attempt_is_stored_under_its_key_with_what_it_was(attempt, right, store):
    made = attempt(ScriptedModel(right))
    assert store.episodes("r") == {"s0f0/zero-shot/1": made}
    assert store.trajectories("r/s0f0/zero-shot/test") == [made]
    assert made.outcome.success is True
    assert made.benchmark == "emoji"
    assert made.meta == {**ABOUT, "invalid": 0}


def test_what_is_done_is_not_made_again(attempt, right):
    made = attempt(ScriptedModel(right))
    silent = ScriptedModel([])
    assert attempt(silent, done={EpisodeKey.parse(KEY): made}) is made
    assert silent.requests == []


def test_a_reply_is_in_the_journal_before_it_is_used(attempt, right, store, monkeypatch):
    def full(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "save_episode", full)
        with pytest.raises(KeyboardInterrupt):
            attempt(ScriptedModel(right))
    assert store.episodes("r") == {}
    made = attempt(ScriptedModel([]))
    assert made.outcome.success is True
    assert (made.usage.calls, made.usage.replayed) == (0, 1)


def test_episodes_that_share_their_journal_ask_once_and_others_again(attempt, right):
    model = ScriptedModel(right * 3)
    attempt(model, "s0f0/a/1")
    assert attempt(model, "s0f0/b/1").usage.replayed == 1
    assert len(model.requests) == 1
    attempt(model, "s0f0/b/2")
    assert len(model.requests) == 2


def ranking(shared):
    """A recall that calls the model."""

    def recall(aside, progress):
        shared.journaled("s0f0/zero-shot/1/recall", aside).chat(RANK)
        return Guidance()

    return recall


def test_what_recall_asked_is_paid_for_by_the_episode(attempt, right, session):
    shared = session(ScriptedModel(["[]", *right]))
    made = attempt(shared, recall=ranking(shared))
    assert made.usage.calls == 2
    assert made.meta["aside"]["calls"] == 1
    assert 0 < made.meta["aside"]["prompt_tokens"] < made.usage.prompt_tokens


def test_an_episodes_limit_is_an_outcome_and_the_runs_is_raised(attempt, right, store):
    made = attempt(ScriptedModel(right), limits=Limits(calls=0))
    assert (made.outcome.success, made.outcome.reason) == (False, "budget")
    with pytest.raises(BudgetExceeded):
        attempt(Metered(ScriptedModel(right), Budget(calls=0), scope="run"), "s0f0/zero-shot/2")
    assert "s0f0/zero-shot/2" not in store.episodes("r")


def test_what_recalls_and_who_acts_share_one_budget(attempt, right, session):
    model = ScriptedModel(["[]", *right])
    shared = session(model, Limits(calls=1))
    made = attempt(shared, recall=ranking(shared))
    assert (made.outcome.success, made.outcome.reason, made.usage.calls) == (False, "budget", 1)
    assert len(model.requests) == 1


def test_a_limit_that_is_crossed_before_the_agent_begins_is_an_outcome_too(attempt):
    model = ScriptedModel([])

    def guided(scope):
        meter = Metered(model, Budget(calls=0), scope=scope)
        return lambda aside, progress: meter.chat(RANK)

    made = attempt(model, recall=guided("episode"))
    assert (made.outcome.success, made.outcome.reason) == (False, "budget")
    assert "budget of 0 calls" in made.outcome.detail
    with pytest.raises(BudgetExceeded):
        attempt(model, "s0f0/zero-shot/2", recall=guided("run"))


def test_a_server_error_is_recorded_and_a_wrong_key_stops(attempt):
    made = attempt(ScriptedModel([InfrastructureError("gone")]))
    assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (None, "error", "gone")
    with pytest.raises(AuthError):
        attempt(ScriptedModel([AuthError("wrong key")]), "s0f0/zero-shot/2")


def test_only_errors_in_a_row_are_counted(attempt, right, session, store):
    gone = InfrastructureError("gone")
    shared = session(ScriptedModel([*[gone] * 4, *right, *[gone] * 5]))
    for n in range(9):
        attempt(shared, f"s0f0/zero-shot/{n}")
    with pytest.raises(InfrastructureError, match="5 episodes in a row"):
        attempt(shared, "s0f0/zero-shot/9")
    assert len(store.episodes("r")) == 10


def test_a_prompt_that_is_refused_is_an_error_of_its_task_alone(attempt, session):
    model = ScriptedModel([RefusedError("filtered")] * 12)
    shared = session(model)
    for n in range(6):
        made = attempt(shared, f"s0f0/zero-shot/{n}")
        assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (None, "error", "filtered")
        assert made.meta["refused"] is True
    made = attempt(shared, "s0f0/zero-shot/6", recall=lambda aside, progress: model.chat([]))
    assert (made.outcome.reason, made.meta) == ("error", {"refused": True, **ABOUT})
    with pytest.raises(RequestError):
        attempt(ScriptedModel([RequestError("no such model")]), "s0f0/zero-shot/7")


def test_a_request_that_is_refused_at_every_task_stops_the_run(attempt, session):
    shared = session(ScriptedModel([RefusedError("no such field")] * 5))
    for task in range(4):
        attempt(shared, f"s0f0/zero-shot/{task}", task=task)
    with pytest.raises(InfrastructureError, match=r"5 episodes in a row.*no such field"):
        attempt(shared, "s0f0/zero-shot/4", task=4)


def made(success, reason="won"):
    return Trajectory(id="t", task_id="t", task="x", outcome=Outcome(success=success, reason=reason))


@pytest.mark.parametrize(
    ("outcomes", "retries", "tries"),
    [([True], 3, 1), ([False, True], 3, 2), ([False] * 9, 3, 4), ([False] * 9, 0, 1), ([None], 3, 1)],
)
def test_one_task_is_tried_until_it_is_solved(outcomes, retries, tries):
    """A None is an attempt that a server ended: it is no failure to learn from."""
    assert len(until_solved(lambda trial: made(outcomes[trial]), retries)) == tries


def test_trials_stop_when_nothing_more_is_solved():
    solved_at = {"a": 0, "b": 3, "c": 9}
    tried = trial_by_trial(
        lambda task, trial: made(trial >= solved_at[task]),
        list(solved_at),
        9,
        2,
        lambda work, each: list(map(work, each)),
    )
    assert [len(trials) for trials in tried] == [
        1,
        3,
        3,
    ]  # the trials 1 and 2 solved nothing: b never gets to its third
    patient = trial_by_trial(
        lambda task, trial: made(trial >= solved_at[task]),
        list(solved_at),
        9,
        3,
        lambda work, each: list(map(work, each)),
    )
    assert [len(trials) for trials in patient] == [1, 4, 7]
