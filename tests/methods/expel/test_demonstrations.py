"""Which of an agent's own successes are shown, on a real store with the hashing embedder."""

import threading

import numpy as np
import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError
from seasoned.methods.expel import ExpeL
from seasoned.methods.expel.demonstrations import attempts_at, choose, reflections
from seasoned.pool import ExperiencePool
from seasoned.types import TEXT_REPEATS, Lesson, Outcome, Step, Task, Trajectory


class Counting(HashingEmbedder):
    """Keeps what it was asked to embed."""

    instant = False  # so that its vectors are kept in the store

    def __init__(self):
        super().__init__()
        self.asked = []

    def embed(self, texts):
        self.asked += list(texts)
        return super().embed(texts)


@pytest.fixture
def pool(store):
    return ExperiencePool(store, "test", embedder=Counting())


def attempt(name, task, *steps, category="", success=True, task_id=None):
    made = tuple(Step(thought=t, action=a, observation=o) for t, a, o in steps) or (
        Step(action="go", observation="ok"),
    )
    return Trajectory(
        id=name,
        task_id=task_id or f"of-{name}",
        task=task,
        category=category,
        steps=made,
        outcome=Outcome(success=success),
    )


def fill(pool, *attempts):
    for each in attempts:
        pool.record(each)


def chosen(pool, task, progress=None, by="task", longest=None, **settings):
    expel = ExpeL(None, retrieve_by=by, demo_tokens=longest, **settings)
    return [t.id for t in choose(expel, task, pool, progress)]


TASK = Task(id="new", text="Put a clean mug on the coffee table.", category="clean")
MUG = attempt("mug", "Put a clean mug on the desk.", category="clean")
SPOON = attempt("spoon", "Put a clean spoon in the drawer.", category="clean")
LAMP = attempt("lamp", "Look at the clock under the lamp.", category="look")
TWIN = attempt("twin", "Put a clean mug on the coffee table near the sofa.", category="heat")


def test_similar_tasks_of_the_same_category_come_first(pool):
    fill(pool, LAMP, TWIN, SPOON, MUG)
    assert chosen(pool, TASK, k=2) == ["mug", "spoon"]
    assert chosen(pool, TASK, k=9) == ["mug", "spoon", "twin", "lamp"]
    assert chosen(pool, TASK.model_copy(update={"category": ""}), k=1) == ["twin"]
    assert chosen(pool, TASK, k=0) == []
    assert chosen(pool, TASK, by="none") == []


def test_only_successes_are_shown(pool):
    fill(pool, MUG.model_copy(update={"outcome": Outcome(success=False)}), LAMP)
    fill(pool, SPOON.model_copy(update={"outcome": Outcome(reason="error")}))
    assert chosen(pool, TASK) == ["lamp"]


def test_the_task_itself_is_never_shown(pool):
    by_id = attempt("by-id", "Other words.", task_id="new", category="clean")
    by_words = attempt("by-words", "put a clean  mug on the COFFEE table", category="clean")
    fill(pool, by_id, by_words, LAMP)
    worked = (attempt("manual-1", TASK.text, category="clean"),)
    for by in ("task", "random", "step"):
        assert chosen(pool, TASK, k=5, by=by, manual=worked) == ["lamp"]
    assert attempts_at(TASK, pool) == {"by-id", "by-words"}
    assert set(chosen(pool, TASK, k=5, same_task=True)) == {"by-id", "by-words", "lamp"}


def test_tasks_that_share_a_text_are_different_tasks_if_their_environment_says_so(pool):
    by_id = attempt("by-id", TASK.text, task_id="new", category="clean")
    fill(pool, by_id, attempt("other", TASK.text, task_id="other", category="clean"))
    assert chosen(pool, TASK, k=5) == []
    shared = TASK.model_copy(update={"data": {TEXT_REPEATS: True}})
    assert chosen(pool, shared, k=5) == ["other"]
    assert attempts_at(shared, pool) == {"by-id"}


def test_an_agent_without_thoughts_is_compared_by_its_actions(pool):
    fill(
        pool, attempt("wash", "Other.", ("", "wash the mug", "ok")), attempt("mug", TASK.text, ("", "open a box", "ok"))
    )
    progress = Trajectory(task_id="new", task=TASK.text, steps=(Step(action="wash the mug", observation="ok"),))
    assert chosen(pool, TASK, progress, k=1, by="thought") == ["wash"]


def test_of_a_task_the_shortest_success_is_shown(pool):
    long = attempt("long", MUG.task, ("", "look", "x" * 90), ("", "go", "ok"), task_id="t")
    short = attempt("short", MUG.task, ("", "go", "ok"), task_id="t")
    equal = attempt("equal", MUG.task, ("", "go", "no"), task_id="t")
    fill(pool, long, short, equal)
    assert chosen(pool, TASK, k=5) == ["short"]


