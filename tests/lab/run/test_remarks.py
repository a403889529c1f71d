"""What a report says of the run's own settings."""

import json
import re

from seasoned.llm.scripted import ScriptedModel


def remarks(directory):
    return json.loads((directory / "summary.json").read_text(encoding="utf-8"))["remarks"]


def scholar(apprentice, words=1):
    """The apprentice, who also writes a heuristic of each attempt, as long as is wanted."""

    def says(messages):
        if not messages[0]["content"].startswith("You look back at one attempt"):
            return apprentice(messages)
        felt = re.findall(r"THINK\[(.+?)\]", messages[-1]["content"])
        rule = {"trigger": f"the writer feels {felt[-1]}", "action": "answer " + "as before " * words + "k4"}
        return json.dumps({"analysis": "It was noted.", **rule})

    return ScriptedModel(says, name="scholar")


def loser():
    """A model that searches for long, answers wrongly, and says why."""

    def says(messages):
        if "It failed" in messages[0]["content"]:
            return "I will answer otherwise, and look at both pages before that."
        turn = sum(message["role"] == "assistant" for message in messages)
        return "Thought: hm.\nAction: " + ("Search[Milan]" if not turn % 2 else "Finish[nothing]")

    return ScriptedModel(says, name="loser")


def test_the_scaffold_is_named_for_the_conditions_that_had_it(recipe, go, apprentice):
    names = ["disabled", "erl", "erl(without=filters)", "erl(without=all)", "expnote"]
    said = remarks(go(recipe(conditions=names, embedder="hashing"), llm=scholar(apprentice)))
    scaffold = [remark for remark in said if remark.startswith("Scaffold")]
    assert [remark.partition(": ")[0] for remark in scaffold] == [
        "Scaffold that no paper has, for erl",
        "Scaffold that no paper has, for erl(without=filters)",
    ]
    assert ["were dropped" in remark for remark in scaffold] == [True, False]
    assert all("lessons had to begin with 'answer'" in remark for remark in scaffold)


def test_a_cap_that_bites_is_told_with_how_much_was_shown(recipe, go, apprentice):
    settings = {"conditions": ["disabled", "erl"], "embedder": "hashing", "train": 12, "test": 4}
    tight = recipe(**settings, erl={"k": 5, "retrieve": "embedding", "guidance_tokens": 100})
    said = [remark for remark in remarks(go(tight, llm=scholar(apprentice, 12))) if "guidance_tokens" in remark]
    assert len(said) == 1
    shown = re.fullmatch(
        r"erl\.guidance_tokens=100 left heuristics of erl out at 4 of 4 test attempts: (\d\.\d) of 5 were shown there "
        r"on average\.",
        said[0],
    )
    assert shown
    assert 0 < float(shown[1]) < 5
    wide = recipe(**settings, erl={"k": 5, "retrieve": "embedding", "guidance_tokens": 4000})
    assert not [remark for remark in remarks(go(wide, llm=scholar(apprentice, 12))) if "guidance_tokens" in remark]


def test_reflections_on_shortened_attempts_say_how_much_was_left_out(recipe, go):
    settings = {
        "benchmark": {"name": "hotpotqa"},
        "conditions": ["react", "reflexion"],
        "baseline": "react",
        "train": 0,
        "test": 2,
        "method": {"trials": 1},
    }
    said = remarks(go(recipe(**settings, reflexion={"attempt_chars": 100}), llm=loser()))
    short = [remark for remark in said if "reflections were written without" in remark]
    assert len(short) == 1
    found = re.match(r"(\d+) of (\d+) reflections were written without ([\d,]+) characters", short[0])
    assert found
    assert (found[1], found[2]) == ("2", "2")
    assert int(found[3].replace(",", "")) > 0
    assert not [remark for remark in remarks(go(recipe(**settings), llm=loser())) if "were written without" in remark]
