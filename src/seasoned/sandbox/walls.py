"""The isolation ("walls") of untrusted code: bubblewrap, else sandlock, or none if the user asks for that.

Always holds: if neither works, an error says what to install; nothing runs without isolation unless the user asks for
it explicitly.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from seasoned.errors import ConfigError

KINDS = ("bubblewrap", "sandlock", "none")
UNSAFE = "SEASONED_UNSAFE_SANDBOX"
"""If this environment variable is 1, code runs without isolation; --unsafe-sandbox sets it."""

NOBODY = 65534  # the user that programs run as if the worker is root
_SECONDS = 20  # for a command that tries bubblewrap
_TMP_BYTES = 64 * 1024 * 1024
_CLEAN = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp", "PYTHONHASHSEED": "0"}
_SYSTEM = ("/lib", "/lib32", "/lib64", "/bin", "/sbin")  # folders, or links into /usr
_CAPS = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
_WHY: dict[str, str] = {}  # why a kind does not work


@dataclass(frozen=True)
class Started:
    """A process and its worker's settings: whether it has its own process namespace, its user, its folder."""

    process: Any  # a Popen, or sandlock's process; it has pipes in bytes
    config: dict[str, Any]
    close: Callable[[], None] = lambda: None


def find_walls(*, unsafe: bool = False) -> str:
    """Find the kind of isolation that works here: one of `KINDS`.

    If no kind works, it is "none" if `unsafe` or SEASONED_UNSAFE_SANDBOX=1 allows that; else raises ConfigError.
    """
    kind = _working()
    if kind == "none" and not (unsafe or os.environ.get(UNSAFE) == "1"):
        why = "; ".join(f"{name}: {reason}" for name, reason in _WHY.items())
        raise ConfigError(
            f"code that a model wrote runs only inside a sandbox, and none works here ({why}). Install bubblewrap "
            "(Debian and Ubuntu: apt-get install bubblewrap) or sandlock (pip install 'seasoned[sandbox]'). On a "
            "machine that you can throw away, --unsafe-sandbox runs it without one"
        )
    return kind


@cache
def _working() -> str:
    for kind in KINDS[:-1]:
        with suppress(ConfigError):
            _try(kind)
            return kind
    return "none"


def _try(kind: str) -> None:
    """Check that a worker starts in a kind of isolation and evaluates a call; else ConfigError, and `_WHY` keeps it."""
    from seasoned.sandbox import Library, Sandbox

    try:
        with Sandbox(Library(), kind=kind) as sandbox:
            if sandbox.run("", calls=["1 + 1"]).values[0].text != "2":
                raise ConfigError("its worker gives wrong answers")
    except (ConfigError, OSError, ImportError, IndexError) as error:
        _WHY[kind] = str(error)
        raise ConfigError(str(error)) from error


def start(kind: str, code: str, paths: Sequence[str]) -> Started:
    """Start Python with this code in isolation; it may read these folders in addition to Python's own.

    Raises ConfigError if the kind, one of `KINDS`, is not installed, and OSError if the process cannot be started.
    """
    argv = [sys.executable, "-I", "-c", code]
    if kind == "bubblewrap":
        return _bubblewrap(argv, paths)
    folder = mkdtemp(prefix="seasoned-sandbox-")
    close = partial(shutil.rmtree, folder, ignore_errors=True)
    try:
        process = _sandlock(argv, paths, folder) if kind == "sandlock" else _popen(argv, cwd=folder, env=_CLEAN)
    except BaseException:
        close()
        raise
    return Started(process, {"tmp": folder}, close)


def _popen(argv: Sequence[str], **options: Any) -> Any:
    # Nobody reads stderr: the worker reports errors in its answers, or ends without one.
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True, **options)


def _bubblewrap(argv: Sequence[str], paths: Sequence[str]) -> Started:
    program = shutil.which("bwrap")
    if program is None:
        raise ConfigError("the program bwrap is not installed")
    root = os.geteuid() == 0
    # Root needs no user namespace, which containers often forbid; each program then runs as nobody.
    user_options = [] if root and _takes_root(program) else ["--unshare-user", *_without_users(program)]
    capabilities = [word for cap in ("ALL", *_CAPS) for word in ("--cap-drop" if cap == "ALL" else "--cap-add", cap)]
    namespaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    parents = sorted({str(parent) for path in _readable(paths) for parent in list(Path(path).parents)[:-1]}, key=len)
    # Else only root could read the parents of the visible folders, and programs run as nobody.
    visible = [word for path in parents for word in ("--perms", "0755", "--dir", path)]
    visible += [word for path in _readable(paths) for word in ("--ro-bind", path, path)]
    # The system's folders that are links, such as /lib, whose target is usr/lib.
    linked = [path for path in map(Path, _SYSTEM) if path.is_symlink()]
    links = [word for path in linked for word in ("--symlink", str(path.readlink()), str(path))]
    environment = [word for name, value in _CLEAN.items() for word in ("--setenv", name, value)]
    process = _popen(
        [
            *(program, *namespaces, *user_options, *(["--cap-drop", "ALL"] if user_options else capabilities)),
            *("--die-with-parent", "--new-session", "--hostname", "sandbox"),
            *("--size", str(_TMP_BYTES), "--tmpfs", "/tmp"),
            *(*visible, *links, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--chdir", "/tmp", "--clearenv", *environment, "--", *argv),
        ]
    )
    return Started(process, {"alone": True, "tmp": "/tmp", "user": None if user_options else NOBODY})


@cache
def _without_users(program: str) -> list[str]:
    """The option that forbids more user namespaces; bubblewrap before 0.8 (Ubuntu 22.04) does not have it."""
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    return ["--disable-userns"] if "--disable-userns" in usage.stdout + usage.stderr else []


@cache
def _takes_root(program: str) -> bool:
    test = [program, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        return subprocess.run(test, capture_output=True, timeout=_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _sandlock(argv: Sequence[str], paths: Sequence[str], folder: str) -> Any:
    try:
        import sandlock
        from sandlock.sandbox import StdioMode
    except ImportError as error:
        raise ConfigError("the library sandlock is not installed") from error
    box = sandlock.Sandbox(
        fs_readable=[*_readable(paths), "/proc/self", "/dev"],
        fs_writable=[folder, "/dev/null"],
        cwd=folder,
        clean_env=True,
        env={**_CLEAN, "HOME": folder, "TMPDIR": folder},
        max_processes=64,
        max_memory="2G",
    )
    try:
        return box.popen(list(argv), stdin=StdioMode.PIPED, stdout=StdioMode.PIPED, stderr=StdioMode.NULL)
    except Exception as error:  # its exception classes differ between its versions
        raise ConfigError(f"sandlock does not start a program: {error}") from error


def _readable(paths: Sequence[str]) -> list[str]:
    """The paths of Python, the system's libraries, and these folders; none is inside another."""
    # Python runs under the path that it was started by, which may be a link.
    python = (sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent))
    system = ("/usr", *_SYSTEM, "/etc/ld.so.cache", "/etc/alternatives")
    readable = {*python, *(path for path in system if not Path(path).is_symlink())}
    readable |= {str(Path(path).resolve()) for path in paths}
    roots: list[str] = []
    for path in sorted((path for path in readable if Path(path).exists()), key=len):
        if path != "/" and not any(path.startswith(f"{root}/") for root in roots):
            roots.append(path)
    return roots
