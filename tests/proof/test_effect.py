"""Effect and retirement on simulated attempts: what is claimed holds, and what can be found is found."""

import numpy as np
import pytest

from seasoned.errors import ConfigError
from seasoned.proof.effect import ALPHA, Evidence, Use, effect, is_withheld


def attempts(rng, n, base, tau, chance):
    """Attempts of which this share is shown lessons with this effect."""
    shown = rng.random(n) < chance
    solved = rng.random(n) < base + tau * shown
    return [Use(bool(a), chance, float(b)) for a, b in zip(shown, solved, strict=True)]


def retired_at(uses, lessons=1):
    """After how many attempts the evidence of harm reaches the limit of a book of lessons, if it does."""
    evidence = Evidence()
    for use in uses:
        evidence = evidence.after(use)
        if evidence.value >= lessons / ALPHA:
            return evidence.uses
    return None


@pytest.mark.parametrize(("lessons", "books"), [(1, 1500), (5, 120)])
def test_a_book_of_lessons_that_do_no_harm_loses_one_in_at_most_five_of_a_hundred_books(lessons, books):
    rng = np.random.default_rng(0)
    lost = 0
    for _ in range(books):
        base, chance = rng.uniform(0.2, 0.9), rng.choice([0.5, 0.8, 0.9])
        lost += any(
            retired_at(attempts(rng, 100, base, 0.0, chance), lessons=lessons) is not None for _ in range(lessons)
        )
    assert lost / books <= ALPHA


def test_a_harmful_lesson_is_retired_and_a_slightly_harmful_one_sometimes():
    rng = np.random.default_rng(2)
    bad = [retired_at(attempts(rng, 400, 0.6, -0.3, 0.5)) or 401 for _ in range(120)]
    slight = [retired_at(attempts(rng, 400, 0.6, -0.1, 0.5)) or 401 for _ in range(120)]
    assert np.median(bad) <= 80
    assert np.mean(np.array(bad) <= 400) > 0.99
    assert 0.25 <= np.mean(np.array(slight) <= 400) <= 0.6


@pytest.mark.parametrize(("chance", "tau"), [(0.5, -0.3), (0.9, 0.0), (0.5, 0.3)])
def test_the_interval_holds_however_often_somebody_looks(chance, tau):
    rng = np.random.default_rng(int(10 * chance + 100 * (tau + 1)))
    missed = 0
    for _ in range(60):
        made = attempts(rng, 200, 0.5, tau, chance)
        seen = [effect(made[:n]) for n in (10, 25, 50, 100, 200)]
        missed += any(not one.low - 0.005 <= tau <= one.high + 0.005 for one in seen)
    assert missed / 60 <= ALPHA


def test_where_the_effect_changed_the_interval_is_not_a_point():
    rng = np.random.default_rng(5)
    made = [*attempts(rng, 1000, 0.9, -0.8, 0.9), *attempts(rng, 1000, 0.1, 0.8, 0.9)]
    seen = effect(made)
    assert seen.low <= seen.value <= seen.high
    assert seen.high - seen.low > 0.1


def test_a_rare_holdout_weighs_as_much_as_it_is_rare():
    made = [Use(n % 4000 != 3999, 1 - 1 / 4000, float(n % 4000 != 3999)) for n in range(12_000)]
    assert effect(made).value > 0.9  # all succeed with guidance, and none without


def test_what_helps_is_seen_to_help():
    rng = np.random.default_rng(3)
    seen = effect(attempts(rng, 2000, 0.4, 0.3, 0.9))
    assert seen.verdict == "helps"
    assert seen.low > 0 < 0.2 < seen.value < 0.4
    assert seen.shown + seen.withheld == 2000
    assert effect(attempts(rng, 500, 0.7, -0.4, 0.5)).verdict == "harms"
    assert effect(attempts(rng, 20, 0.5, 0.0, 0.5)).verdict == "not known yet"


def test_evidence_rises_with_harm_and_falls_with_help():
    rng = np.random.default_rng(4)
    seen = {}
    for tau in (-0.3, 0.3):
        evidence = Evidence()
        assert evidence.value == 1
        for use in attempts(rng, 300, 0.5, tau, 0.9):
            evidence = evidence.after(use)
            assert evidence.value > 0
        seen[tau] = evidence.value
        assert evidence.uses == 300
    assert seen[-0.3] > 20 > 1 > seen[0.3]
    extreme = Evidence()
    for n in range(3000):
        extreme = extreme.after(Use(n % 2 == 0, 0.5, float(n % 2)))
    assert extreme.value > 1e30


def test_a_holdout_is_drawn_by_the_attempt_and_the_key_alone():
    drawn = [is_withheld(b"key", f"tra-{n}", 0.1) for n in range(5000)]
    assert 0.085 < np.mean(drawn) < 0.115
    assert drawn == [is_withheld(b"key", f"tra-{n}", 0.1) for n in range(5000)]
    assert drawn != [is_withheld(b"other", f"tra-{n}", 0.1) for n in range(5000)]
    assert drawn != [is_withheld(b"key", f"tra-{n}", 0.1, "les-1") for n in range(5000)]
    assert not any(is_withheld(b"key", f"tra-{n}", 0.0) for n in range(500))


def test_without_a_holdout_there_is_no_effect_to_tell():
    with pytest.raises(ConfigError, match=r"holdout=0\.1"):
        effect([Use(True, 1.0, 1.0)])
    with pytest.raises(ConfigError, match="held out"):
        effect([])
