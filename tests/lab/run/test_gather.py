"""Gathering: with `gather.answers`, cases that are answered at once are tried again, and told no right answer."""

import json
from itertools import count

import pytest

from seasoned.llm.scripted import ScriptedModel


@pytest.fixture
def gathered(go, recipe, apprentice):
    """Gathers with a model that reflects on failures; gives the training attempts of each task, and all prompts."""

    def start(**gather):
        number = count(1)

        def says(messages):
            if "It failed" in messages[0]["content"]:
                return f"I took the first code. Next time I take another one, number {next(number)}."
            return apprentice(messages)

        model = ScriptedModel(says, name="reflecting")
        directory = go(recipe(conditions=["disabled", "expnote"], train=6, test=2, gather=gather), llm=model)
        lines = (directory / "results.jsonl").read_text(encoding="utf-8").splitlines()
        tried = {}
        for row in map(json.loads, lines):
            if row["split"] == "train":
                tried.setdefault(row["task_id"], []).append(row)
        return tried, [json.dumps(request["messages"]) for request in model.requests]

    return start


def test_without_answers_each_case_is_tried_once_and_told_what_was_right(gathered):
    tried, prompts = gathered(retries=2)
    assert {len(rows) for rows in tried.values()} == {1}
    assert any("right answer is" in prompt and prompt.endswith('NOTE"}]') for prompt in prompts)
    assert not any("It failed" in prompt for prompt in prompts)


def test_with_answers_failed_cases_are_tried_again_and_told_no_answer(gathered):
    tried, prompts = gathered(retries=2, answers=True)
    assert all(row["gold"] for rows in tried.values() for row in rows)
    for rows in tried.values():
        assert [row["trial"] for row in rows] == list(range(len(rows)))
        assert not any(row["success"] for row in rows[:-1])
        assert rows[-1]["success"] or len(rows) == 3
    again = [rows for rows in tried.values() if len(rows) > 1]
    assert again
    reflected = [prompt for prompt in prompts if "It failed" in prompt]
    assert len(reflected) == sum(len(rows) - 1 for rows in again)
    told = "Next time I take another one"
    assert sum(told in prompt for prompt in prompts if prompt.endswith('THINK"}]')) == len(reflected)
    # The one right answer that a prompt may hold is that of a worked case.
    for rows in again:
        assert not any(f"right answer is {rows[0]['gold']}." in prompt for prompt in reflected)
