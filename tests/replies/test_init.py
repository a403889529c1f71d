"""What holds for every reader of a reply: none raises, and none takes more than linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.lab.methods.autoguide import read_places
from seasoned.lab.methods.transfer import read_adapted
from seasoned.llm.calls import split_calls
from seasoned.replies.calls import read_call
from seasoned.replies.commands import answer_in, parse
from seasoned.replies.heuristics import read_heuristic
from seasoned.replies.operations import Item, read_operations
from seasoned.replies.rankings import read_ranking
from seasoned.replies.reflections import read_reflection
from seasoned.replies.turns import read_turn, split_reasoning
from seasoned.text import prompt_line

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = [{"name": "THINK", "parameters": {}}, {"name": "search", "parameters": QUERY}]
READERS = {
    "call": read_call,
    "calls": lambda text: split_calls(text, TOOLS),
    "commands": parse,
    "answer": answer_in,
    "turn": read_turn,
    "reasoning": split_reasoning,
    "ranking": lambda text: read_ranking(text, 9, 3),
    "operations": lambda text: read_operations(text, [Item("Look first.")]),
    "heuristic": read_heuristic,
    "reflection": read_reflection,
    "transfer": read_adapted,
    "contexts": lambda text: read_places(text, 9),
    "line": prompt_line,
}
PIECES = [
    "1. ",
    "1. \n",
    "THINK[",
    "NOTE[",
    "ADD 1: ",
    "{",
    "[",
    "(",
    "{]",
    '{"a":',
    "Action: ",
    "plan: \n",
    "<think>",
    "**",
    "search(",
    "search({",
    'search({"query": "',
    "<tool_call>",
    "<function=search>",
    "a=1,",
    ")",
    "ANSWER: NOTE[",
    "NOTE[a]:",
    "\nNOTE: \n",
    "_*`~",
    "END\n",
    "Thought: a. ",
    "# Action ",
    ". Action ",
    "\nAction Input",
    '"action":{\n',
]


def seconds(read, text):
    start = time.process_time()
    read(text)
    return time.process_time() - start


def is_quick(read, piece):
    short, long = (seconds(read, (piece * size)[:size]) for size in (25_000, 100_000))
    # A quadratic reader would take sixteen times as long.
    return long < min(8 * short + 0.02, 0.25)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_four_times_the_text_takes_four_times_as_long(read):
    for piece in PIECES:
        assert any(is_quick(read, piece) for _ in range(3)), piece  # again if another process took the time


pieces = st.lists(st.sampled_from([*PIECES, "ANSWER[x]", "Thought: ", "a", ":", "]", "}", '"', "\n"]) | st.text())


@given(pieces.map("".join))
def test_no_reader_raises(text):
    for read in READERS.values():
        read(text)
