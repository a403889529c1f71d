"""The holdout: its coins, its counts, what is retired, and how nothing mixes."""

import logging
import multiprocessing
import random

import pytest

from seasoned.errors import ConfigError
from seasoned.memory import Memory
from seasoned.memory.holdout import META, Holdout, read_effect
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Block, Entry, Guidance, Lesson, Outcome, Trajectory

pytestmark = pytest.mark.usefixtures("fixed_coins")

GOOD, HARMFUL = "Look the order up before a refund.", "Promise a date for every refund."


@pytest.fixture
def agent():
    """Whether an attempt with this guidance goes well."""
    dice = random.Random(3)
    return lambda text: dice.random() < 0.6 + 0.3 * ("Look" in text) - 0.6 * ("Promise" in text)


def tried(memory, agent, times=1, **more):
    made = []
    for _ in range(times):
        with memory.attempt("refund an order", **more) as attempt:
            made.append(attempt.finish(success=agent(attempt.guidance.text)))
    return made


def lessons(memory):
    return memory.add([GOOD, HARMFUL])


@pytest.mark.parametrize("name", ["holdout", "withhold"])
@pytest.mark.parametrize("value", [-0.1, 1, 1.5, "0.1", True, float("nan"), None])
def test_a_share_out_of_range_is_refused(opened, name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a share of at least 0"):
        opened(**{name: value})


def test_retiring_needs_something_to_compare_with(opened):
    with pytest.raises(ConfigError, match=r"add holdout=0\.1"):
        opened(retire="auto")
    with pytest.raises(ConfigError, match="'off' or 'auto'"):
        opened(holdout=0.1, retire="yes")


def test_without_a_holdout_nothing_is_drawn_and_the_effect_says_how_to_begin(memory, agent):
    lessons(memory)
    [made] = tried(memory, agent)
    assert META not in made.meta
    assert made.lesson_ids
    assert memory.store.marks("holdout/memory/default") == {}
    with pytest.raises(ConfigError, match=r"Memory\(.., holdout=0\.1\)"):
        memory.effect()


def test_a_share_gets_no_guidance_and_the_record_says_so(opened, agent):
    memory = opened(holdout=0.5)
    lessons(memory)
    made = tried(memory, agent, 60)
    held = [each for each in made if not each.meta[META]["shown"]]
    assert 8 < len(held) < 52  # else once in 200 million runs
    assert {(each.guidance, each.lesson_ids) for each in held} == {("", ())}
    assert all(GOOD in each.guidance for each in made if each not in held)
    assert {each.meta[META]["chance"] for each in made} == {0.5}
    report = memory.effect()
    assert (report.overall.withheld, report.overall.shown) == (len(held), 60 - len(held))
    assert (report.waiting, report.off, report.lessons) == (0, "", ())


def test_an_attempt_for_which_nothing_was_recalled_does_not_count(opened, agent):
    memory = opened(holdout=0.5)
    assert all(META not in made.meta for made in tried(memory, agent, 4))
    with pytest.raises(ConfigError, match="nothing was held back"):
        memory.effect()


def test_single_lessons_are_left_out_by_coins_of_their_own(opened, agent):
    memory = opened(withhold=0.5)
    good, harmful = lessons(memory)
    made = tried(memory, agent, 80)
    for each in made:
        kept = each.meta[META]
        assert set(kept["lessons"]) == {good.id, harmful.id}
        assert set(each.lesson_ids) == {good.id, harmful.id} - set(kept["withheld"])
        assert (GOOD in each.guidance, HARMFUL in each.guidance) == tuple(
            lesson.id not in kept["withheld"] for lesson in (good, harmful)
        )
    ways = {tuple(sorted(each.meta[META]["withheld"])) for each in made}
    assert len(ways) == 4  # either, both, none
    report = memory.effect()
    assert report.overall is None
    assert report.verdict == "not known yet"
    assert {one.lesson_id: one.uses for one in report.lessons} == {good.id: 80, harmful.id: 80}
    assert report.lessons[0].lesson_id == harmful.id
    assert report.lessons[0].effect.value < -0.3 < 0.1 < report.lessons[1].effect.value


def test_a_lesson_that_shares_an_entry_has_no_coin(opened):
    class Pair:
        def learn(self, trajectories, pool): ...

        def recall(self, task, pool, progress=None):
            found = pool.lessons("insight")
            pair = Entry(text="either, or", lesson_ids=tuple(lesson.id for lesson in found[:2]))
            alone = Entry(text="alone", lesson_ids=(found[2].id,))
            return Guidance(lessons=tuple(found), blocks=(Block(entries=(pair, alone)),))

    memory = opened(Pair(), withhold=0.9)
    added = memory.add(["either", "or", "alone"], kind="insight")
    made = tried(memory, lambda text: True, 20)
    assert all("either, or" in each.guidance for each in made)
    assert {tuple(each.meta[META]["lessons"]) for each in made} == {(added[2].id,)}
    assert any("alone" not in each.guidance for each in made)


def test_advice_on_the_way_obeys_the_same_draw(opened):
    class OnTheWay:
        def learn(self, trajectories, pool): ...

        def recall(self, task, pool, progress=None):
            return Guidance(text="on the way") if progress else Guidance()

    memory = opened(OnTheWay(), holdout=0.5)
    for _ in range(40):
        with memory.attempt("refund an order") as attempt:
            first, second = attempt.advise().text, attempt.advise().text
            made = attempt.finish(success=True)
        shown = made.meta[META]["shown"]
        assert bool(first) == bool(second) == bool(made.guidance) == shown


def test_recall_without_an_attempt_is_not_drawn(opened):
    memory = opened(holdout=0.9)
    lessons(memory)
    assert all(GOOD in memory.recall("refund an order").text for _ in range(10))


def test_outcomes_that_never_come_are_counted_as_waiting_and_late_ones_when_they_arrive(opened):
    memory = opened(holdout=0.5)
    lessons(memory)
    for _ in range(20):
        with memory.attempt("refund an order"):
            pass
    report = memory.effect()
    assert (report.waiting, report.overall) == (20, None)
    attempts = memory.pool.trajectories()
    memory.outcome(attempts[0].id, success=True)
    assert memory.effect().waiting == 19
    assert memory.effect().overall.shown + memory.effect().overall.withheld == 1


def test_a_server_s_error_does_not_count(opened):
    memory = opened(holdout=0.5)
    lessons(memory)
    [made] = tried(memory, lambda text: True)
    broken = made.model_copy(update={"id": "tra-broken", "outcome": Outcome(success=False, reason="error")})
    with memory.store.transaction(memory.pool.scope):
        assert memory._holdout.count(broken) == []
    assert memory.effect().waiting == 0


def test_each_outcome_counts_once_and_a_changed_one_takes_its_place(opened):
    memory = opened(holdout=0.5)
    lessons(memory)
    [made] = tried(memory, lambda text: True)
    before = memory.store.marked("holdout-evidence/memory/default", "all")
    memory.record(made)
    memory.outcome(made.id, success=False)
    assert memory.store.marked("holdout-evidence/memory/default", "all") == before
    [row] = memory.store.marks("holdout-attempts/memory/default").values()
    assert row[2] == 0.0


def test_namespaces_never_mix_not_even_with_attempts_that_are_carried_over(opened, agent):
    ann, ben = opened(holdout=0.5, namespace="ann"), opened(holdout=0.5, namespace="ben")
    lessons(ann), lessons(ben)
    made = tried(ann, agent, 12)
    tried(ben, agent, 3)
    for each in made:
        ben.record(each.model_copy(update={"id": f"{each.id}-carried"}))
    counts = [memory.effect().overall for memory in (ann, ben)]
    assert [each.shown + each.withheld for each in counts] == [12, 3]


def test_forgetting_takes_the_counts_along(opened, agent):
    memory = opened(holdout=0.5, withhold=0.5)
    good, _ = lessons(memory)
    made = tried(memory, agent, 8)
    memory.forget(made[0].id, good.id)
    rows = memory.store.marks("holdout-attempts/memory/default")
    assert made[0].id not in rows
    assert len(rows) == 7
    assert f"lesson/{good.id}" not in memory.store.marks("holdout-evidence/memory/default")
    memory.forget(everything=True)
    for kind in ("holdout", "holdout-attempts", "holdout-evidence"):
        assert memory.store.marks(f"{kind}/memory/default") == {}
    lessons(memory)  # and it goes on, with a key of its own still
    tried(memory, agent, 2)
    assert memory.effect().waiting == 0


def test_a_harmful_lesson_is_retired_with_its_evidence_and_a_person_may_take_it_back(opened, agent, caplog):
    memory = opened(withhold=0.5, retire="auto")
    good, harmful = lessons(memory)
    memory.snapshot("before")
    with caplog.at_level(logging.WARNING):
        tried(memory, agent, 150)
    assert [lesson.id for lesson in memory.lessons()] == [good.id]
    change = memory.store.history(harmful.id)[-1]
    assert change.who == "rule"
    assert change.why.startswith("retired: evidence of harm ")
    assert "and the limit is 40" in change.why
    assert f"the lesson {harmful.id} was retired" in caplog.text
    told = {one.lesson_id: one for one in memory.effect().lessons}
    assert told[harmful.id].status == "disabled"
    assert told[harmful.id].harm >= 40
    memory.rollback("before")
    assert len(memory.lessons()) == 2
    tried(memory, agent)  # the evidence begins anew, so that one attempt does not retire it again
    assert len(memory.lessons()) == 2
    assert {one.lesson_id: one.harm for one in memory.effect().lessons}[harmful.id] < 2


def test_other_words_are_another_lesson(opened, agent):
    memory = opened(withhold=0.5)
    _, harmful = lessons(memory)
    tried(memory, agent, 60)
    assert {one.lesson_id: one.harm for one in memory.effect().lessons}[harmful.id] > 5
    stored = memory.store.get_lesson(harmful.id)
    memory.pool.update(stored.model_copy(update={"text": "Never name a date."}), who="person")
    tried(memory, agent)
    assert {one.lesson_id: one.harm for one in memory.effect().lessons}[harmful.id] < 2


def test_a_lesson_whose_evidence_starts_again_counts_as_another(opened, agent):
    memory = opened(withhold=0.5)
    _, harmful = lessons(memory)
    tried(memory, agent, 3)
    assert {one.limit for one in memory.effect().lessons} == {40}
    for n in range(3):
        stored = memory.store.get_lesson(harmful.id)
        memory.pool.update(stored.model_copy(update={"text": f"Name no date, {n}."}), who="person")
        tried(memory, agent)
    assert {one.limit for one in memory.effect().lessons} == {100}


def test_a_pinned_lesson_is_not_retired(opened, agent):
    memory = opened(withhold=0.5, retire="auto")
    memory.pool.add(Lesson(kind="insight", text=HARMFUL, pinned=True))
    tried(memory, agent, 120)
    [told] = memory.effect().lessons
    assert told.harm > told.limit
    assert (told.status, told.pinned) == ("active", True)


def test_all_guidance_is_switched_off_for_every_program_and_resumed_with_a_reason(opened, agent, caplog):
    memory = opened(holdout=0.5, retire="auto")
    memory.add(HARMFUL)
    with caplog.at_level(logging.WARNING):
        tried(memory, agent, 150)
    off = memory.effect().off
    assert off.startswith("guidance was switched off: evidence of harm ")
    assert off in repr(memory)
    assert off in caplog.text
    other = opened()
    assert memory.recall("refund an order").text == other.recall("refund an order").text == ""
    [made] = tried(other, agent)
    assert (made.guidance, META in made.meta) == ("", False)
    for why in ("", " "):
        with pytest.raises(ConfigError, match="give the reason"):
            memory.resume(why)
    memory.resume("the lesson is mended")
    assert HARMFUL in other.recall("refund an order").text
    assert "switched off" not in repr(memory)
    report = memory.effect()
    assert [(each.on, each.who) for each in report.switched] == [(False, "rule"), (True, "person")]
    assert report.switched[1].why == "the lesson is mended"
    assert report.harm == 1
    with pytest.raises(ConfigError, match="not switched off"):
        memory.resume("again")


def test_parts_are_by_category_and_by_month(opened, agent):
    memory = opened(holdout=0.5)
    lessons(memory)
    for category in ("refunds", "orders"):
        tried(memory, agent, 20, category=category)
    report = memory.effect()
    assert list(report.categories) == ["orders", "refunds"]
    [month] = report.months.values()
    assert month == report.overall
    assert "points (" in str(report.overall)


def test_a_report_reads_the_store_alone(opened, agent, path):
    memory = opened(holdout=0.5)
    lessons(memory)
    tried(memory, agent, 5)
    with Store(path) as store:
        assert read_effect(store, "default") == memory.effect()


def test_what_was_kept_in_another_form_is_passed_over(opened, agent):
    memory = opened(holdout=0.5)
    lessons(memory)
    [made] = tried(memory, agent)
    odd = {"shown": True, "chance": "x", "seal": made.meta[META]["seal"]}
    memory.record(Trajectory(task_id="t", task="t", outcome=Outcome(success=True), meta={META: odd}))
    memory.record(Trajectory(task_id="t", task="t", outcome=Outcome(success=True), meta={META: "yes"}))
    memory.store.mark("holdout-attempts/memory/default", "odd", [1])
    assert memory.effect().overall.shown + memory.effect().overall.withheld == 1


def _many(path, times):
    with Memory(path, method="expnote", embedder=None, holdout=0.5, withhold=0.5) as memory:
        for _ in range(times):
            with memory.attempt("refund an order") as attempt:
                attempt.finish(success=True)


def test_two_processes_count_at_once_and_lose_nothing(opened, path):
    lesson = opened().add(GOOD)[0]
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=_many, args=(path, 40)) for _ in range(2)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert [each.exitcode for each in running] == [0, 0]
    with Store(path) as store:
        report = read_effect(store, "default")
        uses = store.marked("holdout-evidence/memory/default", "all")[0]
        singles = store.marked("holdout-evidence/memory/default", f"lesson/{lesson.id}")[0]
    assert (report.overall.shown + report.overall.withheld, uses) == (80, 80)
    assert singles == report.overall.shown
    assert report.lessons[0].uses == singles


def test_a_key_is_made_once(path):
    with Store(path) as store:
        pool = ExperiencePool(store, "memory/default")
        first, second = (Holdout(pool, share=0.5) for _ in "ab")
        drawn = [[coins.draw(f"tra-{i}").show(Guidance(text="x")).text for i in range(50)] for coins in (first, second)]
    assert drawn[0] == drawn[1]
