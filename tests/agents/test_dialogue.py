import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seasoned.agents.dialogue import NO_NOTES, Dialogue
from seasoned.errors import BudgetExceeded, ContextLengthError, InfrastructureError
from seasoned.lab.benchmarks.answer import AnswerEnvironment, Scored
from seasoned.llm.scripted import ScriptedModel
from seasoned.replies.commands import parse
from seasoned.types import Guidance, Task


def agent(model, benchmark, style="guided", **more):
    more.setdefault("notes", "thought" if benchmark.retrieval.on == "thought" else "case")
    return Dialogue(
        llm=model,
        instruction=benchmark.instruction,
        think_hint=benchmark.think_hint,
        note_hint=benchmark.note_hint,
        examples=benchmark.examples,
        style=style,
        **more,
    )


def actions(trajectory):
    return [step.action for step in trajectory.steps]


def test_a_guided_training_case_thinks_answers_and_notes(emoji):
    task = emoji.train[0]
    wrong = next(c for c in task.data["choices"] if c != task.data["answer"])
    model = ScriptedModel(["glad, moved", wrong, ["k1: glad, moved", "k2: calm"]])
    made = agent(model, emoji).run(task, emoji.make_env(True), Guidance())
    assert actions(made) == ["THINK[glad, moved]", f"ANSWER[{wrong}]", "NOTE[k1]: glad, moved", "NOTE[k2]: calm", "END"]
    assert made.outcome.success is False
    assert made.outcome.answer == wrong
    assert made.usage.calls == 3
    assert task.data["answer"] in made.steps[1].observation


def test_a_guided_test_case_ends_with_the_answer_and_never_sees_gold(emoji):
    task = emoji.test[0]
    model = ScriptedModel(["glad", task.data["answer"]])
    made = agent(model, emoji).run(task, emoji.make_env(False), Guidance(text="Notes from earlier cases:\n- a: b"))
    assert made.outcome.success is True
    assert made.usage.calls == 2
    case = [m["content"] for m in made.messages if task.data["question"] in m["content"]]
    assert case == [f"{task.data['question']}\nTHINK"]
    assert made.messages[-2]["content"] == "  ".join(task.data["choices"]) + "\nNo relevant notes.\nANSWER"
    assert not any("right answer" in m["content"].lower() for m in made.messages[-4:])


def test_notes_stand_with_the_case_or_after_the_thought(lets):
    task, notes = lets.test[0], Guidance(text="Notes from earlier cases:\n- a: b")
    model = ScriptedModel(lambda messages: "x")
    made = agent(model, lets).run(task, lets.make_env(False), notes)
    assert made.messages[-4]["content"] == f"{task.text}\n{notes.text}\nTHINK"
    later = agent(model, lets, notes="thought")
    made = later.run(task, lets.make_env(False), Guidance(), lambda progress: notes)
    assert made.messages[-4]["content"] == f"{task.text}\nTHINK"
    assert made.messages[-2]["content"] == f"{notes.text}\nANSWER"
    assert made.guidance == notes.text


@pytest.mark.parametrize("style", ["guided", "free"])
def test_notes_of_the_case_may_stand_in_the_system_prompt(lets, style):
    task, notes = lets.test[0], Guidance(text="Notes from earlier cases:\n- a: b")
    model = ScriptedModel(lambda messages: "ANSWER[x]")
    made = agent(model, lets, style, notes="case", system=True).run(task, lets.make_env(False), notes)
    system, *others = made.messages
    assert system["content"].endswith(f"\n\n{notes.text}")
    case = next(message["content"] for message in others if message["content"].startswith(task.text))
    assert NO_NOTES not in case
    assert notes.text not in case


def test_notes_in_the_system_prompt_are_not_there_when_a_note_is_asked_for(emoji):
    task, notes = emoji.train[0], Guidance(text="Notes from earlier cases:\n- k1: sullen")
    model = ScriptedModel(["glad", task.data["answer"], ["k1: glad"]])
    made = agent(model, emoji, notes="case", system=True).run(task, emoji.make_env(True), notes)
    assert ["sullen" in str(request["messages"]) for request in model.requests] == [True, True, False]
    assert "sullen" in made.messages[0]["content"]


