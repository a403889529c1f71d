"""A sentence-transformers model, by default all-mpnet-base-v2 (768 dimensions), the encoder of the ExpeL paper.

Always holds: files come from the user's folder or the library's cache; nothing is downloaded without permission.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from seasoned.embed import UnitRows
from seasoned.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "sentence-transformers/all-mpnet-base-v2"
_BATCH = 32


class MPNetEmbedder(UnitRows):
    """An encoder of the sentence-transformers library, which needs PyTorch. Safe to share between threads.

    Args:
        model: a folder with the model, or its name in the library's cache.
        download: whether the library may download a model that is not in its cache.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ConfigError: the model is missing or cannot be read.
    """

    def __init__(self, model: str | Path = MODEL, *, download: bool = False) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError("mpnet", "sentence-transformers") from error
        try:
            self._model = SentenceTransformer(str(model), local_files_only=not download)
        except Exception as error:  # torch, the hub client and the file system may raise anything
            raise ConfigError(
                f"the sentence-transformers model {str(model)!r} cannot be loaded ({error!s:.200}): give its"
                " folder, or let the library download it once with MPNetEmbedder(download=True)"
            ) from error
        self.dim = int(self._model.get_sentence_embedding_dimension())
        self.name = Path(str(model)).name.lower()
        self._one_at_a_time = threading.Lock()

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        with self._one_at_a_time:
            vectors = self._model.encode(texts, batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)
