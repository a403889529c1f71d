import pytest

from seasoned.errors import ConfigError, ParseError
from seasoned.llm import opening as models
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory.model import LateModel
from seasoned.types import Reply, Usage

HELLO = [{"role": "user", "content": "hello"}]


class Opening:
    """Stands in for a model that is opened by name; knows what was opened and closed."""

    def __init__(self):
        self.opened, self.closed = [], []

    def __call__(self, settings):
        outer = self

        class Open:
            def __enter__(self):
                outer.opened.append(settings.model)
                return ScriptedModel(lambda messages: "hi", name="inside")

            def __exit__(self, *error):
                outer.closed.append(settings.model)

        return Open()


@pytest.fixture
def opening(monkeypatch):
    made = Opening()
    monkeypatch.setattr(models, "open_llm", made)
    return made


def test_a_name_is_opened_when_it_is_asked_and_once(opening):
    model = LateModel("local")
    assert (model.name, opening.opened) == ("local", [])
    assert model.chat(HELLO).text == "hi"
    assert model.chat(HELLO).text == "hi"
    assert opening.opened == ["local"]
    model.close()
    model.close()
    assert opening.closed == ["local"]
    model.chat(HELLO)
    assert opening.opened == ["local", "local"]


def test_a_model_that_is_given_is_asked_and_not_closed():
    given = ScriptedModel([{"a": 1}], name="mine")
    model = LateModel(given)
    assert model.name == "mine"
    model.close()
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert model.chat(HELLO, schema=schema, stop=["x"], max_tokens=5, temperature=0.5).parsed == {"a": 1}
    assert given.requests[0] == {
        "messages": HELLO,
        "schema": schema,
        "stop": ["x"],
        "max_tokens": 5,
        "temperature": 0.5,
    }


class Plain:
    """Somebody's own model, which gives text and knows nothing of schemas."""

    name = "plain"

    def __init__(self, text):
        self.text = text

    def chat(self, messages, *, schema=None, stop=None, max_tokens=None, temperature=0.0):
        return Reply(text=self.text, usage=Usage(calls=1))


RULE = '{"analysis": "no lookup", "trigger": "a refund is asked for", "action": "look the order up first"}'


def test_a_model_that_gives_text_alone_teaches_and_judges(opened):
    memory = opened("erl", llm=Plain(RULE))
    with memory.attempt("refund order 17") as attempt:
        attempt.finish(False)
    [lesson] = memory.learn().lessons
    assert lesson.text == "When a refund is asked for: look the order up first"
    judging = opened("erl", llm=Plain('Sure: {"reason": "It was booked.", "done": true}'), judge=True)
    assert judging.attempt("refund order 18").finish().meta["judged"]["done"] is True


def test_text_that_does_not_fit_is_told():
    with pytest.raises(ParseError, match=r"the model plain was asked for JSON .* It wrote 'no idea'") as error:
        LateModel(Plain("no idea")).chat(HELLO, schema={"type": "object"})
    assert error.value.reply.usage.calls == 1
    assert LateModel(Plain("no idea")).chat(HELLO).parsed is None


def test_a_judge_whose_text_does_not_fit_leaves_it_unknown(opened):
    made = opened("erl", llm=Plain("no idea"), judge=True).attempt("refund order 18").finish()
    assert made.outcome.success is None
    assert "It wrote 'no idea'" in made.meta["judged"]["error"]


def test_no_model_says_so_when_it_is_asked():
    model = LateModel(None)
    assert model.name == ""
    with pytest.raises(ConfigError, match=r"learns with a model, and the memory has none: Memory\("):
        model.chat(HELLO)


@pytest.mark.parametrize("given", ["", 3, object(), ScriptedModel])
def test_what_is_no_model(given):
    with pytest.raises(ConfigError, match="llm should be the name of a model"):
        LateModel(given)
