import pytest

from seasoned.agents.react import NO_ACTION, THINKING_ONLY, React
from seasoned.errors import InfrastructureError
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Guidance, Lesson, Step, Task, Trajectory


class Corridor:
    """Three doors in a row; `open N` wins at the right one. Its choices are the doors not opened yet."""

    def __init__(self):
        self.opened = []

    def reset(self, task, *, seed=None):
        self.opened = []
        return task.text, {"choices": self._left()}

    def step(self, action):
        name, _, door = action.partition(" ")
        if name != "open" or door not in "123":
            return "Nothing happens.", 0.0, False, False, {"invalid": True, "choices": self._left()}
        self.opened.append(door)
        won = door == "3"
        info = {"choices": self._left(), **({"success": True} if won else {})}
        return f"Door {door} is open.", float(won), won, False, info

    def close(self):
        pass

    def _left(self):
        return [f"open {door}" for door in "123" if door not in self.opened]


TASK = Task(id="t1", text="Find the door that leads out.", category="doors")
WORKED = Trajectory(
    id="manual-1",
    task_id="manual-1",
    task="Find the way down.",
    category="doors",
    steps=(
        Step(thought="One door is as good as another.", action="open 2", observation="Door 2 is open."),
        Step(thought="Not here.", action="open 1", observation="Stairs!"),
    ),
)


def agent(replies, **settings):
    model = ScriptedModel(replies)
    return model, React(llm=model, instruction="You are in a corridor.", **({"examples": (WORKED,)} | settings))


def test_react_thinks_and_acts_until_it_wins():
    _, react = agent(["Thought: try the first.\nAction: open 1", "Thought: the last, then.\nAction: open 3"])
    made = react.run(TASK, Corridor(), Guidance())
    assert [(s.thought, s.action) for s in made.steps] == [("try the first.", "open 1"), ("the last, then.", "open 3")]
    assert (made.outcome.success, made.outcome.reason, made.outcome.reward) == (True, "won", 1.0)
    assert made.agent == "react"


def test_the_worked_example_comes_first_and_the_task_last():
    model, act = agent(["open 3"], style="act")
    act.run(TASK, Corridor(), Guidance(text="Lessons: doors are numbered."))
    said = [m["content"] for m in model.requests[0]["messages"]]
    assert said[1:4] == ["New task.\n\nFind the way down.", "open 2", "Door 2 is open."]
    assert said[-1] == "New task.\n\nLessons: doors are numbered.\n\nFind the door that leads out."
    assert "Stairs!" not in "".join(said)


def test_guidance_may_stand_in_the_system_prompt_and_stays_there():
    own = WORKED.model_copy(update={"id": "tra-1", "task": "Find the cellar."})
    told = Guidance(text="Lessons: doors are numbered.")
    model, act = agent(["open 1", "open 3"], style="act", system=True, asks=True)
    made = act.run(TASK, Corridor(), told, lambda progress: Guidance(demonstrations=(own,), text=told.text))
    _, second = (request["messages"] for request in model.requests)
    assert [message["role"] for message in second].count("system") == 1
    assert second[0]["content"].endswith("on one line.\n\nLessons: doors are numbered.")
    assert second[1]["content"] == "New task.\n\nFind the cellar."
    assert second[-3]["content"] == "New task.\n\nFind the door that leads out."
    assert made.guidance == told.text
    model, act = agent(["open 3"], style="act", system=True)
    act.run(TASK, Corridor(), Guidance())
    assert model.requests[0]["messages"][0] == act.preamble(())[0]


@pytest.mark.parametrize("reply", ["Thought: the last.\nAction: open 3", "```\nopen 3\n```", "### Action\nopen 3"])
def test_an_act_that_comes_after_a_line_break_is_read(reply):
    model, act = agent([reply], style="act")
    made = act.run(TASK, Corridor(), Guidance())
    assert [step.action for step in made.steps] == ["open 3"]
    assert "\nObservation" in model.requests[0]["stop"]


