"""Text logs of ReAct and Reflexion runs: whole ones, lines alone and in their place, and the attempts they hold."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import traces
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.traces import react
from seasoned.traces.react import Attempt, read, trajectories_of
from seasoned.traces.react_lines import Line, ahead, classify, is_unanswered, right_answer
from seasoned.traces.source import Problem, lines
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
        of("Environment #1:\nAction 1: a\n" + piece * 2_000 + "Here is the task:\n")
        of("Action: Finish[a]\nObservation: Answer is CORRECT\n" + piece * 2_000)
    assert time.process_time() - begin < 3


def test_a_long_task_is_not_repeated_without_end(monkeypatch):
    monkeypatch.setattr(react, "MAX_REPEATED", 5_000)
    text = "Question: " + "x" * 1_000 + "\n" + "Thought 1: t\nAction 1: a\nObservation 1: o\n" * 20
    found = of(text)
    assert [len(t.task) for t in found.trajectories] == [1_000] * 6
    assert [t.meta["trial"] for t in found.trajectories] == list(range(6))
    assert len(found.problems) == 14
    assert "5,000 characters in all" in found.problems[0].why
    told = ("Question: " + "x" * 1_000 + "\nThought 1: t\nAction 1: a\nObservation 1: o\n\n") * 20
    assert len(of(told).trajectories) == 20  # what stands in the file is read


RIGHT = "Thought: by the map\nAction: Finish[north]\nObservation: Answer is CORRECT\n"
WRONG = "Thought: by heart\nAction: Finish[south]\nObservation: Answer is INCORRECT\n"


def test_what_comes_after_a_line():
    text = "a\nYou have attempted to answer it.\n\n(END PREVIOUS TRIAL)\nThought 2: t\n> go\n"
    text += "Question: q\nAction: reset\nb\nTask:"
    first, again, blank, resume, thought, prompt, question, reset, b, task = ahead(
        [classify(line) for line in text.split("\n")]
    )
    assert [first.resumes, again.resumes, resume.resumes] == [False, True, False]
    assert [first.step, thought.step, question.step] == [True, False, False]
    assert [resume.command, thought.command, prompt.command] == [False, True, False]
    assert [b.asks, reset.asks, blank.asks, task.asks] == [True, True, False, False]
    assert [again.follows, question.follows, task.follows] == ["resume", "reset", ""]


@pytest.mark.parametrize("ending", ["", "\nQuestion: What now?\n" + RIGHT, "##########\nBEGIN TRIAL 2\n"])
def test_a_trial_in_place_of_a_reflection_is_quoted(ending):
    text = f"-- BEGIN CORRECT AGENTS --\n\nQuestion: Where is the pier?\n{RIGHT}Reflections: \n{WRONG}"
    first = of(text + "Correct answer: north\n" + ending).trajectories[0]
    assert [t.task for t in of(text + ending).trajectories].count("Where is the pier?") == 1
    assert (first.outcome.success, first.outcome.answer) == (True, "north")
    assert (first.meta["gold"], "reflection" in first.meta, first.guidance) == ("north", False, "")


def test_a_trial_after_the_right_answer_or_after_a_reflection_is_no_quotation():
    text = f"Question: Where is the pier?\n{WRONG}Correct answer: north\nReflections:\n{RIGHT}"
    assert [t.outcome.success for t in of(text).trajectories] == [False, True]
    text = f"Question: Where is the pier?\n{WRONG}Reflection: I guessed.\n{RIGHT}"
    assert [t.outcome.success for t in of(text).trajectories] == [False, True]


SHOWN = f"""You have attempted to answer this question before. Below is the last trial, which failed.
Question: How old is the mill?
{WRONG}(END PREVIOUS TRIAL)

What follows is advice.
Reflections:
- I did not look.

