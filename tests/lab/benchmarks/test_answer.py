"""The environment of one answer: what each command does, when a case ends, and that no text of a model breaks it."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, ContractError
from seasoned.lab.benchmarks.answer import (
    ANSWERED,
    COMMANDS,
    MAX_ANSWER,
    NOTE_FORM,
    OK,
    AnswerEnvironment,
    Scored,
    answer_benchmark,
    prompts,
)
from seasoned.lab.benchmarks.base import MAX_TURNS, Retrieval
from seasoned.types import Task

TASK = Task(id="t", text="Two plus two?", data={"answer": "four"})


def score(text: str, data: Mapping[str, Any]) -> Scored:
    return Scored(text, text == data["answer"] if "answer" in data else None)


def env(reveal: bool = False, max_turns: int = 10, task: Task = TASK) -> AnswerEnvironment:
    made = AnswerEnvironment(score, reveal, max_turns)
    made.reset(task)
    return made


def test_reset_gives_the_question_and_the_choices_it_offers() -> None:
    made = AnswerEnvironment(score, False, 10)
    assert made.reset(TASK) == ("Two plus two?", {})
    offering = Task(id="t", text="?", data={"answer": "b", "choices": ["a", "b"]})
    assert made.reset(offering, seed=4) == ("?", {"choices": ["a", "b"]})


@pytest.mark.parametrize(("answer", "right"), [("four", True), ("five", False), ("", False)])
def test_testing_ends_with_the_answer_and_tells_nothing(answer: str, right: bool) -> None:
    info = {"success": right, "answer": answer}
    assert env().step(f"ANSWER[{answer}]") == ("", float(right), True, False, info)


def test_training_tells_the_right_answer_only_after_a_wrong_one() -> None:
    made = env(reveal=True)
    for action in ("THINK[hm]", "RECALL[two]", "NOTE[a]: b", "nothing"):
        assert "four" not in made.step(action)[0]
    assert made.step("ANSWER[five]") == ("Wrong. The right answer is four.", 0.0, False, False, {
        "success": False,
        "answer": "five",
    })  # fmt: skip
    assert env(reveal=True).step("ANSWER[four]")[:2] == ("Right.", 1.0)


def test_four_actions_follow_the_answer_in_training() -> None:
    made = env(reveal=True)
    made.step("ANSWER[four]")
    assert [made.step("NOTE[two]: b")[2] for _ in range(4)] == [False, False, False, True]
    with pytest.raises(ContractError):
        made.step("NOTE[two]: b")


def test_end_ends_the_noting_at_once() -> None:
    made = env(reveal=True)
    made.step("ANSWER[four]")
    assert made.step("NOTE[two]: b\nEND") == (OK, 0.0, True, False, {})
    made = AnswerEnvironment(score, True, 10, note_turns=0)
    made.reset(TASK)
    assert made.step("ANSWER[five]")[0:3] == ("Wrong. The right answer is four.", 0.0, True)


def test_a_second_answer_counts_for_nothing() -> None:
    made = env(reveal=True)
    made.step("ANSWER[five]")
    assert made.step("ANSWER[four]") == (ANSWERED, 0.0, False, False, {"invalid": True})
    assert env().step("THINK[x]\nANSWER[five]\nANSWER[four]")[4] == {"success": False, "answer": "five"}


@pytest.mark.parametrize(
    ("action", "observation"),
    [
        ("THINK[a]", OK),
        ("RECALL[a]", OK),
        ("RECALL[]", COMMANDS),
        ("NOTE[a]: b", OK),
        ("NOTE[a]", NOTE_FORM),
        ("END", COMMANDS),
        ("", COMMANDS),
        ("search[x]", COMMANDS),
    ],
)
def test_what_other_actions_are_told(action: str, observation: str) -> None:
    made = env()
    assert made.step(action) == (observation, 0.0, False, False, {} if observation == OK else {"invalid": True})
    assert made.step("ANSWER[four]")[1] == 1.0


def test_a_case_without_an_answer_is_cut_off() -> None:
    made = env(max_turns=3)
    assert [made.step("THINK[hm]")[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    with pytest.raises(ContractError, match="reset"):
        made.step("ANSWER[four]")
    made.reset(TASK)
    assert made.step("ANSWER[four]")[1] == 1.0


def test_step_needs_reset_and_close_may_be_repeated() -> None:
    made = AnswerEnvironment(score, False, 10)
    for _ in range(2):
        with pytest.raises(ContractError, match="reset"):
            made.step("THINK[a]")
        made.close()
        made.close()


def test_a_task_nobody_knows_the_answer_of() -> None:
    made = env(reveal=True, task=Task(id="u", text="?"))
    observation, reward, *_, info = made.step("ANSWER[x]")
    assert (reward, info) == (0.0, {"success": None, "answer": "x"})
    assert "right" in observation


def test_a_long_answer_is_kept_in_part() -> None:
    *_, info = env().step(f"ANSWER[{'x' * 10_000}]")
    assert info["answer"] == "x" * MAX_ANSWER


PIECES = [
    "THINK[a]",
    "NOTE[k]: v",
    "NOTE[k]",
    "RECALL[k]",
    "ANSWER[four]",
    "ANSWER[five]",
    "END",
    "{answer}",
    "\n",
    "[",
]


@given(
    st.lists(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map(" ".join)), min_size=15, max_size=15),
    st.booleans(),
)
def test_any_conversation_ends_and_is_scored_at_most_once(actions: list[str], reveal: bool) -> None:
    made = env(reveal=reveal)
    scored = 0
    taken = 0
    for action in actions:
        taken += 1
        observation, reward, terminated, truncated, info = made.step(action)
        assert isinstance(observation, str)
        assert reward in (0.0, 1.0)
        assert not (terminated and truncated)
        scored += "success" in info
        if terminated or truncated:
            break
    assert terminated or truncated
    assert taken <= 14
    assert scored == (0 if truncated else 1)


def test_a_benchmark_has_its_words_and_two_pools() -> None:
    tasks = [Task(id=name, text=name, data={"answer": "a"}) for name in "abcd"]
    given: dict[str, Any] = {"seed": 0, "source": "here"}
    made = answer_benchmark(
        "lets", tasks, lambda text, data: Scored(text, None), retrieval=Retrieval(k=2), share=0.25, **given
    )
    words = SimpleNamespace(**prompts("lets"))
    assert (len(made.train), len(made.test), made.source, made.manner) == (1, 3, "here", "answer")
    assert (made.instruction, made.think_hint, made.note_hint) == (words.instruction, words.think_hint, words.note_hint)
    assert (made.examples, made.retrieval, made.max_turns) == (words.examples, Retrieval(k=2), MAX_TURNS)
    assert isinstance(made.make_env(True), AnswerEnvironment)
    with pytest.raises(ConfigError, match="train_share"):
        answer_benchmark("lets", tasks, lambda text, data: Scored(text, None), share=1.0, **given)
