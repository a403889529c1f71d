"""ERL as a method: learning from single attempts on a real store, the ways of recalling, contradictions, no leak."""

import logging
import re
import threading
import time

import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError, ContextLengthError, InfrastructureError, StoreError
from seasoned.lab.benchmarks.alfworld.game import goal_of
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.attempts import NO_OUTCOME, TOO_LONG, UNUSABLE
from seasoned.methods.erl import ERL
from seasoned.methods.nearest import case_block
from seasoned.pool import ExperiencePool
from seasoned.protocols import Method
from seasoned.text import guidance_tokens, tokens, transcript
from seasoned.types import Guidance, Lesson, Outcome, Step, Task, Trajectory

TASK = Task(id="new", text="Put a hot mug on the desk.")
HEAD = "Advice from earlier attempts at other tasks; heed what fits this one:"


def attempt(task, success=True, *, text="", trial=0, reason=None, category=""):
    return Trajectory(
        id=f"{task}-{trial}",
        task_id=task,
        task=text or f"Task {task}.",
        category=category,
        steps=(Step(thought="Think.", action=f"do {task}", observation="ok"),),
        outcome=Outcome(success=success, reason=reason or ("won" if success else "step_limit")),
        meta={"trial": trial},
    )


def reply(trigger, action, **more):
    return {"analysis": "It decided.", "trigger": trigger, "action": action, **more}


def heuristic(number, trigger="", action="", success=True, task="", source=""):
    trigger, action = trigger or f"thing {number} is seen", action or f"take thing {number}"
    data = {"analysis": "", "trigger": trigger, "action": action, "success": success, "task": task}
    text = f"When {trigger}: {action}"
    return Lesson(kind="heuristic", text=text, key=trigger, data=data, sources=(source or f"s{number}",))


def test_a_worked_attempt_stands_before_the_one_that_is_learned_from(pool):
    model = ScriptedModel([reply("the writer is sad", "answer x7")])
    worked = attempt("w", False, text="I found my ring.")
    method = ERL(model, example=("the writer is glad", "answer q5"), worked=(worked, "It was q5."), begins="answer ")
    method.learn([attempt("a")], pool)
    assert [lesson.text for lesson in pool.lessons("heuristic")] == ["When the writer is sad: answer x7"]
    _, asked, replied, case = (message["content"] for message in model.requests[0]["messages"])
    assert "I found my ring." in asked
    assert "It was q5." in replied
    assert "Task a." in case
    assert model.requests[0]["schema"]["properties"]["action"]["pattern"].startswith("^answer ")


def ranked(*pairs, against=()):
    ranking = [{"number": number, "reason": "it fits", "score": score} for number, score in pairs]
    return {"ranking": ranking, "contradictions": [list(pair) for pair in against]}


def texts(guidance):
    return [lesson.text for lesson in guidance.lessons]


def test_it_is_a_method():
    assert isinstance(ERL(ScriptedModel([])), Method)


def test_one_heuristic_from_each_attempt(pool):
    tried = [attempt("a", category="heat"), attempt("b", False)]
    model = ScriptedModel([reply("a mug is cold", "heat it"), reply("a shelf is bare", "go on")])
    ERL(model).learn(tried, pool)
    first, second = pool.lessons("heuristic")
    assert (first.text, first.key, first.category) == ("When a mug is cold: heat it", "a mug is cold", "heat")
    assert (first.sources, first.method) == (("a-0",), "erl")
    assert first.data == {
        "analysis": "It decided.",
        "trigger": "a mug is cold",
        "action": "heat it",
        "success": True,
        "task": "Task a.",
    }
    assert second.data["success"] is False
    assert [pool.store.history(x.id)[0].why for x in (first, second)] == ["learned from one attempt"] * 2


def test_an_attempt_is_learned_from_once_even_if_its_heuristic_was_deleted(pool):
    ERL(ScriptedModel([reply("it is dark", "light a lamp")])).learn([attempt("a")], pool)
    pool.remove(pool.lessons("heuristic")[0].id, who="person")
    model = ScriptedModel([reply("it is cold", "light a fire")])
    ERL(model).learn([attempt("a"), attempt("b"), attempt("b")], pool)
    assert len(model.requests) == 1
    assert [lesson.sources for lesson in pool.lessons("heuristic")] == [("b-0",)]


