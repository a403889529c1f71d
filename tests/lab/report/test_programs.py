"""Two programs for one task, side by side."""

import pytest

from seasoned.lab.report.build import build
from seasoned.lab.report.html import render
from seasoned.lab.report.programs import MOST, fixes
from seasoned.types import Lesson, Outcome, Step, Trajectory

FACT = Lesson(id="les-1", kind="fact", key="tarn", text=">>> tarn('3 kg')\n7")
OTHER = Lesson(id="les-2", kind="fact", key="velp", text=">>> velp(1)\n2")
WRONG = "def solve(x):\n    y = tarn(x)\n    return y"
RIGHT = "def solve(x):\n    y = tarn(f'{x} kg')\n    return y"


def attempt(name, program, **fields):
    steps = (Step(action=">>> tarn(3)", observation="ValueError: no"), Step(action=program))
    given = {"task": "Write solve(x).\nUse: tarn.", "agent": "coder", "steps": steps, **fields}
    return Trajectory(id=name, task_id="t0", outcome=Outcome(success=program == RIGHT, reason="answered"), **given)


@pytest.fixture
def run(make_row):
    """Four tasks that only facts solves, and one that both fail."""
    rows, attempts = [], []
    for number in range(5):
        for condition, program in (("coder", WRONG), ("facts", RIGHT if number < 4 else WRONG)):
            name = f"tra-{condition}-{number}"
            fields = {"meta": {"verdict": "solve(3) gave <b>0</b>"}} if condition == "coder" else {}
            fields |= {"lesson_ids": ("les-1", "les-2")} if condition == "facts" else {}
            attempts.append(attempt(name, program, **fields))
            right = program == RIGHT
            rows.append(make_row(condition, f"t{number}", success=right, trajectory_id=name))
    summary = build(rows, run={"id": "r", "conditions": ["coder", "facts"]}, baseline="coder")
    return summary, rows, attempts


def test_the_programs_stand_side_by_side_with_the_lines_that_differ(run):
    found = fixes(*run, [FACT, OTHER])
    assert len(found) == MOST
    before, after = found[0]["sides"]
    assert [line for line, marked in before["lines"] if marked] == ["    y = tarn(x)"]
    assert [line for line, marked in after["lines"] if marked] == ["    y = tarn(f'{x} kg')"]
    assert before["says"] == "solve(3) gave <b>0</b>"
    assert found[0]["facts"] == [FACT.text]


def test_the_page_has_them_escaped(run):
    page = render(*run, [FACT])
    assert "What failed before, what works now" in page
    assert "solve(3) gave &lt;b&gt;0&lt;/b&gt;" in page
    assert "tarn(f&#39;{x} kg&#39;)" in page


def test_without_a_verdict_the_last_observation_is_told(run):
    summary, rows, attempts = run
    bare = [one.model_copy(update={"meta": {}}) for one in attempts]
    assert fixes(summary, rows, bare, [])[0]["sides"][0]["says"] == "ValueError: no"


def test_other_agents_have_no_such_figure(run):
    summary, rows, attempts = run
    assert fixes(summary, rows, [one.model_copy(update={"agent": "react"}) for one in attempts], []) == []
