"""Equal attempts are learned from once; equal lessons are one, with all sources and a count."""

import time

import pytest

from seasoned.llm.scripted import ScriptedModel
from seasoned.memory.equals import attempt_key, said, same_meaning
from seasoned.types import Lesson, Outcome, Step, Trajectory

REPLY = {"analysis": "It was shipped.", "trigger": "an order was shipped", "action": "look it up before any refund"}


def failed(memory, task="refund order 17", observation="done", thought="go on"):
    with memory.attempt(task) as attempt:
        attempt.step(thought=thought, action="refund(17)", observation=observation)
        return attempt.finish(False, answer="refunded")


def test_equal_failures_cost_one_call_and_leave_one_lesson_with_all_sources(opened):
    model = ScriptedModel(lambda _: REPLY)
    memory = opened("erl", llm=model, learn="manual")
    made = [failed(memory, thought=f"thought {n}").id for n in range(20)]
    learned = memory.learn()
    assert (learned.trajectories, learned.equal, len(model.requests)) == (20, 19, 1)
    [lesson] = memory.lessons()
    assert (lesson.sources, lesson.importance) == (tuple(made), 20.0)
    more = failed(memory).id
    assert memory.learn().trajectories == 1
    [lesson] = memory.lessons()
    assert (lesson.sources[-1], lesson.importance, len(model.requests)) == (more, 21.0, 1)
    assert memory.learn().trajectories == 0


def test_an_attempt_that_equals_one_that_taught_nothing_waits_with_the_same_reason(opened):
    model = ScriptedModel(lambda _: {"analysis": "", "trigger": "", "action": "be careful"})
    memory = opened("erl", llm=model, learn="manual")
    first = failed(memory)
    memory.learn()
    asked = len(model.requests)
    second = failed(memory)
    learned = memory.learn()
    assert list(learned.skipped) == [second.id]
    assert len(model.requests) == asked
    assert set(memory.waiting()) == {first.id, second.id}


def test_another_observation_answer_or_outcome_is_another_attempt():
    one = Trajectory(task_id="t", task="t", steps=(Step(action="a", observation="b"),), outcome=Outcome(success=False))
    assert attempt_key(one) == attempt_key(one.model_copy(update={"id": "tra-x", "meta": {"trial": 3}}))
    others = [
        {"steps": (Step(action="a", observation="c"),)},
        {"outcome": Outcome(success=True)},
        {"outcome": Outcome(success=False, answer="x")},
        {"category": "c"},
        {"task": "u"},
    ]
    assert len({attempt_key(one), *(attempt_key(one.model_copy(update=other)) for other in others)}) == 6


def test_a_method_without_a_model_gets_every_attempt(opened):
    memory = opened("expnote")
    for _ in range(2):
        with memory.attempt("refund order 17") as attempt:
            attempt.step(action="NOTE[order 17]: it was shipped")
            attempt.finish(False)
    memory.learn()
    [note] = memory.lessons()
    assert note.data["values"] == {"it was shipped": 2}


def test_a_lesson_that_is_added_twice_is_one_lesson(opened):
    memory = opened()
    [first] = memory.add("Look the order up.")
    [again] = memory.add("  look the ORDER up ")
    assert again.id == first.id
    assert (again.importance, again.text, len(memory.lessons())) == (2.0, "Look the order up.", 1)
    assert memory.store.history(first.id)[-1].why == "added by hand: said again"
    assert len(memory.add(["One.", "Two.", "one"])) == 3
    assert len(memory.lessons()) == 3


def test_other_words_for_the_same_are_merged_and_stay_in_the_history(opened):
    memory = opened()
    [first] = memory.add("Always look up the order before any refund.", key="")
    [again] = memory.add("Before any refund, always look up the order.")
    assert again.id == first.id
    assert "in other words: Before any refund" in memory.store.history(first.id)[-1].why


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Look up order 17 before a refund is made.", "Look up order 18 before a refund is made."),
        ("Refund the order at once when it is late.", "Do not refund the order at once when it is late."),
        ("For late parcels write to Ann in the office.", "For late parcels write to Ben in the office."),
        ("Call get_order before the refund of a parcel.", "Call get_price before the refund of a parcel."),
        ("Basil needs much water.", "Thyme needs much water."),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_negation_stays_two(opened, one, other):
    memory = opened()
    memory.add(one)
    memory.add(other)
    assert len(memory.lessons()) == 2
    assert not same_meaning(*(Lesson(kind="heuristic", text=text) for text in (one, other)))


@pytest.mark.parametrize("part", ["x", "x-", "`x", '"', "x_", "not "])
def test_long_texts_are_compared_in_linear_time(part):
    lesson = Lesson(kind="heuristic", text=part * (200_000 // len(part)))
    began = time.process_time()
    same_meaning(lesson, lesson.model_copy(update={"text": f"{lesson.text}."}))
    assert time.process_time() - began < 5


def test_kind_category_key_and_outcome_keep_lessons_apart(opened):
    memory = opened()
    memory.add("same", kind="insight")
    memory.add("same")
    memory.add("same", category="orders")
    memory.add("same", kind="note", key="basil")
    memory.add("same", kind="note", key="thyme")
    assert len(memory.lessons()) == 5
    memory.add("same", kind="note", key="Basil")
    assert len(memory.lessons()) == 5
    won, lost = (Lesson(kind="heuristic", text="x", data={"success": ended}) for ended in (True, False))
    assert said(won) != said(lost)


def test_what_a_person_took_away_stays_away_when_a_model_says_it_again(opened):
    memory = opened()
    [lesson] = memory.add("be quick", who="model")
    memory.pool.update(lesson.model_copy(update={"status": "disabled"}), who="person")
    [again] = memory.pool.add(Lesson(kind="heuristic", text="Be quick."))
    assert (again.id, again.status) == (lesson.id, "disabled")
    assert memory.lessons() == []
    [mine] = memory.add("be quick")
    assert mine.id != lesson.id


def test_a_person_who_says_what_a_model_said_makes_it_theirs(opened):
    memory = opened()
    memory.add("be quick", who="model")
    [mine] = memory.add("Be quick!")
    assert (mine.origin, mine.text, mine.importance) == ("person", "Be quick!", 2.0)


def test_a_pinned_lesson_stays_as_it_is(opened):
    memory = opened()
    [lesson] = memory.add("be quick")
    pinned = memory.pool.update(lesson.model_copy(update={"pinned": True}), who="person")
    assert memory.add("be quick", who="model") == [pinned]
    assert memory.lessons() == [pinned]


def test_a_wrong_verdict_takes_one_source_and_one_count(opened):
    memory = opened("erl", llm=ScriptedModel(lambda _: REPLY), learn="manual")
    made = [failed(memory).id for _ in range(3)]
    memory.learn()
    memory.outcome(made[0], success=True)
    [lesson] = memory.lessons()
    assert (lesson.sources, lesson.importance) == ((made[1], made[2]), 2.0)


def test_the_index_knows_what_others_write(opened):
    one, other = opened(), opened()
    [lesson] = one.add("be quick")
    assert other.add("be quick")[0].id == lesson.id
    one.forget(lesson.id)
    [fresh] = other.add("be quick")
    assert (fresh.id != lesson.id, fresh.importance) == (True, 1.0)
