"""Words of prompts from a file, their attempts played on an environment."""

import pytest

from seasoned.lab.benchmarks import act as module
from seasoned.lab.benchmarks.act import Words, act_benchmark, play_words
from seasoned.lab.benchmarks.base import Retrieval
from seasoned.types import Outcome, Task

FILE = """
instruction = "Open\\n  boxes."
about = " Boxes. "
heuristic = ["a box is shut", "open it"]
[[attempt]]
task = "the red box"
category = "red"
steps = [["I look.", "look"], ["I open it.", "open"]]
[[attempt]]
task = "the blue box"
reflection = "Look\\n first."
steps = [["I open it.", "open"]]
again = [["I look.", "look"], ["I open it.", "open"]]
"""


class Box:
    """Opens if it was looked at."""

    def reset(self, task, *, seed=None):
        self.done = []
        return f"Here is {task.text}.", {}

    def step(self, action):
        self.done.append(action)
        ended = action == "open"
        right = self.done == ["look", "open"]
        return f"{action}: done", float(right), ended, False, {"right": right} if ended else {}

    def close(self):
        pass


@pytest.fixture
def words(tmp_path, monkeypatch):
    (tmp_path / "boxes.toml").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(module, "PROMPTS", tmp_path)
    return play_words(
        "boxes",
        lambda attempt: (Box(), Task(id="any", text=attempt["task"])),
        lambda info: Outcome(success=info["right"], reason="opened"),
    )


def test_the_environment_says_what_is_seen_and_how_it_ended(words):
    assert (words.instruction, words.about) == ("Open boxes.", "Boxes.")
    (won,) = words.trajectories
    assert [(s.thought, s.action, s.observation, s.reward) for s in won.steps] == [
        ("I look.", "look", "look: done", 0.0),
        ("I open it.", "open", "open: done", 1.0),
    ]
    assert won.outcome == Outcome(success=True, reason="opened")
    assert (won.task, won.category, won.benchmark, won.agent) == ("Here is the red box.", "red", "boxes", "worked")
    assert (won.id, won.task_id, won.meta) == ("tra-boxes-worked-1", "boxes-worked-1", {"trial": 0})


def test_attempts_with_a_reflection_are_the_failed_ones(words):
    ((failed, reflection),) = words.reflections
    assert (failed.outcome.success, failed.category, reflection) == (False, "", "Look first.")


def test_a_failed_task_may_be_won_afterwards(words):
    ((failed, _),) = words.reflections
    won = words.retried
    assert (won.task_id, won.task) == (failed.task_id, failed.task)
    assert (won.id, won.meta) == ("tra-boxes-worked-2-again", {"trial": 1})
    assert ([step.action for step in won.steps], won.outcome.success) == (["look", "open"], True)


def test_an_acting_benchmark_has_its_words_and_pools(words):
    won = words.retried
    words = Words("Open boxes.", "Boxes.", (), (), ("a box is shut", "open it"), won)
    train, test = (Task(id="a", text="a"),), (Task(id="b", text="b"),)
    made = act_benchmark("boxes", words, pools=(train, test), max_turns=5, make_env=lambda reveal: Box(), source="here")
    assert (made.manner, made.train, made.test, made.max_turns, made.source) == ("act", train, test, 5, "here")
    assert (made.heuristic, made.retried) == (("a box is shut", "open it"), won)
    assert (made.instruction, made.about, made.examples, made.retrieval) == ("Open boxes.", "Boxes.", (), Retrieval())
