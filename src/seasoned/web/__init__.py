"""The page: a person reads and corrects what was learned, in a browser, on this machine (extra `web`)."""

from seasoned.errors import MissingExtraError

try:
    import starlette
    import uvicorn
except ImportError as error:
    raise MissingExtraError("web", str(error.name)) from error

__all__ = ["starlette", "uvicorn"]
