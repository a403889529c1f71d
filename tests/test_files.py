"""Somebody's file, read whole or refused."""

from pathlib import Path

import pytest

from seasoned.errors import DataError
from seasoned.files import read_file, read_text


def test_bytes_are_as_they_are(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n")
    assert read_file(tmp_path / "a.txt") == b"\xef\xbb\xbfone\r\n"


def test_text_is_utf8_without_its_mark(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n")
    assert read_text(tmp_path / "a.txt") == "one\r\n"
    (tmp_path / "a.txt").write_bytes(b"one\ncaf\xe9")
    with pytest.raises(DataError, match=r"line 2: not UTF-8 text \(byte 7\)"):
        read_text(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("a.pkl", b"x"),
        ("a.PICKLE", b"x"),
        ("a.joblib", b"x"),
        ("a.pt", b"x"),
        ("a.txt", b"\x80\x04\x95rest"),
        ("a.jsonl", b"(dp0\nS'texts'\np1\n"),
        ("a.jsonl", b"(lp1\nS'a'\n"),
        ("a.csv", b"ccopy_reg\n_reconstructor\np0\n"),
        ("a.csv", b"}q\x01"),
    ],
)
def test_a_pickle_is_refused_by_its_name_and_by_its_opening(tmp_path, name, raw):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=r"is a pickle\. It is never unpickled"):
        read_file(tmp_path / name)


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        read_file(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_file(tmp_path / "a\0b")


def test_a_file_that_is_too_large(tmp_path):
    (tmp_path / "big").write_bytes(b"x" * 11)
    assert len(read_file(tmp_path / "big", 11)) == 11
    with pytest.raises(DataError, match="11 bytes, more than the 10 that are read: split it"):
        read_file(tmp_path / "big", 10)
    with pytest.raises(DataError, match="read: use the small set"):
        read_file(tmp_path / "big", 10, "use the small set")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_what_never_ends_is_refused():
    with pytest.raises(DataError, match="/dev/zero gives more than the 10 bytes that are read"):
        read_file(Path("/dev/zero"), 10)
