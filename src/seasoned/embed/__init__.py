"""Embedders: they turn texts into unit vectors. Each is a small class; heavy libraries are imported when it is made.

Always holds, for every embedder here: `embed` returns float32 of shape (n, dim), also for n = 0; every row has length
1; a text without a visible character becomes the first axis (1, 0, 0, ...), without a model or server.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.errors import ConfigError, DataError, MissingExtraError, SeasonedError
from seasoned.plugins import import_member

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.protocols import Embedder

_CLASSES = {
    "static": "seasoned.embed.static:StaticEmbedder",
    "minilm": "seasoned.embed.minilm:MiniLMEmbedder",
    "mpnet": "seasoned.embed.mpnet:MPNetEmbedder",
    "hashing": "seasoned.embed.hashing:HashingEmbedder",
}

_OPENAI_PREFIX = "openai:"
_KNOWN = f"{', '.join(_CLASSES)}, {_OPENAI_PREFIX}MODEL, or the import path of a class"


def default_embedder() -> str:
    """The name of the default embedder: static if it is installed, else hashing."""
    return "static" if importlib.util.find_spec("wordllama") else "hashing"


def embedder(name: str = "static") -> Embedder:
    """Make the embedder of a short name or of a class's import path.

    Args:
        name: "static", "minilm", "mpnet" or "hashing"; "openai:MODEL" for an OpenAI-compatible endpoint (address and
            key from `OPENAI_BASE_URL` and `OPENAI_API_KEY`); or the path of a class or function that takes no
            arguments, such as "mypackage.embedders.Mine" or "mypackage.embedders:Mine".

    Raises:
        ConfigError: the name is unknown, or is not that of an embedder.
        MissingExtraError: its library is not installed.
    """
    if name.startswith(_OPENAI_PREFIX):
        from seasoned.embed.openai import OpenAIEmbedder

        return OpenAIEmbedder(name.removeprefix(_OPENAI_PREFIX))
    make = _maker(name)
    try:
        instance: Any = make()
    except SeasonedError:
        raise
    except Exception as error:  # a user's class may raise anything
        raise ConfigError(f"the embedder {name!r} cannot be made ({error}): known are {_KNOWN}") from error
    if not all(hasattr(instance, part) for part in ("name", "dim", "embed")):
        raise ConfigError(f"{name!r} is not an embedder: it needs a name, a dim and an embed(texts)")
    embedder: Embedder = instance
    return embedder


def check_embedder(name: str) -> None:
    """Check that an embedder of this name is known, without making it: that may need a package, download or server.

    Raises:
        ConfigError: the name is unknown.
    """
    if not name.startswith(_OPENAI_PREFIX):
        _maker(name)


def _maker(name: str) -> Any:
    """The class or function that makes the embedder of this name.

    Raises:
        ConfigError: the name is unknown.
    """
    return import_member(_CLASSES.get(name, name), "embedder", f"known are {_KNOWN}")


def package_folder(package: str, extra: str, advice: str = "") -> Path:
    """The folder of an installed package with a model's files; the package is not imported.

    Raises:
        MissingExtraError: it is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingExtraError(extra, package.replace("_", "-"), advice)
    return Path(spec.origin).parent


@cache
def shared_embedder(name: str) -> Embedder:
    """The embedder of this name, made once for all pools.

    Raises:
        ConfigError, MissingExtraError: as in `embedder`.
    """
    return embedder(name)


class UnitRows:
    """Base class of the embedders: `embed` makes unit rows of the vectors that `_vectors` returns."""

    name: str
    dim: int
    batch = 1024  # texts per call of `_vectors`
    instant = False  # whether computing a few vectors takes less time than reading them from a store

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 (n, dim); a text without a visible character or a vector becomes the first axis.

        Raises:
            DataError: `texts` is a single string, or contains anything but strings.
        """
        import numpy as np

        if isinstance(texts, str):
            raise DataError("embed takes a sequence of texts, but got a single text: put it into a list")
        for text in texts:
            if not isinstance(text, str):
                raise DataError(f"embed takes texts, but got {type(text).__name__}: {text!r:.80}")
        result = np.zeros((len(texts), self.dim), dtype=np.float32)
        result[:, 0] = 1.0
        visible = [number for number, text in enumerate(texts) if not text.isspace() and text]
        for start in range(0, len(visible), self.batch):
            chosen = visible[start : start + self.batch]
            # A str may contain a lone surrogate, but no tokenizer or request accepts one.
            clean = [texts[number].encode("utf-8", "replace").decode("utf-8") for number in chosen]
            raw = np.asarray(self._vectors(clean), dtype=np.float32)
            lengths = np.linalg.norm(raw, axis=1)
            usable = np.isfinite(lengths) & (lengths > 0)
            result[np.array(chosen)[usable]] = raw[usable] / lengths[usable, None]
        return result

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """The vectors, of shape (n, dim), of at most `batch` texts in valid Unicode, each with a visible character."""
        raise NotImplementedError
