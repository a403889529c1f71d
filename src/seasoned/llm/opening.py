"""Which model, as settings, and how it is opened: the bundled one, or a server that speaks OpenAI's protocol.

Always holds: a section of settings is a value and refuses keys that it does not have; what is opened here is closed
here; secrets come from the environment alone.
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
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        wanted = next((number for number in (int, float) if kind in (number, number | None)), None)
        if isinstance(value, bool) and wanted is not None:
            raise PydanticCustomError(f"{wanted.__name__}_type", "is no number")
        return value


class ModelSettings(Section):
    """Which model: "local" is the bundled one; any other name goes to an OpenAI-compatible server.

    `path` is a GGUF file of the user's; `slots` and `context` (tokens a slot) are for the local server; `seed` is for
    every call. `window` is how many tokens the model takes (None: `context` for the bundled one; else as the server
    says, as the price list says, or `context` again): what is cut from long texts follows it.
    """

    model: str = "local"
    base_url: str | None = None
    path: str | None = None
    slots: int = Field(default=4, ge=1, le=64)
    context: int = Field(default=4096, ge=256)
    window: int | None = Field(default=None, ge=256)
    seed: int = 0
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=4, ge=0)

    @field_validator("base_url")
    @classmethod
    def _without_password(cls, url: str | None) -> str | None:
        """A recipe is kept in the store and in the report, and nothing secret may be."""
        if url is not None and "@" in re.split(r"[/?#]", url.partition("//")[2] or url)[0]:
            raise PydanticCustomError(
                SECRET,
                "holds a user name or a password, and would be kept in the store and in the report: leave it out; the "
                "server's key comes from OPENAI_API_KEY",
            )
        return url

    @property
    def bundled(self) -> bool:
        """Whether it is a model that Seasoned serves itself."""
        return self.base_url is None and self.model in BUNDLED


SECRET = "secret"
"""The type of the error about a setting whose value may not be shown."""


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
            if settings.window is not None:
                model.window = settings.window
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
        window=settings.window,
        usual_window=settings.context,
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
