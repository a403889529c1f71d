"""An embedder that remembers its latest vectors.

A memory often needs a vector twice: it compares a new lesson with the stored ones, and stores its vector afterwards.
Always holds: a text gets the vector that the embedder gave it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.protocols import Embedder

_FEW = 8  # texts of a call whose vectors are remembered
_LATEST = 256  # vectors


class Recent:
    """An embedder with the vectors of the latest few texts. Safe to share between threads if the embedder is."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dim = embedder.name, embedder.dim
        self.instant = bool(getattr(embedder, "instant", False))
        self._embedder = embedder
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The embedder's vectors; it is not called for texts whose vectors are remembered."""
        import numpy as np

        if not 0 < len(texts) <= _FEW or not all(isinstance(text, str) for text in texts) or isinstance(texts, str):
            return self._embedder.embed(texts)
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            rows = np.asarray(self._embedder.embed(new))
            if rows.shape != (len(new), self.dim):
                return rows  # the caller refuses it
            known.update(zip(new, rows, strict=True))
            with self._lock:
                self._vectors.update((text, known[text]) for text in new)
                for text in list(self._vectors)[:-_LATEST]:
                    del self._vectors[text]
        return np.array([known[text] for text in texts])
