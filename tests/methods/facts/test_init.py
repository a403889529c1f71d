"""Facts are found by exploring and in attempts, recalled for functions, and checked again."""

import pytest

from seasoned import ExperiencePool, ScriptedModel, Store, Task
from seasoned.errors import ConfigError
from seasoned.methods import make_method
from seasoned.methods.facts import FIXED, HEADING, Facts, mends_of
from seasoned.methods.facts.explore import (
    Exploration,
    literals,
    parameters_of,
    read_calls,
    variations,
    with_other_texts,
)
from seasoned.sandbox import Library, Sandbox, find_walls
from seasoned.types import Outcome, Step, Trajectory

SOURCE = '''
import random
__version__ = "{version}"


def tarn(a):
    """Postage."""
    if not isinstance(a, str) or not a.endswith(" kg"):
        raise ValueError("expected a text like '3 kg'")
    return ("pt", int(a[:-3]) * {factor})


def velp(a):
    return {{"KOLIN": 5, "GARDE": 6}}[a]


def dice(a):
    return random.random()


class Box:
    def __init__(self):
        self.kept, self.sum = [], 0

    def put(self, x):
        self.kept.append(x)

    def commit(self):
        self.sum = sum(self.kept)

    def total(self):
        return self.sum
'''


@pytest.fixture(scope="module", autouse=True)
def walls():
    try:
        find_walls()
    except ConfigError as error:
        pytest.skip(str(error))


def library(version="1", factor=2):
    return Library("shop", SOURCE.format(version=version, factor=factor), version=version)


@pytest.fixture
def pool(tmp_path):
    with Store(tmp_path / "s.db") as store:
        yield ExperiencePool(store, "code")


@pytest.fixture(scope="module")
def explored(walls, tmp_path_factory):
    """The facts of the library's first version, from exploring it once."""
    with Store(tmp_path_factory.mktemp("explored") / "s.db") as store:
        pool = ExperiencePool(store, "code")
        Facts(library=library(), explore=60).learn([HINT], pool)
        return pool.lessons("fact")


HINT = Trajectory(id="tra-h", task_id="h", task="Write solve(town). It is called like solve('garde', 3).")


def test_a_library_is_explored_and_recalled_for_the_functions_that_a_task_names(pool, explored):
    method = Facts(library=library(), explore=60)
    pool.add(explored)
    text = method.recall(Task(id="t", text="Use: tarn (postage); velp; Box."), pool).text
    assert text.startswith(HEADING)
    assert ">>> tarn(f'{3} kg')[1]\n6" in text
    assert ">>> velp('garde'.upper())\n6" in text
    assert ">>> x.put(3)\n>>> x.commit()\n>>> x.total()\n3" in text
    assert method.recall(Task(id="t", text="Write a poem."), pool).text == ""
    assert all(not lesson.sources for lesson in explored)
    # What differs between two runs is no fact.
    assert not [lesson for lesson in explored if lesson.key == "dice" and not lesson.data["error"]]


def test_attempts_give_facts_without_exploring_and_a_wrong_one_is_left_out(pool):
    calls = [
        {"function": "velp", "call": "velp('KOLIN')", "value": "5", "library": "shop", "library_version": "1"},
        {"function": "velp", "call": "velp('GARDE')", "value": "7", "library": "shop", "library_version": "1"},
    ]
    attempt = Trajectory(id="tra-1", task_id="1", task="", meta={"calls": calls})
    Facts(library=library(), explore=0).learn([attempt], pool)
    assert [lesson.text for lesson in pool.lessons("fact")] == [">>> velp('KOLIN')\n5"]
    assert pool.lessons("fact")[0].sources == ("tra-1",)


def test_without_a_library_nothing_is_run(pool):
    attempt = Trajectory(id="tra-1", task_id="1", task="", steps=(Step(action=">>> money(3)", observation="'0,03'"),))
    method = make_method("facts")
    method.learn([attempt], pool)
    method.learn([attempt], pool)
    assert method.recall(Task(id="2", text="money for nothing"), pool).text == f"{HEADING}\n>>> money(3)\n'0,03'"
    assert method.verify(pool).skipped == 1


def test_facts_with_a_word_of_the_task_come_first(pool):
    steps = [Step(action=f">>> dumps({each})", observation=f"'{each}'") for each in ("3", "(3, 4)", "[1]", "[None, 5]")]
    Facts().learn([Trajectory(id="tra-1", task_id="1", task="", steps=tuple(steps))], pool)
    assert "None" not in Facts(each=2).recall(Task(id="2", text="dumps"), pool).text
    assert ">>> dumps([None, 5])" in Facts(each=2).recall(Task(id="3", text="How does dumps write None?"), pool).text


def test_verify_puts_aside_what_no_longer_holds(pool, explored):
    pool.add(explored)
    now = Facts(library=library("2", factor=3), explore=60)
    found = now.verify(pool)
    assert found.held > 3
    assert {lesson.key for lesson, _ in found.stale} == {"tarn"}
    old = next(lesson for lesson in pool.lessons("fact", status="disabled") if lesson.data["call"] == "tarn('3 kg')")
    assert (old.data["instead"], old.data["instead_version"]) == ("('pt', 9)", "2")
    assert ">>> tarn(f'{3} kg')[1]\n9" in now.recall(Task(id="t", text="tarn"), pool).text
    again = now.verify(pool)
    assert again.stale == ()


