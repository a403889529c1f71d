"""Feature hashing of words and of their three-letter pieces: no model, no download, the same rows everywhere.

For tests, and as a last resort. Always holds: equal texts give equal rows on every machine and Python; texts that share
words or parts of words are near each other, whatever they mean.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from seasoned.embed import UnitRows
from seasoned.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+|[^\w\s]")


class HashingEmbedder(UnitRows):
    """Signed hashing of word and character n-grams into `dim` columns. Safe to share between threads.

    Raises:
        ConfigError: `dim` is smaller than 8.
    """

    instant = True

    def __init__(self, dim: int = 256) -> None:
        if dim < 8:
            raise ConfigError(f"an embedder needs at least 8 dimensions, not {dim}")
        self.dim = dim
        self.name = f"hashing-{dim}"

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for place, text in enumerate(texts):
            row = [0.0] * self.dim  # faster than numbers one by one in an array
            for feature, weight in _features(text):
                number = zlib.crc32(feature.encode("utf-8"))
                row[(number >> 1) % self.dim] += weight if number & 1 else -weight
            vectors[place] = row
        return vectors


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        yield f"w {word}", 1.0
        edged = f"<{word}>"
        for start in range(len(edged) - 2):
            yield f"c {edged[start : start + 3]}", 0.5
