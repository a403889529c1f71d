"""What a memory cannot be opened with, and the embedder that it is opened with."""

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError, MissingExtraError
from seasoned.memory import Memory, opening
from seasoned.memory.opening import open_embedder


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"namespace": ""}, "a namespace is a text"),
        ({"namespace": 3}, "a namespace is a text"),
        ({"judge": True}, "judge=True asks a model"),
        ({"cap": 0}, "the cap of guidance"),
        ({"method": "nothing"}, "there is no method 'nothing'"),
        ({"method": "expnote", "kk": 3}, "the method expnote has no option 'kk'"),
        ({"embedder": "nothing"}, "there is no embedder 'nothing'"),
        ({"llm": 3}, "llm should be the name of a model"),
        ({"llm": ""}, "llm should be the name of a model"),
        ({"cap": "x"}, "the cap of guidance is a number of characters, 1 or more, and was 'x'"),
        ({"cap": True}, "the cap of guidance"),
        ({"success_at": "x"}, "success_at is the reward that counts as success, a finite number, and was 'x'"),
        ({"success_at": float("nan")}, "success_at"),
        ({"secrets": ["x"]}, "secrets are a list of"),
        ({"secrets": "x"}, "secrets are a list of"),
        ({"secrets": 3}, "secrets are a list of"),
        ({"embedder": 3}, "an embedder is a name such as 'static'"),
        ({"store": None}, "a memory lies in a file, a postgresql:// address or a Store, and was given None"),
        ({"store": ""}, "a memory lies in a file"),
    ],
)
def test_what_cannot_be(path, more, words):
    with pytest.raises(ConfigError, match=words):
        Memory(**{"store": path, "method": "expnote", "embedder": None, **more})


def test_an_embedder_is_a_name_itself_or_none():
    own = HashingEmbedder()
    assert open_embedder(own) is own
    assert open_embedder(None) is None
    assert open_embedder("hashing").name == own.name
    with pytest.raises(ConfigError):
        open_embedder("no such one")


@pytest.mark.parametrize(("version", "install"), [((3, 13), "[local]'"), ((3, 14), "[minilm]', and name the embedder")])
def test_without_wordllama_words_are_compared_and_that_is_said_once(path, monkeypatch, caplog, version, install):
    monkeypatch.setattr("seasoned.embed.find_spec", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("seasoned.embed.static.sys", SimpleNamespace(version_info=version))
    opening._say_what_is_missing.cache_clear()
    for _ in range(2):
        with Memory(path, method="expnote") as memory:
            memory.add("Before any refund, look the order up.")
            assert "look the order up" in memory.recall("a refund").text
    with pytest.raises(MissingExtraError) as error:
        Memory(path, method="expnote", embedder="static")
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("wordllama is not installed, so lessons are found by the words")
    assert install in said
    assert install in str(error.value)


def test_with_wordllama_a_memory_compares_meanings(path, caplog):
    if find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")
    with Memory(path, method="expnote") as memory:
        assert memory._embedder.name == "wordllama-256"
    assert caplog.text == ""
