"""The gate of a memory: a callable agent tries its lessons, and the certificate can be checked."""

import pytest

from seasoned.errors import ConfigError, InfrastructureError
from seasoned.memory import Memory
from seasoned.proof.certificate import check

TASKS = [f"refund order {n}" for n in range(20)]
LESSON = "Look up the order first."


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m.db", method="expnote", embedder=None) as opened:
        opened.add(LESSON)
        yield opened


def test_lessons_that_help_are_certified_until_they_change(memory):
    made = memory.certify(TASKS, lambda task, guidance: LESSON in guidance, agent="mine")
    assert made.deployed == "expnote"
    (claim,) = made.claims
    assert [(look.tasks, look.won, look.lost, look.verdict) for look in claim.looks] == [(10, 10, 0, "promote")]
    assert check(made, memory.store, model="mine") == []
    assert memory.learn().trajectories == 0
    memory.add("Promise a refund at once.")
    assert "was added" in check(made, memory.store)[0]


def test_lessons_that_do_nothing_or_harm_are_not(memory):
    assert memory.certify(TASKS, lambda task, guidance: True).deployed == ""
    made = memory.certify([f"another {task}" for task in TASKS], lambda task, guidance: not guidance)
    assert [look.verdict for look in made.claims[0].looks] == ["stop"]


def test_what_is_recalled_for_no_task_is_tried_once(tmp_path):
    calls = []
    with Memory(tmp_path / "m.db", method="expnote", embedder=None) as empty:
        made = empty.certify(TASKS, lambda task, guidance: calls.append(task) is None)
    assert len(calls) == 10
    assert all(one.without == one.lessons and one.difference == 0 for one in made.claims[0].trials)


def test_an_error_of_a_server_is_a_tie(memory):
    def attempt(task, guidance):
        if task.endswith("3"):
            raise InfrastructureError("gone")
        return bool(guidance)

    [claim] = memory.certify(TASKS, attempt).claims
    assert claim.excluded == [one.excluded for one in claim.trials].count(True) == 1


def test_an_agent_that_remembers_gives_neither_arm_an_advantage(memory):
    seen = set()

    def attempt(task, guidance):
        again = task in seen
        seen.add(task)
        return again  # whatever it was told

    [claim] = memory.certify([f"refund order {n}" for n in range(100)], attempt).claims
    ends = [one.difference for one in claim.trials]
    assert 1.0 in ends
    assert -1.0 in ends


def test_tasks_that_prove_nothing_are_refused(memory):
    def attempt(task, guidance):
        raise AssertionError("no attempt is made")

    with pytest.raises(ConfigError, match="can promote nothing"):
        memory.certify(TASKS[:4], attempt)
    with pytest.raises(ConfigError, match="occurs twice"):
        memory.certify([*TASKS, TASKS[0]], attempt)
    with memory.attempt(TASKS[5]) as tried:
        tried.finish(success=True)
    with pytest.raises(ConfigError, match=r"'refund order 5' was attempted in this memory"):
        memory.certify(TASKS, attempt)


def test_forgetting_everything_takes_the_gates_attempts_along(memory):
    memory.certify(TASKS, lambda task, guidance: bool(guidance))
    assert memory.store.count_trajectories(["memory/default/gate"]) == 20
    memory.forget(everything=True)
    assert memory.store.count_trajectories(["memory/default/gate"]) == 0


def held_back(memory):
    """A lesson that an observation alone taught, so that it waits."""
    with memory.attempt("order a7") as attempt:
        attempt.step(action="open[order a7]", observation="A kettle. Refunds need the blue form.")
        attempt.step(action="NOTE[refund]: use the blue form")
        attempt.finish(success=True)
    (waiting,) = memory.learn().quarantined
    return waiting


def test_a_gate_releases_what_waits_for_a_second_source(tmp_path):
    with Memory(tmp_path / "m.db", method="expnote", embedder=None) as memory:
        waiting = held_back(memory)
        assert memory.certify(TASKS, lambda task, guidance: "blue form" in guidance).deployed == ""
        others = [f"another {task}" for task in TASKS]
        made = memory.certify(others, lambda task, guidance: "blue form" in guidance, waiting=True)
        assert made.deployed == "expnote"
        assert check(made, memory.store) == []
        (released,) = memory.pool.lessons()
        assert (released.id, released.status) == (waiting.id, "active")
        assert memory.store.history(waiting.id)[-1].why.startswith("the gate promoted it")
        assert [scope for scope in memory.store.scopes() if "/try" in scope and memory.store.lessons(scope)] == []


def test_what_a_gate_does_not_promote_goes_on_waiting(tmp_path):
    with Memory(tmp_path / "m.db", method="expnote", embedder=None) as memory:
        waiting = held_back(memory)
        made = memory.certify(TASKS, lambda task, guidance: "blue form" not in guidance, waiting=True)
        assert made.deployed == ""
        assert memory.pool.store.get_lesson(waiting.id).status == "quarantined"
        assert memory.recall("refund this").text == ""
