"""Text logs of ReAct and Reflexion runs, whole."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import traces
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.traces import react_attempts
from seasoned.traces.react_log import read
from seasoned.traces.source import lines
from seasoned.types import Outcome, Step


def of(text):
    return read(lines(text.encode()), {"source": "react-log", "file": "run.log"})


def test_two_megabytes_with_a_hundred_tasks_and_several_trials(tmp_path, reflexion_log):
    text, held = reflexion_log(tasks=100, trials=5, words=120)
    assert len(text) > 2_000_000
    (tmp_path / "log.txt").write_text(text, encoding="utf-8")
    begin = time.process_time()
    found = traces.read(tmp_path / "log.txt")
    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "memory/default")
        assert traces.record(found, pool) == held["trajectories"]
        assert time.process_time() - begin < 10
        assert traces.record(found, pool) == 0
        assert len(pool.trajectories(success=True)) == held["successes"]
    assert (found.format, found.problems) == ("react-log", ())
    counts = {"trajectories": len(found.trajectories), "successes": found.successes, "steps": found.steps}
    assert counts == held
    assert len({t.task_id for t in found.trajectories}) == 100
    assert found.repeated > 0


def test_a_solved_task_that_is_printed_again_counts_once_and_a_failure_each_time(reflexion_log):
    text, held = reflexion_log(tasks=10, trials=6, words=3)
    found = of(text)
    assert len(found.trajectories) == held["trajectories"]
    by_task = {}
    for trajectory in found.trajectories:
        by_task.setdefault(trajectory.task, []).append(trajectory)
    for attempts in by_task.values():
        assert [t.meta["trial"] for t in attempts] == list(range(len(attempts)))
        assert all(t.outcome.success is False for t in attempts[:-1])
        assert all("reflection" in t.meta and "too fast" in t.meta["reflection"] for t in attempts[:-1])
        assert all("too fast" in t.guidance for t in attempts[1:])
        assert "You have attempted" not in attempts[-1].task + attempts[-1].guidance


def test_households_with_examples_and_memory_before_the_task(house_log):
    first, second = of(house_log).trajectories
    assert first.task.startswith("You are in the middle of a room.")
    assert first.task.endswith("find the key and put it under the lamp.")
    assert first.steps == (
        Step(
            thought="The key may be in a drawer.\nI start with drawer 2.",
            action="open drawer 2",
            observation="The drawer 2 is open.\nIn it, you see a key 1.",
        ),
        Step(action="take key 1 from drawer 2", observation="Nothing happens."),
    )
    assert first.outcome == Outcome(success=False, reward=0.0, reason="halted")
    assert first.guidance.count("\n\n") == 1
    assert second.outcome == Outcome(success=True, reward=1.0, reason="won")
    assert second.steps[-1] == Step(thought="done", observation="OK.")
    assert of(house_log).problems == []


QA = """Question: Which pier is the longest?
Thought 1: I search.
Action 1: Search[pier]
Observation 1: A pier is a walk.
It has two lines.
Thought 2: done
Action 2: Finish[North [old] pier]
Observation 2: Answer is {verdict}
"""


def test_answers_and_verdicts():
    for word, success in (("CORRECT", True), ("INCORRECT", False)):
        (made,) = of(QA.format(verdict=word)).trajectories
        assert made.outcome == Outcome(
            success=success, reward=float(success), reason="answered", answer="North [old] pier"
        )
        assert made.steps[0].observation == "A pier is a walk.\nIt has two lines."
    unknown = of(QA.replace("Observation 2: Answer is {verdict}\n", "")).trajectories[0].outcome
    assert (unknown.success, unknown.reason) == (None, "answered")


def test_trials_of_one_question_by_header_or_by_number():
    body = "Thought 1: t\nAction 1: Search[{n}]\nObservation 1: nothing\n"
    by_header = "Question: Q?\n" + "".join(f"Trial #{n}\n{body.format(n=n)}STATUS: FAIL\n" for n in range(3))
    by_number = "Question: Q?\n" + "".join(body.format(n=n) for n in range(3))
    for text in (by_header, by_number):
        found = of(text)
        assert [t.task for t in found.trajectories] == ["Q?"] * 3
        assert [t.meta["trial"] for t in found.trajectories] == [0, 1, 2]
        assert found.problems == []


def test_a_reflection_belongs_to_the_attempt_that_it_follows():
    text = QA.format(verdict="INCORRECT") + "Reflection: I read too little.\nNext time I read on.\n\n"
    text += QA.format(verdict="CORRECT")
    first, second = of(text).trajectories
    assert first.meta["reflection"] == "I read too little.\nNext time I read on."
    assert "reflection" not in second.meta
    shop = "Environment #0:\nBuy a cup.\n> click[Buy Now]\nYour score (min 0.0, max 1.0): 0.5\n\n"
    (made,) = of(shop + "STATUS: FAIL\nNew plan: look").trajectories
    assert (made.meta["reflection"], made.outcome.reward) == ("look", 0.5)
    assert made.steps[-1].observation == "Your score (min 0.0, max 1.0): 0.5"


def test_the_trial_before_that_a_prompt_shows_is_no_attempt():
    again = "You have attempted to answer the following question before and failed. Below is the last trial you made.\n"
    text = f"Question: Q?{again}Question: Q?\nThought 1: old\nAction 1: old\n(END PREVIOUS TRIAL)\n\n"
    (made,) = of(text + "Thought 1: new\nAction 1: Finish[a]\n").trajectories
    assert (made.task, made.steps) == ("Q?", (Step(thought="new", action="Finish[a]"),))


def test_context_before_a_question_is_part_of_the_task():
    text = "Context: The pier is old.\nIt is wet.\nQuestion: How is it?\nThought: wet\nAction: Finish[wet]\n"
    (made,) = of(text + "Reflections: \nCorrect answer: wet\n").trajectories
    assert made.task == "Context:\nThe pier is old.\nIt is wet.\nHow is it?"
    assert (made.meta["gold"], made.outcome.answer) == ("wet", "wet")


def test_rulers_and_labels_within_an_observation_are_text():
    seen = "a\n-----\nstatus: 200\ntask: none\n> quoted\nb"
    text = f"Question: Q?\nAction 1: cat\nObservation 1: {seen}\nAction 2: Finish[b]\n"
    assert of(text).trajectories[0].steps[0].observation == seen


def test_a_status_that_a_page_shows_is_no_verdict():
    seen = "HTTP reply\nStatus: OK\nRefunded: no"
    told = "Thought 2: so yes\nAction 2: Finish[yes]\nObservation 2: Answer is INCORRECT\n"
    (made,) = of(f"Question: Q?\nAction 1: get\nObservation 1: {seen}\n{told}").trajectories
    assert (made.outcome.success, made.steps[0].observation) == (False, seen)
    (failed,) = of("Question: Q?\nAction 1: get\nObservation 1: nothing\nSTATUS: FAIL\n").trajectories
    assert (failed.outcome.success, failed.steps[0].observation) == (False, "nothing")


@pytest.mark.parametrize("first", [0, 1])
def test_steps_may_count_from_0(first):
    steps = [f"Thought {n}: t\nAction {n}: Search[x{n}]\nObservation {n}: r\n" for n in range(first, first + 4)]
    attempts = of("Question: Q?\n" + "".join(steps + steps[:2])).trajectories
    assert [len(made.steps) for made in attempts] == [4, 2]


def test_colours_are_dropped():
    assert of("\x1b[31mQuestion: Q?\x1b[0m\n\x1b[1mAction 1: a\x1b[0m\n").trajectories[0].steps[0].action == "a"


def test_what_belongs_to_nothing_is_named():
    raw = (
        b"chatter\nObservation 1: x\nQuestion: a?\nQuestion: b?\nAction 1: go\nObservation 1: \xff\nObservation 1: y\n"
    )
    found = read(lines(raw), {})
    assert [(p.where, p.why) for p in found.problems] == [
        ("line 1", "text that belongs to no attempt"),
        ("line 2", "an observation before any action"),
        ("line 3", "a task without a step"),
        ("line 6", "not UTF-8 text"),
    ]
    assert found.trajectories[0].steps == (Step(action="go", observation="y"),)


def test_steps_without_a_question_are_named_by_their_file():
    assert of("Thought: t\nAction: a\n").trajectories[0].task == "run.log"


PIECES = st.sampled_from(
    """
