"""How replies are read: what models really send, and each known fault of the original parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.methods.expel.operations import apply
from seasoned.replies.operations import Item, Operation, read_operations

LIST = (
    Item("Check closed containers before you leave a room.", 3),
    Item("Search for one entity at a time.", 2),
    Item("If an action fails twice, try another one.", 2),
)
RULE = "Write short queries."


def read(text):
    return list(read_operations(text, LIST).operations)


def add(text=RULE):
    return Operation("ADD", None, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the plain forms
        ("ADD 4: Write short queries.", [add()]),
        ("ADD: Write short queries.", [add()]),
        ("EDIT 2: Search for one person at a time.", [Operation("EDIT", 2, "Search for one person at a time.")]),
        ("UPVOTE 2: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("DOWNVOTE 2: Search for one entity at a time.", [Operation("DOWNVOTE", 2)]),
        ("AGREE 2: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("REMOVE 2: Search for one entity at a time.", [Operation("DOWNVOTE", 2)]),
        ("UPVOTE 2", [Operation("UPVOTE", 2)]),
        ("UPVOTE 1\nDOWNVOTE 3", [Operation("UPVOTE", 1), Operation("DOWNVOTE", 3)]),
        # faults of the original parser
        ("**ADD 4:** Write short queries.", [add()]),
        ("**ADD 4: Write short queries.**", [add()]),
        ("- **UPVOTE 2**: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("`ADD`: `Write short queries.`", [add()]),
        ("add 4: Write short queries.", [add()]),
        ("Upvote 2: search for one entity at a time", [Operation("UPVOTE", 2)]),
        ("ADD 4: Write short queries", [add("Write short queries")]),
        ("ADD 4: Searching: Write short queries.", [add("Searching: Write short queries.")]),
        ("ADD 4: ADDRESS each part of the question.", [add("ADDRESS each part of the question.")]),
        (
            "ADD 4: When two sources DISAGREE, AGREE with neither; EDIT the query.",
            [add("When two sources DISAGREE, AGREE with neither; EDIT the query.")],
        ),
        ("ADD 4: ADD numbers only at the end.", [add("ADD numbers only at the end.")]),
        ("EDIT 0: Something wholly different from all of them.", []),
        (
            "EDIT 2: Search for one entity at a time. If it is not found, search for its category.",
            [Operation("EDIT", 2, "Search for one entity at a time. If it is not found, search for its category.")],
        ),
        ("EDIT 2: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        # targets: number and text
        ("UPVOTE 1: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("DOWNVOTE 9: Search for one entity at a time.", [Operation("DOWNVOTE", 2)]),
        ("UPVOTE: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("UPVOTE 2: Search for only one entity at a time, please.", [Operation("UPVOTE", 2)]),
        ("UPVOTE 3: Search for one entity", [Operation("UPVOTE", 2)]),
        ("UPVOTE 2: Bananas are a kind of berry.", []),
        ("EDIT 7: Search for one entity at a time, by name.", [Operation("EDIT", 2, LIST[1].text[:-1] + ", by name.")]),
        ("EDIT 1: Search for one entity at a time, by name.", [Operation("EDIT", 2, LIST[1].text[:-1] + ", by name.")]),
        ("EDIT 1: Wholly new words stand here.", [Operation("EDIT", 1, "Wholly new words stand here.")]),
        ("EDIT: Wholly new words stand here.", []),
        ("UPVOTE -1", []),
        ("UPVOTE 99999999999999999999", []),
        ("ADD 4: search for one entity at a time", [Operation("UPVOTE", 2)]),
        # what models make of the format
        ("ADD Write short queries.", [add()]),
        ("1. ADD 4: Write short queries.\n2. UPVOTE 1", [add(), Operation("UPVOTE", 1)]),
        ("Operation 1: ADD: Write short queries.", [add()]),
        ('> ADD 4 - "Write short queries."', [add()]),
        ("ADD <Write short queries.>", [add()]),
        ("ADD new insight: Write short queries.", [add()]),
        ("UPVOTE insight #2", [Operation("UPVOTE", 2)]),
        ("AGREE WITH RULE 2: Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("ADD 4：写短的查询。", [add("写短的查询。")]),
        ("ADD 4:\nWrite short queries.", [add()]),
        ("ADD:\n- Write short queries.\n- Rest.\n\nThat is all.", [add(), add("Rest.")]),
        ("ADD 4: Write short\nqueries.", [add()]),
        ("ADD 4: Write short queries.\nThis helps with every search.", [add()]),
        ("ADD 4: Write short queries. UPVOTE 2: Search for one entity at a time.", [add(), Operation("UPVOTE", 2)]),
        ("Here are my operations:\n\nADD 4: Write short queries.\n\nI hope they help!", [add()]),
        ("```text\nADD 4: Write short queries.\n```", [add()]),
        ("<think>ADD 1: no.</think>\nADD 4: Write short queries.", [add()]),
        ('[{"operation": "ADD", "number": 0, "text": "Write short queries."}]', [add()]),
        ('{"operations": [{"operation": "agree", "number": 2}]}', [Operation("UPVOTE", 2)]),
        ('{"operation": "ADD", "number": 4, "text": "Write short queries."}', [add()]),
        ("[ADD 4]: Write short queries.", [add()]),
        ("EDIT 2 -> Search for two things.", [Operation("EDIT", 2, "Search for two things.")]),
        ("EDIT 2 → Search for two things.", [Operation("EDIT", 2, "Search for two things.")]),
        ("EDIT 2 => Search for two things.", [Operation("EDIT", 2, "Search for two things.")]),
        ("EDIT 2 to: Search for two things.", [Operation("EDIT", 2, "Search for two things.")]),
        ("**EDIT 2** to: Search for two things.", [Operation("EDIT", 2, "Search for two things.")]),
        ("AGREE: 2", [Operation("UPVOTE", 2)]),
        ("UPVOTE 1 and 2", [Operation("UPVOTE", 1), Operation("UPVOTE", 2)]),
        ("UPVOTE rules 1, 2 and 3.", [Operation("UPVOTE", 1), Operation("UPVOTE", 2), Operation("UPVOTE", 3)]),
        ("DOWNVOTE 1, 3\nThey never helped.", [Operation("DOWNVOTE", 1), Operation("DOWNVOTE", 3)]),
        ("UPVOTE 1 and 9", [Operation("UPVOTE", 1)]),
        ("UPVOTE 1.5", []),
        ("Step 1: ADD 4: Write short queries.", [add()]),
        ('{"op": "ADD", "text": "Write short queries."}', [add()]),
        ('[{"op": "upvote", "number": "2"}]', [Operation("UPVOTE", 2)]),
        (
            '{"op": "ADD", "text": "Write short queries."}\n{"op": "UPVOTE", "number": 1}',
            [add(), Operation("UPVOTE", 1)],
        ),
        ('Here they are:\n\n```json\n[{"op": "ADD", "text": "Write short queries."}]\n```', [add()]),
        ("[ADD] Write short queries.", [add()]),
        ("<ADD>Write short queries.</ADD>", [add()]),
        ("let me consider\nADD: Always take the pen.\n</think>\n\nADD: Write short queries.", [add()]),
        ("<thinking>\nADD: Always take the pen.\n</thinking>\nADD: Write short queries.", [add()]),
        # a number with a reason
        ("AGREE 1 because the attempts confirm it", [Operation("UPVOTE", 1)]),
        ("AGREE 1: because both attempts confirm it.", [Operation("UPVOTE", 1)]),
        ("DOWNVOTE 3\nBecause it never helped.", [Operation("DOWNVOTE", 3)]),
        ("UPVOTE 1 and 2 because they hold", [Operation("UPVOTE", 1), Operation("UPVOTE", 2)]),
        ("UPVOTE 3 (confirmed twice)", [Operation("UPVOTE", 3)]),
        ("UPVOTE 1 Search for one entity at a time.", [Operation("UPVOTE", 2)]),
        ("AGREE 7 because the attempts confirm it", []),
        ('[{"operation": "AGREE", "number": 1, "text": "because it holds"}]', [Operation("UPVOTE", 1)]),
        # no operations at all
        ("", []),
        ("The list is fine as it is.", []),
        ("Adding to the list would not help. Addition is hard. Edited already.", []),
        ("Add a note to each answer.", []),
        ("Fügen Sie hinzu: kurze Anfragen.", []),
        ("[1, 2, 3]", []),
    ],
)
def test_replies(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("UPVOTE 2: Bananas are a kind of berry.", "fits none of the 3 insights"),
        ("UPVOTE 1: Search for one entity at a time.", "number 2 has that text"),
        ("EDIT 0: Something else entirely.", "fits none"),
        ("EDIT 2:", "it has no text"),
        ("UPVOTE 12", "names none of the 3 insights"),
        ("ADD: Search for one entity at a time.", "counts as an UPVOTE"),
        ("The list is fine.", "has no operation: 'The list is fine.'"),
        ("AGREE 1 because it holds", "so it is a remark, and the number counts"),
        ("ADD: Look first.\nThen open it.", "the line below it is passed over: 'Then open it.'"),
        ("\n".join(f"ADD: Rule number {n}." for n in range(50)), "and 42 more are passed over"),
    ],
)
def test_what_is_not_read_as_it_stands_is_reported(text, says):
    (problem,) = read_operations(text, LIST).problems
    assert says in problem


@pytest.mark.parametrize(
    "rule",
    [
        "Search the drawer - then the shelf.",
        "Look at shelf 2. Then go on to shelf 3.",
        "Always **check** twice.",
        "If (2 of 3) fail * try another way.",
        '"Take" means to carry the "mug".',
    ],
)
def test_a_rule_keeps_its_words(rule):
    for reply in (f"ADD: {rule}", f"ADD: - {rule}", f"1. **ADD**: {rule}"):
        (operation,) = read_operations(reply, ()).operations
        assert operation.text == rule
    value = [{"operation": "ADD", "number": 0, "text": rule}]
    assert [each.text for each in read_operations(value, ()).operations] == [rule]


@given(st.lists(st.sampled_from(["look", "2.", "-", "*", "at", "3)", "(2", "+", "the", "mug,"]), min_size=3))
def test_whatever_stands_within_a_rule_stays(words):
    rule = " ".join(["First", *words, "end"])
    assert [each.text for each in read_operations(f"ADD: {rule}", ()).operations] == [rule]


def test_fifty_operations_are_four():
    parsed = read_operations("\n".join(f"ADD {n}: Rule number {n}." for n in range(50)), LIST)
    applied = apply(LIST, parsed.operations)
    assert [item.text for item in applied.items[3:]] == [f"Rule number {n}." for n in range(4)]


def test_the_same_target_twice():
    parsed = read_operations("UPVOTE 2\nDOWNVOTE 2\nEDIT 2: Search for one thing at a time.", LIST)
    applied = apply(LIST, parsed.operations)
    assert applied.items[1] == Item(LIST[1].text, 3)
    assert sum("already" in problem for problem in applied.problems) == 2


def test_structured_replies():
    value = [
        {"operation": "ADD", "number": 0, "text": RULE},
        {"operation": "UPVOTE", "number": 1, "text": LIST[1].text},
        {"operation": "DOWNVOTE", "number": 3, "text": ""},
        {"operation": "EDIT", "number": True, "text": "Bananas."},
        {"operation": "DOWNVOTE", "number": "2"},
        {"operation": "SING"},
        7,
    ]
    parsed = read_operations(value, LIST)
    down = [Operation("DOWNVOTE", 3), Operation("DOWNVOTE", 2)]
    assert list(parsed.operations) == [add(), Operation("UPVOTE", 2), *down]
    assert len(parsed.problems) == 4
    assert read_operations("no list", LIST).operations == ()
    assert read_operations(None, ()).problems


PIECES = """
ADD EDIT UPVOTE DOWNVOTE AGREE REMOVE add Edit ADD: EDIT2 1 2 3 0 -1 99 : . ** ` # - ： [ ] { } < > ' "
-> , to: and Step
the rule Search for one entity at a time operation number text
"""
WORDS = st.sampled_from([*PIECES.split(), "\n", ""])


@given(st.text() | st.lists(WORDS, max_size=40).map(" ".join))
def test_no_reply_raises(text):
    parsed = read_operations(text, LIST)
    for operation in parsed.operations:
        assert (operation.kind == "ADD") == (operation.target is None)
        assert operation.target is None or 1 <= operation.target <= len(LIST)
        assert bool(operation.text) == (operation.kind in ("ADD", "EDIT"))
    apply(LIST, parsed.operations)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=9) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["operation", "number", "text"]) | st.text(max_size=3), inner, max_size=4)
    ),
)


@given(JSON)
def test_no_value_raises(value):
    for operation in read_operations(value, LIST).operations:
        assert operation.target is None or 1 <= operation.target <= len(LIST)


def test_long_hostile_text_is_read_in_time():
    many = "UPVOTE 1" + " and 2" * 3000
    for text in (
        "ADD " * 5000,
        "*" * 20000 + "ADD 1: x",
        "UPVOTE 2: " + "word " * 5000,
        "ADD: a\n" * 4000,
        "[" * 9000,
        many,
    ):
        read_operations(text, LIST * 7)