def test_errors_unknown_outcomes_and_retries(pool):
    tried = [attempt("a", None), attempt("b", None, reason="error"), attempt("c", False), attempt("c", trial=1)]
    model = ScriptedModel([reply("it is dark", "light a lamp")])
    ERL(model, first=True).learn(tried, pool)
    assert [lesson.sources for lesson in pool.lessons("heuristic")] == [("c-0",)]


def test_unknown_outcomes_are_judged_and_known_ones_may_be_hidden(pool):
    replies = [reply("x is y", "do z", succeeded=False), reply("y is x", "do a")]
    ERL(ScriptedModel(replies), judge=True).learn([attempt("a", None, reason="unfinished"), attempt("b")], pool)
    blind = ScriptedModel([reply("z is x", "do b", succeeded=True)])
    ERL(blind, blind=True).learn([attempt("c", False)], pool)
    data = [(lesson.data["success"], lesson.data.get("judged")) for lesson in pool.lessons("heuristic")]
    assert data == [(False, False), (True, None), (True, True)]
    assert "failed" not in blind.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize("settings", [{"judge": True}, {"blind": True}])
def test_an_attempt_that_a_server_ended_is_not_judged(pool, settings):
    ERL(ScriptedModel([]), **settings).learn([attempt("a", None, reason="error")], pool)
    assert pool.lessons("heuristic") == []


def test_a_judge_that_is_gone_is_no_failure_and_what_was_written_stays(pool):
    model = ScriptedModel([reply("it is dark", "light a lamp"), InfrastructureError("gone")])
    with pytest.raises(InfrastructureError):
        ERL(model, judge=True).learn([attempt("a"), attempt("b", None, reason="unfinished")], pool)
    assert len(pool.lessons("heuristic")) == 1


class Together:
    """A model that answers only when so many requests are there at once, and the last of them first."""

    name = "together"

    def __init__(self, at_once):
        self.meeting = threading.Barrier(at_once)

    def chat(self, messages, **settings):
        self.meeting.wait(timeout=5)
        number = int(re.findall(r"do task-(\d+)", messages[-1]["content"])[-1])
        time.sleep(0.05 * (3 - number % 3))
        if number == 4:
            raise InfrastructureError("gone")
        return ScriptedModel([reply(f"box {number} is red", f"open box {number}")]).chat(messages, **settings)


def test_several_heuristics_are_written_at_once_and_kept_in_order(pool):
    attempts = [attempt(f"task-{number}") for number in range(3)]
    ERL(Together(3), workers=3).learn(attempts, pool)
    assert [lesson.sources for lesson in pool.lessons("heuristic")] == [(a.id,) for a in attempts]
    assert [lesson.key for lesson in pool.lessons("heuristic")] == [f"box {number} is red" for number in range(3)]


def test_what_was_written_before_a_model_was_gone_stays_also_where_several_are_asked(pool):
    attempts = [attempt(f"task-{number}") for number in range(6)]
    with pytest.raises(InfrastructureError):
        ERL(Together(3), workers=3).learn(attempts, pool)
    assert [lesson.sources for lesson in pool.lessons("heuristic")] == [(a.id,) for a in attempts[:3]]


def test_an_attempt_without_a_heuristic_is_passed_over_and_logged(pool, caplog):
    empty = reply("", "be careful")
    with caplog.at_level(logging.WARNING):
        ERL(ScriptedModel([empty, empty, reply("it is dark", "light a lamp")])).learn(
            [attempt("a"), attempt("b")], pool
        )
    assert [lesson.sources for lesson in pool.lessons("heuristic")] == [("b-0",)]
    assert "the heuristic of a-0: it has no trigger" in caplog.text
    assert pool.problems == [f"no heuristic of a-0: {UNUSABLE}"]
    assert pool.skipped == {"a-0": UNUSABLE}


def test_what_is_too_long_or_has_no_outcome_is_named_with_the_reason(pool):
    model = ScriptedModel(lambda _: ContextLengthError("9000 tokens"))
    ERL(model).learn([attempt("a"), attempt("b", success=None)], pool)
    assert pool.skipped == {"b-0": NO_OUTCOME, "a-0": f"{TOO_LONG}: 9000 tokens"}
    assert pool.problems == [f"no heuristic of a-0: {TOO_LONG}: 9000 tokens"]


def test_a_read_only_pool_costs_no_call(store):
    model = ScriptedModel([])
    with pytest.raises(StoreError):
        ERL(model).learn([attempt("a")], ExperiencePool(store, "test", read_only=True))


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"retrieve": "magic"}, {"outcomes": "some"}, {"on": "luck"}, {"rank_room": 1}, {"workers": 0}]
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ERL(None, **wrong)


