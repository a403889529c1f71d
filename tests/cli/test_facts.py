"""`seasoned lessons verify` and `facts`: what a library gives now is held against what was kept."""

import pytest

from seasoned import Store
from seasoned.errors import ConfigError
from seasoned.sandbox import find_walls

SHOP = '''
"""A shop."""
__version__ = "{version}"


def money(cents):
    """An amount.

    >>> money(5)
    '{five}'
    >>> money(1250)
    'something else'
    """
    return "%d{sign}%02d" % divmod(cents, 100)
'''


@pytest.fixture(autouse=True)
def walls():
    try:
        find_walls()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Writes the module, as it is in a version."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(version, sign):
        (tmp_path / "my_shop.py").write_text(SHOP.format(version=version, five=f"0{sign}05", sign=sign))

    write("1", ",")
    return write


def test_doctests_become_facts_that_are_checked_again_later(cli, shop, tmp_path):
    store = str(tmp_path / "s.db")
    taken = cli("lessons", "facts", "my_shop.py", "--library", "my_shop", "--store", store, "--json").json
    assert (taken["found"], taken["kept"]) == (2, 2)
    assert ">>> money(1250)\n'12,50'" in taken["facts"]  # as it is now, not as the text says
    found = cli("lessons", "verify", "--store", store, "--json").json
    assert found == {"held": 2, "stale": [], "skipped": 0, "problems": []}
    shop("2", ".")
    found = cli("lessons", "verify", "--store", store, "--json").json
    assert (found["held"], {row["instead"] for row in found["stale"]}) == (0, {"'0.05'", "'12.50'"})
    assert (
        cli("lessons", "verify", "--store", store).out.strip().endswith("2 facts hold, 0 no longer do and are disabled")
    )
    with Store(store) as opened:
        assert len(opened.lessons(status="disabled")) == 2


def test_a_report_of_pytest_is_taken_without_a_library(cli, tmp_path):
    report = tmp_path / "report.txt"
    report.write_text("E  +  where '12,50' = money(1250)\n")
    store = str(tmp_path / "s.db")
    assert cli("lessons", "facts", str(report), "--store", store).out.strip().endswith("1 kept")
    found = cli("lessons", "verify", "--store", store, "--json").json
    assert (found["held"], found["skipped"]) == (0, 1)
    assert "give it with --library" in found["problems"][0]


def test_a_library_that_is_not_there_is_told_of(cli, tmp_path):
    store = str(tmp_path / "s.db")
    done = cli("lessons", "facts", __file__, "--library", "nowhere_at_all", "--store", store)
    assert done.code != 0
    assert "there is no library 'nowhere_at_all'" in done.err
