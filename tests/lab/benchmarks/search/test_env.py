"""The environment of Search, Lookup and Finish."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import ContractError, InfrastructureError
from seasoned.lab.benchmarks.search.docstore import Docstore, make_page
from seasoned.lab.benchmarks.search.env import (
    CALLS,
    MAX_OBSERVATION,
    NO_ACTION,
    NO_PAGE,
    RIGHT,
    WRONG,
    SearchEnvironment,
)
from seasoned.types import Task

PAGES = [
    make_page("Inkwell", [f"Sentence {i} of ink." if i % 3 else f"Sentence {i} of Paper." for i in range(1, 9)]),
    make_page("Inkwell (band)", "A band. It plays."),
    make_page("Long", ["x" * 9000]),
]
DOCSTORE = Docstore(PAGES, {"blotter": "Could not find blotter. Similar: ['Ink']."})
TASK = Task(id="t", text="What is ink?", data={"answer": "ink"})


def judge(text: str, data: Any) -> dict[str, Any] | str:
    if text == "?":
        return "A question mark is no answer."
    success = None if "answer" not in data else text == data["answer"]
    return {"success": success, "reward": float(success or False), "answer": text, "own": 1}


def make(reveal: bool = True, max_steps: int = 7) -> SearchEnvironment:
    return SearchEnvironment(DOCSTORE.search, judge, reveal, max_steps)


def begun(**settings: Any) -> SearchEnvironment:
    env = make(**settings)
    assert env.reset(TASK) == (TASK.text, CALLS.info)
    return env


def test_a_search_shows_five_sentences() -> None:
    observation, reward, terminated, truncated, info = begun().step("Search[inkwell]")
    assert observation == " ".join(PAGES[0].sentences[:5])
    assert (reward, terminated, truncated, info) == (0.0, False, False, {})


def test_a_call_is_the_action_that_it_stands_for() -> None:
    env = begun()
    assert env.step('search({"title": "inkwell"})') == begun().step("Search[inkwell]")
    assert env.step('lookup({"words": "paper"})')[0].startswith("(Result 1 / 2)")
    assert env.step('finish({"answer": "ink"})')[4]["success"] is True


def test_a_search_that_fails_names_similar_titles_and_closes_the_page() -> None:
    env = begun()
    env.step("Search[Inkwell]")
    observation, *_, info = env.step("Search[The inkwells]")
    assert observation == "Could not find [The inkwells]. Similar: ['Inkwell', 'Inkwell (band)']."
    assert info == {}
    observation, *_, info = env.step("Lookup[ink]")
    assert (observation, info) == (NO_PAGE, {"invalid": True})


def test_a_recorded_miss_is_said_as_it_was() -> None:
    assert begun().step("Search[Blotter]")[0] == "Could not find blotter. Similar: ['Ink']."


def test_a_lookup_walks_through_the_whole_page() -> None:
    env = begun(max_steps=20)
    env.step("Search[Inkwell]")
    seen = [env.step("Lookup[paper]")[0] for _ in range(3)]
    assert seen == [
        "(Result 1 / 2) Sentence 3 of Paper.",
        "(Result 2 / 2) Sentence 6 of Paper.",
        "No more results: all 2 were shown.",
    ]
    assert env.step("Lookup[ink]")[0] == "(Result 1 / 6) Sentence 1 of ink."
    assert env.step("Lookup[PAPER]")[0] == "(Result 1 / 2) Sentence 3 of Paper."
    assert env.step("Lookup[glass]")[0] == "No sentence of this page has [glass]."
    env.step("Lookup[paper]")
    env.step("Search[Inkwell]")
    assert env.step("Lookup[paper]")[0] == "(Result 1 / 2) Sentence 3 of Paper."


@pytest.mark.parametrize(("answer", "reveal", "says"), [("ink", True, RIGHT), ("ink", False, ""), ("x", True, WRONG)])
def test_finish_is_judged_once(answer: str, reveal: bool, says: str) -> None:
    env = begun(reveal=reveal)
    right = answer == "ink"
    assert env.step(f"Finish[{answer}]") == (
        *(says, float(right), True, False),
        {"success": right, "reward": float(right), "answer": answer, "own": 1},
    )
    with pytest.raises(ContractError, match="call reset"):
        env.step("Finish[ink]")


def test_a_task_without_an_answer_is_neither_right_nor_wrong() -> None:
    env = make()
    env.reset(Task(id="t", text="?"))
    observation, reward, terminated, _, info = env.step("Finish[ink]")
    assert (observation, reward, terminated, info["success"]) == ("", 0.0, True, None)


@pytest.mark.parametrize("action", ["", "go to desk 1", "Search[]", "Lookup[ ]", "Finish['']", "Finish[?]", "\0" * 50])
def test_an_invalid_action_is_a_step_with_one_line(action: str) -> None:
    observation, reward, terminated, truncated, info = begun().step(action)
    assert observation
    assert "\n" not in observation
    assert (reward, terminated, truncated, info) == (0.0, False, False, {"invalid": True})


def test_the_last_step_ends_it() -> None:
    env = begun(max_steps=2)
    assert env.step("Search[Inkwell]")[3] is False
    assert env.step("nothing") == (
        *(NO_ACTION, 0.0, False, True),
        {"invalid": True, "success": False, "reward": 0.0, "answer": ""},
    )
    with pytest.raises(ContractError):
        env.step("Finish[ink]")


def test_what_is_said_is_capped_and_fast() -> None:
    env = begun(max_steps=50)
    assert len(env.step("Search[Long]")[0]) == MAX_OBSERVATION
    for name in ("Search", "Lookup"):
        began = time.perf_counter()
        observation = env.step(f"{name}[{'ink ' * 2500}]")[0]
        assert time.perf_counter() - began < 0.5
        assert len(observation) < 300


def test_an_unreachable_docstore_is_an_error_of_the_infrastructure() -> None:
    def search(query: str) -> Any:
        raise InfrastructureError("gone")

    env = SearchEnvironment(search, judge, reveal=True)
    env.reset(TASK)
    with pytest.raises(InfrastructureError):
        env.step("Search[Inkwell]")


def test_it_keeps_the_contract() -> None:
    check_environment(make, TASK, actions=("Search[Inkwell]", "Lookup[ink]", "Lookup[ink]", "Search[no]"))
    check_environment(make)


@given(st.lists(st.one_of(st.text(), st.sampled_from(["Search[Inkwell]", "Lookup[ink]", "Finish[?]"])), max_size=8))
def test_no_action_raises(actions: list[str]) -> None:
    env = begun()
    for action in actions:
        observation, _, terminated, truncated, info = env.step(action)
        assert len(observation) <= MAX_OBSERVATION
        if terminated or truncated:
            assert "success" in info
            break
