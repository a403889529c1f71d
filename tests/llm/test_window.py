import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ContextLengthError
from seasoned.llm.budget import Metered
from seasoned.llm.openai import OpenAIChat
from seasoned.llm.opening import ModelSettings, open_llm
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.window import (
    MEASURED,
    WithLonger,
    is_roomy,
    listed_window,
    room_for,
    said_of,
    said_window,
    window_of,
)


@pytest.mark.parametrize(("window", "room"), [(None, 2400), (4096, 2400), (MEASURED, 2400), (128_000, 96_000)])
def test_room_follows_the_window_and_is_never_less_than_measured(window, room):
    model = ScriptedModel([], window=window)
    assert room_for(model, 2400) == room
    assert is_roomy(model) is (room > 2400)
    assert room_for(object(), 2400) == 2400


def test_a_meter_has_the_window_of_its_model():
    assert window_of(Metered(ScriptedModel([], window=5000))) == 5000


def test_vendors_models_are_in_the_price_list_and_others_are_not():
    assert listed_window("gpt-4o", "https://api.openai.com/v1") == 128_000
    assert listed_window("somebodys-own", "http://127.0.0.1:1/v1") is None


@pytest.mark.parametrize("field", ["max_model_len", "context_length", "context_window", "max_context_length"])
def test_a_server_says_its_window_in_the_list_of_models(field):
    body = {"data": ["no model", {"id": "other", field: 1}, {"id": "mine", field: 32_768}]}
    assert said_window(body, "mine") == 32_768


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["data", "id", "mine"]), inner),
    max_leaves=8,
)


@given(body=JSON)
def test_whatever_a_server_sends_is_a_number_or_none(body):
    said = said_window(body, "mine")
    assert said is None or said > 0


def test_the_server_is_asked_once_and_what_the_settings_say_wins(monkeypatch):
    asked = []
    monkeypatch.setattr(OpenAIChat, "_listed_models", lambda self: asked.append(1) or {"data": [{"id": "m"}]})
    chat = OpenAIChat("m", base_url="http://127.0.0.1:1/v1", usual_window=4096)
    assert (chat.window, chat.window, asked) == (4096, 4096, [1])
    with open_llm(ModelSettings(model="m", base_url="http://127.0.0.1:1/v1", window=50_000)) as opened:
        assert opened.window == 50_000


def test_a_server_that_lists_nothing_is_no_error():
    assert OpenAIChat("m", base_url="http://127.0.0.1:1/v1", max_retries=0, usual_window=4096).window == 4096


def test_a_prompt_that_is_too_long_goes_to_the_longer_model():
    short = ScriptedModel([ContextLengthError("too long"), "short"], name="short", window=4096)
    longer = ScriptedModel(["long"], name="longer", window=16_385)
    both = WithLonger(short, longer)
    asked = [{"role": "user", "content": "x"}]
    assert (both.name, window_of(both)) == ("short", 16_385)
    assert [both.chat(asked).model, both.chat(asked).model] == ["longer", "short"]


def test_what_was_left_out_is_said_in_one_sentence():
    assert said_of([(100, 100)]) == ""
    assert "2 prompts had no room for 70 of 200 characters" in said_of([(100, 60), (50, 50), (100, 70)])
