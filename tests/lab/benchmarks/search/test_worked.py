"""The worked attempts of the HotpotQA and FEVER prompts."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from seasoned.lab.benchmarks import fever, hotpotqa
from seasoned.lab.benchmarks.base import DATA
from seasoned.lab.benchmarks.search.docstore import title_key
from seasoned.lab.benchmarks.search.worked import PAGES, worked

BOTH = [("hotpotqa", hotpotqa.judge), ("fever", fever.judge)]


@pytest.mark.parametrize(("name", "judge"), BOTH)
def test_they_succeed_and_show_what_can_happen(name: str, judge: Callable[..., Any]) -> None:
    words = worked(name, judge)
    assert 4 <= len(words.trajectories) <= 6
    assert len(words.reflections) == 2
    assert words.instruction
    assert words.about
    observations = [s.observation for t in words.trajectories for s in t.steps]
    assert any(o.startswith("Could not find [") for o in observations)
    assert any(o.startswith("(Result 1 / ") for o in observations)
    for trajectory in words.trajectories:
        assert trajectory.outcome.success is True
        assert trajectory.steps[-1].observation == "Right."
    for trajectory, reflection in words.reflections:
        assert trajectory.outcome.success is False
        assert len(reflection.split()) > 20
    for trajectory in (*words.trajectories, *(t for t, _ in words.reflections)):
        assert len(trajectory.steps) <= 7
        assert trajectory.meta == {"trial": 0}
        assert all(step.thought and len(step.thought.split()) <= 25 for step in trajectory.steps)
        assert not any(step.observation.startswith("That is no") for step in trajectory.steps)


def test_their_pages_are_in_no_benchmark() -> None:
    def titles(path: Any) -> set[str]:
        return {title_key(json.loads(line)["title"]) for line in path.read_text("utf-8").splitlines()}

    assert not titles(PAGES) & titles(DATA / "search_pages.jsonl")


def test_each_label_is_among_the_first_three_of_fever() -> None:
    assert {t.outcome.answer for t in worked("fever", fever.judge).trajectories[:3]} == set(fever.LABELS)
    kinds = [t.category for t in worked("hotpotqa", hotpotqa.judge).trajectories]
    assert kinds.count("bridge") >= 2
    assert kinds.count("comparison") >= 2