@pytest.mark.parametrize("where", ["case", "thought"])
def test_what_was_recalled_is_not_there_when_a_note_is_asked_for(emoji, where):
    task, notes = emoji.train[0], Guidance(text="Notes from earlier cases:\n- k1: sullen")
    model = ScriptedModel(["glad", task.data["answer"], ["k1: glad"]])
    made = agent(model, emoji, notes=where).run(task, emoji.make_env(True), notes, lambda progress: notes)
    asked = [str(request["messages"]) for request in model.requests]
    assert ["sullen" in each for each in asked] == [where == "case", True, False]
    # The record has what the model was told, and what it wrote.
    assert "sullen" in str(made.messages)
    assert made.messages[-1] == {"role": "assistant", "content": '["k1: glad"]'}
    assert made.messages[-2]["content"].endswith("NOTE")


def test_a_reply_that_is_no_list_of_notes_is_no_note_and_no_error(emoji):
    task = emoji.train[0]
    model = ScriptedModel(["glad", task.data["answer"], "only words", "and words again"])
    made = agent(model, emoji).run(task, emoji.make_env(True), Guidance())
    assert actions(made) == ["THINK[glad]", f"ANSWER[{task.data['answer']}]", "END"]
    assert made.outcome.success is True
    assert made.messages[-1] == {"role": "assistant", "content": "and words again"}


def test_choices_constrain_the_answer(emoji):
    task = emoji.test[0]
    model = ScriptedModel(["glad", task.data["choices"][0]])
    agent(model, emoji).run(task, emoji.make_env(False), Guidance())
    assert model.requests[-1]["schema"]["enum"] == list(task.data["choices"])


def test_the_prompt_begins_the_same_for_every_case(emoji):
    model = ScriptedModel(["glad", emoji.test[0].data["choices"][0], "sad", emoji.test[1].data["choices"][0]])
    one, two = (agent(model, emoji).run(task, emoji.make_env(False), Guidance()) for task in emoji.test[:2])
    length = len(agent(model, emoji).preamble())
    assert one.messages[:length] == two.messages[:length]


@pytest.mark.parametrize(
    "reply",
    [
        "THINK[a word] ANSWER[{answer}]",
        "**THINK[a word]**\n`ANSWER[{answer}]`",
        "think[never closed\nAnswer: {answer}",
        "THINK[about ANSWER[x]]\nANSWER[{answer}]",
    ],
)
def test_free_replies_with_mixed_nested_and_unclosed_commands(lets, reply):
    task = lets.test[0]
    model = ScriptedModel([reply.format(answer=task.data["answer"])])
    made = agent(model, lets, style="free").run(task, lets.make_env(False), Guidance())
    assert made.outcome.success is True


def test_free_style_looks_up_what_it_recalls(lets):
    task = lets.test[0]
    model = ScriptedModel(["RECALL[two words]", "RECALL[others]", f"ANSWER[{task.data['answer']}]"])
    wanted = []

    def advise(progress):
        wanted.append(progress.steps[-1].action)
        return Guidance(text="Notes:\n- words: two") if "two" in wanted[-1] else Guidance()

    made = agent(model, lets, style="free").run(task, lets.make_env(False), Guidance(), advise)
    assert [action for action in wanted if action.startswith("RECALL")] == ["RECALL[two words]", "RECALL[others]"]
    said = [request["messages"][-1]["content"] for request in model.requests]
    assert "- words: two" in said[1]
    assert NO_NOTES in said[2]
    assert "- words: two" not in said[2]
    assert "- words: two" in made.guidance
    assert made.outcome.success is True


