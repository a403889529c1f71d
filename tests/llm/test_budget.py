import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from seasoned.errors import BudgetExceeded, ConfigError, InfrastructureError, ParseError
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Reply, Usage

ASK = [{"role": "user", "content": "one two three"}]


class Priced:
    """A model whose replies use what the test says."""

    name = "priced"

    def __init__(self, *usages):
        self.usages = list(usages)

    def chat(self, messages, **options):
        return Reply(text="x", usage=self.usages.pop(0))


def test_it_counts_and_passes_everything_on():
    model = ScriptedModel(["a b", "c"], name="s")
    meter = Metered(model)
    meter.chat(ASK, stop=["z"], max_tokens=4, temperature=0.5)
    meter.chat(ASK)
    assert meter.name == "s"
    assert (meter.usage.tokens, meter.usage.calls, meter.usage.cost) == (9, 2, 0.0)
    asked = model.requests[0]
    assert (asked["stop"], asked["max_tokens"], asked["temperature"]) == (["z"], 4, 0.5)


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (Budget(tokens=4), 1),
        (Budget(tokens=5), 2),
        (Budget(tokens=8), 2),
        (Budget(calls=3), 3),
        (Budget(tokens=0), 0),
        (Budget(calls=0), 0),
        (Budget(cost=0.0), 0),
    ],
)
def test_the_call_after_the_limit_is_not_sent(budget, allowed):
    model = ScriptedModel(["x"] * 10)
    meter = Metered(model, budget)
    for _ in range(allowed):
        meter.chat(ASK)
    for _ in range(2):
        with pytest.raises(BudgetExceeded) as caught:
            meter.chat(ASK)
    assert len(model.requests) == allowed
    assert caught.value.scope == "episode"


def test_the_message_says_what_and_how_much_and_what_to_do():
    meter = Metered(Priced(Usage(calls=1, prompt_tokens=1203)), Budget(tokens=1000), scope="run")
    meter.chat(ASK)
    with pytest.raises(
        BudgetExceeded, match=r"run's budget of 1,000 tokens is used up \(1,203 tokens so far\): raise `tokens`"
    ):
        meter.chat(ASK)


def test_cost():
    meter = Metered(Priced(Usage(calls=1, cost=0.3), Usage(calls=1, cost=0.3)), Budget(cost=0.5))
    meter.chat(ASK)
    meter.chat(ASK)
    assert meter.cost_known
    with pytest.raises(BudgetExceeded, match=r"of \$0.5000 is used up \(\$0.6000 so far\)"):
        meter.chat(ASK)


def test_unknown_cost_stays_unknown_and_the_known_part_still_counts():
    usages = [Usage(calls=1, cost=None), Usage(calls=1, cost=0.3), Usage(calls=1, cost=0.3)]
    meter = Metered(Priced(*usages), Budget(cost=0.5))
    for _ in usages:
        meter.chat(ASK)
    assert not meter.cost_known
    assert meter.usage.cost is None
    with pytest.raises(BudgetExceeded):
        meter.chat(ASK)


def test_a_limit_on_unknown_cost_is_told_once(caplog):
    meter = Metered(Priced(Usage(calls=1, cost=None), Usage(calls=1, cost=None)), Budget(cost=1.0), scope="run")
    meter.chat(ASK)
    meter.chat(ASK)
    [said] = caplog.messages
    assert said.startswith("the price of a model of this run is unknown")
    assert said.endswith("so the limit of $1.0 on the run's cost does not hold: limit its tokens")


def test_replayed_calls_count_so_that_a_resumed_run_ends_where_the_first_did():
    meter = Metered(Priced(Usage(replayed=2), Usage(calls=1)), Budget(calls=2))
    meter.chat(ASK)
    with pytest.raises(BudgetExceeded):
        meter.chat(ASK)


def test_wall_time():
    meter = Metered(ScriptedModel(["x"] * 2), Budget(seconds=0.05))
    meter.chat(ASK)
    time.sleep(0.06)
    with pytest.raises(BudgetExceeded, match="seconds"):
        meter.chat(ASK)


def test_a_parent_counts_and_limits_too():
    model = ScriptedModel(["x"] * 9)
    run = Metered(model, Budget(calls=3), scope="run")
    first = Metered(model, Budget(calls=2), parent=run)
    second = Metered(model, parent=run)
    first.chat(ASK)
    first.chat(ASK)
    with pytest.raises(BudgetExceeded) as own:
        first.chat(ASK)
    second.chat(ASK)
    with pytest.raises(BudgetExceeded) as whole:
        second.chat(ASK)
    assert (own.value.scope, whole.value.scope) == ("episode", "run")
    assert (first.usage.calls, second.usage.calls, run.usage.calls) == (2, 1, 3)
    assert len(model.requests) == 3


def test_a_failed_call_gives_its_place_back():
    meter = Metered(ScriptedModel([InfrastructureError("down"), "x"]), Budget(calls=1))
    with pytest.raises(InfrastructureError):
        meter.chat(ASK)
    assert meter.chat(ASK).text == "x"


def test_replies_that_could_not_be_parsed_were_paid_for():
    meter = Metered(ScriptedModel(["no", "no"]))
    with pytest.raises(ParseError):
        meter.chat(ASK, schema={"type": "integer"})
    assert meter.usage.calls == 2


def test_a_reply_before_the_server_failed_was_paid_for():
    meter = Metered(ScriptedModel(["no", InfrastructureError("down")]))
    with pytest.raises(InfrastructureError):
        meter.chat(ASK, schema={"type": "integer"})
    assert (meter.usage.calls, meter.usage.prompt_tokens) == (1, 3)


@pytest.mark.parametrize("text", ["4", '"4"', "none"])
def test_what_a_model_gives_as_text_alone_is_read_for_a_schema_and_was_paid_for(text):
    class Plain:
        name = "plain"

        def chat(self, messages, **options):
            return Reply(text=text, usage=Usage(calls=1))

    meter = Metered(Plain())
    if text == "4":
        assert meter.chat(ASK, schema={"type": "integer"}).parsed == 4
    else:
        with pytest.raises(ParseError, match="the model plain was asked for JSON of a given form, but its reply"):
            meter.chat(ASK, schema={"type": "integer"})
    assert meter.usage.calls == 1


@pytest.mark.parametrize("limits", [{"tokens": -1}, {"cost": -0.1}, {"calls": -2}, {"seconds": float("nan")}])
def test_limits_that_are_none(limits):
    with pytest.raises(ConfigError, match=next(iter(limits))):
        Budget(**limits)


def test_many_threads_never_make_more_calls_than_allowed():
    gate = threading.Barrier(8)

    def answer(_messages):
        gate.wait(timeout=20)
        return "x y"

    meter = Metered(ScriptedModel(answer), Budget(calls=16))

    def call(_):
        try:
            return meter.chat(ASK).text
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(call, range(50)))
    assert texts.count("x y") == 16
    assert meter.usage == Usage(prompt_tokens=48, completion_tokens=32, calls=16)


def test_what_was_used_elsewhere_is_counted_here_and_above():
    model = ScriptedModel(["a"])
    run = Metered(model, scope="run")
    episode = Metered(model, Budget(calls=2), parent=run)
    episode.add(Usage(replayed=2, prompt_tokens=7, cost=0.5))
    assert episode.usage == run.usage == Usage(replayed=2, prompt_tokens=7, cost=0.5)
    with pytest.raises(BudgetExceeded):
        episode.chat([{"role": "user", "content": "x"}])