def test_all_and_random(pool):
    pool.add([heuristic(n) for n in range(30)])
    assert len(ERL(None, retrieve="all").recall(TASK, pool).lessons) == 30
    drawn = [texts(ERL(None, retrieve="random", k=5, seed=seed).recall(TASK, pool)) for seed in (0, 0, 1)]
    assert len(set(drawn[0])) == 5
    assert drawn[0] == drawn[1] != drawn[2]
    assert ERL(None).recall(TASK, ExperiencePool(pool.store, "empty")).text == ""
    assert ERL(None).recall(TASK, pool, attempt("new")).lessons == ()


def test_by_embedding_the_nearest_tasks_come_first(pool):
    near = heuristic(1, task="Put a hot cup on the desk.")
    pool.add([heuristic(0, task="Buy red shoes."), near, heuristic(2, task="Who wrote this song?")])
    pool.add(Lesson(kind="heuristic", text="Put a hot mug on the desk at once.", origin="person"), who="person")
    guidance = ERL(None, retrieve="embedding", k=2).recall(TASK, pool)
    assert texts(guidance) == ["Put a hot mug on the desk at once.", near.text]
    assert guidance.text == f"{HEAD}\n- Put a hot mug on the desk at once.\n- {near.text}"
    with pytest.raises(ConfigError, match="embedder"):
        ERL(None, retrieve="embedding").recall(TASK, ExperiencePool(pool.store, "test"))


def test_on_the_thought_the_nearest_situations_come_first_and_nothing_before_it(pool):
    fits = heuristic(1, trigger="the writer is ashamed, embarrassed", task="Put a hot mug on the desk.")
    pool.add([fits, heuristic(2, trigger="the writer is proud, glad", task="I forgot her name."), heuristic(3)])
    thought = Trajectory(task_id="new", task="I forgot her name.", steps=(Step(action="THINK[embarrassed, ashamed]"),))
    task = Task(id="new", text="I forgot her name.")
    method = ERL(None, retrieve="embedding", k=1, on="thought")
    assert method.recall(task, pool).lessons == ()
    assert texts(method.recall(task, pool, thought)) == [fits.text]
    assert method.recall(task, pool, thought).text == f"- {fits.text}"  # the thought comes between it and what it is
    assert len(method.recall(task, pool, thought.model_copy(update={"steps": ()})).lessons) == 1  # by the task, then
    model = ScriptedModel([ranked((1, 90))])
    ranks = ERL(model, retrieve="llm", k=1, on="thought")
    assert len(ranks.recall(task, pool, thought).lessons) == 1
    assert "I forgot her name. embarrassed, ashamed" in model.requests[0]["messages"][-1]["content"]


def test_a_model_ranks_and_is_not_asked_where_all_are_shown(pool):
    pool.add([heuristic(n, task=f"Task {n}.") for n in range(5)])
    model = ScriptedModel([ranked((4, 20), (2, 90))])
    assert texts(ERL(model, k=2).recall(TASK, pool)) == [heuristic(1).text, heuristic(3).text]
    assert (
        "3. When thing 2 is seen: take thing 2 (from a success: Task 2.)" in model.requests[0]["messages"][1]["content"]
    )
    assert len(ERL(ScriptedModel([]), k=5).recall(TASK, pool).lessons) == 5


@pytest.mark.parametrize("embedder", [HashingEmbedder(), None])
def test_a_ranking_that_cannot_be_used_falls_back_to_nearness(store, embedder, caplog):
    pool = ExperiencePool(store, "test", embedder=embedder)
    pool.add([heuristic(n, task="Put a hot mug on the desk!" if n == 3 else "Buy shoes.") for n in range(6)])
    for replies in (["no", "no"], [ContextLengthError("too long")] * 3):
        with caplog.at_level(logging.INFO):
            found = texts(ERL(ScriptedModel(replies), k=2).recall(TASK, pool))
        expected = [3, 0] if embedder else [5, 4]  # without an embedder the newest
        assert found == [heuristic(n).text for n in expected]
    assert "2 of 2 heuristics for new are chosen by nearness" in caplog.text


def test_fewer_than_k_doubled_and_unknown_ones(pool):
    pool.add([heuristic(n, task="Put a hot mug on the desk!" if n == 3 else "Buy shoes.") for n in range(6)])
    wrong = ranked((2, 90), (2, 10), (9, 100))
    found = texts(ERL(ScriptedModel([wrong, wrong]), k=2).recall(TASK, pool))
    assert found == [heuristic(1).text, heuristic(3).text]


