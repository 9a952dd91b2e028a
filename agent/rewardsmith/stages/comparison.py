"""Statistics of the final comparison: interquartile mean, interval, human-normalised score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from rewardsmith.types import FloatArray

N_RESAMPLES = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean over seeds with its uncertainty.

    Attributes:
        iqm: interquartile mean of the seeds' values (Agarwal et al., 2021).
        low: lower end of the 95 % percentile bootstrap interval over seeds; None for fewer than two seeds.
        high: upper end, or None.
        n: number of seeds.
    """

    iqm: float
    low: float | None
    high: float | None
    n: int


def interquartile_mean(values: Sequence[float]) -> Interval:
    """Return the interquartile mean of one value for each seed, with a 95 % interval."""
    data = np.asarray(values, dtype=np.float64)
    iqm = float(stats.trim_mean(data, 0.25))
    if len(data) < 2:
        return Interval(iqm=iqm, low=None, high=None, n=len(data))
    if np.ptp(data) == 0.0:
        return Interval(iqm=iqm, low=iqm, high=iqm, n=len(data))
    result = stats.bootstrap(
        (data,),
        lambda x, axis: stats.trim_mean(x, 0.25, axis=axis),
        n_resamples=N_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    low, high = result.confidence_interval
    return Interval(iqm=iqm, low=float(low), high=float(high), n=len(data))


def mean_difference(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], spans: Sequence[float]
) -> Interval | None:
    """Return by how much the first exceeds the second, averaged over tasks, each in units of its span.

    Args:
        first: for each task one value for each seed.
        second: the same of what it is compared with.
        spans: of each task, the difference in fitness that counts as one.

    Returns:
        The mean of the differences of means (as `iqm`), with a 95 % percentile bootstrap interval, stratified
        by task: seeds are drawn anew within each task and side. None where a task has fewer than two seeds on
        a side.
    """
    samples = [
        np.asarray(values, dtype=np.float64) for pair in zip(first, second, strict=True) for values in pair
    ]
    if not samples or min(map(len, samples)) < 2:
        return None

    def statistic(*drawn: FloatArray, axis: int = -1) -> FloatArray:
        gaps = [
            (np.mean(drawn[2 * i], axis=axis) - np.mean(drawn[2 * i + 1], axis=axis)) / span
            for i, span in enumerate(spans)
        ]
        return np.asarray(np.mean(gaps, axis=0))

    found = float(statistic(*samples))
    if all(np.ptp(values) == 0.0 for values in samples):
        return Interval(iqm=found, low=found, high=found, n=min(map(len, samples)))
    result = stats.bootstrap(
        samples, statistic, n_resamples=N_RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    )
    low, high = result.confidence_interval
    return Interval(iqm=found, low=float(low), high=float(high), n=min(map(len, samples)))


def human_normalised(
    method: Sequence[float], human: Sequence[float], sparse: Sequence[float]
) -> float | None:
    """Return (method - sparse) / |human - sparse| of the means, as Eureka (Ma et al., 2023) defines it.

    Returns:
        None unless the human reward exceeds the sparse one by more than two standard errors; telling that
        takes at least two seeds of each.
    """
    if min(len(human), len(sparse)) < 2:
        return None
    gap = float(np.mean(human) - np.mean(sparse))
    error = math.sqrt(_squared_error(human) + _squared_error(sparse))
    if gap <= 2.0 * error or gap == 0.0:
        return None
    return float((np.mean(method) - np.mean(sparse)) / gap)


def _squared_error(values: Sequence[float]) -> float:
    return float(np.var(values, ddof=1) / len(values))
