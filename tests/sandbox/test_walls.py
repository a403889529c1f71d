"""Which walls are used, and that nothing runs without any unless that was asked for."""

import sys

import pytest

from seasoned.errors import ConfigError
from seasoned.sandbox import Library, Sandbox, walls


@pytest.fixture
def no_walls(monkeypatch):
    monkeypatch.delenv(walls.UNSAFE, raising=False)
    monkeypatch.setattr(walls, "_working", lambda: "none")
    monkeypatch.setattr(walls, "_WHY", {"bubblewrap": "the program bwrap is not installed", "sandlock": "forbidden"})


def test_without_walls_it_refuses(no_walls):
    with pytest.raises(ConfigError, match=r"bwrap is not installed; sandlock: forbidden.*apt-get install bubblewrap"):
        Sandbox(Library())


def test_without_walls_it_runs_where_that_is_asked_for(no_walls, monkeypatch):
    with Sandbox(Library(), unsafe=True) as sandbox:
        assert sandbox.kind == "none"
        assert sandbox.run("", calls=["1 + 1"]).values[0].text == "2"
        assert sandbox.run("import os\nos._exit(0)").ended == "early"
    monkeypatch.setenv(walls.UNSAFE, "1")
    assert walls.find_walls() == "none"


def test_a_kind_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(walls.shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match="bwrap is not installed"):
        walls.start("bubblewrap", "", ())


def test_an_older_bubblewrap_is_not_asked_for_what_it_lacks(tmp_path):
    for name, text in (("old", "--unshare-user"), ("new", "--unshare-user --disable-userns")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{text}'\n")
        program.chmod(0o755)
        assert walls._without_users(str(program)) == (["--disable-userns"] if name == "new" else [])


def test_folders_within_others_are_shown_once(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    shown = walls._readable([str(inner), str(tmp_path)])
    assert str(tmp_path) in shown
    assert str(inner) not in shown
    assert "/" not in shown


def test_python_is_found_under_the_name_of_a_link(tmp_path, monkeypatch):
    link = tmp_path / "venv"
    link.symlink_to(sys.prefix)
    monkeypatch.setattr(sys, "prefix", str(link))
    assert str(link) in walls._readable([])
