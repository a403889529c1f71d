"""What a line of a text log is by where it stands: quotations, headings, and the forms that several programs print."""

import pytest

from seasoned.traces.react_lines import classify
from seasoned.traces.react_log import read
from seasoned.traces.react_place import ahead
from seasoned.traces.source import lines
from seasoned.types import Step

RIGHT = "Thought: by the map\nAction: Finish[north]\nObservation: Answer is CORRECT\n"
WRONG = "Thought: by heart\nAction: Finish[south]\nObservation: Answer is INCORRECT\n"


def of(text):
    return read(lines(text.encode()), {"source": "react-log", "file": "run.log"})


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
