"""AutoGuide as a method: guidelines from pairs, the context at each turn, no match no guidance, no leak."""

import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError, ContextLengthError, InfrastructureError, StoreError
from seasoned.lab.methods.autoguide import AutoGuide, read_places
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.attempts import TOO_LONG, UNUSABLE
from seasoned.pool import ExperiencePool
from seasoned.protocols import Method
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Step, Task, Trajectory

TASK = Task(id="new", text="Put a hot mug on the desk.")
CLOSED = {"context": "a fridge is closed", "guideline": "open it instead of going on"}
BARE = {"context": "a shelf is bare", "guideline": "go on to the next place"}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def pool(store):
    return ExperiencePool(store, "test", embedder=HashingEmbedder())


def attempt(task, trial=0, success=True, actions=("look", "open fridge"), text=""):
    steps = tuple(Step(action=action, observation=f"You {action}.") for action in actions)
    outcome = Outcome(success=success, reason="won" if success else "step_limit")
    return Trajectory(id=f"{task}-{trial}", task_id=task, task=text or f"Task {task}.", steps=steps, outcome=outcome)


def pair(task):
    return [attempt(task, 0, False, ("look", "go away")), attempt(task, 1)]


def guideline(context, text, source="s"):
    return Lesson(kind="guideline", text=text, key=context, sources=(source,))


def seen(observation, thought=""):
    return Trajectory(
        task_id="new", task=TASK.text, steps=(Step(thought=thought, action="x", observation=observation),)
    )


def fits(*numbers):
    return {"situation": "something", "numbers": list(numbers)}


def test_it_is_a_method():
    assert isinstance(AutoGuide(ScriptedModel([])), Method)


def test_learning_from_a_failure_beside_a_success(pool, store):
    model = ScriptedModel([CLOSED])
    AutoGuide(model, about="A\nhouse.", max_tokens=99).learn([*pair("a"), attempt("b"), attempt("c", 0, False)], pool)
    assert model.requests[0]["max_tokens"] == 99
    (lesson,) = pool.lessons("guideline")
    assert (lesson.key, lesson.text, lesson.sources) == (*CLOSED.values(), ("a-0", "a-1"))
    assert store.history(lesson.id)[0].why == "learned from the comparison of a-0, a-1"
    system, user = (message["content"] for message in model.requests[0]["messages"])
    assert "A house." in system
    assert user.index("go away") < user.index("open fridge")
    assert "Their first 1 actions are the same." in user


def test_a_worked_case_stands_before_the_pair_that_is_learned_from(pool):
    steps = (Step(action="ANSWER[g8]", observation="Wrong. The right answer is q5."),)
    worked = attempt("w", 0, False, text="I found my ring.").model_copy(update={"steps": steps})
    model = ScriptedModel([{"context": "the writer is sad", "guideline": "answer x7"}, CLOSED, CLOSED])
    method = AutoGuide(model, worked=((worked,), "the writer is glad", "answer q5"), begins="answer ")
    method.learn([*pair("a"), *pair("b")], pool)
    assert [lesson.text for lesson in pool.lessons("guideline")] == ["answer x7"]
    _, asked, replied, case = (message["content"] for message in model.requests[0]["messages"])
    assert "I found my ring." in asked
    assert "answer q5" in replied
    assert "Task a." in case
    assert model.requests[0]["schema"]["properties"]["guideline"]["pattern"].startswith("^answer ")


def test_what_was_tried_before_counts_where_a_task_comes_again(pool):
    failed, solved = [pool.record(each) for each in pair("a")]
    AutoGuide(ScriptedModel([])).learn([solved], pool)
    model = ScriptedModel([CLOSED])
    AutoGuide(model, same_task=True).learn([solved], pool)
    assert [lesson.sources for lesson in pool.lessons("guideline")] == [(failed.id, solved.id)]


