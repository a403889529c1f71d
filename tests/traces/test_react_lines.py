"""What each kind of line is taken for."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.traces.react_lines import Line, classify, is_unanswered, right_answer


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Thought 12: I look.", Line("thought", "I look.", 12)),
        ("**Action 1:** go", Line("action", "go", 1)),
        ("act: x", Line("action", "x")),
        ("Obs 3:", Line("observation", "", 3)),
        ("Question:  Who?", Line("question", "Who?")),
        ("Claim: It is.", Line("question", "It is.")),
        ("Task: find it", Line("perhaps task", "find it")),
        ("New plan: be slow", Line("reflection", "be slow")),
        ("Reflections:", Line("reflection")),
        ("Correct answer: pier", Line("gold", "pier")),
        ("STATUS: FAIL", Line("status", "FAIL")),
        ("Your score (min 0.0, max 1.0): 0.75", Line("score", "0.75")),
        ("Reward: 1.0", Line("perhaps score", "1.0")),
        ("> go to desk 1", Line("prompt", "go to desk 1")),
        (">>> 1 + 1", Line("text", ">>> 1 + 1")),
        ("BEGIN TRIAL 2", Line("trial", "", 2)),
        ("==== Trial #3 ====", Line("trial", "", 3)),
        ("***** Start Trial #0 *****", Line("trial", "", 0)),
        ("***** End Trial #0 *****", Line("ruler")),
        ("------- BEGIN INCORRECT AGENTS ------", Line("section", "incorrect")),
        ("Environment #7:", Line("environment", "", 7)),
        ("Environment #7 Trial #2: FAIL", Line("environment", "fail", 7)),
        ("########", Line("ruler")),
        ("---", Line("text", "---")),
        ("SUCCESS: 12", Line("statistic")),
        ("Trial summary: Correct: 3, Incorrect: 4", Line("statistic")),
        ("(END OF EXAMPLES)", Line("resume")),
        ("Here is the task:", Line("task")),
        ("Solve it. Here are two examples.", Line("skip", "Solve it. Here are two examples.")),
        ("{'steps': 5, 'answer': 'x', 'em': True, 'reward': True}", Line("info", "True")),
        ("3 r True rs [1, 0] cnts [2, 1]", Line("info", "True")),
        ("17 Claim: The pier is wet.", Line("perhaps question", "The pier is wet.")),
        ("17 claims: none", Line("text", "17 claims: none")),
        ("Next plan: be slow", Line("reflection", "be slow")),
        ("Previous Trial:", Line("perhaps heading", "Previous Trial:")),
        ("Solve a question answering task by hand.", Line("heading", "Solve a question answering task by hand.")),
        ("Your task is to: find it", Line("perhaps goal", "Your task is to: find it")),
        ("4 0.5 0.25 0.0", Line("perhaps tally", "4 0.5 0.25 0.0")),
        ("2 3 0.6666666666666666 3.5", Line("perhaps tally", "2 3 0.6666666666666666 3.5")),
        ("12", Line("perhaps tally", "12")),
        ("1 2 3 4", Line("text", "1 2 3 4")),
        ("  ", Line("blank")),
        ("The trial was long.", Line("text", "The trial was long.")),
        ("Environmental rules: none", Line("text", "Environmental rules: none")),
    ],
)
def test_kinds(line, found):
    assert classify(line) == found


def test_what_a_line_tells_beside_the_score():
    told = "{'steps': 2, 'answer': '', 'gt_answer': \"the miller's pier\", 'em': 0}"
    assert (right_answer(told), is_unanswered(told)) == ("the miller's pier", True)
    assert (right_answer("{'steps': 2, 'em': 0}"), is_unanswered("{'answer': 'x', 'em': 0}")) == ("", False)


@given(st.text())
def test_any_line_has_a_kind(line):
    assert classify(line).kind


def test_the_time_grows_with_the_length_alone():
    begin = time.process_time()
    for piece in (
        "#",
        "-=",
        "Thought ",
        "trial ",
        "{'steps': 1, 'em': ",
        " > ",
        "Environment #1 ",
        "here are examples ",
    ):
        classify(piece * 200_000)
        classify("{'steps': 1, " + piece * 200_000)
        right_answer("'gt_answer': '" * 200 + piece * 200_000)
    assert time.process_time() - begin < 2