Question: q?|Thought 1: t|Action 1: a|Observation 1: o|Thought: t|Action: think: x|> go|> think: x|OK.||#####
Environment #1:|Environment #2: Success|Trial 2:|BEGIN TRIAL 1|--- BEGIN HALTED AGENTS ---|STATUS: OK|STATUS: x
Correct answer: g|Reward: 1|Reflection: r|Plan: p|Here are two examples.|(END OF EXAMPLES)|Here is the task:|Context: c
Your memory for the task below:|You have attempted to answer. Below is the last trial|SUCCESS: 1|text|Task: t|Score: 0.5
Action: Finish[x]|Observation: Answer is CORRECT|Reflections:|(END PREVIOUS TRIAL)|> |3 Claim: c|0|1 0.0 0.5 0.0
Action: reset|Instruction:|Observation: Your score (min 0.0, max 1.0): 1.0|Your task is to: t|Previous Trial:
Context:|Score: 1|1 r True rs [1]
Solve a question answering task by hand.|{'steps': 1, 'answer': '', 'gt_answer': 'g', 'em': 0}
""".strip()
    .replace("\n", "|")
    .split("|")
).map(lambda line: line + "\n")


@given(st.lists(PIECES | st.text(max_size=10), max_size=30))
def test_any_lines_give_attempts_and_problems(pieces):
    text = "".join(pieces)
    found = of(text)
    for trajectory in found.trajectories:
        assert trajectory.steps
        assert trajectory.task
        for step in trajectory.steps:
            assert step.thought or step.action or step.observation
    assert len({t.id for t in found.trajectories}) == len(found.trajectories)
    assert [t.id for t in of(text).trajectories] == [t.id for t in found.trajectories]
    assert len(found.problems) <= text.count("\n") + 1


def test_the_time_grows_with_the_length_alone():
    begin = time.process_time()
    for piece in (
        "Action: a\n",
        "> think: t\n",
        "Observation: o\n",
        "Question: q\n",
        "#####\n\n",
        "Here are two examples.\n",
        "> \n",
        "Reflections:\n\nThought: t\n#####\n",
        "Reflections:\nCorrect answer:\n",
        "3 Claim: c\n\n",
        "5\n",
        "Your task is to: t\n",
        "Observation:\n\nThought:\n",
    ):
        of("Environment #1:\nAction 1: a\n" + piece * 4_000 + "Here is the task:\n")
        of("Action: Finish[a]\nObservation: Answer is CORRECT\n" + piece * 4_000)
    assert time.process_time() - begin < 6


def test_a_long_task_is_not_repeated_without_end(monkeypatch):
    monkeypatch.setattr(react_attempts, "MAX_REPEATED", 5_000)
    text = "Question: " + "x" * 1_000 + "\n" + "Thought 1: t\nAction 1: a\nObservation 1: o\n" * 20
    found = of(text)
    assert [len(t.task) for t in found.trajectories] == [1_000] * 6
    assert [t.meta["trial"] for t in found.trajectories] == list(range(6))
    assert len(found.problems) == 14
    assert "5,000 characters in all" in found.problems[0].why
    told = ("Question: " + "x" * 1_000 + "\nThought 1: t\nAction 1: a\nObservation 1: o\n\n") * 20
    assert len(of(told).trajectories) == 20  # what stands in the file is read