def test_demonstrations_take_the_place_of_worked_examples():
    model, act = agent(["open 3"], style="act")
    own = WORKED.model_copy(update={"id": "tra-1", "task": "Find the cellar."})
    made = act.run(TASK, Corridor(), Guidance(demonstrations=(own,)))
    said = "\n".join(m["content"] for m in model.requests[0]["messages"])
    assert "Find the cellar." in said
    assert "Find the way down." not in said
    assert made.demonstration_ids == ("tra-1",)


def test_react_shows_thoughts_where_they_are_thought_and_act_none():
    model, react = agent(["Thought: try the first.\nAction: open 1", "Action: open 3"])
    react.run(TASK, Corridor(), Guidance())
    said = [m["content"] for m in model.requests[1]["messages"] if m["role"] == "assistant"]
    assert said == [
        "Thought: One door is as good as another.\nAction: open 2",
        "Thought: Not here.\nAction: open 1",
        "Thought: try the first.\nAction: open 1",
    ]
    _, act = agent([], style="act")
    assert [m["content"] for m in act.preamble([WORKED]) if m["role"] == "assistant"] == ["open 2", "open 1"]


def test_each_turn_only_appends_to_what_was_sent():
    model, react = agent(["Thought: a\nAction: open 1", "Action: open 2\nObservation: made up", "Action: open 3"])
    react.run(TASK, Corridor(), Guidance())
    first, second, third = (request["messages"] for request in model.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert "made up" not in str(third)


def test_a_thought_is_no_step_but_three_in_a_row_are():
    _, react = agent(["Thought: a", "Thought: b", "Action: open 1", "Thought: c", "Thought: d", "Thought: e", "open 3"])
    made = react.run(TASK, Corridor(), Guidance())
    assert [s.action for s in made.steps] == ["open 1", "N/A", "open 3"]
    assert made.steps[1].observation == THINKING_ONLY
    # What was thought before an action is in the record of its step.
    assert [s.thought for s in made.steps] == ["a b", "c d e", ""]


def test_what_is_no_action_is_told_so():
    _, react = agent(["", "open 3"], style="act")
    made = react.run(TASK, Corridor(), Guidance())
    assert made.steps[0].observation == NO_ACTION
    assert made.outcome.success is True


def test_steps_run_out():
    _, act = agent(["open 1", "open 2"], style="act", max_steps=2)
    made = act.run(TASK, Corridor(), Guidance())
    assert (made.outcome.success, made.outcome.reason, made.outcome.reward) == (False, "step_limit", 0.0)


def test_the_same_action_with_the_same_answer_again_and_again_is_a_loop():
    _, act = agent(["look"] * 9, style="act", repeats=3)
    made = act.run(TASK, Corridor(), Guidance())
    assert (made.outcome.success, made.outcome.reason) == (False, "loop")
    assert len(made.steps) == 3


def test_when_an_attempt_is_ended_early_can_be_set():
    _, act = agent(["open 1", "look", "open 2"], style="act", repeats=None, max_actions=2)
    made = act.run(TASK, Corridor(), Guidance())
    assert (made.outcome.reason, len(made.steps)) == ("step_limit", 2)

    class Changing(Corridor):
        def step(self, action):
            self.opened.append(action)
            return f"Step {len(self.opened)}.", 0.0, False, False, {}

    for same_observation, reason in ((True, "step_limit"), (False, "loop")):
        _, act = agent(["look"] * 5, style="act", repeats=2, max_steps=5, same_observation=same_observation)
        assert act.run(TASK, Changing(), Guidance()).outcome.reason == reason


@pytest.mark.parametrize(
    ("info", "truncated", "outcome"),
    [
        ({"success": None, "answer": "7"}, False, (None, "answered", None)),
        ({"success": None}, False, (None, "halted", None)),
        ({"success": None}, True, (None, "step_limit", None)),
        ({}, False, (False, "halted", 0.0)),
        ({}, True, (False, "step_limit", 0.0)),
        ({"success": False, "answer": "7"}, False, (False, "answered", 0.0)),
    ],
)
def test_what_the_environment_does_not_know_is_no_failure(info, truncated, outcome):
    class Judge(Corridor):
        def step(self, action):
            return "It is over.", 0.0, not truncated, truncated, info

    made = agent(["open 1"], style="act")[1].run(TASK, Judge(), Guidance())
    assert (made.outcome.success, made.outcome.reason, made.outcome.reward) == outcome


@pytest.mark.parametrize(("style", "most"), [("react", 9), ("act", 2), ("choose", 2)])
def test_a_reply_has_room_for_an_action_and_where_it_thinks_for_a_thought(style, most):
    model, acting = agent(lambda _: '"open 3"', style=style, think_tokens=7, action_tokens=2)
    acting.run(TASK, Corridor(), Guidance())
    assert model.requests[0]["max_tokens"] == most


def test_choose_is_held_to_what_follows_from_the_observations():
    model, choose = agent(['"open 1"', '"open 3"'], style="choose")
    made = choose.run(TASK, Corridor(), Guidance())
    assert made.outcome.success is True
    assert [r["schema"]["enum"] for r in model.requests] == [["open 1", "open 2", "open 3"], ["open 2", "open 3"]]


def test_a_server_that_fails_is_no_failure_of_the_task():
    class Gone:
        name = "gone"

        def chat(self, messages, **options):
            raise InfrastructureError("the server is gone")

    made = React(llm=Gone(), instruction="x").run(TASK, Corridor(), Guidance())
    assert (made.outcome.success, made.outcome.reason) == (None, "error")


def test_it_asks_for_guidance_at_each_turn_if_told_to():
    seen = []

    def advise(progress):
        seen.append([s.action for s in progress.steps])
        return Guidance(text="Try the far end.")

    model, act = agent(["open 1", "open 3"], style="act", asks=True)
    made = act.run(TASK, Corridor(), Guidance(), advise)
    assert seen == [["open 1"]]
    assert model.requests[1]["messages"][-1]["content"] == "Door 1 is open.\nTry the far end."
    assert "far end" in made.guidance


def test_what_was_said_already_is_not_said_again():
    told = iter(["Advice:\n- a\n- b", "Advice:\n- b", "Advice:\n- b\n- c"])
    model, act = agent(["open 1", "open 2", "open 1", "open 3"], style="act", asks=True)
    act.run(TASK, Corridor(), Guidance(), lambda progress: Guidance(text=next(told)))
    said = [request["messages"][-1]["content"].partition("\n")[2] for request in model.requests[1:]]
    assert said == ["Advice:\n- a\n- b", "", "- c"]


def test_examples_of_the_tasks_category_come_first_and_others_fill_up():
    other = WORKED.model_copy(update={"task": "Find the attic.", "category": "stairs"})
    for shots, shown in ((1, ["Find the way down."]), (2, ["Find the way down.", "Find the attic."])):
        model, act = agent(["open 3"], style="act", examples=(other, WORKED), shots=shots)
        act.run(TASK, Corridor(), Guidance())
        said = [m["content"].removeprefix("New task.\n\n") for m in model.requests[0]["messages"]]
        assert [text for text in said if text.startswith("Find the ")][:-1] == shown


def test_demonstrations_that_fit_better_on_the_way_take_the_first_ones_place():
    own = WORKED.model_copy(update={"id": "tra-1", "task": "Find the cellar."})
    model, act = agent(["open 1", "open 3"], style="act", asks=True)
    made = act.run(TASK, Corridor(), Guidance(), lambda progress: Guidance(demonstrations=(own,)))
    first, second = ([m["content"] for m in request["messages"]] for request in model.requests)
    assert "New task.\n\nFind the way down." in first
    assert "New task.\n\nFind the cellar." in second
    assert second[-3:] == ["New task.\n\nFind the door that leads out.", "open 1", "Door 1 is open."]
    assert made.demonstration_ids == ("tra-1",)
    # The conversation has the last ones in front of the task; the record says which were there before.
    assert made.meta["demonstrations"] == [{"from": 0, "ids": ["manual-1"]}, {"from": 1, "ids": ["tra-1"]}]


def test_what_is_recalled_again_is_kept_once_and_shown_still():
    one, two, three = (WORKED.model_copy(update={"id": f"tra-{n}", "task": f"Find cellar {n}."}) for n in (1, 2, 3))
    lesson = Lesson(id="les-1", kind="guideline", text="Look first.")
    answers = iter([(one, two), (two, three)])

    def advise(progress):
        return Guidance(lessons=(lesson,), demonstrations=next(answers), text="Look first.")

    model, act = agent(["open 1", "open 2", "open 3"], style="act", asks=True)
    made = act.run(TASK, Corridor(), Guidance(), advise)
    assert made.demonstration_ids == ("tra-1", "tra-2", "tra-3")
    assert (made.lesson_ids, made.guidance) == (("les-1",), "Look first.")
    said = [message["content"] for message in model.requests[2]["messages"]]
    turns = ["open 1", "Door 1 is open.\nLook first.", "open 2", "Door 2 is open."]
    assert said[-5:] == [f"New task.\n\n{TASK.text}", *turns]
    last = "\n".join(said)
    assert [f"Find cellar {n}." in last for n in (1, 2, 3)] == [False, True, True]


def test_demonstrations_that_stay_keep_their_places_before_new_ones():
    one, two, three = (WORKED.model_copy(update={"id": f"tra-{n}", "task": f"Find cellar {n}."}) for n in (1, 2, 3))
    answers = iter([(two, one), (three, two), (two, three)])
    _, act = agent(["open 1", "open 2", "open 4", "open 3"], style="act", asks=True)
    made = act.run(
        TASK, Corridor(), Guidance(demonstrations=(one, two)), lambda progress: Guidance(demonstrations=next(answers))
    )
    shown = [{"from": 0, "ids": ["tra-1", "tra-2"]}, {"from": 2, "ids": ["tra-2", "tra-3"]}]
    assert made.meta["demonstrations"] == shown


def test_demonstrations_that_stay_the_same_are_not_exchanged():
    own = WORKED.model_copy(update={"id": "tra-1"})
    _, act = agent(["open 1", "open 3"], style="act", asks=True)
    made = act.run(TASK, Corridor(), Guidance(demonstrations=(own,)), lambda progress: Guidance(demonstrations=(own,)))
    assert made.outcome.success is True
    assert "demonstrations" not in made.meta


@pytest.mark.parametrize("shots", [0, 1])
def test_as_many_examples_as_asked_for(shots):
    llm, act = agent(["open 3"], style="act", shots=shots)
    act.run(TASK, Corridor(), Guidance())
    assert sum("New task." in message["content"] for message in llm.requests[0]["messages"]) == shots + 1


class Talking(Corridor):
    """Each action is answered at length, and none ends it."""

    def step(self, action):
        self.opened.append(action)
        return f"{len(self.opened)} " + "on and on " * 40, 0.0, False, False, {"choices": ["open 1"]}


@pytest.mark.parametrize(("style", "reply"), [("act", "open 1"), ("react", "Action: open 1"), ("choose", '"open 1"')])
def test_a_prompt_longer_than_its_limit_ends_the_attempt_as_a_failure(style, reply):
    model, endless = agent(lambda _: reply, style=style, repeats=None, prompt_tokens=500)
    made = endless.run(TASK, Talking(), Guidance())
    assert (made.outcome.success, made.outcome.reason, made.outcome.reward) == (False, "context", 0.0)
    assert "may have 500: allow more (agent.prompt_tokens)" in made.outcome.detail
    assert 2 < len(made.steps) == len(model.requests) < 9
    assert made.steps[-1].observation in made.messages[-1]["content"]
    # What the model counted (words, here) and a quarter of the characters since.
    assert all(sum(len(m["content"].split()) for m in request["messages"]) <= 500 for request in model.requests)


@pytest.mark.parametrize("limit", [None, 0])
def test_without_a_limit_the_steps_run_out_first(limit):
    _, endless = agent(lambda _: "open 1", style="act", repeats=None, prompt_tokens=limit, max_steps=9)
    assert endless.run(TASK, Talking(), Guidance()).outcome.reason == "step_limit"


def test_a_first_prompt_that_is_too_long_is_not_sent():
    model, act = agent([], style="act", prompt_tokens=10)
    made = act.run(TASK, Corridor(), Guidance())
    assert (made.outcome.reason, made.steps, model.requests) == ("context", (), [])
