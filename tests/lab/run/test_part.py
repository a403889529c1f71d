"""A part of a run: what its steps share."""

from pathlib import Path

import pytest

from seasoned.lab.run.episode import Session
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.part import Part
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.settings import Limits
from seasoned.llm.scripted import ScriptedModel


@pytest.fixture
def parts(recipe):
    def make(**changes):
        plan = make_plan(recipe(**changes))
        session = Session(None, Path("runs/one"), ScriptedModel([]), Limits(), {})
        return [Part(plan, block, session, Watch(0, quiet=True)) for block in plan.blocks]

    return make


def test_each_part_has_its_own_seed_and_pools(parts):
    first, second = parts(seeds=[3, 5])
    assert (first.recipe.seeds, second.recipe.seeds) == ((3,), (5,))
    assert first.benchmark is first.block.benchmark
    assert [part.experience for part in (first, second)] == ["one/s3f0/training", "one/s5f0/training"]
    assert first.scope("s3f0/erl") == "one/s3f0/erl"


def key(trial, turn):
    return EpisodeKey("s0f0", "erl", "a", 0, turn, trial)


def test_no_two_attempts_draw_with_the_same_seed(parts):
    (part,) = parts(llm={"temperature": 0.7})
    drawn = [part.seed_shift(key(trial, turn)) for trial in range(4) for turn in range(100)]
    assert len(set(drawn)) == len(drawn)
    assert 0 not in drawn


def test_without_a_temperature_nothing_is_drawn(parts):
    (part,) = parts()
    assert {part.seed_shift(key(trial, turn)) for trial in range(2) for turn in range(2)} == {0}
