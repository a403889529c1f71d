"""An embedder that remembers its latest vectors."""

import numpy as np
import pytest

from seasoned.embed import recent
from seasoned.embed.hashing import HashingEmbedder
from seasoned.embed.recent import Recent
from seasoned.errors import DataError
from seasoned.protocols import Embedder


class Counting(HashingEmbedder):
    def __init__(self):
        super().__init__(32)
        self.asked = []

    def embed(self, texts):
        self.asked.extend(texts)
        return super().embed(texts)


def test_a_text_is_embedded_once():
    own = Counting()
    remembering = Recent(own)
    assert isinstance(remembering, Embedder)
    assert (remembering.name, remembering.dim, remembering.instant) == (own.name, 32, True)
    first = remembering.embed(["a", "b", "a"])
    assert np.array_equal(first, HashingEmbedder(32).embed(["a", "b", "a"]))
    first[:] = 0  # the caller's copy
    assert np.array_equal(remembering.embed(["b", "c"]), HashingEmbedder(32).embed(["b", "c"]))
    assert own.asked == ["a", "b", "c"]


def test_many_texts_at_once_and_old_ones_are_not_remembered(monkeypatch):
    monkeypatch.setattr(recent, "_LATEST", 2)
    own = Counting()
    remembering = Recent(own)
    assert remembering.embed([]).shape == (0, 32)
    assert remembering.embed([str(n) for n in range(9)]).shape == (9, 32)
    for text in ("0", "1", "2", "0"):
        remembering.embed([text])
    assert own.asked == [*map(str, range(9)), "0", "1", "2", "0"]


def test_a_broken_embedder_is_left_to_the_caller():
    class Short(HashingEmbedder):
        def embed(self, texts):
            return super().embed(texts)[:, :5]

    assert Recent(Short()).embed(["a"]).shape == (1, 5)
    for texts in ("a", [1]):
        with pytest.raises(DataError):
            Recent(HashingEmbedder()).embed(texts)
