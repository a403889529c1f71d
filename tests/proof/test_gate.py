"""The gate, exactly and on simulated runs: how often it deploys what does not help, and what it finds."""

import numpy as np
import pytest
from scipy import stats

from seasoned.errors import ConfigError
from seasoned.proof.gate import FIRST, LAST, RISK, check_gate, look, looks, needed, power, sign_test

WORLDS = 3_000


def test_the_sign_test_is_the_exact_binomial_test():
    for won in range(12):
        for lost in range(12):
            if won + lost:
                wanted = stats.binomtest(won, won + lost, alternative="greater").pvalue
                assert sign_test(won, lost) == pytest.approx(wanted)
    assert sign_test(0, 0) == 1


def promoted(rng, n, win, loss, candidates=1, worlds=WORLDS):
    """How many simulated runs promote at least one of these candidates, all with the same effect."""
    chances = [win, loss, 1 - win - loss]
    half = n // 2
    verdicts = {}

    def verdict(won, lost, last):
        key = (int(won), int(lost), last)
        if key not in verdicts:
            verdicts[key] = look(key[0], key[1], tasks=n if last else half, last=last, candidates=candidates).verdict
        return verdicts[key]

    first = rng.multinomial(half, chances, size=(worlds, candidates))
    second = rng.multinomial(n - half, chances, size=(worlds, candidates))
    count = 0
    for world in range(worlds):
        for a, b in zip(first[world], second[world], strict=True):
            said = verdict(a[0], a[1], False)
            if said == "continue":
                said = verdict(a[0] + b[0], a[1] + b[1], True)
            if said == "promote":
                count += 1
                break
    return count


@pytest.mark.parametrize("candidates", [1, 5])
@pytest.mark.parametrize("discordant", [0.02, 0.05, 0.1, 0.2, 0.4, 0.6])
def test_what_does_not_help_is_deployed_in_at_most_five_of_a_hundred_runs(candidates, discordant):
    for n in (30, 60, 120):
        assert power(n, discordant / 2, discordant / 2, candidates=candidates) * candidates <= RISK


@pytest.mark.parametrize("candidates", [1, 5])
def test_what_does_not_help_is_deployed_as_rarely_in_a_simulation(candidates):
    bad = promoted(np.random.default_rng(candidates), 60, 0.2, 0.2, candidates)
    assert 0 < bad / WORLDS <= RISK


def test_what_harms_is_hardly_ever_deployed_where_keeping_what_is_better_deploys_it_often():
    rng = np.random.default_rng(7)
    n, win, loss = 30, 0.15, 0.25
    assert promoted(rng, n, win, loss) / WORLDS < 0.005
    won, lost = rng.multinomial(n, [win, loss, 1 - win - loss], size=WORLDS).T[:2]
    kept = np.mean(won > lost)
    assert 0.09 < kept < 0.2  # "keep it if it was better" deploys a set of -10 points in every eighth run


@pytest.mark.parametrize(
    ("n", "win", "loss", "least"),
    [(60, 0.25, 0.05, 0.80), (60, 0.15, 0.05, 0.30), (80, 0.45, 0.15, 0.94), (40, 0.45, 0.15, 0.67)],
)
def test_power_is_what_a_simulation_finds(n, win, loss, least):
    exact = power(n, win, loss)
    rng = np.random.default_rng(n)
    assert promoted(rng, n, win, loss) / WORLDS == pytest.approx(exact, abs=0.02)
    assert exact >= least


def test_the_looks_at_half_and_at_the_end():
    assert [one.verdict for one in looks([1.0] * 30, planned=60)] == ["promote"]
    assert [one.verdict for one in looks([0.0] * 30, planned=60)] == ["stop"]
    slow = [1.0] * 5 + [-1.0] * 2 + [0.0] * 23 + [1.0] * 10 + [0.0] * 20
    first, last = looks(slow, planned=60)
    assert (first.verdict, first.won, first.lost, first.tasks, first.level) == ("continue", 5, 2, 30, FIRST)
    assert (last.verdict, last.won, last.lost, last.tasks, last.level) == ("promote", 15, 2, 60, LAST)
    assert looks(slow[:29], planned=60) == []
    assert [one.verdict for one in looks(slow[:40], planned=60)] == ["continue"]
    assert looks(slow, planned=60, candidates=5)[-1].level == LAST / 5


def test_how_many_tasks_find_which_effect():
    assert needed(0.25, 0.05) == 60
    assert needed(0.06, 0.05) is None
    check_gate(6)
    with pytest.raises(ConfigError, match=r"gate of 4 tasks can promote nothing.*Set gate\.tasks to 6 or more.*60 for"):
        check_gate(4)
    with pytest.raises(ConfigError, match=r"to 8 or more"):
        check_gate(6, candidates=5)
    with pytest.raises(ConfigError, match="shares of won and lost"):
        power(10, 0.8, 0.4)
