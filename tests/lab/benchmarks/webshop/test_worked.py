from seasoned.lab.benchmarks.webshop.made import make_catalogue
from seasoned.lab.benchmarks.webshop.worked import worked

WORDS = worked()
FAILED = [trajectory for trajectory, _ in WORDS.reflections]


def test_three_worked_attempts_win_and_two_fail():
    assert [t.outcome.success for t in WORDS.trajectories] == [True] * 3
    assert {t.outcome.reason for t in WORDS.trajectories} == {"won"}
    assert [t.outcome.reward for t in FAILED] == [0.5, 0.5]
    assert {t.outcome.reason for t in FAILED} == {"halted"}


def test_every_step_can_be_done_and_follows_from_what_was_seen():
    for trajectory in (*WORDS.trajectories, *FAILED):
        seen = trajectory.task
        assert seen.startswith("WebShop\nInstruction:\n")
        for step in trajectory.steps:
            assert step.thought
            name, _, text = step.action[:-1].partition("[")
            assert f"[{text}]" in seen if name == "click" else seen.endswith("[Search]"), step.action
            # After an option, the page with all the options is still the one that is open.
            seen = seen if step.observation.startswith("You have clicked") else step.observation
        assert trajectory.steps[-1].action == "click[Buy Now]"


def test_what_thoughts_say_is_so():
    socks, _, frame = WORDS.trajectories
    first = socks.steps[0].observation
    assert first.index("[KX10000003]") < first.index("[KX10000001]")
    assert all(f"[KX3000000{i}]" in frame.steps[0].observation for i in (1, 2, 3))
    assert FAILED[1].steps[0].observation.split("\n")[2] == "[KX50000001]"


def test_attempts_are_the_same_each_time():
    worked.cache_clear()
    assert worked() == WORDS


def test_a_failed_attempt_may_be_told_what_it_missed():
    told = worked(told=True)
    assert told.trajectories == WORDS.trajectories
    said = [trajectory.steps[-1].observation.split("\n")[1] for trajectory, _ in told.reflections]
    assert said == ["Not as asked for: color: purple; thickness: 8 mm", "Not as asked for: foldable; the price limit"]


def test_reflections_say_what_to_do_next():
    assert all("Next time" in text for _, text in WORDS.reflections)


def test_worked_attempts_are_not_in_the_generated_shop():
    rows, _ = make_catalogue(300, 0)
    sold = " ".join(row["name"] for row in rows).lower()
    assert not any(name in sold for name in ("hiking socks", "kettle", "picture frame", "yoga mat", "laundry basket"))
