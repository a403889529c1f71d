"""Opens the models a recipe names: those that act and learn, and the one that gives vectors.

Always holds: what is opened here is closed here; secrets come from the environment alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from seasoned.runner.settings import ModelSettings

if TYPE_CHECKING:
    from seasoned.protocols import LLM, Embedder


@contextmanager
def open_llm(settings: ModelSettings) -> Iterator[LLM]:
    """The model of the settings: a server by `base_url` or vendor, else the bundled one served on loopback.

    With a `base_url` and no model named, the server's first model is taken.

    Raises:
        ModelFileError: if the bundled model is not there and cannot be had.
        AuthError, InfrastructureError: as `OpenAIChat` raises them.
    """
    if settings.bundled:
        from seasoned.llm.local import LocalModel

        name = "qwen" if settings.model == "local" else settings.model
        with LocalModel(
            settings.path or name, slots=settings.slots, context=settings.context, seed=settings.seed
        ) as model:
            yield model
        return
    from seasoned.llm.openai import OpenAIChat, first_model

    name = settings.model
    if name == "local":
        name = first_model(str(settings.base_url), timeout=settings.timeout)
    chat = OpenAIChat(
        name,
        base_url=settings.base_url,
        seed=settings.seed,
        timeout=settings.timeout,
        max_retries=settings.max_retries,
    )
    chat.check_key()
    try:
        yield chat
    finally:
        chat.close()


def check_llm(settings: ModelSettings, *, dry: bool = False) -> None:
    """See that a model can be opened: the file is there, or a server takes the key and the address.

    Args:
        settings: of the model.
        dry: no server is asked, and a key or the bundled model may still be got.

    Raises:
        ModelFileError, AuthError, InfrastructureError: as `open_llm` raises them.
        ConfigError: if the address is none.
    """
    if settings.bundled:
        from seasoned.llm.modelfile import resolve

        if settings.path or not dry:
            resolve(settings.path or ("qwen" if settings.model == "local" else settings.model))
    elif dry:
        from seasoned.llm.openai import OpenAIChat

        OpenAIChat(settings.model, base_url=settings.base_url)
    else:
        with open_llm(settings):
            pass


@cache
def shared_embedder(name: str) -> Embedder:
    """The embedder of this name, made once for all pools.

    Raises:
        ConfigError, MissingExtraError: as `seasoned.embed.embedder`.
    """
    from seasoned.embed import embedder

    return embedder(name)
