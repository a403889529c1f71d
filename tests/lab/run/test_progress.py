"""What a person sees while a run is at work."""

import io

import pytest
from rich.console import Console

from seasoned.lab.run.progress import Watch
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


def learning(terminal, calls, expected, monkeypatch):
    now = iter(range(0, 100_000, 20))
    monkeypatch.setattr("seasoned.lab.run.progress.time.monotonic", lambda: float(next(now)))
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=160)
    with Watch(3, console=console) as watch, watch.learns("erl", expected) as told:
        for _ in range(calls):
            told()
    return text.getvalue()


def test_learning_tells_how_far_it_is(monkeypatch):
    lines = learning(False, 3, 60, monkeypatch).splitlines()
    assert lines == [
        "erl learns: call 1 of at most 60",
        "erl learns: call 2 of at most 60",
        "erl learns: call 3 of at most 60",
    ]


def test_learning_that_takes_more_calls_than_expected(monkeypatch):
    assert "erl learns: call 3 of at most 3" in learning(False, 3, 0, monkeypatch)


def test_learning_without_a_call_says_nothing(monkeypatch):
    assert learning(False, 0, 60, monkeypatch) == ""


def test_learning_has_a_bar_that_ends_full():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=160)
    with Watch(3, console=console) as watch, watch.learns("erl", 60) as told:
        told()
        told()
    assert "erl learns" in text.getvalue()
    assert "2/2" in text.getvalue()


@pytest.fixture
def told_last(monkeypatch):
    """Plays episodes of one stage on a clock of its own; gives the last line that is told."""

    def play(total, episodes):
        clock, text = [0.0], io.StringIO()
        monkeypatch.setattr("seasoned.lab.run.progress.time.monotonic", lambda: clock[0])
        with Watch(total, console=Console(file=text, force_terminal=False, width=160)) as watch:
            watch.stage("expnote", total)

            def end(count, seconds, **changes):
                for _ in range(count):
                    clock[0] += seconds
                    watch.ended("expnote", made(ENDS[0]).model_copy(update=changes))

            episodes(watch, clock, end)
        return text.getvalue().splitlines()[-1]

    return play


def test_what_a_resumed_run_has_already_says_nothing_about_how_long_the_rest_takes(told_last):
    def episodes(watch, clock, end):
        end(90, 0, created="2020-01-01T00:00:00.000+00:00")
        end(1, 20)

    assert told_last(100, episodes).endswith(f"about {20 * 9} s left")


def test_the_time_left_is_measured_over_the_last_lines(told_last):
    """Replies that a journal has come at once, too."""

    def episodes(watch, clock, end):
        end(900, 0)
        end(30, 20)

    assert told_last(1000, episodes).endswith(f"about {20 * 70} s left")


def test_what_learning_took_says_nothing_about_how_long_episodes_take(told_last):
    def episodes(watch, clock, end):
        end(2, 20)
        with watch.learns("erl", 5) as told:
            told()
            clock[0] += 1000
        end(2, 20)

    assert told_last(10, episodes).endswith(f"about {20 * 6} s left")


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet(terminal):
    assert shown(terminal, quiet=True).strip() == ""


def test_a_run_shows_its_progress_on_standard_error(recipe, go, capsys):
    go(recipe(), quiet=False)
    said = capsys.readouterr()
    assert said.out == ""
    assert "16 episodes with apprentice" in said.err
    assert "16/16 episodes" in said.err