def test_a_ranker_that_is_gone_is_said(pool):
    pool.add([heuristic(n) for n in range(3)])
    with pytest.raises(InfrastructureError):
        ERL(ScriptedModel([InfrastructureError("gone")]), k=1).recall(TASK, pool)


def test_only_those_from_successes_or_failures_and_a_persons(pool):
    pool.add([heuristic(n, success=bool(n % 2)) for n in range(4)])
    pool.add(Lesson(kind="heuristic", text="Knock.", origin="person"), who="person")
    every = ERL(None, retrieve="all").recall(TASK, pool)
    won = ERL(None, retrieve="all", outcomes="success").recall(TASK, pool)
    lost = ERL(None, retrieve="all", outcomes="failure").recall(TASK, pool)
    assert len(every.lessons) == 5
    assert texts(won) == [heuristic(1).text, heuristic(3).text, "Knock."]
    assert texts(lost) == [heuristic(0).text, heuristic(2).text, "Knock."]


def test_nothing_from_the_task_itself(pool):
    pool.record(attempt("new", text=TASK.text))
    pool.record(attempt("alias", text="put a HOT mug, on the desk"))
    pool.record(attempt("other"))
    pool.add([heuristic(1, source="new-0"), heuristic(2, source="alias-0"), heuristic(3, source="other-0")])
    assert texts(ERL(None, retrieve="all").recall(TASK, pool)) == [heuristic(3).text]
    assert len(ERL(None, retrieve="all", same_task=True).recall(TASK, pool).lessons) == 3


def test_thousands_that_say_the_same_are_one(pool):
    pool.record(attempt("new", text=TASK.text))
    same = heuristic(0, "it is dark", "light a lamp")
    pool.add([heuristic(0, "It is dark.", "Light a lamp!", source=f"s{n}" if n else "new-0") for n in range(3_000)])
    guidance = ERL(ScriptedModel([]), retrieve="two-stage").recall(TASK, pool)
    assert [lesson.sources for lesson in guidance.lessons] == [("s1",)]  # not the one from the task itself
    assert guidance.text.count("- ") == 1
    assert same.key in guidance.text.lower()


def test_contradicting_heuristics_are_both_shown_and_marked(pool):
    pool.add(
        [
            heuristic(0, "the fridge is closed", "open it", True),
            heuristic(1),
            heuristic(2, "The fridge is closed.", "go to the table", False),
        ]
    )
    guidance = ERL(ScriptedModel([ranked((2, 90), (3, 80))]), k=2).recall(TASK, pool)
    assert guidance.text == (
        f"{HEAD}\n- When thing 1 is seen: take thing 1\n- These contradict each other; go by what you see:\n"
        "  - When The fridge is closed.: go to the table (from a failure)\n"
        "  - When the fridge is closed: open it (from a success)"
    )
    assert len(guidance.lessons) == 3


@pytest.mark.parametrize(("chosen", "against"), [(2, 4), (4, 2)])
def test_contradictions_that_the_ranker_names(pool, chosen, against):
    pool.add([heuristic(n) for n in range(4)])
    guidance = ERL(ScriptedModel([ranked((chosen, 90), (1, 80), against=[(2, 4)])]), k=2).recall(TASK, pool)
    assert texts(guidance) == [heuristic(chosen - 1).text, heuristic(against - 1).text]
    assert "These contradict each other" in guidance.text


def test_what_the_ranker_names_stands_before_what_words_tell(pool):
    told = [heuristic(0, "the fridge is closed", "open it"), heuristic(1)]
    pool.add([*told, heuristic(2, "the fridge is closed", "go to the table", False)])
    guidance = ERL(ScriptedModel([ranked((1, 90), against=[(1, 2)])]), k=1).recall(TASK, pool)
    assert texts(guidance) == [lesson.text for lesson in told]


def test_whatever_clashes_stands_in_one_group(pool):
    actions = [("open it", True), ("go to the table", False), ("wait for somebody", False)]
    pool.add([heuristic(n, "the fridge is closed", *said) for n, said in enumerate(actions)])
    guidance = ERL(ScriptedModel([]), k=3).recall(TASK, pool)
    assert guidance.text.count("These contradict each other") == 1
    assert guidance.text.count("\n- ") == 1  # none stands alone
    assert guidance.text.count("\n  - ") == 3


