"""Tools that tests offer a model, and the values their arguments may have."""

from hypothesis import strategies as st

SEARCH = {
    "name": "search",
    "description": "Opens a page.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
BOOK = {
    "name": "book",
    "description": "Books seats.",
    "parameters": {
        "type": "object",
        "properties": {
            "seats": {"type": "integer", "minimum": 1},
            "day": {"anyOf": [{"type": "string", "enum": ["monday", "friday"]}, {"type": "null"}]},
            "people": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
        },
        "required": ["seats"],
        "additionalProperties": False,
        "$defs": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    },
}
DONE = {"name": "done", "description": "Ends.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [SEARCH, BOOK, DONE]

text = st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
