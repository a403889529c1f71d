"""The reader of commands: forms that models write, and whatever else they may write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.replies.commands import MAX_BARE_KEY, NAMES, RIGHT, WRONG, Command, answer_in, inert, parse, right_answer

THINK = "THINK"
ANSWER = "ANSWER"


def note(key: str, text: str) -> Command:
    return Command("NOTE", key, text)


def one(name: str, text: str) -> list[Command]:
    return [Command(name, "", text)]


@pytest.mark.parametrize(
    ("reply", "commands"),
    [
        ("ANSWER[k7]", one(ANSWER, "k7")),
        ("answer[k7]", one(ANSWER, "k7")),
        ("Answer [k7]", one(ANSWER, "k7")),
        ("**ANSWER[k7]**", one(ANSWER, "k7")),
        ("**ANSWER**[k7]", one(ANSWER, "k7")),
        ("`ANSWER[k7]`", one(ANSWER, "k7")),
        ("- ANSWER[k7]", one(ANSWER, "k7")),
        ("1. ANSWER[k7]", one(ANSWER, "k7")),
        ("ASSISTANT: ANSWER[k7]", one(ANSWER, "k7")),
        ("Sure! Here it is: ANSWER[k7]. Good luck!", one(ANSWER, "k7")),
        ("ANSWER: k7", one(ANSWER, "k7")),
        ("**Answer:** k7", one(ANSWER, "k7")),
        ("Final answer: k7", one(ANSWER, "k7")),
        ("so the FINAL ANSWER: k7", one(ANSWER, "k7")),
        ("ANSWER: [k7].", one(ANSWER, "k7")),
        ("ANSWER:\n\n  k7\n", one(ANSWER, "k7")),
        ("ANSWER(k7)", one(ANSWER, "k7")),
        ("ANSWER【k7】", one(ANSWER, "k7")),
        ("ANSWER：k7", one(ANSWER, "k7")),
        ("ANSWER[So the answer is k7.]", one(ANSWER, "So the answer is k7.")),
        ("ANSWER[(a, [b])]", one(ANSWER, "(a, [b])")),
        ("ANSWER: (fever, symptom)", one(ANSWER, "(fever, symptom)")),
        ("ANSWER: [Amy] is the aunt of [Bob]", one(ANSWER, "[Amy] is the aunt of [Bob]")),
        ("ANSWER[\U0001f621]", one(ANSWER, "\U0001f621")),
        ("ANSWER[\u0627\u0644\u062e\u0648\u0641]", one(ANSWER, "\u0627\u0644\u062e\u0648\u0641")),
        ("ANSWER[k7", one(ANSWER, "k7")),
        ("ANSWER[k7\nThat is all.", one(ANSWER, "k7")),
        ("ANSWER[]", one(ANSWER, "")),
        ("THINK[two\nlines]", one(THINK, "two\nlines")),
        ("RECALL[some words]", one("RECALL", "some words")),
        ("END", [Command("END")]),
        ("**END.**", [Command("END")]),
        ("ANSWER[x]\r\nEND\r\n", [Command(ANSWER, "", "x"), Command("END")]),
    ],
)
def test_forms_of_one_command(reply: str, commands: list[Command]) -> None:
    assert parse(reply) == commands


@pytest.mark.parametrize(
    ("reply", "key", "text"),
    [
        ("NOTE[k7]: fear", "k7", "fear"),
        ("NOTE[k7] fear", "k7", "fear"),
        ("NOTE[k7]=fear", "k7", "fear"),
        ("NOTE[k7] -> fear", "k7", "fear"),
        ("NOTE[k7: fear]", "k7", "fear"),
        ("NOTE[k7: fear", "k7", "fear"),
        ("NOTE[k7]: [fear]", "k7", "fear"),
        ("NOTE[k7]:\nfear\nmore", "k7", "fear"),
        ("NOTE: k7: fear", "k7", "fear"),
        ("NOTE: [k7] fear", "k7", "fear"),
        ("**NOTE[k7]: fear**", "k7", "fear"),
        ("`note[k7]`: fear", "k7", "fear"),
        ('NOTE["k7"]: fear', "k7", "fear"),
        ("NOTE[aunt,  son]: a cousin: yes", "aunt, son", "a cousin: yes"),
        ("NOTE[\\U0001f616]: regret", "\\U0001f616", "regret"),
        ("NOTE[k7]", "k7", ""),
        ("NOTE[k7] \nA line of its own.", "k7", ""),
        ("NOTE[k7: fear] \nA line of its own.", "k7", "fear"),
        ("NOTE[]: fear", "", "fear"),
        ("Note: " + "a" * (MAX_BARE_KEY + 1), "", "a" * (MAX_BARE_KEY + 1)),
    ],
)
def test_forms_of_a_note(reply: str, key: str, text: str) -> None:
    assert parse(reply) == [note(key, text)]


@pytest.mark.parametrize(
    ("reply", "commands"),
    [
        ("THINK[a] ANSWER[b]", [Command(THINK, "", "a"), Command(ANSWER, "", "b")]),
        ("THINK[a ANSWER[b]", [Command(THINK, "", "a"), Command(ANSWER, "", "b")]),
        ("THINK[a\nANSWER[b]]", [Command(THINK, "", "a"), Command(ANSWER, "", "b")]),
        ("THINK[a ANSWER[b]]", [Command(THINK, "", "a ANSWER[b]")]),
        ("THINK[a]ANSWER[b]NOTE[c]: d", [Command(THINK, "", "a"), Command(ANSWER, "", "b"), note("c", "d")]),
        ("NOTE[a]: b NOTE[c]: d", [note("a", "b"), note("c", "d")]),
        ("NOTE[a]:\nNOTE[c]: d", [note("a", ""), note("c", "d")]),
        ("NOTE[a\nNOTE[c]: d\nEND", [note("a", ""), note("c", "d"), Command("END")]),
        ("ANSWER: a\nNOTE: b: c", [Command(ANSWER, "", "a"), note("b", "c")]),
    ],
)
def test_several_commands(reply: str, commands: list[Command]) -> None:
    assert parse(reply) == commands


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n\n",
        "The answer is k7.",
        "rethink[x]",
        "ANSWER",
        "I will answer (later)",
        "in the end",
        "The end is near",
        "[]]",
    ],
)
def test_prose_is_no_command(reply: str) -> None:
    assert parse(reply) == []


def test_letters_that_only_fold_to_ascii_make_no_command() -> None:
    assert parse("THIN\u212a[x] AN\u017fWER[y]") == []


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("k7", "k7"),
        ("ANSWER[k7", "k7"),
        ("ANSWER[k7]", "k7"),
        ("THINK[so] Answer[k7", "k7"),
        ("Answer: k7", "k7"),
        ("k7 ANSWER[", "k7 ANSWER["),
        ("the [answer is k7", "the [answer is k7"),
        ("", ""),
    ],
)
def test_a_reply_is_its_own_answer_unless_it_names_one(reply: str, answer: str) -> None:
    assert answer_in(reply) == answer


@given(
    st.text() | st.lists(st.sampled_from(["ANSWER[", "NOTE(", "THINK", "[", "]", "［", "】", ":", " x "])).map("".join)
)
def test_what_is_inert_stays_within_its_command(text: str) -> None:
    line = " ".join(text.split())
    assert parse(f"THINK[{inert(line)}] ANSWER[x]") == [
        Command(THINK, "", inert(line).strip()),
        Command(ANSWER, "", "x"),
    ]


PIECES = st.sampled_from(
    [
        "THINK",
        "note",
        "ANSWER",
        "RECALL",
        "END",
        "[",
        "]",
        "(",
        ")",
        ":",
        "\n",
        "\r\n",
        " ",
        "**",
        "`",
        "-",
        "k7",
        "\U0001f616",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_any_reply_gives_commands_made_of_its_own_pieces(reply: str) -> None:
    plain = "".join(reply.split())
    for command in parse(reply):
        assert command.name in NAMES
        assert "".join(command.key.split()) in plain
        assert "".join(command.text.split()) in plain
        assert command.key == "" or command.name == "NOTE"


WORDS = st.text(st.characters(categories=["L", "N", "So"]), min_size=1, max_size=8).filter(
    lambda w: not any(name in w.upper() for name in NAMES)
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
COMMANDS = st.one_of(
    st.builds(Command, st.sampled_from(["THINK", "RECALL", "ANSWER"]), st.just(""), TEXTS),
    st.builds(Command, st.just("NOTE"), TEXTS, TEXTS),
)


def spell(command: Command) -> str:
    return f"NOTE[{command.key}]: {command.text}" if command.name == "NOTE" else f"{command.name}[{command.text}]"


@given(st.lists(COMMANDS, max_size=5), st.sampled_from(["\n", "\r\n", " ", "\n\n"]))
def test_what_is_spelled_as_asked_is_read_as_written(commands: list[Command], between: str) -> None:
    assert parse(between.join(map(spell, commands))) == commands


@given(st.lists(COMMANDS, min_size=1, max_size=4), TEXTS)
def test_prose_around_commands_changes_nothing(commands: list[Command], prose: str) -> None:
    reply = f"{prose}\n" + f"\n{prose}\n".join(map(spell, commands)) + f"\n{prose}"
    assert parse(reply) == commands


@given(st.text(min_size=1))
def test_the_answer_that_is_told_is_read_again(answer):
    assert right_answer(WRONG.format(answer=answer)) == answer


@pytest.mark.parametrize("said", ["", RIGHT, WRONG.format(answer=""), "Wrong.", "The right answer is h3.", "OK. h3."])
def test_where_no_answer_is_told_there_is_none(said):
    assert right_answer(said) == ""