@pytest.mark.parametrize("k", [1, 3])
def test_all_that_the_ranker_names_against_one_are_marked(pool, k):
    pool.add([heuristic(n) for n in range(5)])
    model = ScriptedModel([ranked(*((n, 100 - n) for n in range(1, k + 1)), against=[(1, 2), (1, 3)])])
    guidance = ERL(model, k=k).recall(TASK, pool)
    assert texts(guidance) == [heuristic(n).text for n in range(3)]
    assert guidance.text.count("\n  - ") == 3


@pytest.mark.parametrize("k", [1, 20])
def test_one_failure_among_many_successes_is_marked(pool, k):
    told = [heuristic(n, "the fridge is closed", f"open door {n}") for n in range(28)]
    pool.add([*told[:14], heuristic(99, "the fridge is closed", "go to the table", False), *told[14:]])
    for retrieve in ("embedding", "random", "all"):
        guidance = ERL(None, k=k, retrieve=retrieve).recall(TASK, pool)
        assert guidance.text.count("go to the table (from a failure)") == 1
        assert guidance.text.count("\n- ") == 1


def test_all_of_thousands_of_one_trigger_are_told_in_no_time(pool):
    pool.add([heuristic(n, "it is dark", f"take thing {n} to {n}", bool(n % 2)) for n in range(3_000)])
    method = ERL(None, retrieve="all")
    method.recall(TASK, pool)  # reads them
    start = time.process_time()
    guidance = method.recall(TASK, pool)
    assert time.process_time() - start < 2
    assert 1900 < tokens(guidance.text) <= 2000


def test_guidance_has_at_most_so_many_tokens_and_no_line_of_its_own(pool):
    pool.add([heuristic(n, action=f"take {n}\n- You won.\n" + "x" * 900) for n in range(50)])
    guidance = ERL(None, retrieve="all", guidance_tokens=600).recall(TASK, pool)
    assert 1 < len(guidance.lessons) < 10
    assert tokens(guidance.text) <= 600
    assert guidance.text.count("\n") == len(guidance.lessons)
    assert len(ERL(None, retrieve="all", guidance_tokens=1).recall(TASK, pool).lessons) == 1


def test_twenty_of_a_thousand_stay_within_a_context_of_4096_by_two_stages(pool):
    long = "the kitchen has a fridge, a counter, a sink and a stove, and none of them was looked into so far"
    pool.add(
        [heuristic(n, f"{n} {long}", f"look into {n}. {long}", task=f"{n} {'hot mug ' * 30}") for n in range(1000)]
    )

    def play(messages):
        numbers = [int(n) for n in re.findall(r"^(\d+)\. ", messages[-1]["content"], re.MULTILINE)]
        return ranked(*((number, 100 - number % 100) for number in numbers[:20]))

    model = ScriptedModel(play)
    task = Task(id="new", text="Put a hot mug on the desk. " * 60)
    guidance = ERL(model, retrieve="two-stage", about="Tasks in a household. " * 40).recall(task, pool)
    assert len(guidance.lessons) == 20
    assert 5 <= len(model.requests) <= 12
    for request in model.requests:
        prompt = sum(tokens(message["content"]) for message in request["messages"])
        assert prompt * 1.15 + request["max_tokens"] <= 4096  # a quarter of the characters is an estimate
    assert tokens(guidance.text) <= 2000


def test_what_is_chosen_is_told_without_opposites_and_whatever_its_length(pool):
    pool.add([heuristic(n, f"{n} is seen", "look " * 60) for n in range(8)])
    pool.add(heuristic(8, "7 is seen", "never look", success=False))
    marks = {"7 is seen": "9", "1 is seen": "8", "4 is seen": "7"}

    def mark(messages):
        lesson = messages[1]["content"].partition("The lesson: When ")[2]
        return "0" if "never" in lesson else marks.get(lesson[:9], "1")

    method = ERL(ScriptedModel(mark), retrieve="llm", k=3, guidance_tokens=1, reasons=False)
    assert [lesson.key for lesson in method.choose(TASK, pool)] == ["7 is seen", "1 is seen", "4 is seen"]
    assert len(method.recall(TASK, pool).lessons) == 2  # the first one and its opposite: there is room for no more
    assert len(ERL(None, retrieve="all", k=3).choose(TASK, pool)) == 9
    assert len(ERL(None, retrieve="random", k=3).choose(TASK, pool)) == 3


def test_heuristics_of_failures_alone(pool):
    method = ERL(ScriptedModel([reply("it is dark", "light a lamp")]), failures=True)
    method.learn([pool.record(attempt(str(n), n != 1)) for n in range(3)], pool)
    assert [lesson.sources for lesson in pool.lessons("heuristic")] == [("1-0",)]


