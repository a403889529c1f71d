"""Virtual environments below the cache folder, for benchmarks that need libraries of their own.

Always holds: an environment gets its name only after everything is installed and can be imported; installing it again
changes nothing; versions are pinned, so that results are reproducible.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seasoned.errors import ConfigError, InfrastructureError, ModelFileError
from seasoned.lab.benchmarks.base import DATA, read_toml
from seasoned.llm.download import pip_command
from seasoned.llm.modelfile import cache_dir


@dataclass(frozen=True)
class Needs:
    """A benchmark's environment, named after `packages` with their versions; the `modules` are imported as a test.

    `beside` are more packages, not in the name; without `whole`, no dependencies are installed. `homes` are variables
    for folders that the packages would otherwise make in the user's home.
    """

    packages: Sequence[str]
    modules: Sequence[str]
    beside: Sequence[str] = ()
    whole: bool = True
    homes: Sequence[str] = ()


NEEDS = {name: Needs(**row) for name, row in read_toml(DATA / "environments.toml").items()}
Progress = Callable[[str], None]
"""Called with a line on the current step."""

_STALE_SECONDS = 3600.0
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|name resolution|getaddrinfo|timed out|Connection (?:refused|reset|aborted|"
    r"broken)|ProxyError|SSLError|Network is unreachable|Max retries exceeded|No matching distribution",
    re.IGNORECASE,
)


def folder(name: str) -> Path:
    """The folder of a benchmark's environment, other for other versions; ConfigError if the benchmark needs none."""
    if name not in NEEDS:
        raise ConfigError(f"the benchmark {name!r} needs no installation; those that do are {', '.join(NEEDS)}")
    return cache_dir() / "environments" / "-".join(pin.replace("==", "-") for pin in NEEDS[name].packages)


def interpreter(name: str) -> Path:
    """The Python of a benchmark's environment; ConfigError if it is not installed."""
    python = _python(folder(name))
    if not python.exists():
        raise ConfigError(
            f"{name} runs in an environment of its own, which is not on this machine yet: install it once with "
            f"`seasoned bench install {name}`"
        )
    return python


def install(name: str, *, progress: Progress, python: str = sys.executable) -> Path:
    """Make the environment of a benchmark unless it exists, and return its Python.

    It is made in a temporary folder by `python` and renamed when complete, so it can be stopped and begun again.

    Raises:
        ConfigError: the benchmark has no environment of its own, or there is no such Python.
        InfrastructureError: no network, no pip, no room, or the packages do not work here.
    """
    final = folder(name)
    if _python(final).exists():
        progress(f"{name} is installed already, in {final}")
        return _python(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _sweep(final)
        partial = Path(tempfile.mkdtemp(prefix=f"{final.name}.partial-", dir=final.parent))
    except OSError as error:
        raise InfrastructureError(
            f"{final.parent} cannot be written ({error.strerror}): the variable SEASONED_CACHE names another place"
        ) from error
    needs = NEEDS[name]
    try:
        progress(f"making an environment for {name} in {final}")
        _run([python, "-m", "venv", "--without-pip", str(partial)], name, progress)
        pip = [
            *pip_command(),
            "--python",
            str(_python(partial)),
            "install",
            "--disable-pip-version-check",
            "--no-input",
        ]
        options = ["--progress-bar", "off", *(() if needs.whole else ("--no-deps",))]
        _run([*pip, *options, *needs.beside, *needs.packages], name, progress)
        _check_imports(name, partial)
        with suppress(OSError):  # another process was faster
            partial.rename(final)
    except ModelFileError as error:
        hint = f"`{sys.executable} -m ensurepip --upgrade` installs it"
        raise InfrastructureError(f"the environment needs pip, which is missing: {hint}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if not _python(final).exists():
        raise InfrastructureError(f"the finished environment could not be renamed to {final}: delete it and try again")
    progress(f"{name} is installed in {final}")
    return _python(final)


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _run(command: Sequence[str], name: str, progress: Progress) -> None:
    """Run a command and report its progress; its failure is an error in one sentence."""
    output: deque[str] = deque(maxlen=40)
    try:
        with subprocess.Popen(
            list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            try:
                for line in process.stdout or ():
                    output.append(line.strip())
                    if line.startswith(("Collecting", "Downloading", "Building", "Installing", "Successfully")):
                        progress(line.strip()[:120])
            except BaseException:
                process.kill()
                raise
    except OSError as error:
        raise ConfigError(f"{command[0]} cannot be run ({error.strerror})") from error
    if process.returncode:
        text, last = "\n".join(output), next((line for line in reversed(output) if line), "nothing")
        if "No space left" in text:
            room = "make room, or set SEASONED_CACHE"
            raise InfrastructureError(f"there is no room for the environment of {name}: {room}")
        hint = "is there a network, and does pip reach its index? " if _NO_NETWORK.search(text) else ""
        raise InfrastructureError(f"the environment of {name} could not be made: {hint}pip said: {last[:300]}")


def _check_imports(name: str, environment: Path) -> None:
    command = [str(_python(environment)), "-c", "import " + ", ".join(NEEDS[name].modules)]
    env = {**os.environ, **dict.fromkeys(NEEDS[name].homes, str(environment))}
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=environment, env=env)
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["nothing"])[-1]
        raise InfrastructureError(
            f"the packages of {name} are installed but do not work here: {last[:300]}. Try another Python with --python"
        )


def _sweep(final: Path) -> None:
    """Delete the remains of killed installations."""
    for remains in final.parent.glob(f"{final.name}.partial-*"):
        with suppress(OSError):
            if time.time() - remains.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(remains, ignore_errors=True)
