import time

import numpy as np
import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError, ConflictError, StoreError
from seasoned.memory.screened import ScreenedPool
from seasoned.memory.upkeep import cap, merge, near_duplicates
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.text import tokens
from seasoned.types import Lesson


class Angles:
    """Texts are degrees; vectors are directions in the plane."""

    name, dim = "angles", 2

    def embed(self, texts):
        turned = np.radians([float(text) for text in texts])
        return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def heuristic(text, **more):
    return Lesson(kind="heuristic", text=str(text), **more)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("upkeep") / "a.db"
    Store(path).close()
    return path.read_bytes()


@pytest.fixture
def pool(tmp_path, empty):
    (tmp_path / "a.db").write_bytes(empty)
    with Store(tmp_path / "a.db") as store:
        yield ExperiencePool(store, "s", embedder=Angles())


def shown(groups):
    return [(float(g.keep.text), [float(lesson.text) for lesson, _ in g.others]) for g in groups]


def within(degrees):
    return float(np.cos(np.radians(degrees)))


def test_groups_are_of_those_near_to_the_one_that_is_kept(pool):
    pool.add([heuristic(x) for x in (0, 9, 18, 90, 95, 200)])
    groups = near_duplicates(pool, threshold=within(10))
    assert shown(groups) == [(0, [9]), (90, [95])]  # 18 is near to 9, and 9 is taken: no chain
    assert groups[0].others[0][1] == pytest.approx(within(9), abs=1e-6)
    assert shown(near_duplicates(pool, threshold=within(20))) == [(0, [9, 18]), (90, [95])]
    assert near_duplicates(pool, threshold=1.0) == []


def test_the_one_that_is_kept_is_pinned_or_a_persons_or_important(pool):
    pool.add([heuristic(0, importance=3), heuristic(1, origin="person"), heuristic(2, importance=9)])
    assert shown(near_duplicates(pool)) == [(1, [2, 0])]
    pool.add(heuristic(3, pinned=True))
    assert shown(near_duplicates(pool)) == [(3, [1, 2, 0])]


def test_kinds_and_states_are_not_mixed(pool):
    pool.add([heuristic(0), Lesson(kind="insight", text="0"), heuristic(0, status="disabled")])
    assert near_duplicates(pool) == []
    pool.add([heuristic(0), Lesson(kind="insight", text="1")])
    assert [g.keep.kind for g in near_duplicates(pool)] == ["heuristic", "insight"]
    assert [g.keep.kind for g in near_duplicates(pool, kind="insight")] == ["insight"]


def test_equal_texts_are_duplicates_at_any_threshold(pool):
    pool.add([heuristic(x) for x in (33.3, 33.3, 77.7, 77.7, 77.7)])
    assert shown(near_duplicates(pool, threshold=1.0)) == [(77.7, [77.7, 77.7]), (33.3, [33.3])]
    assert all(score <= 1.0 for group in near_duplicates(pool, threshold=1.0) for _, score in group.others)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, float("nan")])
def test_a_threshold_that_cannot_be(pool, threshold):
    with pytest.raises(ConfigError, match="must be above 0 and at most 1"):
        near_duplicates(pool, threshold=threshold)


def test_against_a_plain_loop(pool):
    rng = np.random.default_rng(5)
    pool.add([heuristic(round(x, 2), importance=float(i % 7)) for i, x in enumerate(rng.uniform(0, 360, 700))])
    ranked = sorted(pool.lessons(), key=lambda x: -x.importance)
    taken, expected = set(), []
    for lesson in ranked:
        if lesson.id in taken:
            continue
        others = [x for x in ranked if x is not lesson and x.id not in taken
                  and within(float(x.text) - float(lesson.text)) >= within(2)]  # fmt: skip
        taken |= {lesson.id, *(x.id for x in others)}
        if others:
            expected.append((float(lesson.text), [float(x.text) for x in others]))
    expected.sort(key=lambda group: -len(group[1]))
    assert shown(near_duplicates(pool, threshold=within(2))) == expected


def test_thousands_that_say_the_same_take_seconds(pool):
    pool = ExperiencePool(pool.store, "many", embedder=HashingEmbedder(64))
    pool.add([heuristic("look up the order before you refund it", sources=(f"tra-{i}",)) for i in range(4_000)])
    began = time.perf_counter()
    [group] = near_duplicates(pool)
    assert len(group.others) == 3_999
    [kept] = merge(pool, [group])
    assert time.perf_counter() - began < 20  # about 1 s on two slow cores
    assert (kept.importance, len(kept.sources)) == (4_000.0, 4_000)
    assert pool.lessons() == [kept]
    assert "and 3,994 more, which said the same" in pool.store.history(kept.id)[-1].why


