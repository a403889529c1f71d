"""smolagents with a model of a few scripted lines."""

import pytest
from bare_steps import did

from seasoned.errors import ConfigError

smolagents = pytest.importorskip("smolagents", exc_type=ImportError)
tool = smolagents.tool  # it warns at any other decorator

from seasoned.adapters.smolagents import remembering  # noqa: E402

LOOK = "I look.\n<code>\nprint(lookup(17))\n</code>"
REFUSED = "It was shipped.\n<code>\nfinal_answer('refused')\n</code>"


class Scripted(smolagents.Model):
    """Says its lines, each a text, or the name and arguments of a tool."""

    def __init__(self, *lines):
        super().__init__(model_id="scripted")
        self.lines, self.told = list(lines), []

    def generate(self, messages, **options):
        self.told.append(messages[0].content[0]["text"])
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, str):
            return smolagents.ChatMessage(role="assistant", content=line)
        function = smolagents.models.ChatMessageToolCallFunction(name=line[0], arguments=line[1])
        call = smolagents.models.ChatMessageToolCall(function=function, id="call-1", type="function")
        return smolagents.ChatMessage(role="assistant", content="", tool_calls=[call])


@tool
def lookup(order: int) -> str:
    """Look an order up.

    Args:
        order: its number.
    """
    return "shipped"


def code_agent(*lines, **more):
    return smolagents.CodeAgent(tools=[lookup], model=Scripted(*lines), verbosity_level=-1, **more)


def test_a_run_is_an_attempt(taught, kept, rule):
    agent = code_agent(LOOK, REFUSED, LOOK, REFUSED, instructions="Be kind.")
    mine = remembering(taught, agent, check=lambda *said: said == ("refund order 17", "refused"))
    assert mine.run("refund order 17") == "refused"
    assert all(rule in text and "Be kind." in text for text in agent.model.told)
    [found] = kept()
    assert [(s.thought, s.action) for s in found.steps] == [
        ("I look.", "print(lookup(17))"),
        ("It was shipped.", "final_answer('refused')"),
    ]
    assert "shipped" in found.steps[0].observation
    assert (found.task, found.agent, found.outcome.success) == ("refund order 17", "CodeAgent", True)
    assert found.lesson_ids

    assert agent.run("refund order 17") == "refused"
    assert rule not in agent.model.told[-1]
    assert len(kept()) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_result_comes_back_where_it_cannot_be_recorded(memory, confused, lost, stream):
    done = remembering(memory, code_agent(REFUSED), check=confused).run("refund order 17", stream=stream)
    assert (list(done)[-1].output if stream else done) == "refused"
    assert lost()


def test_an_agent_that_calls_tools(memory, kept):
    model = Scripted(("lookup", {"order": 17}), ("final_answer", {"answer": "refused"}))
    agent = smolagents.ToolCallingAgent(tools=[lookup], model=model, name="clerk", verbosity_level=-1)
    before = agent.system_prompt
    result = remembering(memory, agent).run("refund order 17", return_full_result=True)
    assert result.output == "refused"
    assert model.told[0] == before
    [found] = kept()
    assert did(found) == [("lookup({'order': 17})", "shipped"), ("final_answer({'answer': 'refused'})", "refused")]
    assert (found.agent, found.outcome.success, found.outcome.answer) == ("clerk", None, "refused")


def test_a_stream_is_recorded_when_it_ends(memory, kept):
    steps = remembering(memory, code_agent(LOOK, REFUSED)).run("refund order 17", stream=True)
    assert kept() == []
    assert [type(each).__name__ for each in steps][-1] == "FinalAnswerStep"
    [found] = kept()
    assert (len(found.steps), found.outcome.answer) == (2, "refused")


def test_runs_that_go_on_belong_to_an_attempt(memory, kept):
    agent = code_agent(LOOK, REFUSED, REFUSED)
    with memory.attempt("both") as attempt:
        mine = remembering(attempt, remembering(memory, agent))
        mine.run("one")
        mine.run("two", reset=False)
        attempt.finish(success=True)
    [found] = kept()
    assert [s.action for s in found.steps] == ["print(lookup(17))"] + ["final_answer('refused')"] * 2


def test_a_managed_agent_remembers(taught, kept, rule):
    helper = remembering(taught, code_agent(REFUSED, name="helper", description="Knows refunds."))
    boss = smolagents.CodeAgent(
        tools=[],
        model=Scripted("<code>\nfinal_answer(helper('refund order 17'))\n</code>"),
        managed_agents=[helper],
        verbosity_level=-1,
    )
    assert "refused" in boss.run("refund order 17")
    assert [t.agent for t in kept()] == ["helper"]
    assert rule in helper.model.told[0]


def test_errors_are_seen_and_a_run_that_breaks_off_is_kept(memory, kept):
    agent = code_agent("<code>\nlookup(\n</code>", LOOK, RuntimeError("down"), RuntimeError("down"), max_steps=9)
    with pytest.raises(smolagents.AgentGenerationError):
        remembering(memory, agent).run("refund order 17")
    [found] = kept()
    assert found.outcome.detail == "ended by AgentGenerationError"
    assert "SyntaxError" in found.steps[0].observation
    assert found.steps[1].action == "print(lookup(17))"


def test_what_is_no_agent_is_refused(memory):
    with pytest.raises(ConfigError, match="a smolagents agent"):
        remembering(memory, object())
