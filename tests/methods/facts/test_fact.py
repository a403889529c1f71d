"""Facts are read from attempts, doctests and pytest's reports, and can be run again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.methods.facts.fact import Fact, fact_of, harvest, lesson_of, make_fact, read_doctests, read_pytest
from seasoned.types import Step, Trajectory


def test_doctests_are_read_with_the_lines_before_them():
    text = """
    >>> from shop import money
    >>> money(1250)
    '12,50 EUR'
    >>> b = Box(3)
    >>> b.put(4)
    >>> b.total()
    4

    >>> money(-1)
    Traceback (most recent call last):
        ...
    ValueError: no debts
    >>> money('x')
    """
    assert [(f.function, f.setup, f.call, f.value, f.error) for f in read_doctests(text)] == [
        ("money", (), "money(1250)", "'12,50 EUR'", ""),
        ("Box.total", ("b = Box(3)", "b.put(4)"), "b.total()", "4", ""),
        ("money", (), "money(-1)", "", "ValueError: no debts"),
    ]


def test_a_report_of_pytest_is_read():
    report = (
        "E       AssertionError: assert '12,50' == '12.50'\nE        +  where '12,50' = money(1250)\nE  + where 1 = x"
    )
    assert [(f.call, f.value) for f in read_pytest(report)] == [("money(1250)", "'12,50'")]


def test_an_attempt_gives_its_traced_calls_and_its_probes():
    calls = [{"function": "tarn", "setup": [], "call": "tarn(3)", "value": "7", "library": "l", "library_version": "1"}]
    attempt = Trajectory(
        task_id="1",
        task="",
        steps=(Step(action=">>> velp('a')", observation="2"), Step(action="x", observation="seen:\n>>> velp(1)\n5")),
        meta={"calls": [*calls, "nonsense", {"call": 3}, {"call": "1 + 1", "value": "2"}]},
    )
    assert [(f.function, f.outcome) for f in harvest(attempt)] == [("tarn", "7"), ("velp", "2"), ("velp", "5")]


@pytest.mark.parametrize("call", ["f('sk-abcdefghijklmnopqrstuvwx')", "f(<object at 0x7f00deadbeef>)"])
def test_secrets_and_addresses_are_masked_and_such_a_fact_is_not_run(call):
    fact = make_fact({"call": call if "<" not in call else "f(1)", "value": call})
    assert "abcdefgh" not in fact.text
    assert "deadbeef" not in fact.text
    assert not fact.runs


def test_what_is_long_is_shortened_or_no_fact():
    assert len(make_fact({"call": "f(1)", "value": "x" * 10_000}).value) == 300
    assert make_fact({"call": f"f({'1' * 400})", "value": "1"}) is None
    assert make_fact({"call": "f(1)"}) is None


def test_a_lesson_holds_it_and_what_a_person_wrote_counts():
    fact = Fact("Box.total", "x.total()", "4", setup=("x = Box()", "x.put(4)"), library="shop", version="1")
    lesson = lesson_of(fact, ("tra-1",))
    assert (lesson.kind, lesson.key, lesson.sources) == ("fact", "Box.total", ("tra-1",))
    assert lesson.text == ">>> x = Box()\n>>> x.put(4)\n>>> x.total()\n4"
    assert fact_of(lesson) == fact
    assert fact_of(lesson.model_copy(update={"text": ">>> money(2)\n'2'"})).same == ("money(2)",)


@given(st.text(alphabet=">. \n'f(x)=1+E where Error:"))
def test_no_text_breaks_the_readers(text):
    read_doctests(text)
    read_pytest(text)
