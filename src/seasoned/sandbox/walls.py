"""The walls around code that nobody has read: bubblewrap, or else sandlock; and none, where a person says so.

Always holds: where neither works, that is an error that says what to install; nothing runs without walls unless it was
asked for by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any, Protocol

from seasoned.errors import ConfigError

KINDS = ("bubblewrap", "sandlock", "none")
UNSAFE = "SEASONED_UNSAFE_SANDBOX"
"""Set to 1, code runs without walls; the command line sets it for --unsafe-sandbox."""

NOBODY = 65534
_SECONDS = 20
_TMP_BYTES = 64 * 1024 * 1024
_CLEAN = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp", "PYTHONHASHSEED": "0"}
_CAPS = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
_WHY: dict[str, str] = {}


class Process(Protocol):
    """A process in its walls, spoken to over pipes."""

    stdin: IO[bytes]
    stdout: IO[bytes]

    def kill(self) -> None: ...  # noqa: D102
    def wait(self) -> Any: ...  # noqa: D102


@dataclass(frozen=True)
class Started:
    """A process and what its worker has to know: whether it is alone among processes, its user, its folder."""

    process: Process
    config: dict[str, Any]
    close: Callable[[], None] = lambda: None


def find_walls(*, unsafe: bool = False) -> str:
    """Which walls are used here: one of `KINDS`.

    Args:
        unsafe: use none where there are none, as does the environment variable SEASONED_UNSAFE_SANDBOX=1.

    Raises:
        ConfigError: there are none that work, and it was not asked to go on without.
    """
    kind = _working()
    if kind == "none" and not (unsafe or os.environ.get(UNSAFE) == "1"):
        why = "; ".join(f"{name}: {words}" for name, words in _WHY.items())
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
    """See that walls stand: a worker starts within them and says so.

    Raises:
        ConfigError: they do not; `_WHY` keeps the reason.
    """
    from seasoned.sandbox import Library, Sandbox

    try:
        with Sandbox(Library(), kind=kind) as sandbox:
            if sandbox.run("", calls=["1 + 1"]).values[0].text != "2":
                raise ConfigError("its worker does not answer as it should")
    except (ConfigError, OSError, ImportError, IndexError) as error:
        _WHY[kind] = str(error)
        raise ConfigError(str(error)) from error


def start(kind: str, code: str, paths: Sequence[str]) -> Started:
    """Start Python with this code within walls of a kind.

    Args:
        kind: one of `KINDS`.
        code: what it runs.
        paths: folders that it may read, beside Python's own.

    Raises:
        ConfigError: that kind is not installed.
        OSError: it cannot be started.
    """
    argv = [sys.executable, "-I", "-c", code]
    if kind == "bubblewrap":
        return _bubblewrap(argv, paths)
    if kind == "sandlock":
        return _sandlock(argv, paths)
    folder = mkdtemp(prefix="seasoned-sandbox-")
    made = _popen(argv, cwd=folder, env=_CLEAN)
    return Started(made, {"tmp": folder}, lambda: shutil.rmtree(folder, ignore_errors=True))


def _popen(argv: Sequence[str], **options: Any) -> Any:
    # What goes wrong is told on the protocol, or by an end before it; Python's own complaints are nobody's.
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True, **options)


def _bubblewrap(argv: Sequence[str], paths: Sequence[str]) -> Started:
    program = shutil.which("bwrap")
    if program is None:
        raise ConfigError("the program bwrap is not installed")
    root = os.geteuid() == 0
    # Root needs no namespace of users, which containers often forbid; each program then runs as nobody.
    people = [] if root and _takes_root(program) else ["--unshare-user", *_without_users(program)]
    who = [word for cap in ("ALL", *_CAPS) for word in ("--cap-drop" if cap == "ALL" else "--cap-add", cap)]
    alone = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    above = sorted({str(up) for path in _readable(paths) for up in list(Path(path).parents)[:-1]}, key=len)
    # The folders above what is shown would be root's alone otherwise, and programs run as nobody.
    shown = [word for path in above for word in ("--perms", "0755", "--dir", path)]
    shown += [word for path in _readable(paths) for word in ("--ro-bind", path, path)]
    links = [word for path, to in _links() for word in ("--symlink", to, path)]
    clean = [word for name, value in _CLEAN.items() for word in ("--setenv", name, value)]
    made = _popen(
        [
            *(program, *alone, *people, *(who if not people else ["--cap-drop", "ALL"])),
            *("--die-with-parent", "--new-session", "--hostname", "sandbox"),
            *("--size", str(_TMP_BYTES), "--tmpfs", "/tmp"),
            *(*shown, *links, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--chdir", "/tmp", "--clearenv", *clean, "--", *argv),
        ]
    )
    return Started(made, {"alone": True, "tmp": "/tmp", "user": None if people else NOBODY})


@cache
def _without_users(program: str) -> list[str]:
    """The option that forbids further namespaces of users; bubblewrap before 0.8 (Ubuntu 22.04) has none."""
    option = "--disable-userns"
    told = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    return [option] if option in told.stdout + told.stderr else []


@cache
def _takes_root(program: str) -> bool:
    test = [program, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        return subprocess.run(test, capture_output=True, timeout=_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _sandlock(argv: Sequence[str], paths: Sequence[str]) -> Started:
    try:
        import sandlock
        from sandlock.sandbox import StdioMode
    except ImportError as error:
        raise ConfigError("the library sandlock is not installed") from error
    folder = mkdtemp(prefix="seasoned-sandbox-")
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
        made = box.popen(list(argv), stdin=StdioMode.PIPED, stdout=StdioMode.PIPED, stderr=StdioMode.NULL)
    except Exception as error:  # its own classes, which differ between its versions
        shutil.rmtree(folder, ignore_errors=True)
        raise ConfigError(f"sandlock does not start a program: {error}") from error
    return Started(made, {"tmp": folder}, lambda: shutil.rmtree(folder, ignore_errors=True))


def _readable(paths: Sequence[str]) -> list[str]:
    """Python, the system's libraries, and what was asked for; no folder twice or within another."""
    usual = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives")
    ours = (sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent))
    wanted = [path for path in usual if Path(path).exists() and not Path(path).is_symlink()]
    # Python runs under the name that it was started by, which may be that of a link.
    wanted += [path for path in ours if Path(path).exists()]
    wanted += [str(Path(path).resolve()) for path in paths if Path(path).exists()]
    kept: list[str] = []
    for path in sorted(set(wanted), key=len):
        if path != "/" and not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return kept


def _links() -> list[tuple[str, str]]:
    """Where the system's folders are links, such as /lib to usr/lib."""
    folders = map(Path, ("/lib", "/lib32", "/lib64", "/bin", "/sbin"))
    return [(str(folder), str(folder.readlink())) for folder in folders if folder.is_symlink()]
