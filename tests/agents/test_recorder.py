"""How an attempt ended, as its environment says it."""

import pytest

from seasoned.agents.recorder import Recorder, attempt
from seasoned.errors import ConfigError, ContextLengthError, DataError, InfrastructureError, ParseError
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Guidance, Outcome, Reply, Task, Usage


@pytest.mark.parametrize(
    ("info", "over", "outcome"),
    [
        ({"success": True, "answer": "7"}, True, Outcome(success=True, reward=1.0, reason="answered", answer="7")),
        ({"success": False}, True, Outcome(success=False, reward=0.0, reason="answered")),
        ({"success": None, "answer": "7"}, True, Outcome(reason="answered", answer="7")),
        ({"success": None}, True, Outcome(reason="halted")),
        ({"success": None}, False, Outcome(success=False, reward=0.0, reason="step_limit")),
        ({}, True, Outcome(success=False, reward=0.0, reason="step_limit")),
    ],
)
def test_an_outcome_that_nobody_knows_is_no_failure(info, over, outcome):
    task = Task(id="t", text="t")
    assert Recorder("a", task, None, Guidance(), info=info, over=over).outcome() == outcome


def go(recorder, observation, info):
    """Does one thing."""
    recorder.act("go")


class Raising:
    """An environment that raises at its reset or at its step."""

    def __init__(self, error, at):
        self.error, self.at = error, at

    def reset(self, task, *, seed=None):
        if self.at == "reset":
            raise self.error
        return "begin", {}

    def step(self, action):
        raise self.error


@pytest.mark.parametrize("at", ["reset", "step"])
@pytest.mark.parametrize("error", [KeyError("no such thing"), DataError("a game is broken")])
def test_an_environment_that_raises_ends_its_attempt_alone(error, at):
    made = attempt("a", Task(id="t7", text="t"), Raising(error, at), Guidance(), go)
    assert (made.outcome.success, made.outcome.reason) == (None, "error")
    assert made.outcome.detail.startswith("the environment failed at the task t7: ")
    assert str(error) in made.outcome.detail


class Saying(Raising):
    """An environment that says something odd at its reset or at its step."""

    def __init__(self, at, observation="seen", reward=0.0, info=None):
        self.at, self.said = at, (observation, reward, True, False, {"success": True} if info is None else info)

    def reset(self, task, *, seed=None):
        return (self.said[0], self.said[4]) if self.at == "reset" else ("begin", {})

    def step(self, action):
        return self.said


@pytest.mark.parametrize("at", ["reset", "step"])
@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ({"observation": None}, "an observation should be a text, and is a NoneType"),
        ({"observation": {"a": 1}}, "an observation should be a text, and is a dict"),
        ({"info": []}, "the info should be a dict, and is a list"),
        ({"info": {"choices": 5}}, "a list of texts, and is 5"),
        ({"info": {"choices": ["a", None]}}, "a list of texts"),
        ({"info": {"reward": float("nan")}}, "a reward should be a finite number, and is nan"),
    ],
)
def test_what_no_agent_can_read_ends_the_attempt_alone(at, odd, says):
    made = attempt("a", Task(id="t7", text="t"), Saying(at, **odd), Guidance(), go)
    assert (made.outcome.success, made.outcome.reason, made.steps) == (None, "error", ())
    assert made.outcome.detail.startswith("the environment failed at the task t7: TypeError: ")
    assert says in made.outcome.detail


@pytest.mark.parametrize("reward", [None, "1", float("inf")])
def test_a_reward_that_is_none_ends_the_attempt_alone(reward):
    made = attempt("a", Task(id="t", text="t"), Saying("step", reward=reward), Guidance(), go)
    assert (made.outcome.reason, made.steps) == ("error", ())
    assert "a reward should be a finite number" in made.outcome.detail


def test_five_values_that_are_not_five_end_the_attempt_alone():
    env = Saying("step")
    env.said = ("seen", 0.0, True, {})
    made = attempt("a", Task(id="t", text="t"), env, Guidance(), go)
    assert "the environment failed at the task t: ValueError: not enough values" in made.outcome.detail


