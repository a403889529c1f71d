"""Steps to compare by what they say: without the calls, of which tests of their own tell."""


def bare(steps):
    return [step.model_copy(update={"call": None}) for step in steps]


def did(attempt):
    """What an attempt did: an action and what was observed for each step."""
    return [(step.action, step.observation) for step in attempt.steps]
