"""The hashing embedder is the same everywhere, and words decide."""

import subprocess
import sys

import numpy as np
import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError


def test_shared_words_are_near_and_other_words_are_not():
    near, query, far = HashingEmbedder().embed(["the wild river rose", "a river in the rain", "quarterly tax forms"])
    assert query @ near > query @ far + 0.1


def test_case_and_unicode_forms_do_not_matter():
    plain, folded = HashingEmbedder().embed(["Café ﬁne", "cafe\u0301 FINE"])
    assert np.allclose(plain, folded)


def test_the_values_are_the_same_in_another_process_with_another_hash_seed():
    code = (
        "from seasoned.embed.hashing import HashingEmbedder as H;"
        "print(H(16).embed(['a river of words'])[0].round(5).tolist())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment("7")
    ).stdout
    assert said.strip() == str(HashingEmbedder(16).embed(["a river of words"])[0].round(5).tolist())


def _environment(seed):
    import os

    return {**os.environ, "PYTHONHASHSEED": seed}


def test_the_dimension_is_part_of_the_name():
    made = HashingEmbedder(64)
    assert (made.name, made.dim, made.embed(["x"]).shape) == ("hashing-64", 64, (1, 64))
    with pytest.raises(ConfigError, match="at least 8 dimensions, not 4"):
        HashingEmbedder(4)