def test_attempts_are_cut_to_the_room_and_their_category_is_kept(pool):
    tried = [each.model_copy(update={"category": "heat"}) for each in pair("a")]
    tried = [each.model_copy(update={"task": "Put it. " * 900}) for each in tried]
    model = ScriptedModel([CLOSED])
    AutoGuide(model, room=200).learn(tried, pool)
    assert len(model.requests[0]["messages"][1]["content"]) < 1500
    assert pool.lessons("guideline")[0].category == "heat"


def test_what_a_person_removed_is_not_written_again_and_gets_no_vote(pool):
    AutoGuide(ScriptedModel([CLOSED])).learn(pair("a"), pool)
    removed = pool.lessons("guideline")[0]
    pool.remove(removed.id, who="person")
    AutoGuide(ScriptedModel([CLOSED])).learn([*pair("a"), *pair("b")], pool)
    assert [lesson.sources for lesson in pool.lessons("guideline")] == [("b-0", "b-1")]


def test_a_pinned_guideline_of_the_same_words_stays_as_it_is(pool):
    pinned = pool.add(guideline(*CLOSED.values()).model_copy(update={"pinned": True}), who="person")
    AutoGuide(ScriptedModel([CLOSED])).learn(pair("a"), pool)
    assert pool.lessons("guideline") == pinned


def test_a_source_of_two_equal_guidelines_is_named_once(pool):
    again = attempt("a", 2, False, ("look", "wait"))
    AutoGuide(ScriptedModel([CLOSED, CLOSED])).learn([*pair("a"), again], pool)
    assert [lesson.sources for lesson in pool.lessons("guideline")] == [("a-0", "a-1", "a-2")]


def test_a_pair_is_learned_from_once_and_the_same_words_are_a_vote(pool):
    shouted = {"context": "A fridge is closed.", "guideline": "OPEN it, instead of going on!"}
    other = {"context": "A Fridge is closed", "guideline": "look into it"}
    AutoGuide(ScriptedModel([CLOSED, shouted, other])).learn([*pair("a"), *pair("b"), *pair("c")], pool)
    AutoGuide(ScriptedModel([])).learn([*pair("a"), *pair("b")], pool)
    first, second = pool.lessons("guideline")
    assert (first.importance, first.sources) == (2.0, ("a-0", "a-1", "b-0", "b-1"))
    assert (second.key, second.text) == ("a fridge is closed", "look into it")


def test_replies_that_cannot_be_used_and_pairs_that_do_not_fit(pool, caplog):
    def play(messages):
        return ContextLengthError("too long") if "Task a." in messages[1]["content"] else "I do not know."

    with caplog.at_level(logging.WARNING):
        AutoGuide(ScriptedModel(play)).learn([*pair("a"), *pair("b")], pool)
        AutoGuide(ScriptedModel([])).learn([attempt("c")], pool)
    assert pool.lessons("guideline") == []
    assert f"no guideline from the comparison of a-0, a-1: {TOO_LONG}: too long" in caplog.text
    assert "no guideline from the comparison of b-0, b-1: the reply holds none" in caplog.text
    assert pool.skipped == {"a-0": f"{TOO_LONG}: too long", "b-0": UNUSABLE}
    assert [problem.partition(":")[0] for problem in pool.problems[:2]] == [
        f"no guideline from the comparison of {one}-0, {one}-1" for one in "ab"
    ]
    assert pool.problems[2:] == ["no task was both failed and solved, so there is nothing to learn guidelines from"]
    assert "no task was both failed and solved" in caplog.text
    AutoGuide(ScriptedModel([])).learn([attempt("d", success=False)], pool)
    assert pool.skipped["d-0"] == "no success at the same task to compare it with"
    with pytest.raises(InfrastructureError):
        AutoGuide(ScriptedModel([InfrastructureError("gone")])).learn(pair("a"), pool)
    with pytest.raises(StoreError):
        AutoGuide(ScriptedModel([])).learn(pair("a"), ExperiencePool(pool.store, "test", read_only=True))


