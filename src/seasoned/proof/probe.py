"""The effect of each lesson, estimated from attempts in which each recalled lesson was withheld at random.

This certifies nothing: it selects lessons for a candidate, and the gate decides on that. Always holds: functions are
pure; a lesson that was never withheld, or never shown, has no estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KEEP = 0.25
"""A lesson is kept if its estimate is above this share of its posterior standard deviation."""


@dataclass(frozen=True)
class Probe:
    """One attempt: its outcome minus the baseline's at the same task.

    For each eligible lesson, it has whether the lesson was shown, and the probability of that.
    """

    gain: float
    shown: Mapping[str, bool]
    chances: Mapping[str, float]


@dataclass(frozen=True)
class Estimate:
    """The effect of one lesson (0.1 is ten points): raw, shrunk towards the mean of all, and its uncertainty."""

    lesson_id: str
    raw: float
    effect: float
    deviation: float
    uses: int

    @property
    def kept(self) -> bool:
        """Whether the lesson is worth a place in a candidate."""
        return self.effect > KEEP * self.deviation


@dataclass(frozen=True)
class Estimates:
    """The effects of all probed lessons, most helpful first, and the prior for other lessons."""

    lessons: tuple[Estimate, ...] = ()
    mean: float = 0.0
    deviation: float = 0.0

    def keeps(self, lesson_id: str) -> bool:
        """Whether a lesson is worth a place in a candidate; one without an estimate is judged by the others.

        If nothing was estimated, every lesson is kept, and the gate decides.
        """
        known = next((one for one in self.lessons if one.lesson_id == lesson_id), None)
        return known.kept if known else not self.lessons or self.mean > KEEP * self.deviation


def estimates(probes: Sequence[Probe]) -> Estimates:
    """The effect of each lesson.

    The outcome minus the baseline is regressed on centred inclusion (shown minus its probability), with a small ridge
    penalty so that lessons that always come together share their effect. Raw effects t_j with errors se_j are then
    shrunk towards their mean: mu + s^2 / (s^2 + se_j^2) (t_j - mu), with s^2 the spread of the effects beyond their
    errors (DerSimonian and Laird's moment estimate).
    """
    import numpy as np

    names = sorted({name for probe in probes for name in probe.shown})
    both = [name for name in names if len({probe.shown[name] for probe in probes if name in probe.shown}) == 2]
    if not both or len(probes) < 3:
        return Estimates()
    design = np.array([[_centred(probe, name) for name in both] for probe in probes])
    gain = np.array([probe.gain for probe in probes])
    gain = gain - gain.mean()
    square = design.T @ design
    ridge = square + 0.5 * np.eye(len(both))
    raw = np.linalg.solve(ridge, design.T @ gain)
    inverse = np.linalg.inv(ridge)
    free = max(len(probes) - len(both) - 1, 1)
    noise = max(float(((gain - design @ raw) ** 2).sum()) / free, 1e-6)
    error = np.sqrt(np.maximum(np.diag(noise * inverse @ square @ inverse), 1e-9))
    weights = error**-2
    mean = float((weights * raw).sum() / weights.sum())
    excess = float((weights * (raw - mean) ** 2).sum()) - (len(both) - 1)
    spread = max(0.0, excess / float(weights.sum() - (weights**2).sum() / weights.sum())) if len(both) > 1 else 0.0
    share = spread / (spread + error**2)
    shrunk = mean + share * (raw - mean)
    # The remaining error after shrinking, and the error of the mean itself.
    deviation = np.sqrt(share * error**2 + (1 - share) ** 2 / weights.sum())
    uses = [sum(name in probe.shown for probe in probes) for name in both]
    effects = [
        Estimate(name, float(raw[i]), float(shrunk[i]), float(deviation[i]), uses[i]) for i, name in enumerate(both)
    ]
    effects.sort(key=lambda one: (-one.effect, one.lesson_id))
    return Estimates(tuple(effects), mean, float(np.sqrt(spread + 1 / weights.sum())))


def _centred(probe: Probe, name: str) -> float:
    return float(probe.shown[name]) - probe.chances.get(name, 0.5) if name in probe.shown else 0.0