def test_free_style_notes_after_the_answer_was_judged(lets):
    task = lets.train[0]
    model = ScriptedModel(["THINK[hm]", f"ANSWER[{task.data['answer']}]", "NOTE[word]: w, o, r, d\nEND"])
    made = agent(model, lets, style="free").run(task, lets.make_env(True), Guidance())
    assert actions(made)[-2:] == ["NOTE[word]: w, o, r, d", "END"]
    assert made.outcome.success is True


def test_free_style_reads_nothing_that_was_written_before_the_answer_was_judged(lets):
    task = lets.train[0]
    model = ScriptedModel(["THINK[hm]\nANSWER[nothing]\nNOTE[word]: made up\nEND", "NOTE[word]: w, o, r, d\nEND"])
    made = agent(model, lets, style="free").run(task, lets.make_env(True), Guidance())
    assert actions(made) == ["THINK[hm]", "ANSWER[nothing]", "NOTE[word]: w, o, r, d", "END"]
    asked = model.requests[1]["messages"]
    assert asked[-2]["content"] == "THINK[hm]\nANSWER[nothing]"
    assert "Wrong" in asked[-1]["content"]


@pytest.mark.parametrize(("turns", "done"), [(1, 1), (2, 2), (4, 3), (None, 3)])
def test_free_style_has_so_many_commands_after_its_answer(lets, turns, done):
    """The paper's n; the environment itself ends with END, or after its own number of turns."""
    after = ["THINK[why]", "NOTE[word]: w, o, r, d", "END"]
    model = ScriptedModel([f"THINK[hm]\nANSWER[{lets.train[0].data['answer']}]", "\n".join(after), "THINK[more]"])
    made = agent(model, lets, style="free", note_turns=turns).run(lets.train[0], lets.make_env(True), Guidance())
    assert actions(made)[2:] == after[:done]
    assert made.outcome.success is True
    assert made.usage.calls == 2


def test_commands_before_the_answer_are_not_counted_among_those_after_it(lets):
    replies = ["THINK[one]", "THINK[two]", "THINK[three]", f"ANSWER[{lets.train[0].data['answer']}]", "THINK[why]\nEND"]
    model = ScriptedModel(replies)
    made = agent(model, lets, style="free", note_turns=1).run(lets.train[0], lets.make_env(True), Guidance())
    assert actions(made) == [*replies[:4], "THINK[why]"]


def test_worked_cases_show_a_thought_before_the_notes_where_turns_are_counted(lets):
    def shown(**more):
        return "\n".join(message["content"] for message in agent(ScriptedModel([]), lets, "free", **more).preamble())

    plain, counted, fewer = shown(), shown(note_turns=4), shown(note_turns=4, example_notes=1)
    worked = [example for example in lets.examples if example.notes]
    assert counted.count("THINK[") == plain.count("THINK[") + len(worked)
    assert fewer.count("NOTE[") - counted.count("NOTE[") == -sum(len(example.notes) - 1 for example in worked)


def test_free_style_passes_over_what_was_considered(lets):
    task = lets.test[0]
    reply = f"<think>Could be ANSWER[nothing]? No.</think>\nANSWER[{task.data['answer']}]"
    made = agent(ScriptedModel([reply]), lets, style="free").run(task, lets.make_env(False), Guidance())
    assert actions(made) == [f"ANSWER[{task.data['answer']}]"]


def test_a_model_that_never_answers_is_wrong_after_the_last_turn(lets):
    model = ScriptedModel(lambda messages: "I would rather talk about the weather.")
    made = agent(model, lets, style="free").run(lets.test[0], lets.make_env(False), Guidance())
    assert made.outcome.success is False
    assert made.outcome.reason == "step_limit"
    assert made.usage.calls == 10


def test_an_empty_reply_and_one_of_a_megabyte_are_survived(lets):
    model = ScriptedModel(["", "x" * 1_000_000])
    made = agent(model, lets).run(lets.test[0], lets.make_env(False), Guidance())
    assert made.outcome.success is False
    assert len(made.steps[-1].action) < 1000


