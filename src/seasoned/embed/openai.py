"""Embeddings from any server that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, llama.cpp, a gateway.

Always holds: every call ends in unit rows, or in an error of the LLMError tree with one sentence; no key is in a
message or a repr; rows are in the order of the texts, whatever order the server used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from seasoned.embed import UnitRows
from seasoned.endpoint import Endpoint, said_in
from seasoned.errors import ConfigError, ContextLengthError, InfrastructureError, LLMError

if TYPE_CHECKING:
    import numpy as np
    import openai
    from numpy.typing import NDArray

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_MAX_NUMBER = 1e12
_PROBE = "How long is a vector?"


class OpenAIEmbedder(UnitRows):
    """An embedding model behind an OpenAI-compatible endpoint. Safe to share between threads.

    Args:
        model: the model's name as the server knows it.
        base_url: the server's address, such as "http://127.0.0.1:8080/v1"; None is `OPENAI_BASE_URL`, or else OpenAI.
        api_key: None is `OPENAI_API_KEY`. A server given by `base_url` may need none.
        dim: the dimension; None: that of the known model, or else found with one request at once.
        batch: texts per request.
        timeout: seconds without a response before a try counts as failed.
        max_retries: retries, with growing pauses or the pause a server asks for.

    Raises:
        ConfigError: `base_url` is not an http address, or a number is out of range.
        LLMError: when the dimension must be requested, as in `_vectors`.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dim: int | None = None,
        batch: int = 128,
        timeout: float = 60.0,
        max_retries: int = 4,
    ) -> None:
        if not model or batch < 1 or (dim is not None and dim < 1):
            raise ConfigError("an embedder needs the name of a model, and batch and dim of at least 1")
        self.name = model
        self._endpoint = Endpoint(base_url, api_key, timeout=timeout, max_retries=max_retries)
        self.batch = batch
        self.dim = dim or DIMENSIONS.get(model) or len(self._ask([_PROBE])[0])

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.name!r}, at {self._endpoint.where})"

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """The vectors that the server returns for texts. `embed` raises the same errors.

        Raises:
            AuthError: no key, or the server refused it.
            InfrastructureError: the server cannot be reached, keeps failing, or does not send vectors of `dim`.
            ContextLengthError: a text is longer than the model takes.
            RequestError: the server refused the request for another reason.
        """
        import numpy as np

        vectors = self._ask(texts)
        other_dim = next((len(vector) for vector in vectors if len(vector) != self.dim), None)
        if other_dim is not None:
            raise InfrastructureError(
                f"{self._endpoint.where} sent a vector of {other_dim} numbers, but {self.name} should have {self.dim}: "
                "set the right dim"
            )
        return np.asarray(vectors, dtype=np.float32)

    def _ask(self, texts: list[str]) -> list[list[float]]:
        import openai

        client = self._endpoint.client()
        try:
            raw = client.embeddings.with_raw_response.create(model=self.name, input=texts, encoding_format="float")
            body = json.loads(raw.content)
        except openai.OpenAIError as error:
            raise self._translated(error) from None  # the cause may repeat the request, as the server echoes it
        except (ValueError, RecursionError):
            body = None
        vectors = _read(body, len(texts))
        if vectors is None:
            raise InfrastructureError(
                f"{self._endpoint.where} did not answer with {len(texts)} embeddings: check that {self.name!r} is an "
                "embedding model and that the address is that of an OpenAI-compatible endpoint (it often ends in /v1)"
            )
        return vectors

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._endpoint.close()

    def _translated(self, error: openai.OpenAIError) -> LLMError:
        import openai

        if isinstance(error, openai.APIStatusError) and error.status_code in (400, 413, 422, 500):
            message = said_in(error)
            if any(word in message.lower() for word in ("context", "too large", "too long")):
                return ContextLengthError(
                    f"a text is longer than {self.name} takes ({self._endpoint.safe(message)}): shorten it"
                )
        return self._endpoint.translated(error, self.name)


def _read(body: Any, count: int) -> list[list[float]] | None:
    """The vectors in the order of the texts; None if the body is not `count` vectors of one length."""
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, list) or len(data) != count:
        return None
    ordered: list[list[float] | None] = [None] * count
    for place, item in enumerate(data):
        vector = item.get("embedding") if isinstance(item, dict) else None
        index = item.get("index", place) if isinstance(item, dict) else None
        if not isinstance(vector, list) or not vector or not isinstance(index, int) or not 0 <= index < count:
            return None
        # The bound excludes NaN, infinities, integers of a thousand digits, and lengths that overflow.
        if not all(isinstance(number, int | float) and abs(number) < _MAX_NUMBER for number in vector):
            return None
        ordered[index] = vector
    vectors = [vector for vector in ordered if vector is not None]
    return vectors if len(vectors) == count and len({len(vector) for vector in vectors}) == 1 else None
