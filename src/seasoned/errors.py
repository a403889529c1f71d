"""Every exception Seasoned raises, drawn once.

Each message is a sentence: what was expected, what was found, what to do. Always holds: anything raised on purpose
derives from `SeasonedError`, and nothing outside this tree is raised for a user's mistake.

    SeasonedError
    ├── ConfigError          a setting, a command line or a recipe is wrong
    ├── DataError            a data file is missing, broken or of the wrong kind
    ├── MissingExtraError    a library of an optional extra is not installed
    ├── StoreError           the store cannot be opened, read or written
    │   ├── StoreVersionError    it was written by another version
    │   ├── StoreLockedError     another process holds it for too long
    │   └── ConflictError        another program changed the lesson in between
    ├── ContractError        a class does not keep the contract of its protocol
    ├── LeakError            an evaluation would see its own tasks
    ├── EmbedderMismatchError    vectors of another embedder were asked for
    ├── BudgetExceeded       a limit on tokens, cost, calls or time was crossed
    └── LLMError             a model did not answer as it should
        ├── InfrastructureError  the server failed: never a failure of the task
        │   └── ModelFileError   a local model's file is missing, broken or does not fit
        ├── AuthError            no key, or a wrong one
        ├── RequestError         the server refused the request (402, ...)
        │   ├── NotFoundError        it has no such model, or there is no such address (404)
        │   └── RefusedError         what it refused may be this prompt alone (400, 422)
        ├── ContextLengthError   the prompt is longer than the model's context
        └── ParseError           the reply does not have the form that was asked for
"""


class SeasonedError(Exception):
    """Root of the tree."""


class ConfigError(SeasonedError):
    """A setting, a command line or a recipe is wrong."""


class DataError(SeasonedError):
    """A data file is missing, broken or of the wrong kind."""


class MissingExtraError(SeasonedError):
    """A library of an optional extra is not installed."""

    def __init__(self, extra: str, library: str, advice: str = "") -> None:
        command = advice or f"pip install 'seasoned[{extra}]'"
        super().__init__(f"this needs the library {library}, which is not installed: {command}")


class StoreError(SeasonedError):
    """The store cannot be opened, read or written."""


class StoreVersionError(StoreError):
    """The store was written by another version of Seasoned."""


class StoreLockedError(StoreError):
    """Another process holds the store for longer than the busy timeout."""


class ConflictError(StoreError):
    """Another program changed the lesson between reading and writing it."""


class ContractError(SeasonedError):
    """A class does not keep the contract of its protocol."""


class LeakError(SeasonedError):
    """An evaluation would see its own tasks."""


class EmbedderMismatchError(SeasonedError):
    """Vectors of one embedder were searched with another's."""


class BudgetExceeded(SeasonedError):  # noqa: N818 - an outcome that is recorded, not a fault
    """A limit on tokens, cost, calls or time was crossed.

    `scope` is "episode" or "run".
    """

    def __init__(self, message: str, scope: str = "run") -> None:
        super().__init__(message)
        self.scope = scope


class LLMError(SeasonedError):
    """A model did not answer as it should.

    `reply` is the last `seasoned.types.Reply`, with the usage of all attempts (they were paid for), if any.
    """

    reply: object = None


class InfrastructureError(LLMError):
    """The server failed, after retries. Never a failure of the task."""


class ModelFileError(InfrastructureError):
    """A local model's file is missing, broken or does not fit on the disk."""


class AuthError(LLMError):
    """No key was given, or the server refused it."""


class RequestError(LLMError):
    """The server refused the request itself."""


class NotFoundError(RequestError):
    """The server has no such model, or there is no such server at the address."""


class RefusedError(RequestError):
    """The server refused this request, and may take one with another prompt."""


class ContextLengthError(LLMError):
    """The prompt is longer than the model's context."""


class ParseError(LLMError):
    """The reply does not have the form that was asked for, after a repair and one re-ask."""

    def __init__(self, message: str, reply: object = None) -> None:
        super().__init__(message)
        self.reply = reply