def test_worked_examples_are_candidates_and_the_longest_sets_the_limit(pool):
    worked = (attempt("manual-1", "Put a plate away.", ("", "go", "y" * 200), category="clean"),)
    fill(pool, MUG, attempt("endless", "Put a clean mug on a shelf.", ("", "go", "z" * 400), category="clean"))
    assert chosen(pool, TASK, k=5, manual=worked) == ["mug", "manual-1"]
    assert set(chosen(pool, TASK, k=5)) == {"mug", "endless"}
    assert chosen(pool, TASK, k=5, manual=worked, longest=20) == ["mug"]
    assert chosen(ExperiencePool(pool.store, "empty"), TASK, k=5, by="random", manual=worked) == ["manual-1"]


def test_a_worked_example_that_was_recorded_too_is_shown_once(pool):
    fill(pool, MUG)
    assert chosen(pool, TASK, k=5, manual=(MUG,)) == ["mug"]


BY_THOUGHT = attempt("by-thought", "a b", ("The fridge may hold food.", "open fridge 1", "empty"))
BY_ACTION = attempt("by-action", "c d", ("Hmm.", "heat the egg with microwave 1", "You heat it."))
BY_STEP = attempt("by-step", "e f", ("Now the light.", "use desklamp 1", "You turn on the desklamp 1."))


@pytest.mark.parametrize(
    ("by", "step", "first"),
    [
        ("thought", ("The fridge might hold some food.", "x", "y"), "by-thought"),
        ("action", ("x", "heat the potato with microwave 1", "y"), "by-action"),
        ("step", ("The light.", "use desklamp 1", "You turn on the desklamp 1."), "by-step"),
        ("task-then-thought", ("The fridge might hold some food.", "x", "y"), "by-thought"),
        ("rotation", ("The fridge might hold some food.", "N/A", ""), "by-thought"),
        ("rotation", ("The fridge might hold some food.", "N/A", "use desklamp 1, turn on desklamp 1"), "by-thought"),
        ("rotation", ("The fridge may.", "use desklamp 1", "You turn on the desklamp 1."), "by-step"),
        ("rotation", ("", "heat the potato with microwave 1", "y"), "by-action"),
        ("rotation", ("The light.", "use desklamp 1", "You turn on the desklamp 1."), "by-step"),
    ],
)
def test_strategies_that_go_by_the_attempt_so_far(pool, by, step, first):
    fill(pool, BY_THOUGHT, BY_ACTION, BY_STEP, MUG)
    task = TASK.model_copy(update={"category": ""})
    progress = attempt("now", TASK.text, step, task_id="new", success=None)
    assert chosen(pool, task, progress, k=1, by=by) == [first]
    assert chosen(pool, task, None, k=1, by=by) == ["mug"]
    assert chosen(pool, task, progress.model_copy(update={"steps": ()}), k=1, by=by) == ["mug"]
    assert chosen(pool, TASK, progress, k=1, by=by) == ["mug"]  # of its category


def test_by_reflection(pool):
    told = [
        Lesson(kind="reflection", text="Cool the apple in the fridge first.", sources=("failed",)),
        Lesson(kind="reflection", text="I should switch the lamp on.", sources=("elsewhere",)),
    ]
    pool.add(told)
    failed = attempt("failed", "c d", task_id="of-by-action", success=False)
    elsewhere = attempt("elsewhere", "e f", task_id="of-by-step", success=False)
    fill(pool, failed, elsewhere, BY_ACTION, BY_STEP)
    own = pool.add(Lesson(kind="reflection", text="I should cool it in the fridge first."))
    progress = attempt("now", TASK.text, task_id="new").model_copy(update={"lesson_ids": (own[0].id,)})
    assert chosen(pool, TASK, progress, k=1, by="reflection") == ["by-action"]
    more = pool.add(
        [Lesson(kind="reflection", text=told[1].text), Lesson(kind="insight", text="I should switch the lamp on.")]
    )
    several = progress.model_copy(update={"lesson_ids": (more[0].id, own[0].id, more[1].id)})
    assert chosen(pool, TASK, several, k=1, by="reflection") == ["by-action"]
    assert len(chosen(pool, TASK, progress, k=5, by="reflection")) == 2
    assert len(chosen(pool, TASK, None, k=5, by="reflection")) == 2
    assert reflections(pool, ["failed"]) == [told[0].text]
    assert reflections(pool, ["elsewhere", "none", "failed", "failed"]) == [told[1].text, told[0].text]


