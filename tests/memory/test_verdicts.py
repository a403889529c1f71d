"""Late outcomes: both verdicts in the record, and what was learned from a wrong one."""

import pytest

from seasoned.errors import ConfigError, StoreError
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory.verdicts import META
from seasoned.types import Lesson, Step, Trajectory


def tried(memory, success=None, task="refund order 17"):
    with memory.attempt(task) as attempt:
        attempt.step(action="refund(17)", observation="done")
        return attempt.finish(success=success, answer="refunded")


def test_a_late_outcome_keeps_both_verdicts_with_time_and_author(memory):
    made = tried(memory)
    now = memory.outcome(made.id, success=False, why="customer came back")
    assert now == memory.store.get_trajectory(made.id)
    assert (now.outcome.success, now.outcome.reward, now.outcome.answer) == (False, 0.0, "refunded")
    first, second = now.meta[META]
    assert first == {"success": None, "reward": None, "at": made.created, "who": "agent", "why": ""}
    assert (second["success"], second["who"], second["why"]) == (False, "person", "customer came back")
    assert second["at"] > first["at"]
    third = memory.outcome(made.id, success=0.7, who="rule").meta[META]
    assert [each["success"] for each in third] == [None, False, False]
    assert third[-1]["reward"] == 0.7


def test_a_reward_beside_the_verdict(memory):
    made = tried(memory)
    assert memory.outcome(made.id, success=True, reward=0.6).outcome.reward == 0.6


@pytest.mark.parametrize("success", [None, "yes", float("nan")])
def test_a_verdict_says_how_it_ended(memory, success):
    made = tried(memory)
    with pytest.raises(ConfigError):
        memory.outcome(made.id, success=success)
    assert META not in memory.store.get_trajectory(made.id).meta


def test_an_attempt_of_another_namespace_is_not_there(opened):
    made = tried(opened(namespace="ann"))
    with pytest.raises(StoreError, match="there is no attempt"):
        opened(namespace="ben").outcome(made.id, success=True)
    with pytest.raises(StoreError, match="there is no attempt 'tra-none'"):
        opened().outcome("tra-none", success=True)


def test_what_a_wrong_verdict_taught_is_taken_back_and_it_is_learned_from_anew(opened, diary):
    method = diary()
    memory = opened(method)
    made = tried(memory, success=True)
    [lesson] = memory.learn().lessons
    memory.outcome(made.id, success=False, why="customer came back")
    assert memory.lessons() == []
    change = memory.store.history(lesson.id)[-1]
    assert (change.lesson.status, change.who) == ("deleted", "rule")
    assert change.why == f"{made.id} was taken for a success, and is a failure: customer came back"
    assert memory.learn().trajectories == 1
    assert method.given == [["refund order 17"]] * 2
    assert memory.learn().trajectories == 0


def test_the_same_verdict_changes_nothing_that_was_learned(memory):
    made = tried(memory, success=True)
    memory.learn()
    memory.outcome(made.id, success=True, why="checked")
    assert len(memory.lessons()) == 1
    assert memory.learn().trajectories == 0


def test_a_lesson_with_other_sources_or_a_pin_stays(memory):
    made, other = tried(memory, success=True), tried(memory, success=True, task="refund order 18")
    shared = Lesson(kind="insight", text="shared", sources=(made.id, other.id))
    pinned = Lesson(kind="insight", text="pinned", sources=(made.id,), pinned=True)
    memory.pool.add([shared, pinned])
    memory.outcome(made.id, success=False)
    there = {lesson.text: lesson for lesson in memory.lessons()}
    assert set(there) == {"shared", "pinned"}
    assert there["shared"].sources == (other.id,)
    assert there["pinned"].version == 1


def test_a_search_sees_the_new_outcome(memory):
    made = tried(memory, success=True)
    assert memory.pool.nearest_trajectories("refund order 17", 1, success=True)
    memory.outcome(made.id, success=False)
    assert memory.pool.nearest_trajectories("refund order 17", 1, success=True) == []
    assert memory.pool.nearest_trajectories("refund order 17", 1, success=False)[0][0].id == made.id
    assert memory.store.check() == []


def test_secrets_in_the_reason_are_masked(memory):
    made = tried(memory)
    now = memory.outcome(made.id, success=True, why="key sk-abcdefghijklmnopqrstuvwxyz123456")
    assert "abcdefghijkl" not in now.model_dump_json()


@pytest.mark.parametrize("ended", [True, False])
def test_a_verdict_against_that_of_the_learning_model_takes_back_what_it_taught(opened, ended):
    said = {"analysis": "It was shipped.", "trigger": "an order was shipped", "action": "look it up first"}
    memory = opened("erl", llm=ScriptedModel(lambda _: {**said, "succeeded": True}), judge=True, learn="manual")
    made = Trajectory(task_id="t", task="t", steps=(Step(action="go"),))
    memory.record(made)
    [lesson] = memory.learn().lessons
    memory.outcome(made.id, success=ended)
    assert memory.store.get_lesson(lesson.id).status == ("active" if ended else "deleted")
    assert memory.learn().trajectories == (0 if ended else 1)