def test_the_context_is_identified_at_each_turn(pool):
    pool.add([guideline(*CLOSED.values()), guideline(*BARE.values()), guideline("a fridge is closed", "knock")])
    model = ScriptedModel([fits(2), fits(1, 2), fits()])
    method = AutoGuide(model)
    bare = method.recall(TASK, pool, seen("The shelf holds nothing."))
    assert bare.text == "In a situation like this, at other tasks:\n- a shelf is bare: go on to the next place"
    both = method.recall(TASK, pool, seen("The fridge is closed."))
    assert [lesson.text for lesson in both.lessons] == [CLOSED["guideline"], "knock", BARE["guideline"]]
    assert method.recall(TASK, pool, seen("You won.")).text == ""
    first, second = (request["messages"] for request in model.requests[:2])
    assert first[0] == second[0]
    assert first[1]["content"] == "Task: Put a hot mug on the desk.\n\nAction: x\nObservation: The shelf holds nothing."


def test_the_last_two_steps_tell_the_context_each_in_short(pool):
    pool.add([guideline(*CLOSED.values()), guideline("A Fridge is closed!", "knock")])
    model = ScriptedModel([fits(1)])
    steps = tuple(Step(action=f"go {n}", observation=f"You go {n}. " * 90) for n in range(3))
    progress = Trajectory(task_id="new", task=TASK.text, steps=steps)
    task = Task(id="new", text="Put a hot mug on the desk. " * 90)
    AutoGuide(model, about="A house.", k=2, max_tokens=99).recall(task, pool, progress)
    asked = model.requests[0]
    assert "A house." in asked["messages"][0]["content"]
    wanted, gone, *lines = asked["messages"][1]["content"].split("\n")
    assert len(wanted) <= len("Task: ") + 600
    assert [line.partition(": ")[0] for line in lines] == ["Action", "Observation"] * 2
    assert (gone, lines[0], lines[2]) == ("", "Action: go 1", "Action: go 2")
    assert all(len(line) <= len("Observation: ") + 300 for line in lines)
    numbers = asked["schema"]["properties"]["numbers"]
    assert (numbers["maxItems"], numbers["items"]["maximum"], asked["max_tokens"]) == (2, 1, 99)


def test_of_one_context_the_most_important_comes_first(pool):
    pool.add([guideline(*CLOSED.values()), guideline(CLOSED["context"], "knock").model_copy(update={"importance": 2})])
    found = AutoGuide(ScriptedModel([fits(1)])).recall(TASK, pool, seen("x"))
    assert [lesson.text for lesson in found.lessons] == ["knock", CLOSED["guideline"]]


def test_the_model_is_told_what_is_wanted_alone(pool):
    pool.add([guideline(*CLOSED.values())])
    model = ScriptedModel([fits(1)])
    method = AutoGuide(model, goal=lambda text: text.removeprefix("Put "))
    assert method.recall(TASK, pool, seen("The fridge is closed."))
    assert model.requests[0]["messages"][1]["content"].startswith("Task: a hot mug on the desk.\n\nAction: x")


def test_at_most_k_are_shown(pool):
    pool.add([guideline(f"context {n % 4}", f"do {n}") for n in range(9)])
    assert len(AutoGuide(ScriptedModel([fits(3, 1)]), k=2).recall(TASK, pool, seen("x")).lessons) == 2
    pool.add([guideline("", f"look {n}") for n in range(3)])
    assert len(AutoGuide(ScriptedModel([]), k=2).recall(TASK, pool).lessons) == 2


def test_before_the_first_turn_only_what_has_no_context(pool):
    pool.add([guideline(*CLOSED.values()), guideline("", "Look first.")])
    method = AutoGuide(ScriptedModel([]))
    assert [lesson.text for lesson in method.recall(TASK, pool).lessons] == ["Look first."]
    nothing = Trajectory(task_id="new", task=TASK.text)
    assert [lesson.text for lesson in method.recall(TASK, pool, nothing).lessons] == ["Look first."]
    # Agents that are told nothing before they thought are told it then.
    found = AutoGuide(ScriptedModel([fits(1)])).recall(TASK, pool, seen("x")).lessons
    assert [lesson.text for lesson in found] == ["Look first.", CLOSED["guideline"]]


