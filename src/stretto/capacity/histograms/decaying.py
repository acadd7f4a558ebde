"""A histogram of use in which old samples lose weight.

Source: the Vertical Pod Autoscaler's ``util/histogram`` and ``util/decaying_histogram``. Buckets
grow exponentially. The weight of a sample halves with each half-life. Instead of shrinking old
weights, new samples get larger ones, and all weights are scaled by a power of two before floats
overflow.
"""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

STEEPEST: Final = 100.0
"""Number of half-lives after which weights are scaled.

2 to this power is far from the largest float.
"""


STORED_WEIGHT: Final = 10_000
"""The largest weight of a stored histogram."""


class StoredHistogram(msgspec.Struct, frozen=True):
    """A histogram in a few numbers, so that it survives a restart."""

    #: Whole weights by bucket.
    weights: dict[int, int]
    #: Sum of the original weights.
    total: float
    #: Time at which a sample has a factor of 1, in seconds.
    reference_s: float


class BucketScale(msgspec.Struct, frozen=True):
    """Exponential buckets."""

    #: Size of the first bucket.
    first: float
    #: Ratio of the size of a bucket to the size of the previous one.
    ratio: float
    #: Largest value below the last bucket.
    most: float

    @property
    def count(self) -> int:
        """Number of buckets."""
        return math.ceil(self._position(self.most)) + 1

    def find(self, value: float) -> int:
        """Bucket of a value; values beyond the largest one are in the last bucket."""
        if value < self.first:
            return 0
        return min(int(self._position(value)), self.count - 1)

    def start(self, bucket: int) -> float:
        """Lowest value of a bucket."""
        if bucket == 0:
            return 0.0
        return self.first * (self.ratio**bucket - 1) / (self.ratio - 1)

    def _position(self, value: float) -> float:
        return math.log(value * (self.ratio - 1) / self.first + 1, self.ratio)


class HistogramSample(NamedTuple):
    """One sample of a histogram."""

    #: Measured value.
    value: float
    #: Weight without decay.
    weight: float
    #: Time of the measurement, in seconds.
    at_s: float


class DecayingHistogram:
    """Weights of samples by bucket."""

    def __init__(self, scale: BucketScale, half_life_s: float, epsilon: float = 1e-4) -> None:
        """Start empty.

        Args:
            scale: buckets.
            half_life_s: seconds in which the weight of a sample halves.
            epsilon: a bucket with less weight counts as empty at the ends of the histogram.
        """
        self._scale = scale
        self._half_life_s = half_life_s
        self._epsilon = epsilon
        self._weights: dict[int, float] = {}
        self._total = 0.0
        #: Time at which a sample has a factor of 1, in seconds.
        self._reference_s = 0.0
        #: Latest value and its bucket, because idle subjects repeat their value.
        self._last_value, self._last_bucket = math.nan, 0

    @property
    def is_empty(self) -> bool:
        """True if no bucket has weight."""
        return not any(weight >= self._epsilon for weight in self._weights.values())

    def add(self, value: float, weight: float, at_s: float) -> None:
        """Add a sample that was measured at time ``at_s``."""
        steps = (at_s - self._reference_s) / self._half_life_s
        if steps > STEEPEST:
            self._move_reference(at_s)
            steps = (at_s - self._reference_s) / self._half_life_s
        grown: float = weight * 2.0**steps
        if value != self._last_value:
            self._last_value, self._last_bucket = value, self._scale.find(value)
        bucket = self._last_bucket
        self._weights[bucket] = self._weights.get(bucket, 0.0) + grown
        self._total += grown

    def subtract(self, sample: HistogramSample) -> None:
        """Subtract a sample; a remainder below epsilon becomes 0."""
        self._total = self._taken(self._weights, self._total, sample)

    def stored(self, without: Iterable[HistogramSample] = ()) -> "StoredHistogram":
        """Convert to whole weights up to :data:`STORED_WEIGHT`; small weights are lost.

        Args:
            without: samples that are not stored.
        """
        kept, total = dict(self._weights), self._total
        for each in without:
            total = self._taken(kept, total, each)
        largest = max(kept.values(), default=0.0)
        ratio = STORED_WEIGHT / largest if largest else 0.0
        weights = {key: math.floor(each * ratio + 0.5) for key, each in kept.items()}
        return StoredHistogram(
            {bucket: weight for bucket, weight in weights.items() if weight},
            total,
            self._reference_s,
        )

    def restore(self, stored: "StoredHistogram") -> None:
        """Replace all weights by stored ones."""
        whole = sum(stored.weights.values())
        self._weights = {
            bucket: weight * stored.total / whole for bucket, weight in stored.weights.items()
        }
        self._total, self._reference_s = stored.total, stored.reference_s

    def percentile(self, part: float) -> float:
        """Value below which ``part`` of the weight is: the end of its bucket.

        The last bucket has no end, so its start is returned. The result of an empty histogram is 0.
        """
        used = [each for each, weight in self._weights.items() if weight >= self._epsilon]
        if not used:
            return 0.0
        least, most = min(used), max(used)
        found, threshold = 0.0, part * self._total
        for bucket in range(least, most + 1):
            found += self._weights.get(bucket, 0.0)
            if found >= threshold:
                break
        return self._scale.start(min(bucket + 1, self._scale.count - 1))

    def _taken(self, weights: dict[int, float], total: float, sample: HistogramSample) -> float:
        """Subtract a sample from weights; return the total without it."""
        grown = sample.weight * 2.0 ** ((sample.at_s - self._reference_s) / self._half_life_s)
        bucket = self._scale.find(sample.value)
        weights[bucket] = self._less(weights.get(bucket, 0.0), grown)
        return self._less(total, grown)

    def _less(self, weight: float, taken: float) -> float:
        left = weight - taken
        return left if left >= self._epsilon else 0.0

    def _move_reference(self, at_s: float) -> None:
        """Move the reference time by whole half-lives to ``at_s`` and scale all weights."""
        steps = math.floor((at_s - self._reference_s) / self._half_life_s + 0.5)
        factor = 2.0**-steps
        self._weights = {bucket: each * factor for bucket, each in self._weights.items()}
        self._total *= factor
        self._reference_s += steps * self._half_life_s
