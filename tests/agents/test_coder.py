"""The agent that writes programs: what reaches the environment, and what is kept."""

from seasoned import Guidance, ScriptedModel, Task
from seasoned.agents.coder import NOTHING, Coder
from seasoned.types import Block, Entry, Lesson, Outcome, Reply, Step, ToolCall, Trajectory

TASK = Task(id="1", text="Write solve(x).\nUse: tarn.")
FIRST, SECOND = "def solve(x):\n    return tarn(x)", "def solve(x):\n    return tarn(str(x))"


class Workshop:
    """Takes the program that calls str, and says of others what they raise."""

    def __init__(self):
        self.seen = []

    def reset(self, task, *, seed=None):
        return task.text, {}

    def step(self, action):
        self.seen.append(action)
        calls = [{"function": "tarn", "call": "tarn(3)", "error": "ValueError: no", "setup": ()}]
        if action.startswith(">>>"):
            return "'7'", 0.0, False, False, {"calls": calls}
        right = "str(" in action
        if right or len(self.seen) > 2:
            info = {"success": right, "answer": action, "verdict": "" if right else "solve(3) gave 0"}
            return "Right." if right else "", float(right), True, False, info
        return "ValueError: no", 0.0, False, False, {"calls": calls}

    def close(self):
        pass


def test_a_draft_is_improved_after_its_error():
    env, model = Workshop(), ScriptedModel([f"```python\n{FIRST}\n```", SECOND])
    made = Coder(model, "Write functions.").run(TASK, env, Guidance())
    assert env.seen == [FIRST, SECOND]
    assert (made.outcome.success, made.outcome.answer) == (True, SECOND)
    assert made.messages[0] == {"role": "system", "content": "Write functions."}
    assert made.messages[-2]["content"] == "ValueError: no"
    assert [call["call"] for call in made.meta["calls"]] == ["tarn(3)"]
    assert "verdict" not in made.meta


def test_what_was_wrong_is_kept_for_a_reader_and_not_told():
    made = Coder(ScriptedModel([FIRST] * 3), "").run(TASK, Workshop(), Guidance())
    assert made.meta["verdict"] == "solve(3) gave 0"
    assert all("gave 0" not in message["content"] for message in made.messages)


def test_it_may_look_first():
    env = Workshop()
    made = Coder(ScriptedModel([">>> tarn(3)", SECOND]), "").run(TASK, env, Guidance())
    assert env.seen[0] == ">>> tarn(3)"
    assert made.steps[0].observation == "'7'"
    assert made.outcome.success


def calls(name, **arguments):
    return Reply(text="", calls=[ToolCall(name=name, arguments=arguments)])


def test_with_tools_it_looks_and_writes_by_calls():
    env = Workshop()
    model = ScriptedModel([calls("look", call=">>> tarn(3)"), calls("write", program=f"```python\n{SECOND}\n```")])
    example = Trajectory(id="e", task_id="e", task="Write f().", agent="worked", steps=(Step(action="def f(): pass"),))
    made = Coder(model, "", examples=[example], native=True).run(TASK, env, Guidance())
    assert env.seen == [">>> tarn(3)", SECOND]
    assert [step.call.name for step in made.steps] == ["look", "write"]
    assert made.outcome.success
    assert [message["role"] for message in made.messages] == [
        *("system", "user", "assistant", "tool", "user"),
        *("assistant", "tool", "assistant"),
    ]


def test_with_tools_what_is_no_call_of_them_is_told_so():
    env = Workshop()
    odd = [calls("open"), calls("write", program=""), Reply(text=SECOND)]
    made = Coder(ScriptedModel(odd), "", native=True).run(TASK, env, Guidance())
    assert [step.action for step in made.steps] == ["N/A", "N/A", SECOND]
    assert made.meta["invalid"] == 2


def test_it_writes_tests_of_its_own_first():
    env = Workshop()
    said = "Here:\n```python\nassert solve(3) == 7\nassert solve(4) == 9\nassert solve(5) == 1\n```"
    made = Coder(ScriptedModel([said, SECOND]), "", tests=2).run(TASK, env, Guidance())
    assert env.seen == ["assert solve(3) == 7\nassert solve(4) == 9", SECOND]
    assert "up to 2 tests" in made.messages[1]["content"]
    assert made.outcome.success
    none = Coder(ScriptedModel(["No idea.", SECOND]), "", tests=2).run(TASK, Workshop(), Guidance())
    assert [step.action for step in none.steps] == [SECOND]


def test_what_is_no_program_is_told_so_and_ends_at_the_limit():
    made = Coder(ScriptedModel(["I do not know."] * 3), "", max_steps=3).run(TASK, Workshop(), Guidance())
    assert [step.observation for step in made.steps] == [NOTHING] * 3
    assert (made.outcome.success, made.outcome.reason, made.meta["invalid"]) == (False, "step_limit", 3)


def test_guidance_stands_with_the_task_and_what_is_recalled_later_below_the_error():
    def block(text):
        lesson = Lesson(kind="fact", key="tarn", text=text)
        return Guidance(lessons=(lesson,), blocks=(Block(heading="H", entries=(Entry(text=text),)),))

    model = ScriptedModel([FIRST, SECOND])
    made = Coder(model, "").run(TASK, Workshop(), block(">>> tarn('3')"), lambda progress: block(">>> tarn('4')"))
    assert made.messages[1]["content"].startswith("New task.\n\nH\n>>> tarn('3')\n\n")
    assert made.messages[-2]["content"] == "ValueError: no\n>>> tarn('4')"


def test_demonstrations_take_the_place_of_examples():
    shown = Trajectory(task_id="0", task="Write f.", steps=(Step(action=">>> f"), Step(action="def f(): pass")))
    made = Coder(ScriptedModel([SECOND]), "", examples=(shown,)).run(
        TASK, Workshop(), Guidance(demonstrations=(shown,))
    )
    assert [m["content"] for m in made.messages[1:3]] == ["New task.\n\nWrite f.", "def f(): pass"]


def test_it_notes_what_to_remember_where_it_is_told_the_verdict():
    model = ScriptedModel([SECOND, "`tarn`: takes text"])
    made = Coder(model, "", notes=True).run(TASK, Workshop(), Guidance())
    assert made.steps[-1].action == "NOTE[tarn]: takes text"
    assert made.outcome == Outcome(success=True, reward=1.0, reason="answered", answer=SECOND)
