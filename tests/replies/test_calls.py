import pytest
from hypothesis import given
from hypothesis import strategies as st
from offered import TOOLS, text, values

from seasoned.llm.calls import make_call, split_calls
from seasoned.replies.calls import check_call, misfits, read_call, write_call
from seasoned.types import ToolCall

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,20}", fullmatch=True)
schemas = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "enum", "properties", "items", "anyOf", "allOf", "$ref", "required", "minimum", "a"]
            ),
            inner | st.just("#/properties/a") | st.sampled_from(["object", "string", ["array", "null"]]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(names, st.dictionaries(text, values, max_size=4))
def test_what_is_written_is_one_line_and_read_as_it_was(name, given_values):
    call = make_call(name, given_values)
    line = write_call(call)
    assert len(line.splitlines()) == 1
    assert read_call(line) == call
    assert split_calls(line, [{"name": name}]) == ("", [call])


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ('search({"query": "Ada"})', {"query": "Ada"}),
        (' search( {"query": "a (b) c"} )\n', {"query": "a (b) c"}),
        ("search()", {}),
        ('search({"n": 1.0, "deep": [{"a": null}]})', {"n": 1, "deep": [{"a": None}]}),
    ],
)
def test_a_line_that_is_a_call(line, arguments):
    assert read_call(line) == ToolCall(name="search", arguments=arguments)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Your flight is booked (seat 12).",
        "search",
        "search(Ada)",
        'search(["Ada"])',
        'search({"n": NaN})',
        'search({"n": 1}) and more',
        "go to desk 1",
        "Search[Ada]",
        "search({" + '"a":{' * 5000,
        "Thanks (all)",
    ],
)
def test_any_other_text_is_no_call(line):
    assert read_call(line) is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (ToolCall(name="search", arguments={"query": "Ada"}), ""),
        (ToolCall(name="book", arguments={"seats": 2, "day": None, "people": [{"name": "Ada"}]}), ""),
        (ToolCall(name="find"), "There is no tool 'find'. There are: search, book, done."),
        (ToolCall(name="search"), "The arguments of search do not fit: arguments must have the property 'query'."),
        (ToolCall(name="search", unread="Ada"), "The arguments of search must be one JSON object, not 'Ada'."),
        (
            ToolCall(name="book", arguments={"seats": "two"}),
            'The arguments of book do not fit: arguments.seats must be of type integer, not "two".',
        ),
        (
            ToolCall(name="book", arguments={"seats": 1, "day": "sunday"}),
            'The arguments of book do not fit: arguments.day must be one of ["monday", "friday"], not "sunday".',
        ),
        (
            ToolCall(name="book", arguments={"seats": 1, "people": [{}]}),
            "The arguments of book do not fit: arguments.people[0] must have the property 'name'.",
        ),
        (
            ToolCall(name="book", arguments={"seats": 0, "color": "red"}),
            "The arguments of book do not fit: arguments must not have the property 'color'.",
        ),
        (
            ToolCall(name="book", arguments={"seats": 0}),
            "The arguments of book do not fit: arguments.seats must be at least 1, not 0.",
        ),
    ],
)
def test_a_call_is_checked_against_the_tools(call, says):
    assert check_call(call, TOOLS) == says


@given(values, schemas)
def test_no_schema_makes_the_check_raise(value, schema):
    assert all(isinstance(said, str) for said in misfits(value, schema))


def test_a_schema_that_refers_to_itself_ends():
    node = {"anyOf": [{"properties": {"next": {"$ref": "#"}}}, {"properties": {"next": {"$ref": "#"}}}]}
    value = None
    for _ in range(50):
        value = {"next": value}
    assert misfits(value, node) == []
    assert misfits(value, {"$ref": "#"}) == []
