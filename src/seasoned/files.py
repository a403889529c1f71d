"""Reads a user's file as a whole, and refuses files that are unsafe or too large.

Always holds: nothing is unpickled or run; at most the allowed number of bytes is read.
"""

from __future__ import annotations

import re
from pathlib import Path

from seasoned.errors import DataError

MAX_FILE_BYTES = 512 * 1024 * 1024

_PICKLES = (".pickle", ".pkl", ".joblib", ".pt")
# A protocol byte; or an opening that Python 2's text protocol writes and no JSON, CSV, log or word list has.
_PICKLE = re.compile(
    rb"\x80[\x00-\x0f]|\([ldi]?p\d+\r?\n|\(i[\w.]+\r?\n|[\]}]q[\x00-\xff]|c[A-Za-z_][\w.]*\r?\n[A-Za-z_]\w*\r?\np\d+\r?\n"
)


def read_file(path: Path, most: int = MAX_FILE_BYTES, advice: str = "split it") -> bytes:
    """A file's bytes; DataError if it is missing, a folder, unreadable, a pickle, or larger than `most` bytes.

    `advice` says what to do about a file that is too large.
    """
    refuse_pickle(path, b"")
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder, not a file: name its files one by one")
        if (size := path.stat().st_size) > most:
            raise DataError(f"{path} has {size} bytes, more than the {most} that are read: {advice}")
        with path.open("rb") as file:
            raw = file.read(most + 1)
        if len(raw) > most:  # the size of a pipe or a device is unknown before
            raise DataError(f"{path} gives more than the {most} bytes that are read: {advice}")
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    refuse_pickle(path, raw)
    return raw


def read_text(path: Path) -> str:
    """A file's text, without a byte order mark; DataError as `read_file`, or if a line is not UTF-8."""
    raw = read_file(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text (byte {error.start}): save the file as UTF-8") from error


def refuse_pickle(path: Path, beginning: bytes) -> None:
    """Raise DataError if a file's name or its first bytes are those of a pickle."""
    if path.suffix.lower() in _PICKLES or _PICKLE.match(beginning):
        raise DataError(
            f"{path} is a pickle. It is never unpickled, since a pickle can run any code: write the rows as JSON lines "
            "or CSV"
        )
