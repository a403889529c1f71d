import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seasoned.errors import ContractError, EmbedderMismatchError, StoreError
from seasoned.store.matrix import Matrix
from seasoned.store.vectors import digest, embed
from seasoned.types import Lesson, Trajectory


def unit(rows):
    rows = np.asarray(rows, dtype=np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms == 0, 1, norms)


def top_k(rows, query, k, among=None):
    matrix = Matrix(rows.shape[1])
    matrix.hold(rows)
    places, scores = matrix.best(query, k, among)
    return places if among is None else among[places], scores


class Letters:
    """Counts letters, and how often it was asked."""

    name, dim = "letters", 26

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        return unit([[text.count(chr(97 + i)) for i in range(26)] for text in texts])


@given(
    arrays(np.float32, st.tuples(st.integers(0, 60), st.just(4)), elements=st.integers(-2, 2).map(float)),
    arrays(np.float32, 4, elements=st.integers(-2, 2).map(float)),
    st.integers(-1, 70),
)
def test_top_k_is_exact_with_ties_in_order(matrix, query, k):
    rows, query = unit(matrix), unit(query[None])[0]
    indices, scores = top_k(rows, query, k)
    exact = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    wanted = sorted(range(len(rows)), key=lambda i: (-exact[i], i))[: max(k, 0)]
    assert indices.tolist() == wanted
    assert scores.tolist() == [np.float32(exact[i]) for i in wanted]
    assert scores.dtype == np.float32


def test_equal_rows_tie_wherever_they_stand():
    """A plain product gives equal rows of a large matrix different scores, by where they stand."""
    row = unit(np.random.default_rng(3).standard_normal((1, 383)))
    matrix = np.tile(row, (1003, 1))
    indices, scores = top_k(matrix, unit(np.random.default_rng(4).standard_normal((1, 383)))[0], 10)
    assert indices.tolist() == list(range(10))
    assert len(set(scores.tolist())) == 1


def test_top_k_among_some_rows():
    matrix = unit([[1, 0], [1, 0.1], [0, 1], [1, 0], [-1, 0]])
    query = np.array([1, 0], dtype=np.float32)
    assert top_k(matrix, query, 2, np.array([4, 3, 2, 0]))[0].tolist() == [3, 0]  # a tie: as they stand in the rows
    assert top_k(matrix, query, 9, np.array([2, 4]))[0].tolist() == [2, 4]
    assert top_k(matrix, query, 3, np.zeros(0, dtype=np.intp))[0].tolist() == []
    assert top_k(np.zeros((0, 2), dtype=np.float32), query, 3)[1].tolist() == []


def test_vectors_come_back_bit_by_bit(store):
    matrix = np.array([[1, -0.0, 1e-30], [np.pi, -2, 3e38]], dtype=np.float32)
    store.put_vectors("text", ["b", "a"], "e", matrix)
    ids, found = store.get_vectors("text", None, "e")
    assert ids == ["a", "b"]
    assert found.dtype == np.float32
    assert found.tobytes() == matrix[::-1].tobytes()
    ids, found = store.get_vectors("text", ["b", "none", "a", "b"], "e")
    assert ids == ["b", "a"]
    assert found.tobytes() == matrix.tobytes()
    with store._read() as connection:
        blob = connection.exec_driver_sql("SELECT data FROM vectors WHERE id = 'b'").scalar()
    assert blob == matrix[0].astype("<f4").tobytes()


def test_owners_and_embedders_do_not_mix(store):
    for owner, name, value in (("text", "e", 1), ("text", "f", 2), ("page", "e", 3)):
        store.put_vectors(owner, ["a"], name, np.full((1, value), value, dtype=np.float32))
    assert store.get_vectors("text", None, "f")[1].tolist() == [[2, 2]]
    assert store.get_vectors("page", ["a"], "e")[1].tolist() == [[3, 3, 3]]
    ids, nothing = store.get_vectors("page", ["a"], "f", dim=7)
    assert (ids, nothing.shape) == ([], (0, 7))


def test_another_dimension_or_text_is_another_vector(store):
    store.put_vectors("text", ["a"], "e", np.ones((1, 2)), digests=[digest("x")])
    store.put_vectors("text", ["b"], "e", np.ones((1, 3)), digests=[digest("x")])
    assert store.get_vectors("text", None, "e", dim=2)[0] == ["a"]
    with pytest.raises(EmbedderMismatchError, match="several dimensions"):
        store.get_vectors("text", None, "e")
    both = ["a", "b"]
    assert store.get_vectors("text", both, "e", dim=3, digests=[digest("x")] * 2)[0] == ["b"]
    assert store.get_vectors("text", ["b"], "e", digests=[digest("y")])[0] == []
    store.put_vectors("text", ["a"], "e", np.zeros((1, 3)))
    assert store.get_vectors("text", both, "e")[1].tolist() == [[0, 0, 0], [1, 1, 1]]


def test_vectors_that_cannot_be(store):
    with pytest.raises(StoreError, match=r"2 vectors need a matrix of 2 rows, but this has shape \(1, 2\)"):
        store.put_vectors("text", ["a", "b"], "e", np.ones((1, 2)))
    with pytest.raises(StoreError, match=r"shape \(2,\)"):
        store.put_vectors("text", ["a", "b"], "e", np.ones(2))
    with pytest.raises(StoreError, match="finite numbers"):
        store.put_vectors("text", ["a"], "e", np.array([[np.nan]]))
    store.put_vectors("text", [], "e", np.ones((0, 2)))
    assert store.get_vectors("text", None, "e")[0] == []


def test_an_embedder_that_breaks_its_promise():
    class Wrong(Letters):
        def embed(self, texts):
            return np.ones((len(texts), 3))

    class Nan(Letters):
        def embed(self, texts):
            return np.full((len(texts), 26), np.nan)

    for wrong in (Wrong(), Nan()):
        with pytest.raises(ContractError, match=r"should return finite numbers of shape \(1, 26\)"):
            embed(wrong, ["a"])


def test_a_purged_lesson_takes_its_vectors_along(store):
    lesson = Lesson(kind="note", text="a")
    store.add_lessons("s", [lesson], who="model")
    store.put_vectors("lesson", [lesson.id], "e", np.ones((1, 2)))
    store.remove_lesson(lesson.id, who="person", purge=True)
    assert store.get_vectors("lesson", None, "e")[0] == []


def test_the_vector_of_what_was_forgotten_meanwhile_is_not_stored(store):
    store.add_lessons("s", [Lesson(id="les-1", kind="note", text="a")], who="model")
    store.add_trajectories("s", [Trajectory(id="tra-1", task_id="t", task="x")])
    for owner, known in (("lesson", "les-1"), ("trajectory", "tra-1")):
        store.put_vectors(owner, ["gone", known], "e", np.ones((2, 2)))
        store.put_vectors(owner, ["gone"], "e", np.ones((1, 2)))
        assert store.get_vectors(owner, None, "e")[0] == [known]
    assert store.check() == []
