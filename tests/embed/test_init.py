"""What every embedder keeps, and how a name becomes one."""

import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.embed import UnitRows, embedder
from seasoned.embed.hashing import HashingEmbedder
from seasoned.embed.openai import OpenAIEmbedder
from seasoned.embed.static import StaticEmbedder
from seasoned.errors import ConfigError, DataError, MissingExtraError
from seasoned.protocols import Embedder

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=40)


@pytest.fixture(scope="module")
def embedders():
    return [HashingEmbedder(), StaticEmbedder()]


def test_names():
    assert embedder("hashing").name == "hashing-256"
    assert isinstance(embedder("static"), StaticEmbedder)
    assert isinstance(embedder(), StaticEmbedder)
    assert isinstance(embedder("seasoned.embed.hashing.HashingEmbedder"), HashingEmbedder)
    assert isinstance(embedder("seasoned.embed.hashing:HashingEmbedder"), HashingEmbedder)
    made = embedder("openai:text-embedding-3-small")
    assert isinstance(made, OpenAIEmbedder)
    assert (made.name, made.dim) == ("text-embedding-3-small", 1536)
    assert isinstance(embedder("hashing"), Embedder)


@pytest.mark.parametrize("name", ["", "statik", "openai", "json.loads", "os.path", ":", "json:"])
def test_an_unknown_name_is_a_sentence_that_lists_the_known(name):
    with pytest.raises(ConfigError, match="known are static, minilm, mpnet, hashing, openai:MODEL"):
        embedder(name)


def test_what_cannot_be_imported_says_why():
    with pytest.raises(ConfigError, match=r"'no.such.module' cannot be imported: ModuleNotFoundError"):
        embedder("no.such.module")


def test_what_is_no_embedder_is_refused():
    with pytest.raises(ConfigError, match="it needs a name, a dim and an embed"):
        embedder("collections.OrderedDict")


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"sentence-transformers.*seasoned\[mpnet\]"):
        embedder("mpnet")


@settings(max_examples=60)
@given(texts=st.lists(ANY_TEXT, max_size=6))
def test_every_text_gives_a_unit_row(embedders, texts):
    for made in embedders:
        matrix = made.embed(texts)
        assert matrix.shape == (len(texts), made.dim)
        assert matrix.dtype == np.float32
        assert np.allclose(np.linalg.norm(matrix, axis=1), 1.0, atol=1e-5)
        again = made.embed(list(reversed(texts)))[::-1]
        assert np.allclose(matrix, again, atol=1e-6)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u2003"])
def test_a_blank_text_gets_the_first_axis(embedders, blank):
    for made in embedders:
        row = made.embed(["words", blank])[1]
        assert row[0] == 1.0
        assert not row[1:].any()


@pytest.mark.parametrize("wrong", ["one text", [1], [None], [b"bytes"]])
def test_what_is_no_list_of_texts_is_refused(wrong):
    with pytest.raises(DataError, match="embed takes"):
        HashingEmbedder().embed(wrong)


class Answering(UnitRows):
    """An embedder whose vectors come from a function."""

    def __init__(self, dim, vectors):
        self.dim, self._vectors, self.batch = dim, vectors, 2


def test_vectors_are_asked_for_in_batches_of_clean_texts_only():
    seen = []

    def vectors(texts):
        seen.append(texts)
        return np.full((len(texts), 3), 2.0)

    matrix = Answering(3, vectors).embed(["a", "", "b\ud800", "c"])
    assert seen == [["a", "b?"], ["c"]]
    assert matrix.tolist()[1] == [1.0, 0.0, 0.0]
    assert np.allclose(matrix[[0, 2, 3]], 3**-0.5)


def test_zeros_nan_and_infinity_are_never_passed_on():
    for odd in ([0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]):
        made = Answering(2, lambda texts, odd=odd: np.array([odd] * len(texts)))
        assert made.embed(["a", "b", "c"]).tolist() == [[1.0, 0.0]] * 3


def test_a_user_class_by_import_path(monkeypatch):
    module = types.ModuleType("a_users_module")
    module.Mine = HashingEmbedder
    monkeypatch.setitem(sys.modules, "a_users_module", module)
    assert embedder("a_users_module.Mine").dim == 256
