import pytest

from seasoned.errors import ConfigError
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory.model import LateModel
from seasoned.runner import models

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


def test_no_model_says_so_when_it_is_asked():
    model = LateModel(None)
    assert model.name == ""
    with pytest.raises(ConfigError, match=r"learns with a model, and the memory has none: Memory\("):
        model.chat(HELLO)


@pytest.mark.parametrize("given", ["", 3, object(), ScriptedModel])
def test_what_is_no_model(given):
    with pytest.raises(ConfigError, match="llm should be the name of a model"):
        LateModel(given)