def test_a_success_of_another_kind_is_read_as_true_or_false():
    env = Saying("step", info={"success": "yes"})
    made = attempt("a", Task(id="t", text="t"), env, Guidance(), go)
    assert (made.outcome.success, made.outcome.reward) == (True, 1.0)


def test_what_the_user_has_to_mend_is_not_taken_for_the_environments_fault():
    with pytest.raises(ConfigError, match="install it"):
        attempt(
            "a", Task(id="t", text="t"), Raising(ConfigError("install it"), "reset"), Guidance(), lambda r, o, i: None
        )


def test_a_reply_before_the_server_failed_counts_in_the_attempt():
    model = ScriptedModel(["no", InfrastructureError("down")])
    env = Raising(KeyError("never"), "step")

    def body(recorder, observation, info):
        recorder.say("user", "a or b?")
        recorder.answer(model, ["a", "b"], max_tokens=4, temperature=0.0)

    made = attempt("a", Task(id="t", text="t"), env, Guidance(), body)
    assert (made.outcome.reason, made.usage.calls) == ("error", 1)


def test_a_reply_of_a_wrong_form_stands_in_the_conversation_as_the_model_wrote_it():
    recorder = Recorder("a", Task(id="t", text="t"), None, Guidance())
    recorder.say("user", "a or b?")
    assert recorder.answer(ScriptedModel(["c", "d, I say"]), ["a", "b"], max_tokens=4, temperature=0.0) == ""
    assert recorder.messages[1:] == [{"role": "assistant", "content": "d, I say"}]
    silent = ScriptedModel([ParseError("a model of somebody's own says no more")])
    recorder.say("user", "again")
    assert recorder.answer(silent, ["a", "b"], max_tokens=4, temperature=0.0) == ""
    assert recorder.messages[3:] == [{"role": "assistant", "content": ""}]


class Counting:
    """A model that counts the tokens of its prompts in its own way."""

    name = "counting"

    def __init__(self, *usages):
        self.usages = list(usages)

    def chat(self, messages, **options):
        return Reply(text="r" * 40, usage=self.usages.pop(0))


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (Usage(prompt_tokens=70, calls=1), 90),  # what the server counted, and 80 characters since
        (Usage(prompt_tokens=70, replayed=1), 90),
        (Usage(prompt_tokens=150, calls=2), 100),  # asked twice: these are two prompts
        (Usage(prompt_tokens=0, calls=1), 100),  # a server that counts nothing
    ],
)
@pytest.mark.parametrize("over", [False, True])
def test_a_prompt_is_as_long_as_it_was_counted_and_what_came_since(usage, tokens, over):
    recorder = Recorder("a", Task(id="t", text="t"), None, Guidance())
    recorder.prompt_limit = tokens - over
    model = Counting(usage, Usage())
    recorder.say("user", "x" * 320)
    recorder.ask(model)
    recorder.messages[-1] = {"role": "assistant", "content": ""}  # an agent may keep less of a reply
    recorder.say("user", "x" * 80)
    if over:
        with pytest.raises(ContextLengthError, match=f"about {tokens} tokens, and may have {tokens - 1}"):
            recorder.ask(model)
    else:
        assert recorder.ask(model).text


def test_empty_replies_are_counted_by_why_they_ended():
    class Silent:
        name = "silent"

        def chat(self, messages, *, schema=None, **options):
            if schema:
                raise ParseError("no form", Reply(text="", finish_reason="unparsed"))
            return replies.pop(0)

    replies = [Reply(text=" ", finish_reason="length"), Reply(text="", finish_reason="length"), Reply(text="words")]
    replies += [Reply(text="", finish_reason="content_filter"), Reply(text="")]
    recorder = Recorder("a", Task(id="t", text="t"), None, Guidance())
    recorder.say("user", "?")
    for _ in range(5):
        recorder.ask(Silent())
    assert recorder.answer(Silent(), ["a", "b"], max_tokens=9, temperature=0) == ""
    assert recorder.trajectory(Outcome()).meta["empty"] == {"length": 2, "content_filter": 1, "other": 2}
    assert "empty" not in Recorder("a", Task(id="t", text="t"), None, Guidance()).trajectory(Outcome()).meta
