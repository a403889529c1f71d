"""Import paths of users."""

import pytest

from seasoned.errors import ConfigError, MissingExtraError
from seasoned.importing import import_member


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text("class Mine:\n    pass\n", encoding="utf-8")
    (tmp_path / "own_fault.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "own_lack.py").write_text(
        "from seasoned.errors import MissingExtraError\nraise MissingExtraError('more', 'some')\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("path", ["own_parts.Mine", "own_parts:Mine"])
def test_a_path_has_a_dot_or_a_colon_before_the_name(somewhere, path):
    assert import_member(path, "part", "").__name__ == "Mine"


@pytest.mark.parametrize("path", ["", "mine", ":", ".", "own_parts:", ":Mine", "own_parts."])
def test_what_is_no_path_tells_what_there_is(path):
    with pytest.raises(ConfigError, match=f"^there is no part '{path}': there are a and b$"):
        import_member(path, "part", "there are a and b")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nowhere.Mine", "ModuleNotFoundError: No module named 'nowhere'"),
        ("own_parts.Other", "AttributeError: "),
        ("own_fault:Mine", "ZeroDivisionError: division by zero"),
        ("..Mine", "TypeError: "),
    ],
)
def test_whatever_an_import_raises_is_a_sentence(somewhere, path, why):
    with pytest.raises(ConfigError, match=f"^the part '{path}' cannot be imported: {why}"):
        import_member(path, "part", "")


def test_our_own_errors_stay_as_they_are(somewhere):
    with pytest.raises(MissingExtraError, match="needs the library some"):
        import_member("own_lack:Mine", "part", "")
