"""Import paths: imports an object that a user names as "mypackage.mine" or "mypackage:mine".

Always holds: any error of the imported module becomes an error with a sentence.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from seasoned.errors import ConfigError, SeasonedError


def import_member(path: str, what: str, known: str) -> Any:
    """Import the object at a path.

    Args:
        path: the path of a module's member; its name follows the last dot or colon.
        what: the expected kind of object, in a word or two, for the error.
        known: the known names, for the error about an invalid path.

    Raises:
        ConfigError: the path has no module or no name, or cannot be imported.
        SeasonedError: an error of Seasoned that the module raises, such as MissingExtraError.
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
    except Exception as error:  # a user's module may raise anything
        raise ConfigError(f"the {what} {path!r} cannot be imported: {type(error).__name__}: {error}") from error
