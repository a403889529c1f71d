"""τ²-bench as an Environment, on an engine in small."""

import os
import signal
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import ContractError, DataError, InfrastructureError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.tau2.env import MAX_ERRORS, OVER, UNREAD, Customer
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Task


@pytest.fixture
def benchmark(small):
    return load_benchmark("tau2", {**small, "max_steps": 20})


def played(env, task, *actions):
    with closing(env):
        env.reset(task)
        return [env.step(action) for action in actions]


def test_it_keeps_the_contract(benchmark):
    check_environment(lambda: benchmark.make_env(True), benchmark.train[0])


def test_a_ticket_is_worked_on_by_calls(benchmark):
    env = benchmark.make_env(False)
    observation, info = env.reset(benchmark.test[0])
    assert observation == "Ticket: The lamp is dark."
    assert [tool["name"] for tool in info["tools"]] == ["look", "set_lamp", "transfer_to_human_agents", "done"]
    assert info["tool_choice"] == "required"
    assert env.step("look()") == ("on: False", 0.0, False, False, {})
    assert env.step('set_lamp({"on": true})')[0] == "on: True"
    observation, reward, terminated, truncated, info = env.step("done()")
    assert (observation, reward, terminated, truncated) == (OVER, 1.0, True, False)
    assert info == {"success": True, "reward": 1.0, "parts": {"DB": 1.0}}
    with pytest.raises(ContractError):
        env.step("look()")


def test_done_at_once_solves_nothing(benchmark):
    (end,) = played(benchmark.make_env(False), benchmark.test[0], "done()")
    assert (end[1], end[4]["success"]) == (0.0, False)


def test_what_cannot_be_done_is_told_and_cuts_the_work_off_at_last(benchmark):
    env = benchmark.make_env(False)
    first, *rest = played(env, benchmark.test[0], "fly()", *["I would fly."] * (MAX_ERRORS - 1))
    assert first == ("Error: no fly", 0.0, False, False, {"invalid": True})
    assert rest[0] == (UNREAD, 0.0, False, False, {"invalid": True})
    assert rest[-1][3] is True
    assert rest[-1][4] == {"invalid": True, "success": False, "reward": 0.0}


def test_steps_run_out(small):
    benchmark = load_benchmark("tau2", {**small, "max_steps": 2})
    _, last = played(benchmark.make_env(False), benchmark.test[0], 'set_lamp({"on": true})', "look()")
    assert (last[1], last[2], last[3], last[4]["success"]) == (0.0, False, True, False)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), max_size=4))
def test_whatever_an_action_holds_it_is_a_step(benchmark, actions):
    for observation, reward, *_ in played(benchmark.make_env(False), benchmark.test[0], *actions):
        assert isinstance(observation, str)
        assert reward == 0.0


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(benchmark):
    env = benchmark.make_env(False)
    env.reset(benchmark.test[0])
    env.step('set_lamp({"on": true})')
    os.kill(env.episode.pid, signal.SIGKILL)
    assert env.step("look()")[0] == "on: True"
    assert env.step("done()")[4]["success"] is True


def test_an_engine_that_dies_of_it_is_an_infrastructure_error(benchmark):
    env = benchmark.make_env(False)
    env.reset(benchmark.test[0])
    with pytest.raises(InfrastructureError, match="τ²-bench's engine has died; it last said: I leave"):
        env.step("die()")
    assert env.reset(benchmark.test[0])[0].startswith("Ticket")
    env.close()


def test_a_task_that_is_not_there(benchmark):
    with pytest.raises(DataError, match="KeyError"):
        benchmark.make_env(False).reset(Task(id="x", text="x", data={"task": "x"}))


@pytest.fixture
def spoken(small):
    """An environment with a customer who says these replies in turn, and a judge."""

    def make(*replies, judge=None):
        benchmark = load_benchmark("tau2", {**small, "solo": False})
        model = ScriptedModel(list(replies))
        models = {"user": model, **({"judge": judge} if judge else {})}
        return benchmark.with_models(False, models), benchmark.test[0], model

    return make


def test_a_customer_is_talked_to_and_ends_it(spoken):
    env, task, model = spoken("It is dark.", "Thanks! ###STOP###")
    observation, info = env.reset(task)
    assert observation == "The customer: It is dark."
    assert info["tool_choice"] == "auto"
    assert "done" not in {tool["name"] for tool in info["tools"]}
    env.step('set_lamp({"on": true})')
    observation, reward, terminated, _, info = env.step("It is bright now.")
    assert (observation, reward, terminated) == ("Thanks! ###STOP###", 1.0, True)
    assert info["parts"] == {"DB": 1.0}
    system, *heard = model.requests[-1]["messages"]
    assert "You are a customer." in system["content"]
    assert "You sit in the dark." in system["content"]
    assert [message["role"] for message in heard] == ["user", "assistant", "user"]
    assert heard[-1]["content"] == "It is bright now."


def test_a_customer_who_is_silent_is_no_failure_of_the_agent(spoken):
    env, task, _ = spoken("")
    with pytest.raises(InfrastructureError, match="said nothing"):
        env.reset(task)


def test_a_customer_uses_tools_of_its_own(spoken):
    env, task, model = spoken('{"name": "press", "arguments": {}}', "I pressed it.")
    assert env.reset(task)[0] == "The customer: I pressed it."
    assert "on: False" in str(model.requests[-1]["messages"])
    assert isinstance(env._who, Customer)


@pytest.mark.parametrize(("verdict", "reward"), [("true", 1.0), ("false", 0.0)])
def test_sentences_are_judged(spoken, verdict, reward):
    judge = ScriptedModel([f'{{"sentences": [{{"why": "so", "true": {verdict}}}]}}'])
    env, task, _ = spoken("It is dark.", "Go on.", "Thanks! ###STOP###", judge=judge)
    env.reset(task)
    env.step('set_lamp({"on": true})')
    env.step("One moment.")
    assert env.step("It is bright now.")[4]["parts"] == {"DB": 1.0, "NL_ASSERTION": reward}
    assert "The agent was kind." in str(judge.requests[0]["messages"])


def test_a_judge_without_a_verdict_is_no_failure_of_the_agent(spoken):
    judge = ScriptedModel(['{"sentences": []}'] * 4)
    env, task, _ = spoken("It is dark.", "Go on.", "Thanks! ###STOP###", judge=judge)
    env.reset(task)
    env.step("look()")
    env.step("One moment.")
    with pytest.raises(InfrastructureError, match="0 verdicts on 1 sentences"):
        env.step("It is bright now.")
