"""The words of the Gaia2 prompts."""

from seasoned.lab.benchmarks.gaia2.universe import WORKED, universe
from seasoned.lab.benchmarks.gaia2.words import read_words


def test_worked_attempts_are_calls_that_end_with_a_message():
    words = read_words()
    for one in [*words.trajectories, *(failed for failed, _ in words.reflections), words.retried]:
        assert all(step.call and step.thought for step in one.steps)
        assert one.steps[-1].call.name == "AgentUserInterface__send_message_to_user"
        assert one.steps[-1].observation == "The task is over."
    assert all(one.outcome.success for one in words.trajectories)
    assert not any(failed.outcome.success for failed, _ in words.reflections)
    assert words.retried.outcome.success


def test_they_are_of_a_universe_of_their_own():
    told = " ".join(step.observation for one in read_words().trajectories for step in one.steps)
    assert universe(WORKED).towns[0].lower() in told.lower()
