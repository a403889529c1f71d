"""Environments of benchmarks, made from a package index that is played by a script."""

import os
import subprocess
import sys
import threading
import time

import pytest

from seasoned.errors import ConfigError, InfrastructureError, ModelFileError
from seasoned.lab.benchmarks import install as module
from seasoned.lab.benchmarks.install import NEEDS, Needs, folder, install, interpreter


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A benchmark `tiny`, whose package is installed by a program; gives a function that changes what that does."""
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path / "cache"))
    script = tmp_path / "pip.py"
    monkeypatch.setattr(module, "pip_command", lambda: (sys.executable, str(script)))

    def does(program="print('Collecting tiny'); print('noise')", modules=("json",), **more):
        monkeypatch.setitem(NEEDS, "tiny", Needs(("tiny==1.0",), modules, **more))
        script.write_text(f"import os, sys, time\n{program}\n", encoding="utf-8")

    does()
    return does


def there():
    return sorted(path.name for path in folder("tiny").parent.iterdir())


def quiet(words):
    del words


def test_it_is_made_once(index, tmp_path):
    with pytest.raises(ConfigError, match="`seasoned bench install tiny`"):
        interpreter("tiny")
    told = []
    python = install("tiny", progress=told.append)
    assert python == interpreter("tiny")
    assert python.is_relative_to(tmp_path / "cache" / "environments" / "tiny-1.0")
    assert "Collecting tiny" in told
    assert "noise" not in told
    done = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(folder("tiny"))
    index("sys.exit('pip must not be called again')")
    assert install("tiny", progress=told.append) == python
    assert "already" in told[-1]
    assert there() == ["tiny-1.0"]


def test_pip_is_given_the_pins_and_the_new_environment(index, tmp_path):
    index(f"open({str(tmp_path / 'words')!r}, 'w').write(' '.join(sys.argv[1:]))")
    install("tiny", progress=quiet)
    words = (tmp_path / "words").read_text(encoding="utf-8").split()
    assert words[0] == "--python"
    assert ".partial-" in words[1]
    assert words[2] == "install"
    assert words[-1] == "tiny==1.0"


def test_packages_without_what_they_ask_for(index, tmp_path):
    words = tmp_path / "words"
    index(f"open({str(words)!r}, 'w').write(' '.join(sys.argv[1:]))", beside=("other==2.0",), whole=False)
    install("tiny", progress=quiet)
    assert words.read_text(encoding="utf-8").split()[-3:] == ["--no-deps", "other==2.0", "tiny==1.0"]
    assert there() == ["tiny-1.0"]


@pytest.mark.parametrize(
    ("program", "modules", "says"),
    [
        ("print('ERROR: No matching distribution found for tiny'); sys.exit(1)", ("json",), "is there a network"),
        ("print('Failed to establish: Connection refused'); sys.exit(1)", ("json",), "is there a network"),
        ("print('OSError: [Errno 28] No space left on device'); sys.exit(1)", ("json",), "make room"),
        ("print('cannot build it'); sys.exit(1)", ("json",), "pip said: cannot build it"),
        ("pass", ("no_such_module",), "do not work here: ModuleNotFoundError"),
    ],
)
def test_what_fails_leaves_nothing(index, program, modules, says):
    index(program, modules)
    with pytest.raises(InfrastructureError, match=says):
        install("tiny", progress=quiet)
    assert there() == []


def test_interrupted(index):
    def stop(words):
        if words.startswith("Collecting"):
            raise KeyboardInterrupt

    index("print('Collecting tiny', flush=True); time.sleep(60)")
    with pytest.raises(KeyboardInterrupt):
        install("tiny", progress=stop)
    assert there() == []
    index()
    assert install("tiny", progress=quiet).exists()


def test_what_a_killed_one_left_is_no_environment_and_is_swept(index):
    old, young = (folder("tiny").with_name(f"tiny-1.0.partial-{name}") for name in ("old", "young"))
    for left in (old, young):
        (left / "bin").mkdir(parents=True)
        (left / "bin" / "python").touch()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    with pytest.raises(ConfigError):
        interpreter("tiny")
    install("tiny", progress=quiet)
    assert there() == ["tiny-1.0", young.name]


def test_two_at_once(index):
    index("time.sleep(0.3)")
    made = []
    threads = [threading.Thread(target=lambda: made.append(install("tiny", progress=quiet))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [interpreter("tiny")] * 2
    assert there() == ["tiny-1.0"]


def test_wrong_words(index, monkeypatch, tmp_path):
    with pytest.raises(ConfigError, match="needs no installation; those that do are alfworld"):
        install("emoji", progress=quiet)
    with pytest.raises(ConfigError, match="cannot be run"):
        install("tiny", progress=quiet, python=str(tmp_path / "no-python"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path / "file"))
    with pytest.raises(InfrastructureError, match="SEASONED_CACHE"):
        install("tiny", progress=quiet)


def test_no_pip(index, monkeypatch):
    def none():
        raise ModelFileError("no pip was found")

    monkeypatch.setattr(module, "pip_command", none)
    with pytest.raises(InfrastructureError, match="ensurepip"):
        install("tiny", progress=quiet)


def test_versions_are_pinned():
    assert all("==" in pin for needs in NEEDS.values() for pin in needs.packages)
    assert folder("alfworld").name == "alfworld-0.4.2-textworld-1.7.0"
