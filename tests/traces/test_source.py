"""What all readers share: bytes, JSON values in any arrangement, numbers, verdicts, ids."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import DataError
from seasoned.traces import source
from seasoned.traces.source import (
    Log,
    Problem,
    date,
    digest,
    json_values,
    lines,
    load,
    make,
    number,
    read_bytes,
    texts,
    verdict,
)
from seasoned.types import Outcome, Step, Trajectory

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("a.pkl", b"x", "pickle"),
        ("a.txt", b"\x1f\x8brest", "gzip: unpack it first"),
        ("a.txt", b"\x28\xb5\x2f\xfdrest", "zstd: unpack it first"),
        ("a.txt", b" \n ", "empty"),
    ],
)
def test_files_that_are_refused(tmp_path, name, raw, why):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=why):
        read_bytes(tmp_path / name)


def test_what_is_read_at_a_place_is_an_attempt_or_a_problem():
    def fail():
        raise RecursionError

    found = Log()
    found.take("line 1", lambda name: Trajectory(task_id=name, task="a", id="one"), "t")
    found.take("line 2", lambda: "no task in it")
    found.take("line 3", fail)
    assert [(t.id, t.task_id) for t in found.trajectories] == [("one", "t")]
    assert found.problems == [Problem("line 2", "no task in it"), Problem("line 3", "nested too deeply")]


def test_lines_that_cannot_be_read_are_named(monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE", 8)
    found = list(lines(b"\xef\xbb\xbfone\r\ntw\xff\nfarewells\nfour"))
    assert found == [(1, "one", ""), (2, "", "not UTF-8 text"), (3, "", "longer than 8 bytes"), (4, "four", "")]


def test_a_file_of_windows_in_utf_16():
    assert next(iter(lines("Thought: é\n".encode("utf-16")))) == (1, "Thought: é", "")


@given(st.lists(JSON.filter(lambda v: not isinstance(v, list)), min_size=1, max_size=5))
def test_values_come_back_however_they_are_arranged(values):
    flat = "\n".join(json.dumps(v) for v in values)
    pretty = "\n".join(json.dumps(v, indent=2) for v in values)
    for text in (flat, json.dumps(values), json.dumps(values, indent=2)):
        found, problems = json_values(text.encode())
        assert ([v for _, v in found], problems) == (values, [])
    found, problems = json_values(pretty.encode())
    if all(isinstance(v, dict) and v for v in values):
        assert ([v for _, v in found], problems) == (values, [])


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_give_values_or_problems(raw):
    found, problems = json_values(raw)
    assert found or problems or not raw.decode("utf-8-sig", "replace").replace(",", " ").strip()
    list(lines(raw))


def test_broken_lines_are_named_and_the_others_kept():
    text = '{"a": 1}\n{"a": \n\n[[[[\n{"a": 2}\n' + "[" * 200_000
    found, problems = json_values(text.encode())
    assert [v for _, v in found] == [{"a": 1}, {"a": 2}]
    assert [p.where for p in problems] == ["line 2", "line 4", "line 6"]
    assert "nested too deeply" in problems[-1].why


def test_a_broken_value_among_printed_ones_costs_only_itself():
    text = '{\n  "a": 1\n}\n{\n  "a": oops\n}\n{\n  "a": 3\n}\n'
    found, problems = json_values(text.encode())
    assert ([v for _, v in found], [p.where for p in problems]) == ([{"a": 1}, {"a": 3}], ["line 4"])


def test_values_broken_without_end_are_given_up():
    found, problems = json_values(b"{\n" * 5000)
    assert found == []
    assert len(problems) == 1001
    assert "the rest was not read" in problems[-1].why


def test_half_a_surrogate_pair_becomes_a_replacement():
    value, fault = load('{"a": "\\ud800", "\\uDC00": "\\ud83d\\ude42"}')
    assert (value, fault) == ({"a": "\ufffd", "\ufffd": "🙂"}, "")


def test_numbers_and_verdicts():
    assert [number(v) for v in (1, "0.5", True, None, "x", "nan", 10**400, [])] == [1.0, 0.5] + [None] * 6
    yes, no, unknown = (
        (True, 1, "1.0", "C", " Passed ", 1.0),
        (False, 0, 0.7, "I", "fail", "no"),
        (None, 7, "P", {}, -1),
    )
    assert [verdict(v) for v in yes + no + unknown] == [True] * 6 + [False] * 6 + [None] * 5
    assert texts(None) == ""
    assert texts({"é": [1]}) == '{"é": [1]}'
    assert date("2026-01-31T10:15:00+00:00") == "2026-01-31T10:15:00.000+00:00"
    assert [date(v) for v in ("yesterday", None, 5)] == ["", "", ""]


@given(JSON)
def test_no_value_raises(value):
    assert verdict(value) in (True, False, None)
    assert number(value) is None or math.isfinite(number(value))
    assert isinstance(texts(value), str)
    assert len(digest(value)) == 16


def test_an_id_follows_from_what_was_done_and_from_nothing_else():
    steps = [Step(action="a")]
    same = [make("t", steps, Outcome(), meta={"file": name}, created=at) for name, at in (("x", ""), ("y", "2026"))]
    assert same[0].id == same[1].id
    others = [
        make("u", steps, Outcome(), meta={}),
        make("t", [Step(action="b")], Outcome(), meta={}),
        make("t", steps, Outcome(success=True), meta={}),
        make("t", steps, Outcome(), meta={}, occurrence=1),
    ]
    assert len({t.id for t in (*same, *others)}) == 5
