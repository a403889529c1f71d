import pytest

from seasoned.errors import ConfigError
from seasoned.store.sql import Store
from seasoned.store.tokens import SCOPE, Visitor, add_token, door, remove_token, tokens


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.db") as opened:
        yield opened


def test_a_token_lets_in_whose_it_is_until_it_is_taken_away(store):
    ann = add_token(store, "ann", "editor")
    who = door(store, "the-token-of-the-program")
    bob = add_token(store, "bob", "reader")
    assert who("the-token-of-the-program") == Visitor("", "editor")
    assert (who(ann), who(bob)) == (Visitor("ann", "editor"), Visitor("bob", "reader"))
    assert [who(other) for other in ("", ann[:-1], ann + "x")] == [None] * 3
    assert [one.name for one in tokens(store)] == ["ann", "bob"]
    remove_token(store, "ann")
    assert who(ann) is None
    assert (Visitor("ann").signed, Visitor().signed) == ("person ann", "person")


def test_the_store_holds_no_token(store):
    made = add_token(store, "ann", "editor")
    assert made not in str(store.marks(SCOPE))


def test_what_is_refused(store):
    add_token(store, "ann", "editor")
    for name, why in (("ann", "already"), ("", "1 to 40"), ("a b", "1 to 40"), ("x" * 41, "1 to 40")):
        with pytest.raises(ConfigError, match=why):
            add_token(store, name, "reader")
    with pytest.raises(ConfigError, match="'bob' has no token"):
        remove_token(store, "bob")


def test_of_a_store_that_cannot_be_read_only_the_programs_own_token_is_known(store):
    who = door(store, "own")
    store.close()
    assert who("own") == Visitor()
    assert who("other") is None
