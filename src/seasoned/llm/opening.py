"""The settings of a model, and how to open it: the bundled one, or a server that speaks OpenAI's protocol.

Always holds: a section of settings is immutable and refuses unknown keys; a model opened here is closed here; secrets
come only from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from seasoned.protocols import LLM

BUNDLED = ("local", "qwen", "smol")


class Section(BaseModel):
    """A part of a recipe: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_booleans_as_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        annotation = cls.model_fields[str(info.field_name)].annotation
        number_type = next((number for number in (int, float) if annotation in (number, number | None)), None)
        if isinstance(value, bool) and number_type is not None:
            raise PydanticCustomError(f"{number_type.__name__}_type", "is not a number")
        return value


class ModelSettings(Section):
    """Which model: "local" is the bundled one; any other name goes to an OpenAI-compatible server.

    `path` is the user's GGUF file; `slots` and `context` (tokens per slot) are for the local server; `seed` is for
    every call. `window` is the model's window in tokens and decides how much of long texts is cut. None: `context` for
    the bundled model; for any other, the window in the server's list or the price list, or else `context`.
    """

    model: str = "local"
    base_url: str | None = None
    path: str | None = None
    slots: int = Field(default=4, ge=1, le=64)
    context: int = Field(default=4096, ge=256)
    window: int | None = Field(default=None, ge=256)
    seed: int = 0
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=6, ge=0)

    @field_validator("base_url")
    @classmethod
    def _without_password(cls, url: str | None) -> str | None:
        """Refuse a password in an address: recipes are kept in the store and the report, which must hold no secret."""
        if url is not None and "@" in re.split(r"[/?#]", url.partition("//")[2] or url)[0]:
            raise PydanticCustomError(
                SECRET,
                "holds a user name or a password, and would be kept in the store and in the report: leave it out; the "
                "server's key comes from OPENAI_API_KEY",
            )
        return url

    @property
    def bundled(self) -> bool:
        """Whether Seasoned itself serves the model."""
        return self.base_url is None and self.model in BUNDLED

    @property
    def file(self) -> str | None:
        """The bundled model's path or short name; None for the default model."""
        return self.path or (None if self.model == "local" else self.model)


SECRET = "secret"
"""The type of the error about a setting whose value must not be shown."""


@contextmanager
def open_llm(settings: ModelSettings) -> Iterator[LLM]:
    """Open the model of the settings: on the server of `base_url` or the vendor, or else the bundled one on loopback.

    With a `base_url` and no model name, the server's first model is used.

    Raises:
        ModelFileError: the bundled model is missing or damaged.
        AuthError, InfrastructureError: as `OpenAIChat` raises them.
    """
    if settings.bundled:
        from seasoned.llm.local import LocalModel

        with LocalModel(settings.file, **settings.model_dump(include={"slots", "context", "seed"})) as model:
            if settings.window is not None:
                model.window = settings.window
            yield model
        return
    from seasoned.llm.openai import OpenAIChat, first_model

    is_named = settings.model != "local"
    name = settings.model if is_named else first_model(str(settings.base_url), timeout=settings.timeout)
    shared = settings.model_dump(include={"base_url", "seed", "timeout", "max_retries", "window"})
    chat = OpenAIChat(name, usual_window=settings.context, **shared)
    chat.check_key()
    try:
        yield chat
    finally:
        chat.close()


def check_llm(settings: ModelSettings, *, dry: bool = False) -> None:
    """Check that a model can be opened: its file exists, or the server accepts the key and address.

    With `dry`, no request is sent, and a missing key or bundled model is accepted. Raises ConfigError if the address is
    invalid, and the errors of `open_llm`.
    """
    if settings.bundled:
        from seasoned.llm.modelfile import resolve

        if settings.path or not dry:
            resolve(settings.file)
    elif dry:
        from seasoned.llm.openai import OpenAIChat

        OpenAIChat(settings.model, base_url=settings.base_url)
    else:
        with open_llm(settings):
            pass
