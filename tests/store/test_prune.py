from seasoned.store.prune import Pruned, prune
from seasoned.store.sql import Store
from seasoned.types import Lesson, Trajectory

OLD, CUT, NEW = "2026-01-01T00:00:00.000+00:00", "2026-06-01T00:00:00.000+00:00", "2026-10-01T00:00:00.000+00:00"
POOL = "memory/default"


def test_old_attempts_go_and_what_was_learned_stays(tmp_path):
    with Store(tmp_path / "s.db") as store:
        made = [Trajectory(id=f"tra-{at[:7]}", task_id="t", task="secret words", created=at) for at in (OLD, NEW)]
        store.add_trajectories(POOL, made)
        store.add_trajectories("run/x", [Trajectory(id="tra-run", task_id="t", task="r", created=OLD)], "run")
        lessons = [
            Lesson(id="les-1", kind="heuristic", text="Ask.", sources=("tra-2026-01",), updated=OLD, created=OLD),
            Lesson(id="les-2", kind="heuristic", text="Gone.", status="deleted", updated=OLD, created=OLD),
            Lesson(id="les-3", kind="heuristic", text="Late.", status="deleted", updated=NEW, created=OLD),
        ]
        store.add_lessons(POOL, lessons, who="model")
        for dry in (True, False):
            assert prune(store, CUT, [POOL, "run/x"], dry_run=dry) == [Pruned(POOL, 1, 1)]
            assert (store.get_trajectory("tra-2026-01") is None) == (not dry)
        assert [one.id for one in store.lessons(POOL)] == ["les-1", "les-3"]
        assert store.get_trajectory("tra-run") is not None
        assert store.get_trajectory("tra-2026-10") is not None
        assert prune(store, CUT, [POOL]) == []
        assert store.check() == []