def test_without_guidelines_nobody_is_asked(pool):
    assert AutoGuide(ScriptedModel([])).recall(TASK, pool, seen("x")).text == ""


def test_a_reply_that_cannot_be_used_is_no_match(pool, caplog):
    pool.add(guideline(*CLOSED.values()))
    with caplog.at_level(logging.INFO):
        for replies in (["no", "no"], [ContextLengthError("too long")], [{"situation": "", "numbers": [7]}] * 2):
            assert AutoGuide(ScriptedModel(replies)).recall(TASK, pool, seen("x")).text == ""
    for problem in (": the reply names no contexts", " is not identified: too long", ": 1 of its numbers are none"):
        assert f"the context of an attempt{problem}" in caplog.text
    with pytest.raises(InfrastructureError):
        AutoGuide(ScriptedModel([InfrastructureError("gone")])).recall(TASK, pool, seen("x"))


def test_by_embedding(pool):
    pool.add([guideline(*CLOSED.values()), guideline(*BARE.values())])
    method = AutoGuide(None, by="embedding", least=0.3)
    found = method.recall(TASK, pool, seen("The fridge 1 is closed; open it"))
    assert [lesson.key for lesson in found.lessons] == ["a fridge is closed"]
    assert method.recall(TASK, pool, seen("Zzyzx quux 99")).lessons == ()
    with pytest.raises(ConfigError, match="embedder"):
        method.recall(TASK, ExperiencePool(pool.store, "test"), seen("x"))


@pytest.mark.parametrize("said", ["OK.", ""])
def test_by_embedding_a_thought_tells_the_context_where_nothing_was_said_to_it(pool, said):
    pool.add([guideline("the writer is angry", "answer h3"), guideline("the writer is glad", "answer p9")])
    thought = Step(thought="angry", action="THINK[the writer is angry]", observation=said)
    found = AutoGuide(None, by="embedding", least=0.3, k=1).recall(
        TASK, pool, Trajectory(task_id="new", task=TASK.text, steps=(thought,))
    )
    assert found.lessons[0].text == "answer h3"


def test_by_embedding_the_context_is_compared_and_not_the_guideline(pool):
    told = "The fridge 1 is closed; open it"
    pool.add([guideline(*CLOSED.values()), guideline("a shelf is bare", told)])
    found = AutoGuide(None, by="embedding", least=0.3).recall(TASK, pool, seen(told))
    assert [lesson.key for lesson in found.lessons] == ["a fridge is closed"]


def test_by_embedding_what_was_said_is_compared_and_not_what_was_done(pool):
    pool.add([guideline(*CLOSED.values()), guideline(*BARE.values())])
    step = Step(thought="a shelf is bare", action="a shelf is bare", observation="a fridge")
    found = AutoGuide(None, by="embedding", least=0, k=1).recall(
        TASK, pool, Trajectory(task_id="new", task=TASK.text, steps=(step,))
    )
    assert found.lessons[0].key == "a fridge is closed"


@pytest.mark.parametrize("embedder", [HashingEmbedder(), None])
def test_too_many_contexts_are_cut_to_the_nearest_or_the_newest(store, embedder):
    pool = ExperiencePool(store, "test", embedder=embedder)
    pool.add([guideline(f"room {n} is {'very ' * 9}dark", "light a lamp") for n in range(100)])
    pool.add([guideline("a fridge is closed", "open it"), *(guideline(f"shelf {n}", "go on") for n in range(3))])
    model = ScriptedModel([fits(1)])
    AutoGuide(model, contexts_room=100).recall(TASK, pool, seen("The fridge is closed."))
    contexts = re.findall(r"^\d+\. (.*)$", model.requests[0]["messages"][0]["content"], re.MULTILINE)
    assert 1 < len(contexts) < 15
    assert "a fridge is closed" in contexts
    assert contexts == [lesson.key for lesson in pool.lessons("guideline") if lesson.key in contexts]