Question: How old is the mill?
"""


@pytest.mark.parametrize(
    "before", ["-- BEGIN CORRECT AGENTS --\n\n", f"Question: Where is the pier?\n{RIGHT}Correct answer: north\n\n"]
)
def test_the_last_trial_is_passed_over_and_the_reflection_given_to_what_follows(before):
    found = of(before + SHOWN + RIGHT)
    made = found.trajectories[-1]
    assert len(found.trajectories) == 1 + ("pier" in before)
    assert (made.task, made.guidance, made.outcome.success) == ("How old is the mill?", "- I did not look.", True)
    assert all("reflection" not in t.meta for t in found.trajectories)
    assert found.problems == []


def test_the_last_trial_that_is_not_said_to_end_is_not_passed_over():
    text = SHOWN.replace("(END PREVIOUS TRIAL)\n", "")
    assert len(of(text + RIGHT).trajectories) == 2


def test_claims_with_numbers_and_what_is_printed_after_them():
    told = "{'steps': 1, 'answer': 'REFUTES', 'gt_answer': 'SUPPORTS', 'em': 0, 'reward': 0, 'f1': 0}\n"
    text = (
        "12 Claim: The pier is dry.\nThought 1: t\nAction 1: Finish[REFUTES]\n"
        f"Observation 1: Episode finished, reward = 0\n\n\n{told}\n0 1 0.0 3.25\n-----------\n\n"
        "7 Claim: The mill is old.\nThought 1: t\nAction 1: \n\nFinish[SUPPORTS]\nObservation 1: Invalid action\n\n"
        f"{told.replace('REFUTES', '')}"
    )
    first, second = of(text).trajectories
    assert (first.task, second.task) == ("The pier is dry.", "The mill is old.")
    assert (first.outcome.answer, first.meta["gold"]) == ("REFUTES", "SUPPORTS")
    assert first.steps[0].observation == "Episode finished, reward = 0"
    assert (second.outcome.answer, second.outcome.success, second.meta["gold"]) == ("", False, "SUPPORTS")
    assert of(text).problems == []


def test_a_numbered_question_within_a_page_is_text():
    page = "An exam:\n\n12 Question: what is a pier?"
    (made,) = of(f"Question: Q?\nAction 1: look\nObservation 1: {page}\nAction 2: Finish[x]\n").trajectories
    assert made.steps[0].observation == page


SHOP = """-----------------
0
Action: reset
Observation:
Webshop
Instruction:
buy a blue cup
[Search]

Action: search[cup]
Observation:
[Back to Search]

Action: click[Buy Now]
Observation: {ending}

1 {mean} 0.0 0.0
-------------
-----------------
1
Action: reset
Observation:
Webshop
Instruction:
buy a red cup
[Search]

