import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.replies.reflections import REFLECTION_CHARS, read_reflection

PLAN = "I looked in the drawer only; next time I will open the fridge first."


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        (PLAN, PLAN),
        (f"Plan: {PLAN}", PLAN),
        (f"**New plan:** {PLAN}", PLAN),
        (f"## Reflection\n{PLAN}", PLAN),
        (f"<think>Let me see.</think>\n\nMy plan 2: {PLAN}", PLAN),
        (f'"{PLAN}"', PLAN),
        (f"```text\n{PLAN}\n```", PLAN),
        (f"{PLAN}\n{PLAN} {PLAN}", PLAN),
        (f"{PLAN}\n\nTask: another one\nAction: look", PLAN),
        (f"{PLAN}\n**Observation 3:** nothing", PLAN),
        (f"{PLAN}\nThe attempt failed.\nPlan: more of it", PLAN),
        ("The attempt failed because I never looked up.", "The attempt failed because I never looked up."),
        ("1. Open the fridge.\n2. Take the mug.", "1. Open the fridge. 2. Take the mug."),
        ("次は冷蔵庫を開ける。" * 3, "次は冷蔵庫を開ける。"),
        ("Task: find a mug\nAction: look", ""),
    ],
)
def test_replies_as_models_write_them(reply, read):
    assert read_reflection(reply) == read.replace(
        "Reflection I", "## Reflection I" if "##" in reply else "Reflection I"
    )


def test_a_reply_that_was_cut_off_ends_with_a_sentence():
    assert (
        read_reflection("I opened the wrong drawer. Next I will go to the", whole=False) == "I opened the wrong drawer."
    )
    assert read_reflection("I opened the wrong drawer. Next I will go") == "I opened the wrong drawer. Next I will go"
    assert read_reflection("Next time I will go to the", whole=False) == "Next time I will go to the"


@given(st.text(), st.booleans())
def test_any_reply_is_read_as_one_line(reply, whole):
    read = read_reflection(reply, whole=whole)
    assert len(read) <= REFLECTION_CHARS
    assert "\n" not in read
    assert not read or len({char for char in read.casefold() if char.isalpha()}) >= 4
