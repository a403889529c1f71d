"""WordLlama read from its own two files: meaning, no import of the package, no network."""

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from seasoned.embed.static import StaticEmbedder
from seasoned.errors import DataError, MissingExtraError


@pytest.fixture(scope="module")
def static():
    return StaticEmbedder()


def test_meaning_is_near(static):
    query, near, far = static.embed(["I lost my dog and cry", "my puppy ran away, how sad", "the stock market rose"])
    assert (static.name, static.dim) == ("wordllama-256", 256)
    assert query @ near > query @ far + 0.2


def test_it_agrees_with_the_mean_of_the_token_vectors(static):
    text = "rivers and lamps"
    ids = static._tokenizer.encode(text, add_special_tokens=False).ids
    mean = static._weights[ids].mean(axis=0)
    assert np.allclose(static.embed([text, "other words"])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_threads_get_the_same_rows(static):
    texts = [f"text {number} of many, some longer than others" * (number % 3 + 1) for number in range(200)]
    alone = static.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        for together in pool.map(static.embed, [texts] * 8):
            assert np.array_equal(together, alone)


def test_the_package_is_not_imported_and_no_logging_is_set_up():
    code = (
        "import sys, logging; from seasoned.embed.static import StaticEmbedder; StaticEmbedder().embed(['x']);"
        "assert 'wordllama' not in sys.modules; assert not logging.getLogger().handlers"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert logging.getLogger("wordllama").level == logging.NOTSET


def test_a_folder_without_the_files_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match="install it again"):
        StaticEmbedder(tmp_path)


def test_a_broken_weights_file_is_a_sentence(tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(DataError, match="cannot be read"):
        StaticEmbedder(tmp_path)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingExtraError, match=r"wordllama.*seasoned\[(local|minilm)\]"):
        StaticEmbedder()