Action: think[red it is]
Observation: OK.
"""


@pytest.mark.parametrize(("ending", "success"), [("Your score (min 0.0, max 1.0): 1.0", True), ("", None)])
def test_a_shop_begins_with_a_reset_and_ends_with_a_score(ending, success):
    found = of(SHOP.format(ending=ending, mean=float(bool(success))))
    first, second = found.trajectories
    assert [t.task for t in found.trajectories] == ["buy a blue cup\n[Search]", "buy a red cup\n[Search]"]
    assert first.outcome.success is success
    assert first.steps[-1] == Step(action="click[Buy Now]", observation=ending)
    assert (second.steps, found.problems) == ((Step(thought="red it is", observation="OK."),), [])


def test_a_reset_elsewhere_is_an_action_and_a_number_is_text():
    text = "Question: Q?\nAction 1: reset\nObservation 1: a table\n\n5\n-----\n"
    (made,) = of(text + "Action 2: go\n").trajectories
    assert made.steps == (Step(action="reset", observation="a table\n\n5\n-----"), Step(action="go"))


def test_a_reflection_before_the_right_answer_was_given_and_one_after_it_is_on_the_attempt():
    asked = "Question: Where is the pier?\n"
    text = f"{asked}{WRONG}Correct answer: north\n\n{asked}{RIGHT}Reflections: I guessed.\nCorrect answer: north\n"
    first, second = of(text).trajectories
    assert (first.meta["reflection"], second.guidance, "reflection" in second.meta) == (
        "I guessed.",
        "I guessed.",
        False,
    )
    (made,) = of(f"{asked}{WRONG}Correct answer: north\nReflections: I guessed.\n").trajectories
    assert (made.meta["reflection"], made.guidance) == ("I guessed.", "")


def test_a_room_without_a_header_is_a_task():
    rooms = "You are in a hall.\nYour task is to: {goal}.\n> look\nA cup.\nSTATUS: {end}\n"
    text = rooms.format(goal="find a cup", end="FAIL") + "New plan: look up.\n\n" + rooms.format(goal="sit", end="OK")
    found = of(text)
    assert [t.task for t in found.trajectories] == [
        f"You are in a hall.\nYour task is to: {goal}." for goal in ("find a cup", "sit")
    ]
    assert [t.outcome.success for t in found.trajectories] == [False, True]
    assert (found.trajectories[0].meta["reflection"], found.problems) == ("look up.", [])
    numbered = "You are in a hall.\nYour task is to: sit.\nAct 1: think: now\nObs 1: OK.\nAct 2: sit\nObs 2: You sit.\n"
    (made,) = of(numbered + "1 r True rs [1] cnts [1] sum(rs)/sum(cnts) 1.0\n------------\n").trajectories
    assert (made.steps, made.outcome.success) == ((Step(thought="now", action="sit", observation="You sit."),), True)


def test_a_page_begins_the_next_attempt_after_a_verdict_and_an_empty_one_says_nothing():
    text = (
        f"Question: Where is the pier?\n{RIGHT}\nContext: The mill is old.\nIt is wet.\nQuestion: How is it?\n{WRONG}"
    )
    first, second = of(text).trajectories
    assert first.steps[-1].observation == "Answer is CORRECT"
    assert second.task == "Context:\nThe mill is old.\nIt is wet.\nHow is it?"
    (made,) = of(f"Context: \nQuestion: How is it?\n{RIGHT}").trajectories
    assert made.task == "How is it?"
    (made,) = of(f"Question: Q?\nAction: look\nObservation: a page\n\nContext: old\n{RIGHT}").trajectories
    assert made.steps[0].observation == "a page\n\nContext: old"


def test_an_empty_command_has_its_own_answer():
    text = "Environment #0:\nTurn on the lamp.\n> turn on lamp\nIt is on.\n> \nNothing happens.\n> go\nYou go.\n> \n"
    (made,) = of(text + "STATUS: FAIL\n").trajectories
    assert made.steps == (
        Step(action="turn on lamp", observation="It is on."),
        Step(observation="Nothing happens."),
        Step(action="go", observation="You go."),
    )


def test_a_thought_may_be_answered_in_small_letters():
    (made,) = of("Environment #0:\nSit.\n> think: a chair\nOk.\n> sit\nYou sit.\n").trajectories
    assert made.steps == (Step(thought="a chair", action="sit", observation="You sit."),)


def test_headings_of_trials_and_a_plan_for_the_next():
    told = "Thought 1: t\nAction 1: look\nObservation 1: none\n\n"
    text = "Previous Trial:\nQuestion: {task}?\n" + told + "{label}: {said}\n\n\n"
    first = text.format(task="a", label="Reflection", said="slow")
    found = of(first + text.format(task="b", label="Next plan", said="up"))
    assert [(t.task, t.meta["reflection"]) for t in found.trajectories] == [("a?", "slow"), ("b?", "up")]
    assert found.problems == []


def test_the_instruction_before_a_question_joins_nothing():
    told = "Solve a question answering task by having a thought.\n"
    text = (
        f"{told}Question: a?\nThought: t\nAction: Finish[x]\n\n{told}Question: b?\n{RIGHT}\n{told}Question: c?\n{RIGHT}"
    )
    found = of(text)
    assert [(t.task, t.steps[-1].action, t.steps[-1].observation) for t in found.trajectories] == [
        ("a?", "Finish[x]", ""),
        ("b?", "Finish[north]", "Answer is CORRECT"),
        ("c?", "Finish[north]", "Answer is CORRECT"),
    ]
    assert found.problems == []


@pytest.mark.parametrize("form", ["Question: Q?\nAction 1: look\nObservation 1: {page}\nAction 2: go\n",
                                  "Environment #0:\nQ?\n> look\n{page}\n> go\n"])  # fmt: skip
def test_a_score_within_a_page_is_text_where_the_attempt_goes_on(form):
    page = "a match\n\nScore: 1\nin the end"
    (made,) = of(form.format(page=page)).trajectories
    assert (made.steps[0].observation, made.outcome.success) == (page, None)
    (made,) = of(form.format(page="a match") + "Won.\n\nScore: 1\n\nTrial 2\n").trajectories
    assert made.outcome.success is True


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


def test_the_time_to_classify_grows_with_the_length_alone():
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


def attempt(line=1, **fields):
    steps = [(["t"], ["Finish[x]"], [""])]
    return Attempt(**{"line": line, "task": ["q?"], "steps": steps, **fields})


def ends(**fields):
    return trajectories_of([attempt(**fields)], [], {}, repeats=False).trajectories[0].outcome


def test_what_tells_of_success_in_this_order():
    seen = [(["t"], ["go"], ["Answer is CORRECT"])]
    assert ends(status=False, section="correct", score=1.0).success is False
    assert ends(section="incorrect", steps=seen).success is False
    assert ends(steps=seen, score=0.0).success is True
    assert ends(score=1.0) == Outcome(success=True, reward=1.0, reason="answered", answer="x")
    assert ends(score=7.0) == Outcome(reward=7.0, reason="answered", answer="x")
    assert ends(section="halted", steps=[([], ["go"], [])]) == Outcome(success=False, reward=0.0, reason="step_limit")
    assert ends(steps=[([], ["go"], ["Episode finished, reward = 0"])]).success is False
    assert ends().success is None


def test_the_verdict_on_an_answer_counts_before_the_section():
    wrong = [([], ["Finish[x]"], ["Answer is INCORRECT"])]
    assert ends(section="correct", steps=wrong).success is False
    assert ends(section="correct", steps=wrong, status=True).success is True


def test_an_answer_that_the_log_says_was_none():
    assert ends(score=0.0, unanswered=True) == Outcome(success=False, reward=0.0, reason="halted")


def test_repeats_are_left_out_only_where_the_log_prints_them():
    twice = [attempt(status=True), attempt(5, status=True), attempt(9, status=False), attempt(13, status=False)]
    told = trajectories_of(twice, [], {}, repeats=True)
    assert ([t.meta["place"] for t in told.trajectories], told.repeated) == (["line 1", "line 9", "line 13"], 1)
    assert len(trajectories_of(twice, [], {}, repeats=False).trajectories) == 4


def test_a_reflection_that_is_shown_goes_to_the_attempt_before():
    given = ["- First.", "- Second,", "in two lines."]
    first, second = trajectories_of(
        [attempt(status=False), attempt(5, before=given)], [], {}, repeats=False
    ).trajectories
    assert first.meta["reflection"] == "Second,\nin two lines."
    assert second.guidance == "\n".join(given)
    assert "reflection" not in second.meta
    (alone,) = trajectories_of([attempt(before=given)], [], {}, repeats=False).trajectories
    assert (alone.guidance, "reflection" in alone.meta) == ("\n".join(given), False)


def test_problems_come_in_the_order_of_lines():
    found = trajectories_of(
        [], [Problem("line 9", "a"), Problem("line 10", "b"), Problem("line 2", "c")], {}, repeats=False
    )
    assert [p.where for p in found.problems] == ["line 2", "line 9", "line 10"]


def test_an_attempt_without_a_task_takes_what_name_there_is():
    names = [trajectories_of([attempt(task=[], environment=n)], [], {"file": f}, repeats=False).trajectories[0].task
             for n, f in ((3, "a.log"), (-1, "a.log"), (-1, ""))]  # fmt: skip
    assert names == ["Environment #3", "a.log", "unnamed"]
