"""The files of a run, and reading them back."""

import json

import pytest

from seasoned.errors import ConfigError
from seasoned.runner.outputs import read_rows, read_summary


@pytest.fixture
def directory(go, recipe):
    return go(recipe(seeds=[1, 0], conditions=["expnote", "disabled"]))


def rows(directory, name):
    return [json.loads(line) for line in (directory / name).read_text(encoding="utf-8").split("\n") if line]


def test_files_say_what_the_store_says_in_the_order_of_the_plan(directory, store):
    kept = rows(directory, "trajectories.jsonl")
    stored = {t.id: t for t in store.episodes(directory.name).values()}
    assert {t["id"] for t in kept} == set(stored)
    for t in kept:
        assert t.pop("schema_version") == 1
        assert t == stored[t["id"]].model_dump(mode="json")
    order = list(dict.fromkeys((t["meta"]["seed"], t["meta"]["condition"]) for t in kept))
    names = ("training", "expnote", "disabled")
    assert order == [(seed, name) for seed in (1, 0) for name in names]


def test_every_result_names_its_trajectory_and_its_lessons(directory):
    kept = {t["id"]: t for t in rows(directory, "trajectories.jsonl")}
    lessons = {lesson["id"]: lesson for lesson in rows(directory, "lessons.jsonl")}
    used = set()
    for row in rows(directory, "results.jsonl"):
        assert kept[row["trajectory_id"]]["task_id"] == row["task_id"]
        used |= set(row["lesson_ids"])
    assert used
    assert used <= set(lessons)
    assert {lesson["data"]["seed"] for lesson in lessons.values()} == {0, 1}


def test_reading_back(directory):
    assert len(read_rows(directory)) == 2 * (6 + 10)
    assert read_summary(directory)["run"]["id"] == directory.name
    text = (directory / "results.jsonl").read_text(encoding="utf-8")
    (directory / "results.jsonl").write_text(text.replace(read_rows(directory)[0].task, "a\u2028b"), encoding="utf-8")
    assert len(read_rows(directory)) == 2 * (6 + 10)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "expected a JSON object"),
        ("{}", "with a headline"),
        (None, "is not complete: go on"),
    ],
)
def test_a_summary_that_is_none(tmp_path, content, says):
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    with pytest.raises(ConfigError, match=says):
        read_summary(tmp_path)


@pytest.mark.parametrize("content", [None, "{}\n", "\x00\n", "[1]\n"])
def test_rows_that_are_none(tmp_path, content):
    if content is not None:
        (tmp_path / "results.jsonl").write_text(content)
    says = r"results\.jsonl cannot be read" if content is None else r"results\.jsonl, line 1, is no row of results"
    with pytest.raises(ConfigError, match=says):
        read_rows(tmp_path)