@pytest.mark.parametrize(("blind", "calls"), [(False, 3), (True, 4)])
def test_failures_are_what_the_model_judges_to_be_some_where_nobody_knows(pool, blind, calls):
    verdicts = {"0": True, "1": False, "2": True, "3": False}

    def judge(messages):
        shown = messages[1]["content"]
        verdict = {"succeeded": verdicts[re.search(r"Task (\d)\.", shown)[1]]} if "Nobody has told" in shown else {}
        return reply("it is dark", "light a lamp", **verdict)

    model = ScriptedModel(judge)
    outcomes = {"0": True, "1": False, "2": None, "3": None}
    method = ERL(model, judge=True, blind=blind, failures=True)
    method.learn([pool.record(attempt(*each, reason="over")) for each in outcomes.items()], pool)
    assert [lesson.sources[0] for lesson in pool.lessons("heuristic")] == ["1-0", "3-0"]
    assert len(model.requests) == calls
    assert not any(lesson.data["success"] for lesson in pool.lessons("heuristic"))


def test_as_many_tokens_as_another_methods_trajectories(pool):
    shown = attempt("old", text="Put a mug on the desk. " * 20)

    class Trajectories:
        def learn(self, trajectories, pool):
            raise AssertionError("it only shows")

        def recall(self, task, pool, progress=None):
            return Guidance(demonstrations=(shown,) if task.id == "new" else ())

    pool.add(
        [heuristic(n, f"thing number {n} is seen", "take it at once and carry it to its place") for n in range(50)]
    )
    method = ERL(ScriptedModel([]), k=100, retrieve="embedding", matched=Trajectories())
    guidance = method.recall(Task(id="new", text="Put a cup on the desk."), pool)
    allowed = tokens(transcript(shown))
    assert allowed / 2 < tokens(guidance.text) <= allowed
    assert method.recall(Task(id="other", text="Put a cup on the desk."), pool).text == ""
    short = attempt("old", text="Put it.")
    shown = short.model_copy(update={"steps": ()})
    assert method.recall(Task(id="new", text="Put a cup on the desk."), pool).text == "", "not one has room"


def test_what_a_text_tells_of_trajectories_is_matched_and_not_what_it_leaves_out(pool):
    steps = tuple(Step(action=f"go to desk {n}", observation="Nothing is here.") for n in range(60))
    cases = [attempt(f"old{n}", text=f"Put mug {n} on the desk.") for n in range(3)]
    cases = [each.model_copy(update={"steps": steps}) for each in cases]
    told = Guidance(demonstrations=tuple(cases), blocks=(case_block(cases),))
    silent = Guidance(demonstrations=tuple(cases))
    assert guidance_tokens(told) == tokens(told.text) < guidance_tokens(silent)
    assert guidance_tokens(silent) == sum(tokens(transcript(each)) for each in cases)
    assert guidance_tokens(Guidance(demonstrations=tuple(cases), text=told.text)) == tokens(told.text)

    class Told:
        def learn(self, trajectories, pool):
            raise AssertionError("it only shows")

        def recall(self, task, pool, progress=None):
            return told

    pool.add([heuristic(n, f"{n} is seen", f"take {n}") for n in range(50)])
    method = ERL(ScriptedModel([]), k=100, retrieve="embedding", matched=Told())
    assert tokens(told.text) / 2 < tokens(method.recall(TASK, pool).text) <= tokens(told.text)


def test_tasks_are_compared_by_what_they_want_where_that_is_known(pool):
    room = "You are in a room with a bed, a desk, a lamp and many drawers. " * 8
    wants = [f"{room}\nYour task is to: {what}" for what in ("cool some lettuce.", "heat some bread.")]
    tried = [attempt(f"old{n}", text=text) for n, text in enumerate(wants)]
    model = ScriptedModel([reply("lettuce is wanted", "look in the fridge"), reply("bread is wanted", "look around")])
    method = ERL(model, retrieve="embedding", k=1, goal=goal_of)
    method.learn([pool.record(each) for each in tried], pool)
    assert [lesson.data["task"] for lesson in pool.lessons("heuristic")] == ["cool some lettuce.", "heat some bread."]
    for what, key in (("heat some ham.", "bread is wanted"), ("cool some ham.", "lettuce is wanted")):
        task = Task(id="new", text=f"Another room. {room}\nYour task is to: {what}")
        assert [lesson.key for lesson in method.recall(task, pool).lessons] == [key]
