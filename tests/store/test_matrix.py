"""Vectors in memory: the search is that of float64 over all rows, however they came and however many there are."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.store import matrix as module
from seasoned.store.matrix import Matrix, rounded


def unit(n, dim=16, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def exactly(rows, query, k):
    scores = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:k]
    return order.tolist(), scores[order].astype(np.float32).tolist()


def filled(rows, steps):
    made = Matrix(rows.shape[1])
    for part in np.array_split(np.arange(len(rows)), steps):
        made.put(part, rows[part])
    return made


@pytest.fixture
def small(monkeypatch):
    """Sizes from which on rounded rows and several threads are used, so small that a test reaches them."""
    pytest.importorskip("simsimd")
    monkeypatch.setattr(module, "ROUNDED", 100)
    monkeypatch.setattr(module, "_LEAST", 16)


@given(st.integers(1, 300), st.integers(1, 9), st.integers(1, 30), st.integers(0, 9))
def test_rows_that_came_in_parts_are_searched_as_one_matrix(n, steps, k, seed):
    rows, query = unit(n, seed=seed), unit(1, seed=99)[0]
    places, scores = filled(rows, steps).best(query, k)
    assert (places.tolist(), scores.tolist()) == exactly(rows, query, k)


@pytest.mark.parametrize("several", [10**9, 400])
def test_rounded_rows_lead_to_the_same_ten(small, monkeypatch, several):
    monkeypatch.setattr(module, "SEVERAL", several)
    rows, made, found = unit(3000, 64), filled(unit(3000, 64), 40), 0
    for query in unit(20, 64, seed=5):
        places, scores = made.best(query, 10)
        wanted = exactly(rows, query, 10)
        found += len(set(places.tolist()) & set(wanted[0]))
        assert scores.tolist() == exactly(rows[places], query, 10)[1]
    assert found >= 198  # of 200


def test_equal_rows_tie_in_order_where_they_are_rounded_too(small):
    made = filled(np.tile(unit(1), (500, 1)), 7)
    places, scores = made.best(unit(1, seed=3)[0], 5)
    assert places.tolist() == [0, 1, 2, 3, 4]
    assert len(set(scores.tolist())) == 1
    assert made.best(unit(1, seed=3)[0], 3, np.array([9, 7, 9, 2]))[0].tolist() == [0, 1, 2]


def test_a_row_that_changes_is_found_at_once(small):
    rows, query = unit(400), unit(1, seed=8)[0]
    made = filled(rows, 3)
    made.best(query, 3)
    made.put(np.array([250]), query[None])
    assert made.best(query, 1)[0].tolist() == [250]
    assert made.take(np.array([250, 3])).tolist() == [query.tolist(), rows[3].tolist()]


def test_without_the_library_all_rows_are_looked_at(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "simsimd", None)
    module._dots.cache_clear()
    rows, query = unit(300), unit(1, seed=8)[0]
    places, scores = filled(rows, 2).best(query, 7)
    module._dots.cache_clear()
    assert (places.tolist(), scores.tolist()) == exactly(rows, query, 7)


def test_all_rows_and_none():
    rows, query = unit(50), unit(1, seed=8)[0]
    made = filled(rows, 2)
    assert made.best(query, None)[0].tolist() == exactly(rows, query, 50)[0]
    assert made.best(query, 0)[0].tolist() == Matrix(16).best(query, 5)[0].tolist() == []


def test_rows_are_rounded_by_their_own_scale():
    codes, scales = rounded(np.array([[1, -0.5, 0], [0, 0, 0], [1e-3, 0, -1e-3]], dtype=np.float32))
    assert codes.tolist() == [[127, -64, 0], [0, 0, 0], [127, 0, -127]]
    assert np.allclose(codes * scales[:, None], [[1, -0.504, 0], [0, 0, 0], [1e-3, 0, -1e-3]], atol=1e-3)