def test_learning_from_a_new_version_checks_what_was_known(pool, explored):
    both = (library("1"), library("2", factor=3))
    pool.add(explored)
    calls = [{"function": "velp", "call": "velp('KOLIN')", "value": "5", "library": "shop", "library_version": "2"}]
    attempt = Trajectory(id="tra-2", task_id="2", task="", meta={"calls": calls})
    Facts(library=both, explore=60).learn([attempt], pool)
    assert ">>> tarn(f'{3} kg')[1]\n9" in Facts().recall(Task(id="t", text="tarn"), pool).text


def test_changes_that_worked_are_told(pool):
    steps = (Step(action="def f(x):\n    return tarn(x)"), Step(action="def f(x):\n    return tarn(str(x))"))
    attempt = Trajectory(id="tra-1", task_id="1", task="", steps=steps, outcome=Outcome(success=True))
    Facts().learn([attempt, attempt], pool)
    guidance = Facts().recall(Task(id="2", text="Use: tarn"), pool)
    assert guidance.text == f"{FIXED}\n- return tarn(x)\n+ return tarn(str(x))"
    assert Facts(mends=0).recall(Task(id="2", text="Use: tarn"), pool).text == ""


def test_an_attempt_that_contradicts_a_fact_puts_it_aside(pool):
    for number, outcome in (("1", "'0,03'"), ("2", "'0.03'")):
        seen = (Step(action=">>> money(3)", observation=outcome),)
        Facts().learn([Trajectory(id=f"tra-{number}", task_id=number, task="", steps=seen)], pool)
    (now,) = pool.lessons("fact")
    (old,) = pool.lessons("fact", status="disabled")
    assert (now.text, now.sources) == (">>> money(3)\n'0.03'", ("tra-2",))
    assert (old.data["value"], old.data["instead"]) == ("'0,03'", "'0.03'")


def test_a_person_keeps_the_last_word(pool, explored):
    [lesson] = pool.add([lesson for lesson in explored if lesson.data["call"] == "tarn('3 kg')"])
    pool.update(lesson.model_copy(update={"pinned": True}), who="person")
    Facts(library=library("2", factor=3)).verify(pool)
    assert pool.store.get_lesson(lesson.id).status == "active"


def test_the_model_proposes_calls_of_what_gave_nothing():
    source = "def odd(a):\n    if a != 'open sesame':\n        raise KeyError('no')\n    return 1\n"
    model = ScriptedModel(["1. odd('x')", "```python\nodd('open sesame')  # the word\n```"])
    with Sandbox(Library("door", source)) as sandbox:
        facts = Exploration(sandbox, model, 30.0).run()
    assert "odd('open sesame')" in [fact.call for fact in facts]
    assert "KeyError" in model.requests[1]["messages"][-1]["content"]


def test_an_expression_that_failed_in_an_attempt_does_not_stop_exploring():
    with Sandbox(Library("shop", source="def money(n):\n    return str(n)")) as sandbox:
        facts = Exploration(sandbox, seeds=["money(3) + 1"], seconds=5.0).run()
    assert any(fact.call == "money(3)" for fact in facts)


def test_a_text_of_digits_is_taken_as_a_number_only_where_all_texts_are(pool):
    source = "def plain(a):\n    return str(a)\ndef count(a):\n    return str(len(str(a)))\n"
    Facts(library=Library("forms", source), explore=60).learn([HINT], pool)
    found = Facts().recall(Task(id="t", text="plain"), pool).text, Facts().recall(Task(id="t", text="count"), pool).text
    assert "int(" not in found[0]
    assert ">>> plain(3)\n'3'" in found[0]
    assert ">>> int(count(" in found[1]


def test_parts_of_exploring():
    assert read_calls("f(3) ** 2", {"f"}) == []
    assert read_calls("1. `f(3)`\n>>> f('a')  # text\nf(x)\ng(1)\nshop.f(2)\nprint(f(1))", {"f"}) == [
        ["f(3)"],
        ["f('a')"],
        ["f(2)"],
    ]
    assert literals("expected something like (3, 'a') or [4]") == ["(3, 'a')", "[4]"]
    assert parameters_of("(a, b: int, *, size)") == ["a", "b", "*size"]
    assert "f(2, 'a')" in variations("f('a', 2)")
    assert variations("f(3) + 1") == []
    assert variations("f({[]: 1})") == ["f(({[]: 1},))"]
    assert with_other_texts("f('GAR')", ["garde", "kolin"]) == ["f('KOL')"]


def program_attempt(*programs, success=True):
    steps = tuple(Step(action=program) for program in programs)
    return Trajectory(id="tra-1", task_id="1", task="", steps=steps, outcome=Outcome(success=success))


def test_a_changed_line_is_told_where_it_worked():
    before, after = "def solve(x):\n    return tarn(x)", "def solve(x):\n    return tarn(str(x))"
    mended = mends_of(program_attempt(before, ">>> tarn('3')", after))
    assert mended == [("tarn", "return tarn(x)", "return tarn(str(x))")]
    assert mends_of(program_attempt(before, after, success=False)) == mends_of(program_attempt(after)) == []
