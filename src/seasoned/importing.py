"""Import paths: what a user names as "mypackage.mine" or "mypackage:mine".

Always holds: whatever the import of somebody's module raises, what comes out is a sentence.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from seasoned.errors import ConfigError, SeasonedError


def import_member(path: str, what: str, known: str) -> Any:
    """What stands at an import path.

    Args:
        path: of a member of a module; its name follows the last dot or colon.
        what: it should be, in a word or two, for the error.
        known: what to say where the path is none: which names there are.

    Raises:
        ConfigError: the path has no module or no name, or cannot be imported.
        SeasonedError: as the module raises it, such as MissingExtraError.
    """
    module, colon, member = path.rpartition(":")
    if not colon:
        module, _, member = path.rpartition(".")
    if not module or not member:
        raise ConfigError(f"there is no {what} {path!r}: {known}")
    try:
        return getattr(import_module(module), member)
    except SeasonedError:
        raise
    except Exception as error:  # whatever an import of somebody's module may raise
        raise ConfigError(f"the {what} {path!r} cannot be imported: {type(error).__name__}: {error}") from error
