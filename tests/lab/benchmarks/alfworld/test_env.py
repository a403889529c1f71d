"""ALFWorld's environment, over a program that stands in for the engine."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import ContractError, DataError, InfrastructureError
from seasoned.lab.benchmarks.alfworld.env import CALLS, AlfworldEnvironment, command_of, shown
from seasoned.lab.benchmarks.worker import Episode, Workers
from seasoned.types import Task

WIN = ["go to desk 1", "take mug 1 from desk 1", "go to shelf 1", "move mug 1 to shelf 1"]


@pytest.fixture
def make(engine, write_game):
    """Makes an environment and its task."""
    pools, envs = [], []

    def made(quirk="pass", max_steps=20, timeout=20.0, again=False, **game):
        if not again:
            pools.append(Workers(engine(quirk), name="the engine", timeout=timeout))
        envs.append(AlfworldEnvironment(Episode(pools[-1]), max_steps))
        return envs[-1], Task(id="t", text="", data={"game": str(write_game(**game))})

    yield made
    for open_ in (*envs, *pools):
        open_.close()


def test_a_call_is_the_command_that_it_stands_for(make):
    env, task = make()
    env.reset(task)
    called = env.step('go_to({"place": "desk 1"})')
    env.reset(task)
    assert called == env.step("go to desk 1")


def test_a_game_is_won(make):
    env, task = make()
    observation, info = env.reset(task)
    assert observation == (
        "You are in the middle of a room. Looking quickly around you, you see a desk 1, a drawer 1, and a shelf 1.\n"
        "Your task is to: put some mug on shelf."
    )
    assert info == {"choices": ["go to desk 1", "go to drawer 1", "go to shelf 1"], "seen": {}, **CALLS.info}
    observation, reward, terminated, truncated, info = env.step(WIN[0])
    assert (observation, reward, terminated, truncated) == ("On the desk 1, you see a mug 1.", 0.0, False, False)
    assert info["choices"][0] == WIN[1]
    assert info["seen"] == {"desk 1": ["mug 1"]}
    assert "success" not in info
    env.step(WIN[1])
    assert env.step(WIN[2])[0] == "On the shelf 1, you see nothing."
    assert env.step(WIN[3])[:4] == ("You move the mug 1 to the shelf 1.", 1.0, True, False)
    with pytest.raises(ContractError, match="reset"):
        env.step("look")


def test_the_contract(make):
    _, task = make()
    check_environment(lambda: make(again=True)[0], task, actions=[*WIN[:3], "think: so far, so good", "fly", WIN[3]])


def test_games_of_the_older_words_look_the_same(make):
    env, task = make(moves="put {o} in/on {r}")
    env.reset(task)
    for command in WIN[:3]:
        env.step(command)
    observation, _, won, _, info = env.step(WIN[3])
    assert (observation, won, info["success"]) == ("You move the mug 1 to the shelf 1.", True, True)


@pytest.mark.parametrize("moves", ["move {o} to {r}", "put {o} in/on {r}"])
@pytest.mark.parametrize("last", ["put mug 1 in/on shelf 1", "put mug 1 on shelf 1", "> Move  mug 1 to Shelf 1."])
def test_every_way_to_put_a_thing_down(make, moves, last):
    env, task = make(moves=moves)
    env.reset(task)
    for command in WIN[:3]:
        env.step(command)
    assert env.step(last)[2]


def test_steps_run_out(make):
    env, task = make(max_steps=2)
    env.reset(task)
    assert env.step("fly")[2:] == (False, False, {"choices": env._info()["choices"], "seen": {}, "invalid": True})
    _, reward, terminated, truncated, info = env.step("go to desk 1")
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)


def test_a_win_with_the_last_step_is_a_win(make):
    env, task = make(max_steps=4)
    env.reset(task)
    assert [env.step(command)[2:4] for command in WIN][-1] == (True, False)


def test_thoughts_are_no_steps_but_end_too(make):
    env, task = make("if command.startswith('think'): os._exit(1)", max_steps=3)
    env.reset(task)
    assert env.step("think: where is the mug?")[:4] == ("OK.", 0.0, False, False)
    assert env.step("Think[ on the desk? ]")[0] == "OK."
    assert not env.step("go to desk 1")[3]
    assert env.step("thought: hm")[3]


@pytest.mark.parametrize(
    ("at", "once"),
    [
        ("request['do'] == 'load'", "os._exit(1)"),
        ("command == 'go to shelf 1'", "time.sleep(60)"),
        ("command == 'go to shelf 1'", "print('x' * 100); os.close(1); time.sleep(60)"),
    ],
)
def test_an_engine_that_fails_once_is_not_noticed(make, once, at):
    env, task = make(f"if {at} and ONCE: {once}", timeout=1.0)
    env.reset(task)
    assert [env.step(command)[2] for command in WIN] == [False, False, False, True]


def test_an_engine_that_fails_again_is_an_error_of_the_infrastructure(make):
    env, task = make("if command == 'go to shelf 1': os._exit(1)")
    env.reset(task)
    env.step(WIN[0])
    with pytest.raises(InfrastructureError, match="has died"):
        env.step("go to shelf 1")
    observation, _ = env.reset(task)
    assert observation.startswith("You are in")


def test_tasks_that_are_no_games(make, tmp_path):
    env, task = make("if request['do'] == 'load': say(id=request['id'], error='no goal', kind='game'); continue")
    with pytest.raises(DataError, match="no goal"):
        env.reset(task)
    with pytest.raises(ContractError):
        env.step("look")
    with pytest.raises(DataError, match="is a folder"):
        env.reset(Task(id="t", text="x"))
    with pytest.raises(ContractError):
        env.step("look")


def test_workers_go_back(make):
    env, task = make()
    env.reset(task)
    pid = env.episode.pid
    env.reset(task)
    assert env.episode.pid == pid
    other, _ = make(again=True)
    other.reset(task)
    assert other.episode.pid != pid


@pytest.mark.parametrize(
    ("action", "command"),
    [
        ("go to desk 1", "go to desk 1"),
        ("  > Go to  Desk 1. ", "go to desk 1"),
        ("go to\ndesk\t1", "go to desk 1"),
        ("put mug 1 in/on shelf 1", "move mug 1 to shelf 1"),
        ("put mug 1 into shelf 1", "move mug 1 to shelf 1"),
        ("place mug 1 on shelf 1", "move mug 1 to shelf 1"),
        ("move mug 1 in/on shelf 1", "move mug 1 to shelf 1"),
        ("move", "move"),
        ("", ""),
    ],
)
def test_commands_are_read(action, command):
    assert command_of(action) == command
    assert command_of(command) == command


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("You arrive at loc 5. On the shelf 1, you see nothing.", "On the shelf 1, you see nothing."),
        ("You arrive at desk 1. The desk 1 is closed.", "The desk 1 is closed."),
        ("You put the mug 1 in/on the shelf 1.", "You move the mug 1 to the shelf 1."),
        ("You are carrying: a mug 1.", "You are carrying: a mug 1."),
        ("-= Welcome =-\n\nA room.\n\nYour task.", "A room.\nYour task."),
        ("", ""),
    ],
)
def test_observations_are_shown_in_one_form(said, read):
    assert shown(said) == read


@given(st.text())
def test_reading_never_raises(text):
    assert shown(shown(text)) is not None
    assert "\n" not in command_of(text)
    assert command_of(text) == command_of(text).strip()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(actions=st.lists(st.one_of(st.text(max_size=300), st.sampled_from(WIN[:3])), max_size=6))
def test_any_action_gives_five_values(make, actions):
    if not hasattr(test_any_action_gives_five_values, "env"):
        test_any_action_gives_five_values.env = make(max_steps=50)
    env, task = test_any_action_gives_five_values.env
    env.reset(task)
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        assert isinstance(observation, str)
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["choices"]
