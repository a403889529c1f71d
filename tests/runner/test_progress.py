"""What a person sees while a run is at work."""

import io

import pytest
from rich.console import Console

from seasoned.runner.progress import Watch
from seasoned.types import Outcome, Trajectory, Usage

ENDS = [Outcome(success=True), Outcome(success=False), Outcome(reason="error")]


def made(outcome, cost=0.25):
    usage = Usage(prompt_tokens=1000, completion_tokens=5, calls=1, cost=cost)
    return Trajectory(task_id="t", task="x", outcome=outcome, usage=usage)


def shown(terminal, cost=0.25, quiet=False):
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=160)
    with Watch(3, console=console, quiet=quiet) as watch:
        watch.say("begins")
        watch.stage("expnote", 1)
        watch.stage("expnote", 2)
        for outcome in ENDS:
            watch.ended("expnote", made(outcome, cost))
    return text.getvalue()


def test_without_a_terminal_the_last_line_sums_up():
    assert shown(False).splitlines() == [
        "begins",
        "3/3 episodes, expnote: 1/2 = 50% 1 err, 3,000 in, 15 out, $0.7500, about 0 s left",
    ]


def test_on_a_terminal_there_are_bars():
    text = shown(True)
    for part in ("begins", "expnote", "3/3", "1/2 = 50% 1 err", "3,000 in, 15 out, $0.7500", "left"):
        assert part in text


def test_an_unknown_cost_is_not_shown_as_nothing():
    assert "$" not in shown(False, cost=None)


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet(terminal):
    assert shown(terminal, quiet=True).strip() == ""


def test_a_run_shows_its_progress_on_standard_error(recipe, go, capsys):
    go(recipe(), quiet=False)
    said = capsys.readouterr()
    assert said.out == ""
    assert "16 episodes with apprentice" in said.err
    assert "16/16 episodes" in said.err
