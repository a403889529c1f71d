"""Reading the actions that models send."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.action import Calls, form, read_action
from seasoned.lab.benchmarks.alfworld import read_words
from seasoned.lab.benchmarks.alfworld.env import CALLS as ALFWORLD
from seasoned.lab.benchmarks.search.env import ACTIONS
from seasoned.replies.calls import check_call, write_call
from seasoned.types import ToolCall


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Search[Big Lantern]", ("Search", "Big Lantern")),
        ("search [ Big  Lantern ]", ("Search", "Big Lantern")),
        ("SEARCH[x]", ("Search", "x")),
        ("**Search[x]**", ("Search", "x")),
        ("**Search**[x]", ("Search", "x")),
        ("`Search[x]`", ("Search", "x")),
        ('"Search[x]"', ("Search", "x")),
        ('Search["x"]', ("Search", "x")),
        ("Search['x y']", ("Search", "x y")),
        ("Search[“x”]", ("Search", "x")),
        ("Search[[x]]", ("Search", "x")),
        ('Search["A" and "B"]', ("Search", '"A" and "B"')),
        ('Search("x")', ("Search", "x")),
        ("Search(Big Lantern (film))", ("Search", "Big Lantern (film)")),
        ("Search[List of [x] in y] now", ("Search", "List of [x] in y")),
        ("Search: Big Lantern", ("Search", "Big Lantern")),
        ("Action 3: Search[x]", ("Search", "x")),
        ("Action: Finish[yes]", ("Finish", "yes")),
        ("**Action 12:** `Finish[yes]`", ("Finish", "yes")),
        ("- Next action: Lookup[x]", ("Lookup", "x")),
        ("1. Search[x]", ("Search", "x")),
        ("> Lookup[x]", ("Lookup", "x")),
        ("Search【东京】", ("Search", "东京")),
        ("Thought: I need x.\nAction: Search[x]\nObservation: It is.\nAction: Finish[y]", ("Search", "x")),
        ("Search[x]\nLookup[y]", ("Search", "x")),
        ("Search[x] and then Lookup[y]", ("Search", "x")),
        ("Search[x\nLookup[y]", ("Search", "x")),
        ("Search[x then Lookup[y]", ("Search", "x then")),
        ("Search[x", ("Search", "x")),
        ("Search[x [y]", ("Search", "x [y")),
        ("Search[x [y] z", ("Search", "x [y] z")),
        ("Search[x [y]. I hope.", ("Search", "x [y")),
        ("Search[x [y]** then", ("Search", "x [y]** then")),
        ("**Search[x [y]**", ("Search", "x [y")),
        ("Search[x [y] z\nmore]", ("Search", "x [y] z more")),
        ("Finish[two\nlines]", ("Finish", "two lines")),
        ("I will Search[x] now.", ("Search", "x")),
        ('I call Search("x") now.', ("Search", "x")),
        ("After Search[x] failed I go on.\nAction 2: Search[y]", ("Search", "y")),
        ("I use Search[x].\nObservation 1: Good.\nAction 2: Finish[y]", ("Search", "x")),
        ("Observation: it says y.\nAction: Finish[y]", ("Finish", "y")),
        ("Finish[]", ("Finish", "")),
        ("Search[x]\r\nmore", ("Search", "x")),
        ("research[x]", None),
        ("I should search (or not).", None),
        ("Thought: let me search for x.", None),
        ("Finish", None),
        ("", None),
        ("ſearch[x] FİNISH[x]", None),
    ],
)
def test_reading_what_models_send(text: str, expected: tuple[str, str] | None) -> None:
    assert read_action(text, ACTIONS) == expected


def test_names_are_the_callers() -> None:
    assert read_action("Click[Buy Now]", ("search", "click")) == ("click", "Buy Now")
    assert read_action("c++[x]", ("c++",)) == ("c++", "x")
    assert read_action("Search[x]", ("click",)) is None


@given(
    st.sampled_from(ACTIONS), st.text(alphabet="abc É12,.-'&é", min_size=1), st.sampled_from(["", "Action 1: ", "> "])
)
def test_a_plain_action_is_read_as_it_was_meant(name: str, argument: str, lead: str) -> None:
    plain = " ".join(argument.split())
    if not (plain.startswith("'") and plain.endswith("'")):
        assert read_action(f"{lead}{name}[{argument}]", ACTIONS) == (name, plain)


@given(
    st.text(), st.lists(st.sampled_from([*ACTIONS, "[", "]", "(", "\n", ":", "Observation", " x", "*", "Action 1:"]))
)
def test_reading_never_raises_and_invents_nothing(text: str, parts: list[str]) -> None:
    for reply in (text, "".join(parts), text + "".join(parts)):
        found = read_action(reply, ACTIONS)
        if found:
            name, argument = found
            assert name in ACTIONS
            assert argument in " ".join(reply.split())


@pytest.mark.parametrize("piece", ["Search[", "Search[x] ", "Search(", "\nSearch: ", "Action 1: ", "*", "(", "\n", " "])
def test_reading_takes_linear_time(piece: str) -> None:
    began = time.perf_counter()
    read_action(piece * 100_000, ACTIONS)
    assert time.perf_counter() - began < 3.0


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
