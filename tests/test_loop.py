"""The loop as plain functions: what ends an attempt, what is learned from, and what an evaluation may see."""

from functools import partial

import pytest

from seasoned.errors import BudgetExceeded, ConfigError, InfrastructureError, LeakError, RefusedError, StoreError
from seasoned.loop import attempt, check_no_leak, evaluate, learn, recall, record
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Guidance, Lesson, Outcome, Task, Trajectory

TASK = Task(id="one", text="Open the door.", category="doors")


class Room:
    closed = 0

    def close(self):
        type(self).closed += 1


class Follower:
    """Does what it is told, and asks again on the way where it may."""

    def run(self, task, env, guidance, advise=None):
        end = Outcome(success=bool(guidance.text), reason="answered")
        asked = advise(Trajectory(task_id=task.id, task=task.text)).text if advise else "nobody to ask"
        return Trajectory(task_id=task.id, task=task.text, outcome=end, guidance=f"{guidance.text}|{asked}")


class Keeper:
    """Keeps the texts of tasks; recalls all of them."""

    def __init__(self, writes=False):
        self.writes = writes

    def learn(self, trajectories, pool):
        pool.add([Lesson(kind="insight", text=t.task, sources=(t.id,)) for t in trajectories])

    def recall(self, task, pool, progress=None):
        if self.writes:
            pool.add(Lesson(kind="insight", text="sneaked in"))
        lessons = tuple(pool.lessons())
        return Guidance(lessons=lessons, text=" ".join(lesson.text for lesson in lessons))


@pytest.fixture
def pool(tmp_path):
    with Store(tmp_path / "loop.db") as store:
        yield ExperiencePool(store, "doors")


def done(name, reason="answered"):
    success = None if reason == "error" else True
    return Trajectory(task_id=name, task=f"task {name}", outcome=Outcome(success=success, reason=reason))


def test_guidance_is_recalled_before_and_on_the_way():
    def told(progress):
        return Guidance(text="first" if progress is None else "then")

    assert attempt(Follower(), Room(), TASK, told).guidance == "first|then"
    assert attempt(Follower(), Room(), TASK, told, once=True).guidance == "first|nobody to ask"
    assert attempt(Follower(), Room(), TASK).guidance == "|nobody to ask"


@pytest.mark.parametrize(
    ("error", "success", "reason", "meta"),
    [
        (InfrastructureError("gone"), None, "error", {}),
        (RefusedError("filtered"), None, "error", {"refused": True}),
        (BudgetExceeded("enough", "episode"), False, "budget", {}),
    ],
)
def test_what_ends_an_attempt_before_it_began_is_its_outcome(error, success, reason, meta):
    def fails(progress):
        raise error

    made = attempt(Follower(), Room(), TASK, fails)
    assert (made.task_id, made.task, made.category) == (TASK.id, TASK.text, TASK.category)
    assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (success, reason, str(error))
    assert made.meta == meta


@pytest.mark.parametrize("error", [BudgetExceeded("all spent", "run"), ConfigError("wrong")])
def test_other_errors_are_raised(error):
    def fails(progress):
        raise error

    with pytest.raises(type(error)):
        attempt(Follower(), Room(), TASK, fails)


def test_nothing_is_learned_from_what_a_server_broke_off(pool):
    attempts = record([done("a"), done("b", "error")], pool)
    assert pool.trajectories() == attempts
    learn(Keeper(), attempts, pool)
    assert [lesson.text for lesson in pool.lessons()] == ["task a"]


def test_what_is_recalled_can_be_checked(pool):
    learn(Keeper(), record([done("a")], pool), pool)
    assert recall(Keeper(), TASK, pool).text == "task a"
    check = partial(check_no_leak, training=[], test_ids=frozenset())
    with pytest.raises(LeakError, match="not a training attempt"):
        recall(Keeper(), TASK, pool, check=check)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_evaluation_attempts_each_task_once_and_keeps_nothing(pool, workers):
    learn(Keeper(), record([done("a")], pool), pool)
    tasks, before = [Task(id=str(n), text=f"door {n}") for n in range(5)], Room.closed
    made = evaluate(Follower(), Room, tasks, Keeper(), pool, workers=workers)
    assert [(t.task_id, t.outcome.success) for t in made] == [(task.id, True) for task in tasks]
    assert [t.outcome.success for t in evaluate(Follower(), Room, tasks)] == [False] * 5
    assert (len(pool.trajectories()), len(pool.lessons())) == (1, 1)
    assert Room.closed == before + 10
    assert not pool.read_only


def test_an_evaluation_refuses_what_leaks_and_what_writes(pool):
    learn(Keeper(), record([done("a")], pool), pool)
    with pytest.raises(LeakError, match="the task a, which is to be evaluated"):
        evaluate(Follower(), Room, [Task(id="a", text="task a")], Keeper(), pool)
    with pytest.raises(StoreError, match="read-only"):
        evaluate(Follower(), Room, [TASK], Keeper(writes=True), pool)
    pool.add(Lesson(kind="insight", text="x", sources=("tra-manual",)))
    with pytest.raises(LeakError, match="tra-manual"):
        evaluate(Follower(), Room, [TASK], Keeper(), pool)
    assert evaluate(Follower(), Room, [TASK], Keeper(), pool, besides=frozenset({"tra-manual"}))


TRAINING = [Trajectory(id="tra-1", task_id="one", task="x"), Trajectory(id="tra-2", task_id="two", task="x")]


def lesson(*sources):
    return Guidance(lessons=(Lesson(kind="note", text="x", sources=sources),))


def test_what_comes_from_training_passes():
    check_no_leak(lesson("tra-1", "tra-2"), TRAINING, frozenset({"three"}))
    check_no_leak(Guidance(demonstrations=(TRAINING[0],)), TRAINING, frozenset({"three"}))
    check_no_leak(Guidance(), [], frozenset())


def test_worked_examples_may_be_shown_and_learned_from():
    written = Trajectory(id="manual-1", task_id="manual-1", task="x")
    told = lesson("manual-1", "tra-1") + Guidance(demonstrations=(written,))
    check_no_leak(told, TRAINING, frozenset({"two"}), besides=frozenset({"manual-1"}))
    for each in (lesson("manual-1"), Guidance(demonstrations=(written,))):
        with pytest.raises(LeakError, match="not a training attempt"):
            check_no_leak(each, TRAINING, frozenset({"two"}))


@pytest.mark.parametrize(
    ("guidance", "says"),
    [
        (lesson("tra-1", "tra-9"), "tra-9, which is not a training attempt"),
        (lesson("tra-2"), "the task two, which is to be evaluated"),
        (Guidance(demonstrations=(Trajectory(task_id="one", task="x"),)), "not a training attempt of this fold"),
        (Guidance(demonstrations=(TRAINING[1],)), "not a training attempt of this fold"),
    ],
)
def test_what_does_not_is_a_leak(guidance, says):
    with pytest.raises(LeakError, match=says):
        check_no_leak(guidance, TRAINING, frozenset({"two"}))
