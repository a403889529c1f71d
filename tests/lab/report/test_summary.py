"""Summaries of this version and of earlier ones, and what is none."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import pytest
from pydantic import ValidationError

from seasoned.errors import DataError
from seasoned.lab.report.html import render
from seasoned.lab.report.summary import Summary, Transition, parse_summary

FIRST_VERSION = Path(__file__).with_name("summary_v1.json")  # of a run of version 0.1.0, with two of its lessons


@pytest.fixture
def old() -> dict:
    return json.loads(FIRST_VERSION.read_text(encoding="utf-8"))


def _lost(before: object, after: object, place: str = "") -> list[str]:
    """Where the second lacks or changes what the first has."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [each for key in before for each in _lost(before[key], after.get(key, "-"), f"{place}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [each for i, part in enumerate(before) for each in _lost(part, after[i], f"{place}.{i}")]
    return [] if before == after else [place]


def test_a_summary_of_version_1_keeps_every_field(old):
    assert _lost(old, parse_summary(old).to_json()) == [".schema_version"]
    assert parse_summary(old).to_json()["schema_version"] == 2


def test_a_report_is_written_of_it(old):
    assert escape(old["headline"]) in render(parse_summary(old), [])


def test_what_older_runs_lack_is_left_open(old):
    for key in ("problems", "guidance", "origins", "judgements", "steps"):
        del old[key]
    for block in old["conditions"]:
        for key in ("phases", "familiar", "learning"):
            del block[key]
        del block["reliability"]["reward"]
    summary = parse_summary(old)
    assert summary.conditions[0].phases is None
    assert summary.guidance == ()
    assert escape(old["headline"]) in render(summary, [])


def test_what_another_program_added_is_passed_over_but_for_the_run(old):
    summary = parse_summary({**old, "mine": 1, "run": {**old["run"], "command": "make demo"}})
    assert not hasattr(summary, "mine")
    assert summary.to_json()["run"]["command"] == "make demo"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "does not hold a summary: expected a JSON object with a headline"),
        ({"headline": ""}, "does not hold a summary"),
        ({"schema_version": 3}, "is a summary of version 3, and this program reads versions up to 2"),
        ({"conditions": [{"name": 3}]}, r"has another form than this version writes \(conditions"),
        ({"run": None}, r"has another form than this version writes \(run"),
    ],
)
def test_what_is_no_summary_is_a_sentence(old, value, says):
    if value not in ([], {"headline": ""}):
        value = {**old, **value}
    with pytest.raises(DataError, match=says):
        parse_summary(value)


def test_it_is_there_and_back_the_same(summary: Summary):
    assert parse_summary(json.loads(json.dumps(summary.to_json(), allow_nan=False))) == summary
    with pytest.raises(ValidationError, match="frozen"):
        summary.headline = "So."


def test_names_in_the_file_are_those_of_the_papers():
    moved = Transition(condition="expnote", n=4, ff=1, ft=2, tt=1, tf=0)
    assert moved.to_json() == {"condition": "expnote", "n": 4, "F=>F": 1, "F=>T": 2, "T=>T": 1, "T=>F": 0}
