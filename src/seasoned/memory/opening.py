"""What a memory is opened with, looked at before anything is opened.

Always holds: what is wrong is told in a sentence that names what was given.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import SupportsFloat

from seasoned.errors import ConfigError
from seasoned.protocols import Embedder
from seasoned.store.sql import Store
from seasoned.trust import Secret

log = logging.getLogger(__name__)


def check_given(store: object, namespace: object, cap: object, success_at: object, secrets: object) -> None:
    """See that a memory is given what it takes; see `Memory`.

    Raises:
        ConfigError: when it is not.
    """
    if not store or not isinstance(store, str | Path | Store):
        raise ConfigError(f"a memory lies in a file, a postgresql:// address or a Store, and was given {store!r}")
    if not namespace or not isinstance(namespace, str):
        raise ConfigError(f"a namespace is a text, such as a user's or a project's name, and was {namespace!r}")
    if not isinstance(cap, int) or isinstance(cap, bool) or cap < 1:
        raise ConfigError(f"the cap of guidance is a number of characters, 1 or more, and was {cap!r}")
    if not isinstance(success_at, SupportsFloat) or not math.isfinite(float(success_at)):
        raise ConfigError(f"success_at is the reward that counts as success, a finite number, and was {success_at!r}")
    listed = isinstance(secrets, Sequence) and all(isinstance(each, Secret) for each in secrets)
    if secrets is not None and not listed:
        raise ConfigError(f"secrets are a list of seasoned.trust.Secret(name, pattern), and were {secrets!r:.200}")


def open_embedder(given: str | Embedder | None) -> Embedder | None:
    """The embedder of a name, or the one that was given; None where there is to be none.

    "auto" is "static" where it is installed, or else "hashing", and the log says once what is missing.

    Raises:
        ConfigError: when it is none, or there is none of that name.
        MissingExtraError: when a library of it is not installed.
    """
    if given is not None and not isinstance(given, str | Embedder):
        raise ConfigError(f"an embedder is a name such as 'static', an embedder, or None, and was {given!r:.80}")
    if not isinstance(given, str):
        return given
    from seasoned.embed import default_embedder, embedder

    if given == "auto":
        given = default_embedder()
        if given == "hashing":
            _say_what_is_missing()
    return embedder(given)


@cache
def _say_what_is_missing() -> None:
    from seasoned.embed.static import advice

    log.warning(
        "wordllama is not installed, so lessons are found by the words and letters they share with a task, and not by "
        "meaning. For that: %s. To leave it so: Memory(.., embedder='hashing')",
        advice(),
    )
