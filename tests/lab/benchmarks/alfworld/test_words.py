"""The worked attempts of the ALFWorld prompts: they could have happened."""

import re
from collections import Counter

from seasoned.lab.benchmarks.alfworld.choices import NOTHING, after, begin, choices, noted
from seasoned.lab.benchmarks.alfworld.env import command_of
from seasoned.lab.benchmarks.alfworld.game import CATEGORIES
from seasoned.lab.benchmarks.alfworld.words import read_words

WORDS = read_words(False)


def test_two_of_each_category():
    assert Counter(t.category for t in WORDS.trajectories) == dict.fromkeys(CATEGORIES, 2)
    assert len({t.id for t in WORDS.trajectories}) == 12
    assert all(t.outcome.success and t.outcome.reason == "won" for t in WORDS.trajectories)
    assert [t.steps[-1].reward for t in WORDS.trajectories] == [1.0] * 12


def test_they_search_and_recover():
    for category in CATEGORIES:
        steps = [step for t in WORDS.trajectories if t.category == category for step in t.steps]
        assert sum(step.action.startswith("go to") for step in steps) >= 6
    failed = {t.category for t in WORDS.trajectories if any(s.observation == NOTHING for s in t.steps)}
    assert failed == set(CATEGORIES)
    closed = [t for t in WORDS.trajectories if any("is closed" in s.observation for s in t.steps)]
    assert len(closed) >= 9


def test_they_are_short():
    for t in (*WORDS.trajectories, *(t for t, _ in WORDS.reflections)):
        assert 6 <= len(t.steps) <= 14
        assert all(0 < len(step.thought.split()) <= 20 for step in t.steps)
        assert len(t.task) < 400


def test_two_reflections():
    assert len(WORDS.reflections) == 2
    for trajectory, text in WORDS.reflections:
        assert trajectory.outcome.success is False
        assert "Next time" in text


def test_each_step_follows_from_those_before():
    for t in (*WORDS.trajectories, *(t for t, _ in WORDS.reflections)):
        known = begin(t.task)
        for step in t.steps:
            assert command_of(step.action) == step.action
            beside = step.action.startswith("go to ") and step.observation == NOTHING
            assert (step.action in choices(known)) is (step.observation != NOTHING or beside), (t.id, step)
            before, known = known, after(known, step.action, step.observation)
            for place, things in known.seen.items():
                if before.seen.get(place) is None or sorted(before.seen[place]) == sorted(things):
                    continue
                # Between two looks at a place, only what the agent took or put there has changed.
                assert step.action.startswith(("take", "move")), (t.id, step)


def test_lists_are_in_the_engines_order():
    for t in WORDS.trajectories:
        for text in (t.task, *(step.observation for step in t.steps)):
            for listed in re.findall(r"you see (a [^.]*)\.", text):
                things = re.findall(r"a (\w+) (\d+)", listed)
                assert things == sorted(things, key=lambda thing: (thing[0], -int(thing[1])))
                named = [f"a {name} {number}" for name, number in things]
                assert listed == (named[0] if len(named) == 1 else f"{', '.join(named[:-1])}, and {named[-1]}")


def test_the_words():
    for verb in ("go to", "open", "close", "take", "move", "clean", "heat", "cool", "use", "examine"):
        assert f"{verb} " in WORDS.instruction
    assert WORDS.about


def test_with_a_notebook_they_are_noted():
    assert read_words(True) == WORDS._replace(trajectories=tuple(map(noted, WORDS.trajectories)))
    assert read_words(True).trajectories != WORDS.trajectories