@pytest.mark.parametrize(
    ("error", "reason", "success"),
    [
        (InfrastructureError("the server is gone"), "error", None),
        (ContextLengthError("too long"), "context", False),
        (BudgetExceeded("enough", "episode"), "budget", False),
    ],
)
def test_what_stops_an_attempt_is_recorded_with_what_was_done(lets, error, reason, success):
    made = agent(ScriptedModel(["a thought", error]), lets).run(lets.test[0], lets.make_env(False), Guidance())
    assert made.outcome.reason == reason
    assert made.outcome.success is success
    assert actions(made) == ["THINK[a thought]"]
    assert made.usage.calls == 1


def test_a_limit_of_the_whole_run_is_not_the_episodes_own(lets):
    with pytest.raises(BudgetExceeded):
        agent(ScriptedModel([BudgetExceeded("enough", "run")]), lets).run(
            lets.test[0], lets.make_env(False), Guidance()
        )


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize(
    "thought",
    ["ANSWER[x4", "I feel [fear. ANSWER[x4]", "it is [unsure, so ANSWER: x4", "fear [, ANSWER(x4)", "】 ANSWER［x4］"],
)
def test_an_answer_within_a_thought_is_part_of_the_thought(emoji, thought, reveal):
    task = emoji.test[0]
    model = ScriptedModel([thought, task.data["answer"], ["k1: fear"]])
    made = agent(model, emoji).run(task, emoji.make_env(reveal), Guidance())
    assert (made.outcome.success, made.outcome.answer) == (True, task.data["answer"])
    assert actions(made)[1] == f"ANSWER[{task.data['answer']}]"
    assert made.steps[0].thought == thought
    assert [c.name for c in parse(made.steps[0].action)] == ["THINK"]


def test_a_guided_answer_may_come_as_a_command_that_never_closes(lets):
    task = lets.test[0]
    made = agent(ScriptedModel(["a, b", f"ANSWER[{task.data['answer']}"]), lets).run(
        task, lets.make_env(False), Guidance()
    )
    assert (made.outcome.success, actions(made)[1]) == (True, f"ANSWER[{task.data['answer']}]")


def test_a_case_that_ends_with_the_thought_is_over(emoji):
    env = AnswerEnvironment(lambda text, data: Scored(text, True), reveal=False, max_turns=1)
    made = agent(ScriptedModel(["glad"]), emoji).run(emoji.test[0], env, Guidance())
    assert (made.outcome.success, made.outcome.reason) == (False, "step_limit")


PIECES = ("THINK[", "NOTE(", "RECALL[", "ANSWER[", "ANSWER", "END", "[", "]", "(", ")", ":", "］", "\n", "x4", "{")
SAID = st.text(max_size=20) | st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join)


@given(
    st.lists(SAID, min_size=1), st.sampled_from(["guided", "free"]), st.booleans(), st.sampled_from([(), ("x4", "a")])
)
@example(["it is [so ANSWER[x4"], "guided", False, ())
@example(["THINK(a ANSWER[x4 )"], "free", False, ())
def test_whatever_a_model_says_nothing_raises_and_only_an_answer_is_scored(said, style, reveal, choices):
    task, scored = Task(id="t", text="What?", data={"answer": "x4", "choices": choices}), []

    def score(text, data):
        scored.append(text)
        return Scored(text, text == data["answer"])

    env = AnswerEnvironment(score, reveal=reveal, max_turns=10)
    model = ScriptedModel(lambda messages: said[len(model.requests) % len(said)])
    made = Dialogue(model, "Answer.", style=style).run(task, env, Guidance())
    assert made.outcome.reason in ("answered", "step_limit")
    answers = [place for place, step in enumerate(made.steps) if step.action.startswith("ANSWER[")]
    if style == "guided":
        assert answers[:1] == [1]
    assert len(scored) == len(answers[:1])
    assert made.outcome.answer == (scored[0] if scored else "")
