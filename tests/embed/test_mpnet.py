"""The sentence-transformers embedder against a stub of that library (the real one brings PyTorch)."""

import sys
import types

import numpy as np
import pytest

from seasoned.embed.mpnet import MODEL, MPNetEmbedder
from seasoned.errors import ConfigError, MissingExtraError


class _Stub:
    def __init__(self, name, *, local_files_only):
        if name == "missing":
            raise OSError("no such files in the cache")
        self.name, self.local_files_only = name, local_files_only

    def get_sentence_embedding_dimension(self):
        return 4

    def encode(self, texts, *, batch_size, convert_to_numpy, show_progress_bar):
        assert convert_to_numpy
        assert not show_progress_bar
        return np.array([[len(text), 1, 0, 0] for text in texts], dtype=np.float64)


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = _Stub
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def test_it_takes_the_papers_model_from_the_cache_only(library):
    made = MPNetEmbedder()
    assert (made.name, made.dim) == ("all-mpnet-base-v2", 4)
    assert (made._model.name, made._model.local_files_only) == (MODEL, True)
    assert not MPNetEmbedder(download=True)._model.local_files_only


def test_rows_are_unit_float32(library):
    matrix = MPNetEmbedder().embed(["abc", "", "de"])
    assert matrix.dtype == np.float32
    assert np.allclose(matrix[0], np.array([3, 1, 0, 0]) / 10**0.5)
    assert matrix[1].tolist() == [1, 0, 0, 0]
    assert MPNetEmbedder().embed([]).shape == (0, 4)


def test_a_model_that_is_not_there_is_a_sentence(library):
    with pytest.raises(
        ConfigError, match=r"'missing' cannot be loaded \(no such files in the cache\): give its folder"
    ):
        MPNetEmbedder("missing")


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"seasoned\[mpnet\]"):
        MPNetEmbedder()
