"""Logs in the forms that the readers take, made here in our own words."""

import random

import pytest

WORDS = ["amber", "bridge", "cellar", "dial", "ember", "ferry", "gable", "harbour", "inlet", "jetty", "kiln", "ladder",
         "mill", "notch", "orchard", "pier", "quarry"]  # fmt: skip


def make_reflexion_log(tasks=100, trials=5, words=60, seed=0):
    """A log as Reflexion's runs leave it: sections in each trial, solved tasks printed again, reflections shown.

    Returns the text and what is in it: attempts, successes, steps.
    """
    draw = random.Random(seed)
    solved = {}
    shown = {}
    text, attempts, steps, successes = [], 0, 0, 0
    for trial in range(1, trials + 1):
        parts = {"CORRECT": [], "INCORRECT": [], "HALTED": []}
        for task in range(tasks):
            if task in solved:
                parts["CORRECT"].append(solved[task])
                continue
            ending = draw.choice(["CORRECT", "INCORRECT", "INCORRECT", "HALTED"])
            block, count = _block(draw, task, trial, ending, shown.get(task, ""), words)
            parts[ending].append(block)
            attempts, steps, successes = attempts + 1, steps + count, successes + (ending == "CORRECT")
            if ending == "CORRECT":
                solved[task] = block
            shown[task] = f"- In try {trial} I read the {WORDS[task % 17]} page too fast; read it to its end."
        counts = ", ".join(f"{name.title()}: {len(blocks)}" for name, blocks in parts.items())
        text.append(f"\n{'#' * 40}\nBEGIN TRIAL {trial}\nTrial summary: {counts}\n{'#' * 39}\n")
        for name, blocks in parts.items():
            text.append(f"------------- BEGIN {name} AGENTS -------------\n\n" + "".join(blocks))
    return "".join(text), {"trajectories": attempts, "successes": successes, "steps": steps}


def _block(draw, task, trial, ending, reflection, words):
    asked = f"Which {WORDS[task % 17]} stands nearest to mark {task}?"
    if reflection:
        asked += (
            "You have attempted to answer following question before and failed. What you noted then is here.\n"
            f"Reflections:\n{reflection}"
        )
    lines = [f"Question: {asked}"]
    count = draw.randint(2, 5)
    for step in range(1, count + 1):
        prose = " ".join(draw.choices(WORDS, k=words))
        last = step == count and ending != "HALTED"
        lines.append(f"Thought {step}: try {trial}, look at {draw.choice(WORDS)} next.")
        lines.append(f"Action {step}: {'Finish' if last else 'Search'}[{draw.choice(WORDS)}]")
        seen = f"Answer is {ending}" if last else f"{prose}.\nA second line: {prose}."
        lines.append(f"Observation {step}: {seen}")
    return "\n".join(lines) + f"\nCorrect answer: {WORDS[task % 17]}\n\n", count


HOUSE = """
#####

Environment #0:
Interact with a house to solve a task. Here are two examples.
You are in a hall. You see a desk 1 and a shelf 1.
Your task is to: put a cup on shelf.
> think: the cup may be on the desk.
OK.
> take cup 1 from desk 1
You take it.
Your memory for the task below:
Trial 0:
I should open the drawer before I look on the shelf.
Trial 1:
I should look into drawer 2 first.
Here is the task:
You are in the middle of a room. You see a drawer 2, and a lamp 1.
Your task is to: find the key and put it under the lamp.
> think: The key may be in a drawer.
OK.
> think: I start with drawer 2.
OK.
> open drawer 2
The drawer 2 is open.
In it, you see a key 1.
> take key 1 from drawer 2
Nothing happens.

STATUS: FAIL

#####

#####

Environment #1: Success

#####

#####

Environment #2:
Here is the task:
You are in a kitchen.
Your task is to: cool a plate.
> go to fridge 1
The fridge 1 is closed.
> think: done
OK.

STATUS: OK

#####

-----
SUCCESS: 2
ADDITIONAL SUCCESS: 1
FAIL: 1
TOTAL: 3
ACCURACY: 0.67
-----"""


@pytest.fixture
def reflexion_log():
    return make_reflexion_log


@pytest.fixture
def house_log():
    return HOUSE
