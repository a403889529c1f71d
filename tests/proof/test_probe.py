"""Estimates of single lessons on attempts with known effects."""

import numpy as np

from seasoned.proof.probe import Probe, estimates


def probes(rng, effects, n=600, recalled=4):
    made = []
    names = list(effects)
    for _ in range(n):
        eligible = rng.choice(len(names), recalled, replace=False)
        shown = {names[i]: bool(rng.random() < 0.5) for i in eligible}
        chance = np.clip(0.5 + sum(effects[name] for name, on in shown.items() if on), 0, 1)
        made.append(Probe(float(rng.random() < chance) - 0.5, shown, dict.fromkeys(shown, 0.5)))
    return made


def test_good_and_bad_lessons_are_told_apart():
    rng = np.random.default_rng(0)
    effects = {"good": 0.3, "bad": -0.3, **{f"none{i}": 0.0 for i in range(6)}}
    found = estimates(probes(rng, effects, 1500)).lessons
    by_name = {one.lesson_id: one for one in found}
    assert found[0].lesson_id == "good"
    assert found[-1].lesson_id == "bad"
    assert by_name["good"].kept
    assert not by_name["bad"].kept
    assert abs(by_name["good"].effect - 0.3) < 0.1


def test_without_any_effect_estimates_shrink_towards_their_mean():
    rng = np.random.default_rng(1)
    found = estimates(probes(rng, {f"none{i}": 0.0 for i in range(10)}, 400)).lessons
    assert np.std([one.effect for one in found]) < 0.6 * np.std([one.raw for one in found])


def test_nothing_to_estimate():
    assert estimates([]).lessons == ()
    always = [Probe(1.0, {"a": True}, {"a": 1.0}) for _ in range(10)]
    assert estimates(always).lessons == ()
    assert estimates(always).keeps("a")  # the gate decides


def test_a_lesson_that_was_not_probed_is_judged_by_the_others():
    rng = np.random.default_rng(2)
    helpful = estimates(probes(rng, {f"good{i}": 0.12 for i in range(6)}, 1500, recalled=2))
    harmful = estimates(probes(rng, {f"bad{i}": -0.12 for i in range(6)}, 1500, recalled=2))
    assert helpful.keeps("another")
    assert not harmful.keeps("another")
