"""Altered lessons keep their place and lose their words."""

import pytest

from seasoned.lab.run.altered import ALTERATIONS, BLANK, FOREIGN, alter
from seasoned.types import Lesson

LESSONS = [
    Lesson(kind="heuristic", key=f"feeling {n}", text=f"answer code k{n}", data={"action": f"code k{n}", "task": "t"})
    for n in range(5)
]


@pytest.mark.parametrize("how", ALTERATIONS)
def test_place_key_and_sources_stay_and_words_go(how):
    made = alter(LESSONS, how)
    assert [one.key for one in made] == [one.key for one in LESSONS]
    assert [one.data["task"] for one in made] == ["t"] * 5
    assert {one.data["altered"] for one in made} == {how}
    assert not {one.id for one in made} & {one.id for one in LESSONS}
    assert all(one.text != old.text and one.data["action"] != old.data["action"] for one, old in zip(made, LESSONS))
    assert alter([], how) == []


def test_what_each_says():
    assert {one.text for one in alter(LESSONS, "blank")} == {BLANK}
    assert {one.text for one in alter(LESSONS, "foreign")} <= set(FOREIGN)
    assert alter(LESSONS, "corrupted")[2].text == "never answer code k2"
    shuffled = alter(LESSONS, "shuffled", seed=3)
    assert sorted(one.text for one in shuffled) == sorted(one.text for one in LESSONS)
    assert "action" not in alter([Lesson(kind="note", key="sad", text="k9")], "corrupted")[0].data
