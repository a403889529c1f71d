import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.replies.turns import Turn, bare, read_turn, split_reasoning
from seasoned.text import prompt_line


@pytest.mark.parametrize(
    ("text", "thought", "action"),
    [
        ("go to desk 1", "", "go to desk 1"),
        ("Thought: a pen is on a desk.\nAction: go to desk 1", "a pen is on a desk.", "go to desk 1"),
        ("Thought 3: look there.\nAction 3: Search[Ada Lovelace]", "look there.", "Search[Ada Lovelace]"),
        ("**Thought:** look.\n**Action:** `open drawer 2`", "look.", "open drawer 2"),
        ("> go to shelf 2", "", "go to shelf 2"),
        ('Action: "go to bed 1"', "", "go to bed 1"),
        ("Action: take pen 1 from desk 1\nAction: go to bed 1", "", "take pen 1 from desk 1"),
        ("Action: go to bed 1\nObservation: You see a lamp.\nAction: use lamp", "", "go to bed 1"),
        ("think: the pen is not here", "the pen is not here", ""),
        ("Action: think: the pen is not here\nAction: go to bed 1", "the pen is not here", "go to bed 1"),
        ("THINK[where is the pen]", "where is the pen", ""),
        ("I should look on the bed.\n> go to bed 1", "I should look on the bed.", "go to bed 1"),
        ("Thought: I should look on the bed.\n> go to bed 1", "I should look on the bed.", "go to bed 1"),
        ("I look for her.\nSearch[Ada Lovelace]", "I look for her.", "Search[Ada Lovelace]"),
        ("```\nAction: look\n```", "", "look"),
        ("1. go to desk 1\n2. take pen 1 from desk 1", "", "go to desk 1"),
        ("Thought: only thinking", "only thinking", ""),
        ("go to desk 1\nThought: next I look.", "", "go to desk 1"),
        ("I look.\nThought: on the bed.", "I look. on the bed.", ""),
        ("Action:", "", ""),
        ("", "", ""),
        ("Observation: you win", "", ""),
        # thought and action on one line
        ("Thought: I should look. Action: go to desk 1", "I should look.", "go to desk 1"),
        ("Thought 1: I look .. Action 1: Search[x]", "I look ..", "Search[x]"),
        ('**Thought:** he said "no." **Action:** go to desk 1', 'he said "no."', "go to desk 1"),
        ("Thought: Action: look", "", "look"),
        ("Thought: the best action: look", "the best action: look", ""),
        ("Thought: it says so. Action: is a word.\nAction: look", "it says so. Action: is a word.", "look"),
        # what is considered
        ("<think>Action: go to bed 1</think>\nAction: look", "", "look"),
        ("<THINK>\nI could\n> go to bed 1\n</THINK>\n\ngo to desk 1", "", "go to desk 1"),
        ("so I\nAction: go to bed 1\n</think>\nThought: hm\nAction: look", "hm", "look"),
        ("<think>Action: go to bed 1", "", ""),
        # a call in the last line
        ("Thought: look\nSearch[Milhouse]", "look", "Search[Milhouse]"),
        ("I need the film.\n**Search[Up]**", "I need the film.", "Search[Up]"),
        ("I need the film.\n`Search[Up]`", "I need the film.", "Search[Up]"),
        ("I need the film.\nSearch[Up].", "I need the film.", "Search[Up]"),
        ("I need the film.\n- Search[Up]", "I need the film.", "Search[Up]"),
        ("I need the film.\n1. Search[Up]", "I need the film.", "Search[Up]"),
        ("Thought: I need it.\n**Search[Up]**", "I need it.", "Search[Up]"),
        ("Thought: I need it.\nSearch[Up].", "I need it.", "Search[Up]"),
        ("Thought: I need it.\n`go to desk 1`", "I need it.", "go to desk 1"),
        ("Thought: a\n\nFinish[Paris]", "a", "Finish[Paris]"),
        ("Thought: a\nthink[b]", "a think[b]", ""),
        # other forms
        ("<action>go to desk 1</action>", "", "go to desk 1"),
        ("<think>hm</think><answer>go to desk 1</answer>", "", "go to desk 1"),
        ("hm\n</thinking>\nAction: go to desk 1", "", "go to desk 1"),
        ("Action: ```go to desk 1```", "", "go to desk 1"),
        ("思考：我需要它。\n行动：Search[Up]", "我需要它。", "Search[Up]"),
        ("<thought>look.</thought>\n<action>\ngo to desk 1\n</action>", "look.", "go to desk 1"),
        ('{"thought": "look.", "action": "go to desk 1"}', "look.", "go to desk 1"),
        ('```json\n{\n  "thought": "look.",\n  "action": "go to desk 1"\n}\n```', "look.", "go to desk 1"),
        ('Thought: look.\nAction:\n```\n{"action": "Search", "action_input": "x"}\n```', "look.", "Search[x]"),
        ('{"action": "look"}\n{"action": "go to bed 1"}', "", "look"),
        ('[{"action": "look"}]', "", "look"),
        ('[\n  {"thought": "Hm.", "action": "look"},\n  {"action": "go to bed 1"}\n]', "Hm.", "look"),
        ('{"action": "look",}, {"action": "go to bed 1",}', "", "look"),
        ('{"action": "click", "id": 3}', "", '{"action": "click", "id": 3}'),
        ("### Action\ngo to desk 1", "", "go to desk 1"),
        ("### Thought 1\nlook.\n\n**Action**\ngo to desk 1", "look.", "go to desk 1"),
        ("Action #3: look", "", "look"),
        ("Final action: look", "", "look"),
        ("1. Thought: a\n2. Action: look", "a", "look"),
        ("1. Action: look", "", "look"),
        ("Thought: a\nResult: nothing is there\nAction: look", "a Result: nothing is there", "look"),
        ("Action: Search\nAction Input: Milhouse", "", "Search[Milhouse]"),
        ('Action: `Search`\n**Action Input:** "Ada Lovelace"\nObservation: x', "", "Search[Ada Lovelace]"),
        ("Action: look\nAction Input:", "", "look"),
        # what is made up after an action without a label
        ("go to desk 1\nResult: you are there", "", "go to desk 1"),
        ("go to desk 1\nYou are there.\n> take pen 1", "", "go to desk 1"),
        ("go to desk 1\nUser: you are there", "", "go to desk 1"),
        ("Go to desk 1\nObservation: you are there", "", "Go to desk 1"),
        # a bare command below a sentence
        ("Thought: I will look.\ngo to drawer 1", "I will look.", "go to drawer 1"),
        ("Thought: I look. Where?\nIn it!\n  open drawer 1", "I look. Where? In it!", "open drawer 1"),
        ("Thought: I look.\ngo to bed 1\nObservation: You see it.\nAction: look", "I look.", "go to bed 1"),
        ("I'll look in the drawer.\ngo to drawer 1", "I'll look in the drawer.", "go to drawer 1"),
        ('He said "there."\n\ngo to drawer 1', 'He said "there."', "go to drawer 1"),
        ("Thought: the pen may be\nin the drawer", "the pen may be in the drawer", ""),
        ("Thought: I will look.\nin the drawer.", "I will look. in the drawer.", ""),
        ("Thought: I will look.\nthink: where", "I will look. where", ""),
        ("Thought: I will look.\nthink[where]", "I will look. think[where]", ""),
        ("Go to desk 1\nyou are there", "", "Go to desk 1"),
        ("I look.\ngo to desk 1\nYou see a pen.", "", "I look."),
        # brackets and dashes
        ("Action: [go to desk 1]", "", "go to desk 1"),
        ("[go to desk 1]", "", "go to desk 1"),
        ("Action: [Search[x]]", "", "Search[x]"),
        ("Action: [a] and [b]", "", "[a] and [b]"),
        ("Action 1 - go to desk 1", "", "go to desk 1"),
        ("Thought 1 – look.\nAction 1 — go to desk 1", "look.", "go to desk 1"),
        ("Action - go to desk 1", "", "Action - go to desk 1"),
    ],
)
def test_what_models_really_send(text, thought, action):
    assert read_turn(text) == Turn(thought, action)