def test_merging_sums_joins_and_says_why(pool):
    pool.add([heuristic(0, importance=2, sources=("a", "b")), heuristic(1, importance=1, sources=("b", "c"))])
    pool.add(heuristic(90))
    pool.store.add_snapshot("s", "before", who="person")
    [group] = near_duplicates(pool)
    [kept] = merge(pool, [group], why="weekly")
    assert (kept.text, kept.importance, kept.sources, kept.version) == ("0", 3.0, ("a", "b", "c"), 2)
    gone = group.others[0][0].id
    assert pool.store.history(kept.id)[-1].why == f"weekly: merged with {gone}, which said the same"
    assert [(c.who, c.why) for c in pool.store.history(gone)][-1] == (
        "rule",
        f"weekly: merged into {kept.id}, which says the same",
    )
    assert [lesson.text for lesson in pool.lessons()] == ["0", "90"]
    assert near_duplicates(pool) == []
    assert merge(pool, []) == []
    pool.store.rollback("s", "before", who="person")
    assert [lesson.text for lesson in pool.lessons()] == ["0", "1", "90"]


def test_what_waits_in_quarantine_waits_on(pool):
    same = {"embedder": Angles()}
    usual, waiting = (ScreenedPool(pool.store, "n", quarantine=side, **same) for side in (False, True))
    waiting.add([heuristic(0), heuristic(1), heuristic(2)])
    [kept] = merge(waiting, near_duplicates(waiting))
    assert (kept.status, kept.importance) == ("quarantined", 3.0)
    assert usual.lessons() == []
    assert len(waiting.lessons()) == 1


def test_what_is_pinned_is_left_alone_by_a_rule(pool):
    pool.add([heuristic(0, pinned=True, sources=("a",)), heuristic(1, pinned=True), heuristic(2, importance=5)])
    [group] = near_duplicates(pool)
    [kept] = merge(pool, [group])
    assert kept == group.keep
    assert [x.text for x in pool.lessons()] == ["0", "1"]
    [group] = near_duplicates(pool)
    assert merge(pool, [group]) == []
    [kept] = merge(pool, [group], who="person")
    assert [x.text for x in pool.lessons()] == ["0"]
    assert kept.importance == 2.0


def test_nothing_is_merged_where_somebody_changed_a_lesson_meanwhile(pool):
    pool.add([heuristic(0), heuristic(1), heuristic(90), heuristic(91)])
    groups = near_duplicates(pool)
    pool.update(groups[1].others[0][0].model_copy(update={"text": "180"}), who="person")
    with pytest.raises(ConflictError, match="read it again"):
        merge(pool, groups)
    assert len(pool.lessons()) == 4


def test_caps(pool):
    pool.add([heuristic(f"{n:08d}", importance=n) for n in range(10)])
    pool.add([heuristic("11111111", origin="person", importance=0), heuristic("2222", pinned=True, importance=0)])
    gone = cap(pool, lessons=5)
    assert sorted(int(x.text) for x in gone) == [0, 1, 2, 3, 4, 5, 6]
    assert [int(x.text) for x in pool.lessons()] == [7, 8, 9, 11111111, 2222]
    assert pool.store.history(gone[0].id)[-1].why == "over the cap of 5 lessons"
    assert {x.status for x in gone} == {"disabled"}
    assert cap(pool, lessons=5) == []
    cap(pool, tokens=7)
    assert sum(tokens(x.key + x.text) for x in pool.lessons()) <= 7
    assert [x.text for x in pool.lessons()][-1] == "2222"
    assert cap(pool, lessons=0) != []
    assert [x.text for x in pool.lessons()] == ["2222"]  # pinned: a rule leaves it
    assert len(cap(pool, lessons=0, who="person")) == 1


def test_caps_of_a_kind_leave_other_kinds_alone(pool):
    pool.add([heuristic(1), heuristic(2), Lesson(kind="insight", text="3")])
    cap(pool, lessons=1, kind="heuristic")
    assert sorted(x.kind for x in pool.lessons()) == ["heuristic", "insight"]


@pytest.mark.parametrize("limits", [{}, {"lessons": -1}, {"tokens": -5}])
def test_a_cap_that_cannot_be(pool, limits):
    with pytest.raises(ConfigError, match="a cap is a number of lessons or of tokens"):
        cap(pool, **limits)


def test_a_read_only_pool_is_only_looked_at(pool):
    pool.add([heuristic(0), heuristic(1)])
    reader = ExperiencePool(pool.store, "s", embedder=Angles(), read_only=True)
    groups = near_duplicates(reader)
    assert len(groups) == 1
    for act in (lambda: merge(reader, groups), lambda: cap(reader, lessons=0)):
        with pytest.raises(StoreError, match="read-only"):
            act()
    with pytest.raises(ConfigError, match="needs an embedder"):
        near_duplicates(ExperiencePool(pool.store, "s"))
