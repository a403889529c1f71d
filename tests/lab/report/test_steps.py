from __future__ import annotations

import pytest

from seasoned.embed import static
from seasoned.errors import MissingExtraError
from seasoned.lab.report import steps
from seasoned.lab.report.steps import step_statistics
from seasoned.types import Step, Trajectory, Usage


def _made(name, taken, **fields):
    return Trajectory(id=name, task_id="t", task="t", steps=tuple(taken), **fields)


def test_means_over_the_attempts_of_each_condition(make_row):
    taken = [Step(thought="find a mug", action="go to shelf 1", observation="You see a mug 1."), Step(action="look")]
    made = [
        _made("a", taken, usage=Usage(prompt_tokens=300, completion_tokens=20, calls=1, replayed=1)),
        _made("b", [], usage=Usage(prompt_tokens=100, completion_tokens=0)),
        _made("c", taken[1:]),
    ]
    rows = [make_row("react", "t", success=False, trajectory_id="a")]
    rows += [make_row("react", "t", success=True, trial=1, trajectory_id="b")]
    rows += [make_row("act", "t", success=True, trajectory_id="c")]
    react, act = step_statistics(rows, made)
    assert (react.condition, react.n, act.condition, act.n) == ("react", 2, "act", 1)
    assert (react.thoughts, react.actions, react.calls) == (0.5, 1.0, 1.0)
    assert (react.prompt_tokens, react.completion_tokens) == (200, 10)
    assert (react.thought_tokens, react.action_tokens, react.observation_tokens) == (2, 3.5, 4)
    assert (act.thoughts, act.actions) == (0, 1)


@pytest.mark.parametrize(
    ("metas", "mean"),
    [([{"invalid": 3}, {"invalid": 0}], 1.5), ([{"invalid": 3}, {}], None), ([{"invalid": "many"}, {}], None)],
)
def test_invalid_actions_are_known_for_all_or_not_at_all(make_row, metas, mean):
    rows = [make_row(task_id=str(i), success=True, trajectory_id=str(i)) for i in range(2)]
    (found,) = step_statistics(rows, [_made(str(i), [], meta=meta) for i, meta in enumerate(metas)])
    assert found.invalid == mean


def test_guidance_is_its_text_and_its_demonstrations(make_row):
    rows = [make_row(task_id=str(i), success=True, trajectory_id=str(i)) for i in range(2)]
    old = _made("old", [Step(action="a" * 23)])  # "Task: t", "Action: aa..": 39 characters
    made = [_made("0", [], guidance="x" * 41, demonstration_ids=("old", "old")), _made("1", [])]
    (found,) = step_statistics(rows, [*made, old])
    assert found.guidance_tokens == (11 + 2 * 10) / 2
    (found,) = step_statistics(rows, made)
    assert found.guidance_tokens is None


def test_without_a_tokenizer_no_parts_are_counted(make_row, monkeypatch):
    def missing():
        raise MissingExtraError("local", "wordllama")

    monkeypatch.setattr(static, "tokenizer", missing)
    steps._tokenizer.cache_clear()
    (found,) = step_statistics([make_row(trajectory_id="a")], [_made("a", [Step(thought="hm")])])
    steps._tokenizer.cache_clear()
    assert (found.thoughts, found.thought_tokens, found.observation_tokens) == (1, None, None)


def test_errors_and_unknown_trajectories_are_left_out(make_row):
    rows = [make_row(reason="error", trajectory_id="a"), make_row(task_id="x", success=True, trajectory_id="lost")]
    assert step_statistics(rows, [_made("a", [])]) == ()
    assert step_statistics([], [_made("a", [])]) == ()