@given(st.text() | st.lists(st.sampled_from(["Thought:", "Action 2:", "Observation", ">", "`", "\n", "go", "[", "**"])))
def test_any_text_gives_a_turn_made_of_its_pieces(given):
    text = given if isinstance(given, str) else " ".join(given)
    turn = read_turn(text)
    assert "\n" not in turn.action
    assert all(word in prompt_line(text, 10**6) for word in turn.action.removesuffix("…").split())


FORMS = """
Action: action. Thought: Result: Action_Input: <think> </think> <action> </action> ### **Action** {"action": "go" }
Search[x] > 1. #3 Final ``` [ ] - look.
"""


@given(st.lists(st.sampled_from([*FORMS.split(), "\n", '"thought":', ","])))
def test_any_form_gives_a_turn_of_one_line(pieces):
    turn = read_turn(" ".join(pieces))
    assert "\n" not in turn.action + turn.thought


@given(st.text())
def test_an_action_laid_bare_stays_as_it_is(text):
    once = bare(text)
    assert bare(once) == once


def test_a_long_thought_hides_no_action():
    assert read_turn("Thought: " + "a " * 200_000 + "\nAction: look").action == "look"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Because.\nAnswer: abc", ("Because.", "abc")),
        ("Because.\nThe answer is abc", ("Because. The", "abc")),
        ("abc", ("", "abc")),
        ("One.\nTwo", ("One.", "Two")),
        ("", ("", "")),
        ("Answer:", ("", "")),
        ("Because.\nAnswer: Paris\nThat answers the question.", ("Because.", "Paris")),
        ("Because.\nAnswer: niece\n(I checked my answer.)", ("Because.", "niece")),
        ("Answer: niece\nThe answer is right: I checked.", ("", "niece")),
        ("Answer: aunt\nNo.\nAnswer = niece", ("Answer: aunt No.", "niece")),
        ("The unanswered letters point to fear.\nfear", ("The unanswered letters point to fear.", "fear")),
        ("The answer is not far.\n> **Final Answer:** abc", ("The answer is not far.", "abc")),
        ("So the final answer: abc\n(That answers it.)", ("So the final", "abc")),
        ("## Answer\nabc", ("## Answer", "abc")),
        ("Answer:\n\nabc", ("", "abc")),
        ("Because.\n**Answer is**: abc", ("Because.", "abc")),
    ],
)
def test_split_reasoning(text, expected):
    assert split_reasoning(text) == expected


@given(st.text())
def test_any_reasoning_is_split_without_error(text):
    thought, answer = split_reasoning(text)
    assert len(answer.splitlines()) <= 1
    assert len(thought) <= 600
