import re
from types import SimpleNamespace

import pytest

from seasoned.agents.direct import Direct
from seasoned.lab.benchmarks.answer import prompts
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Guidance


def test_zero_shot_shows_no_examples_and_few_shot_shows_them(lets):
    task = lets.test[0]
    for style, messages in (("zero-shot", 2), ("few-shot", 2 + 2 * len(lets.examples))):
        model = ScriptedModel([task.data["answer"]])
        made = Direct(model, lets.instruction, lets.examples, style).run(task, lets.make_env(False), Guidance())
        assert made.outcome.success is True
        assert len(model.requests[0]["messages"]) == messages
        assert made.agent == style


def test_guidance_stands_below_the_case_or_in_the_system_prompt(lets):
    task, told = lets.test[0], Guidance(text="Notes from earlier cases:\n- a: b")
    for system, place in ((False, -1), (True, 0)):
        model = ScriptedModel(["x"])
        made = Direct(model, lets.instruction, system=system).run(task, lets.make_env(False), told)
        said = [message["content"] for message in model.requests[0]["messages"]]
        assert said.pop(place).endswith(f"\n{told.text}")
        assert told.text not in str(said)
        assert made.guidance == told.text


def test_chain_of_thought_keeps_its_reasoning(lets):
    task = lets.test[0]
    model = ScriptedModel([f"First one letter, then another.\nAnswer: {task.data['answer']}"])
    made = Direct(model, lets.instruction, lets.examples, "cot").run(task, lets.make_env(False), Guidance())
    assert made.outcome.success is True
    assert made.steps[0].thought == "First one letter, then another."


@pytest.mark.parametrize("form", ["{}", "ANSWER[{}", "ANSWER[{}]", "Answer: {}"])
def test_an_answer_may_come_as_a_command(lets, form):
    task = lets.test[0]
    made = Direct(ScriptedModel([form.format(task.data["answer"])]), lets.instruction, lets.examples).run(
        task, lets.make_env(False), Guidance()
    )
    assert (made.outcome.success, made.steps[0].action) == (True, f"ANSWER[{task.data['answer']}]")


@pytest.mark.parametrize("name", ["lets", "clutrr", "mets"])
def test_worked_reasoning_leads_to_the_right_answer_without_notes(name):
    words = SimpleNamespace(**prompts(name))
    agent = Direct(ScriptedModel([]), words.instruction, words.examples, "cot")
    worked = [m["content"] for m in agent.preamble() if m["role"] == "assistant"]
    assert len(worked) == len(words.examples)
    for text, example in zip(worked, words.examples, strict=True):
        assert text.endswith(f"\nAnswer: {example.answer}")
        assert not re.search(r"\bnotes?\b", text)
        assert not example.wrong or example.reasoning
