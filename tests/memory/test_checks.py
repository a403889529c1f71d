"""Checks: what they are told, what they may say, and those that are ready to use."""

import asyncio
import sys

import pytest

from seasoned.errors import ConfigError
from seasoned.memory.checks import Thumbs, ask, exit_code, json_schema, matches, passed_tests, read, takes_attempt
from seasoned.types import Outcome, Step, ToolCall, Trajectory


def attempt(answer="", *steps):
    return Trajectory(task_id="t", task="add two", outcome=Outcome(answer=answer), steps=steps)


def ran(command, printed):
    return Step(action=command, call=ToolCall(name="bash", arguments={"command": command}), observation=printed)


def ended(memory, check, answer="", **step):
    with memory.attempt("add two") as made:
        if step:
            made.step(**step)
        kept = made.finish(check, answer=answer)
    return kept.outcome.success, kept.outcome.detail


@pytest.mark.parametrize(
    ("check", "takes"),
    [
        (lambda attempt: True, True),
        (lambda task, answer: True, False),
        (lambda task, answer=None: True, False),
        (lambda *said: True, False),
        (lambda attempt, *, strict=False: True, True),
        (max, False),
        (passed_tests, True),
    ],
)
def test_one_argument_is_the_attempt_and_two_are_task_and_answer(check, takes):
    assert takes_attempt(check) is takes


def test_what_a_check_is_told():
    told = attempt("4", Step(action="add(2, 2)", observation="4"))
    assert ask(lambda given: given.steps[0].observation == given.outcome.answer, told, "4") is True
    assert ask(lambda task, answer: (task, answer), told, 4) == ("add two", 4)


@pytest.mark.parametrize(
    ("verdict", "means"),
    [(True, (True, "")), (0.5, (0.5, "")), (None, (None, "")), ("", (True, "")), (" too low ", (False, "too low"))],
)
def test_what_a_check_may_say(verdict, means):
    assert read(verdict) == means


def test_an_attempt_is_finished_with_a_check(memory):
    assert ended(memory, lambda made: made.steps[0].observation == "4", "4", action="add", observation="4") == (
        True,
        "",
    )
    assert ended(memory, lambda task, answer: f"{answer} is wrong", "5") == (False, "5 is wrong")
    assert ended(memory, lambda made: 0.3) == (False, "")

    async def later(made):
        await asyncio.sleep(0)
        return "not yet"

    assert ended(memory, later) == (False, "not yet")
    with pytest.raises(ConfigError, match="True, False, None or a finite reward"):
        ended(memory, lambda made: [])


def test_a_regular_expression():
    check = matches(r"^4$")
    assert check(attempt("4")) == ""
    assert "does not match" in check(attempt("5"))
    with pytest.raises(ConfigError, match="not a regular expression"):
        matches("(")


def test_a_json_schema():
    check = json_schema({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]})
    assert check(attempt('{"sum": 4}')) == ""
    assert check(attempt('```json\n{"sum": 4}\n```')) == ""
    assert "sum" in check(attempt('{"sum": "four"}'))
    assert "not JSON" in check(attempt("four"))
    with pytest.raises(ConfigError):
        json_schema({"type": "tuple"})


def test_an_exit_code(tmp_path):
    (tmp_path / "ok.py").write_text("print('fine')")
    assert exit_code([sys.executable, "ok.py"], folder=tmp_path)(attempt()) == ""
    said = exit_code([sys.executable, "-c", "print('2 failed'); exit(3)"])(attempt())
    assert "ended with 3: 2 failed" in said
    assert exit_code([sys.executable, "-c", "exit(3)"], code=3)(attempt()) == ""
    assert "did not end within" in exit_code([sys.executable, "-c", "import time; time.sleep(9)"], seconds=0.1)(
        attempt()
    )
    with pytest.raises(ConfigError, match="cannot be run"):
        exit_code("no-such-program --x")(attempt())
    with pytest.raises(ConfigError, match="needs a command"):
        exit_code("")


def test_the_tests_that_the_agent_ran():
    assert passed_tests(attempt("", ran("pytest -q", "1 failed in 0.1s"), ran("pytest -q", "2 passed in 0.1s"))) is True
    assert passed_tests(attempt("", ran("pytest -q", "1 failed in 0.1s"))) == "the tests failed: pytest -q"
    assert passed_tests(attempt("", ran("ls", "setup.py"))) is None


def test_the_users_thumbs_come_later(memory):
    thumbs = Thumbs(memory)
    with pytest.raises(ConfigError, match="no attempt has ended yet"):
        thumbs.up()
    assert ended(memory, thumbs) == (None, "")
    first = thumbs.last
    assert ended(memory, thumbs) == (None, "")
    assert thumbs.down(why="too slow").outcome.success is False
    known = thumbs.up(first)
    assert (known.id, known.outcome.success) == (first, True)
    assert [each["why"] for each in known.meta["verdicts"]] == ["", "the user's thumb is up"]
