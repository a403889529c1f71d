"""Named tokens: who may read or change a store on the page and over MCP.

Always holds: the store keeps a token's hash, never the token; a name has one token; a removed token stops working at
once, without a restart.
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
"""The scope of the marks that hold the tokens, by name."""
_NAME = re.compile(r"[\w.@-]{1,40}")


@dataclass(frozen=True)
class Visitor:
    """Who sent a request: the token's name ("" for the token that the program printed) and role."""

    name: str = ""
    role: Role = "editor"

    @property
    def signed(self) -> str:
        """The author of changes in a lesson's history."""
        return f"person {self.name}".strip()


def add_token(store: Store, name: str, role: Role) -> str:
    """Create a token and return it; only its hash is stored.

    Raises:
        ConfigError: when the name is taken or invalid.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"a token's name has 1 to 40 characters: letters, digits, . @ - or _; it was {name!r:.60}")
    token = secrets.token_urlsafe(24)
    with store.transaction(SCOPE):
        if store.marked(SCOPE, name) is not None:
            raise ConfigError(f"{name} has a token already: `seasoned token rm {name}` removes it")
        store.mark(SCOPE, name, {"role": role, "hash": _hash(token)})
    return token


def tokens(store: Store) -> list[Visitor]:
    """The names and roles of all tokens."""
    return [Visitor(name, kept["role"]) for name, kept in store.marks(SCOPE).items()]


def remove_token(store: Store, name: str) -> None:
    """Remove a token.

    Raises:
        ConfigError: when the name has no token.
    """
    if not store.unmark(SCOPE, name):
        raise ConfigError(f"{name!r:.60} has no token: `seasoned token list` shows who has one")


def door(store: Store, own: str) -> Callable[[str], Visitor | None]:
    """Return a function that maps a token to its visitor; None for an unknown token. `own` is the program's token."""
    own_hash = _hash(own)

    def who(token: str) -> Visitor | None:
        hashed = _hash(token)
        if secrets.compare_digest(hashed, own_hash):
            return Visitor()
        try:
            known = store.marks(SCOPE).items()
        except StoreError:  # if the store cannot be read, only the program's own token is known
            return None
        matches = (Visitor(name, kept["role"]) for name, kept in known if secrets.compare_digest(kept["hash"], hashed))
        return next(matches, None)

    return who


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
