"""What a memory cannot be opened with, and the embedder that it is opened with."""

import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError
from seasoned.memory import Memory
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