def test_random_is_drawn_by_seed_and_task_and_needs_no_embedder(store):
    pool = ExperiencePool(store, "test")
    fill(pool, *(attempt(f"t{n}", f"Task {n}.") for n in range(12)))
    drawn = [chosen(pool, TASK, k=3, by="random", seed=seed) for seed in (0, 0, 1, 2)]
    assert drawn[0] == drawn[1]
    assert len(set(map(tuple, drawn))) == 3
    turned = ExperiencePool(store, "turned")
    fill(turned, *(attempt(f"u{n}", f"Task {n}.", task_id=f"of-t{n}") for n in reversed(range(12))))
    assert [name[1:] for name in chosen(turned, TASK, k=3, by="random")] == [name[1:] for name in drawn[0]]
    other = TASK.model_copy(update={"id": "other"})
    assert chosen(pool, other, k=3, by="random") != drawn[0]
    with pytest.raises(ConfigError, match="needs an embedder"):
        chosen(pool, TASK)


def test_an_empty_pool_gives_none(store):
    assert chosen(ExperiencePool(store, "test"), TASK) == []


def test_rerankers_choose_among_four_times_k(pool):
    near = [
        attempt(f"near{n}", f"Put a clean mug on table {'x' * n}.", ("t" * (90 - 9 * n), "go", "ok"), category="clean")
        for n in range(4)
    ]
    short = attempt("far", "Sing.", ("", "go", ""), category="clean")
    fill(pool, short, *near)
    assert chosen(pool, TASK, k=1, rerank="length") == ["near3"]
    assert "far" in chosen(pool, TASK, k=2, rerank="length")
    progress = attempt("now", TASK.text, ("The fridge might hold some food.", "x", "y"), task_id="new")
    fill(pool, BY_THOUGHT.model_copy(update={"category": "clean"}))
    assert chosen(pool, TASK, progress, k=2, rerank="thought")[0] == "by-thought"
    assert chosen(pool, TASK, None, k=2, rerank="thought") == chosen(pool, TASK, k=2)
    assert chosen(pool, TASK, progress, k=2, by="thought", rerank="task") != chosen(
        pool, TASK, progress, k=2, by="thought"
    )
    assert chosen(pool, TASK, k=9, by="random", rerank="task")[0] == chosen(pool, TASK, k=1)[0]


def test_a_reranker_keeps_the_category_in_front(pool):
    fill(pool, attempt("long", "Put a clean mug away.", ("t" * 90, "go", ""), category="clean"), LAMP)
    assert chosen(pool, TASK, k=2, rerank="length") == ["long", "lamp"]


def test_texts_are_embedded_once_and_kept_in_the_store(pool, store):
    fill(pool, MUG, SPOON)
    chosen(pool, TASK)
    chosen(pool, TASK)
    assert pool.embedder.asked.count(MUG.task) == 1
    again = ExperiencePool(store, "test", embedder=Counting(), read_only=True)
    assert chosen(again, TASK) == ["mug", "spoon"]
    assert again.embedder.asked == [TASK.text]
    assert store.check() == []


def test_what_is_recorded_later_or_dropped_is_seen(pool, store):
    fill(pool, SPOON)
    assert chosen(pool, TASK, k=5) == ["spoon"]
    fill(pool, MUG)
    assert chosen(pool, TASK, k=5) == ["mug", "spoon"]
    store.add_run("run", "x", "", {})
    store.save_episode("run", "one", "test", TWIN)
    assert "twin" in chosen(pool, TASK, k=5)
    store.drop_episodes("run", ["one"])
    assert chosen(pool, TASK, k=5) == ["mug", "spoon"]


def test_attempts_of_another_scope_are_shown_where_the_pool_says_so(store):
    training = ExperiencePool(store, "training")
    fill(training, MUG)
    assert chosen(ExperiencePool(store, "lessons", embedder=HashingEmbedder()), TASK) == []
    assert chosen(ExperiencePool(store, "lessons", embedder=HashingEmbedder(), experience="training"), TASK) == ["mug"]


def test_a_pool_of_some_tasks_shows_their_successes_alone(pool, store):
    fill(pool, MUG, SPOON, LAMP)
    some = ExperiencePool(store, "test", embedder=Counting(), tasks=frozenset({"of-spoon", "of-lamp"}))
    assert chosen(some, TASK, k=5) == ["spoon", "lamp"]


def test_threads_see_the_same(pool):
    fill(pool, *(attempt(f"t{n}", f"Put mug {n} on table {n % 3}.") for n in range(20)))
    found = []

    def ask():
        found.append(tuple(chosen(pool, TASK, k=4)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_similarity_is_the_inner_product(pool):
    tasks = [
        attempt(f"t{n}", text) for n, text in enumerate(("mug table", "clean clean mug", "a coffee table", "sofa"))
    ]
    fill(pool, *tasks)
    embedder = HashingEmbedder()
    scores = embedder.embed([t.task for t in tasks]) @ embedder.embed([TASK.text])[0]
    assert chosen(pool, TASK, k=4) == [f"t{n}" for n in np.argsort(-scores, kind="stable")]
