"""Named tokens: who may read a store over HTTP, on the page and over MCP, and who may change it.

Always holds: the store keeps a hash, never the token; a name has one token; one that is taken away lets nobody in any
more, without a restart.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from seasoned.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from seasoned.store.sql import Store

Role = Literal["reader", "editor"]
SCOPE = "seasoned/tokens"
"""Where they are kept, as marks by name."""
_NAME = re.compile(r"[\w.@-]{1,40}")


@dataclass(frozen=True)
class Visitor:
    """Who asks: the name of the token, "" for the one that the program itself printed, and what it may do."""

    name: str = ""
    role: Role = "editor"

    @property
    def signed(self) -> str:
        """Who changes are made by, in the history of a lesson."""
        return f"person {self.name}".strip()


def add_token(store: Store, name: str, role: Role) -> str:
    """Make a token, which is shown this once.

    Raises:
        ConfigError: when the name is taken, or is none.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"a token's name has 1 to 40 letters, digits, or any of . @ - _, and this is {name!r:.60}")
    token = secrets.token_urlsafe(24)
    with store.transaction(SCOPE):
        if store.marked(SCOPE, name) is not None:
            raise ConfigError(f"there is a token of {name} already: `seasoned token rm {name}` takes it away")
        store.mark(SCOPE, name, {"role": role, "hash": _hash(token)})
    return token


def tokens(store: Store) -> list[Visitor]:
    """Whom there are tokens for."""
    return [Visitor(name, kept["role"]) for name, kept in store.marks(SCOPE).items()]


def remove_token(store: Store, name: str) -> None:
    """Take a token away.

    Raises:
        ConfigError: when there is none of this name.
    """
    if not store.unmark(SCOPE, name):
        raise ConfigError(f"there is no token of {name!r:.60}: `seasoned token list` shows them")


def door(store: Store, own: str) -> Callable[[str], Visitor | None]:
    """What tells whose token a text is: the program's own, a named one of the store, or nobody's (None)."""
    mine = _hash(own)

    def who(given: str) -> Visitor | None:
        hashed = _hash(given)
        if secrets.compare_digest(hashed, mine):
            return Visitor()
        try:
            known = store.marks(SCOPE).items()
        except StoreError:  # of a store that cannot be read, nobody else is known
            return None
        fitting = (Visitor(name, kept["role"]) for name, kept in known if secrets.compare_digest(kept["hash"], hashed))
        return next(fitting, None)

    return who


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
