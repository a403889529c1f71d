"""What the gate would have done, from the counts and p of a page of results."""

import numpy as np
import pytest
from loading import program

gates = program("experiments/gates.py")

PAGE = """
| benchmark | method | baseline | with it | points | p | why |
|---|---|---|---|---|---|---|
| games, 69 | [insights](insights.md) | 48/69 | 41/69 | -10.1 | 0.016 | all wrong |
| the same, seed 2 | insights | 10/69 | 41/69 | +44.9 | < 0.001 | |
| the same | three retries | 48/69 | 54/69 | +8.7 | 0.031 | |
| games, three runs | insights | 48/69 | 41/69 | -10.1 | 0.016 | |
| games, 12 | insights | 30 % | 40 % | +10 | 0.5 | |
| goals | insights | 0/8 | 0/5 | 0 | 1.0 | other tasks |
| goals | insights | 1/8 | 4/8 | 0 | 0.001 | no pair has this p |
"""


def test_rows_with_one_attempt_per_task_are_read():
    first, second = gates.read(PAGE)
    assert first == ("games, 69", "insights", 69, 0, 7)
    assert second.benchmark == "games, 69: seed 2"
    assert second.won - second.lost == 31


@pytest.mark.parametrize(
    ("before", "after", "tasks", "p", "pair"),
    [
        (48, 41, 69, "0.016", (0, 7)),
        (11, 17, 55, "0.24", (12, 6)),
        (15, 46, 69, "3e-7", (35, 4)),
        (5, 5, 9, "1.0", (4, 4)),
    ],
)
def test_won_and_lost_follow_from_counts_and_p(before, after, tasks, p, pair):
    assert gates.discordant(before, after, tasks, p, below=False) == pair


def test_harm_is_stopped_and_a_large_lift_kept():
    dice = np.random.default_rng(0)
    assert gates.gated(gates.Row("", "", 69, 0, 7), dice) == (0, 0)
    share, points = gates.gated(gates.Row("", "", 300, 165, 26), dice)
    assert share == 1
    assert 45 < points < 48


def test_the_page_has_the_table():
    text = gates.PAGE.read_text(encoding="utf-8")
    for line in gates.table(text):
        assert line in text
