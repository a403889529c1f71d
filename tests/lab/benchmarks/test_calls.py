import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.alfworld.env import CALLS as ALFWORLD
from seasoned.lab.benchmarks.alfworld.words import read_words
from seasoned.lab.benchmarks.calls import Calls, form
from seasoned.replies.calls import check_call, write_call
from seasoned.types import ToolCall

CALLS = Calls(
    (
        form("take", "Takes.", "take {thing} from {place}", thing="what", place="where"),
        form("say", "Says.", "Say[{word}]", {"word": ("yes", "no")}, word="which"),
    )
)


def test_a_form_is_a_tool():
    take, say = CALLS.info["tools"]
    assert take["parameters"]["required"] == ["thing", "place"]
    assert say["parameters"]["properties"]["word"] == {"type": "string", "description": "which", "enum": ["yes", "no"]}


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('take({"thing": "mug 1", "place": "desk 2"})', "take mug 1 from desk 2"),
        ('take({"thing": "{place}", "place": "a\\n{thing}"})', "take {place} from a {thing}"),
        ('say({"word": 1})', "Say[1]"),
        ('take({"thing": "mug 1"})', 'take({"thing": "mug 1"})'),
        ('drop({"thing": "mug 1"})', 'drop({"thing": "mug 1"})'),
        ("take mug 1 from desk 2", "take mug 1 from desk 2"),
        ("", ""),
    ],
)
def test_a_call_as_an_action(text, action):
    assert CALLS.action(text) == action


words = st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True)


@given(words, words)
def test_an_action_is_the_call_that_it_comes_from(thing, place):
    call = ToolCall(name="take", arguments={"thing": thing, "place": place})
    assert CALLS.call(CALLS.action(write_call(call))) == call
    assert CALLS.call(f"drop {thing}") is None


@pytest.mark.parametrize("name", ["hotpotqa", "fever", "webshop"])
def test_every_worked_action_is_a_call_that_fits(name):
    benchmark = load_benchmark(name, {}, seed=0)
    env = benchmark.make_env(False)
    tools = env.reset(benchmark.train[0])[1]["tools"]
    steps = [step for attempt in benchmark.trajectories for step in attempt.steps]
    assert steps
    assert [check_call(step.call, tools) for step in steps] == [""] * len(steps)


def test_every_worked_command_is_a_call_that_fits():
    steps = [step for attempt in read_words(False).trajectories for step in ALFWORLD.called(attempt).steps]
    assert {check_call(step.call, ALFWORLD.info["tools"]) for step in steps} == {""}
    assert [ALFWORLD.action(write_call(step.call)) for step in steps] == [step.action for step in steps]
