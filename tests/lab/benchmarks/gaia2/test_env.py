"""Gaia2's environment, over a program that stands in for ARE."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import ContractError, InfrastructureError
from seasoned.lab.benchmarks.gaia2.env import Gaia2Environment, shortened
from seasoned.lab.benchmarks.worker import Episode
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Task

READ, TELL = "Notes__read()", 'AgentUserInterface__send_message_to_user({"content": "It is done."})'
TASK = Task(id="t", text="Read it twice.")


@pytest.fixture
def make(stand_in):
    envs = []

    def made(quirk="pass", max_steps=10, most=1000, judge=None, told=False, workers=None):
        pool = workers or stand_in(quirk)
        envs.append(Gaia2Environment(Episode(pool), lambda task: task.text, max_steps, most, judge, told))
        return envs[-1]

    yield made
    for env in envs:
        env.close()


def test_a_scenario_is_solved(make):
    env = make()
    observation, info = env.reset(TASK)
    assert observation == "Read it twice.\n\nIt is noon."
    assert [tool["name"] for tool in info["tools"]] == ["Notes__read"]
    assert env.step(READ) == ("Read 1.", 0.0, False, False, {})
    assert env.step("Notes__write({})")[4] == {"invalid": True}
    env.step(READ)
    assert env.step(TELL) == ("Over.", 1.0, True, False, {"success": True, "answer": "It is done."})
    with pytest.raises(ContractError, match="reset"):
        env.step(READ)


def test_text_that_is_no_call_is_said_to_the_user(make):
    env = make()
    env.reset(TASK)
    observation, reward, terminated, _, info = env.step("  I am done. ")
    assert (observation, reward, terminated) == ("Over.", 0.0, True)
    assert info == {"success": False, "answer": "I am done."}


def test_what_was_missed_is_told_where_it_is_wanted(make):
    env = make(told=True)
    env.reset(TASK)
    assert env.step(TELL)[0] == "Over. The user is not content: no read"


def test_the_contract(make, stand_in):
    pool = stand_in()
    check_environment(lambda: make(workers=pool), TASK, actions=[READ, READ, TELL])


def test_steps_run_out(make):
    env = make(max_steps=2)
    env.reset(TASK)
    assert env.step(READ)[3] is False
    assert env.step(READ)[2:] == (False, True, {"success": False, "answer": ""})


def test_long_observations_are_cut(make):
    env = make(most=3)
    env.reset(TASK)
    assert env.step(READ)[0] == "Rea .. (4 more characters)"
    assert shortened("abc", 3) == "abc"


@pytest.mark.parametrize("said", ["yes", "no"])
def test_a_model_judges_in_this_process(make, said):
    judge = ScriptedModel([said])
    env = make(judge=judge)
    env.reset(TASK)
    assert env.step(TELL)[4]["success"] == (said == "yes")
    assert judge.requests[0]["messages"][-1]["content"] == "Is it right?"


def test_a_worker_that_dies_once_is_replaced(make):
    env = make("os._exit(1) if do == 'step' and steps == 1 and ONCE else None")
    env.reset(TASK)
    env.step(READ)
    pid = env.episode.pid
    assert env.step(READ)[0] == "Read 2."
    assert env.episode.pid != pid
    assert env.step(TELL)[1] == 1.0


def test_a_worker_that_dies_again_is_an_infrastructure_error(make):
    env = make("os._exit(1) if do == 'step' else None")
    env.reset(TASK)
    with pytest.raises(InfrastructureError, match="ARE has died"):
        env.step(READ)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(action=st.text() | st.text().map(lambda text: f"Notes__read({text})"))
def test_any_action_is_a_step(make, action):
    env = make()
    env.reset(TASK)
    observation, reward, terminated, truncated, info = env.step(action)
    assert isinstance(observation, str)
    assert reward in (0.0, 1.0)
    assert isinstance(info, dict)
    assert not (terminated and truncated)
    env.close()


def test_the_oracle_is_told(make):
    env = make()
    env.reset(TASK)
    assert [call.name for call in env.oracle()] == ["Notes__read"]