def test_a_context_that_takes_all_of_the_room_is_shown(pool):
    pool.add([guideline(letter * 395, "wait") for letter in "xy"])
    model = ScriptedModel([fits(1)])
    AutoGuide(model, contexts_room=100).recall(TASK, pool, seen("y" * 395))
    assert re.findall(r"^\d+\. (.)", model.requests[0]["messages"][0]["content"], re.MULTILINE) == ["y"]


def test_no_model_is_asked_where_there_is_room_for_no_context(pool):
    pool.add([guideline(letter * 500, "wait") for letter in "xy"])
    assert not AutoGuide(ScriptedModel([]), contexts_room=100).recall(TASK, pool, seen("y" * 500)).lessons


def test_an_embedder_that_says_what_is_wrong_with_it_is_heard(store):
    class Unset(HashingEmbedder):
        def embed(self, texts):
            raise ConfigError("export REGION first")

    pool = ExperiencePool(store, "test", embedder=Unset())
    pool.add([guideline(f"room {n} is {'very ' * 9}dark", "light a lamp") for n in range(100)])
    with pytest.raises(ConfigError, match="export REGION"):
        AutoGuide(ScriptedModel([fits(1)]), contexts_room=100).recall(TASK, pool, seen("It is dark."))


def test_nothing_from_the_task_itself(pool):
    pool.record(attempt("new", text=TASK.text))
    pool.add([guideline(*CLOSED.values(), source="new-0")])
    assert AutoGuide(ScriptedModel([])).recall(TASK, pool, seen("x")).text == ""
    assert AutoGuide(ScriptedModel([fits(1)]), same_task=True).recall(TASK, pool, seen("x")).text


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"by": "magic"}, {"room": 1}, {"contexts_room": 1}, {"max_tokens": 1}, {"worked": ((), "a", "b")}],
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        AutoGuide(None, **wrong)


@pytest.mark.parametrize(
    ("value", "places", "wrong"),
    [
        ({"numbers": ["1", "2"]}, [0, 1], ""),
        ({"numbers": "1, 2"}, [0, 1], ""),
        ({"numbers": 2}, [1], ""),
        ("1, 2", [0, 1], ""),
        ("#2 and 1.", [1, 0], ""),
        ("3;2&1", [2, 1, 0], ""),
        ({"numbers": [2, "2", 2]}, [1], ""),
        ({"numbers": []}, [], ""),
        ("99999999999", [], "names no contexts"),
        ("9" * 5000, [], "names no contexts"),
        (1, [0], ""),
        ("Number 1 fits", [], "names no contexts"),
        (True, [], "names no contexts"),
        ({"numbers": ["x", "7", 3, None, "-1"]}, [2], "4 of its numbers are none of the 3 contexts"),
    ],
)
def test_reading_the_numbers_of_contexts(value, places, wrong):
    found, problem = read_places(value, 3)
    assert found == places
    assert wrong in problem
    assert bool(problem) == bool(wrong)


@pytest.mark.parametrize("reply", ["1, 2", "1", '{"numbers": ["1"]}'])
def test_numbers_without_the_form_are_read(pool, reply):
    pool.add([guideline(*CLOSED.values())])
    guidance = AutoGuide(ScriptedModel([reply, reply])).recall(TASK, pool, seen("x"))
    assert CLOSED["guideline"] in guidance.text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["numbers", "x"]), inner),
    max_leaves=12,
)


@given(values, st.integers(1, 5))
def test_no_reply_raises(value, count):
    places, problem = read_places(value, count)
    assert len(set(places)) == len(places)
    assert all(0 <= place < count for place in places)
    assert places or problem or (value["numbers"] if isinstance(value, dict) else value) == []
