"""The page: a person reads and corrects what was learned, in a browser, on this machine (extra `web`)."""

from seasoned.errors import MissingExtraError

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise MissingExtraError("web", str(error.name)) from error
