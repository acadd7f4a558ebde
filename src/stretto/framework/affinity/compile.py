"""Compiles the inter-pod rules of pod classes into constraints, tallies and populations.

All shards of a profile share one compilation, which adds each class when it first appears. Arrays
only grow. Everything is recompiled when populations are renumbered or when the domains of a key
exceed the allocated capacity.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.wire.labels import HOSTNAME_LABEL
from stretto.framework.affinity.domains import DomainMap
from stretto.framework.compiled.domain_tables import (
    CAP,
    EVERYWHERE,
    NO_TALLY,
    ConstraintKind,
    DomainTable,
)
from stretto.framework.contract.rule import FilterRule, ScoreRule
from stretto.state.classes.table import PodClass
from stretto.state.classes.terms import NO_POPULATION, ClassTerms, SpreadConstraint
from stretto.state.cluster.cluster import Cluster

AFFINITY: Final = "InterPodAffinity"
"""Rule whose weight applies to preferred terms."""
SPREAD: Final = "PodTopologySpread"
"""Rule whose weight applies to soft constraints."""
FIRST_CAPACITY: Final = 8
"""Initial number of domains per tally; doubled when a key has more."""

PARTS: Final = 6
"""Number of values per constraint."""
Constraint = tuple[ConstraintKind, int, int, int, int, int]
"""Kind, tally, key and three numbers, in the layout of ``DomainTable``."""


class InterPodWeights(NamedTuple):
    """Use of the inter-pod rules by a profile."""

    #: True if inter-pod affinity filters nodes.
    affinity_filters: bool
    #: True if topology spread filters nodes.
    spread_filters: bool
    #: Weight of the affinity score; 0 disables it.
    affinity: int
    #: Weight of the topology spread score; 0 disables it.
    spread: int


class DomainTables:
    """Keeps ``DomainTable`` up to date with the requested classes."""

    def __init__(self, cluster: Cluster, weights: InterPodWeights) -> None:
        """Start without compiled classes."""
        #: Keys and masks.
        self.key_domains = DomainMap(cluster)
        #: Use of the rules by the profile.
        self.weights = weights
        #: Increases when the tallies get a new layout.
        self.layout: int = 0
        self._cluster = cluster
        self._seen = (-1, -1)
        self._reset()

    def _reset(self) -> None:
        self.layout += 1
        self._serial: npt.NDArray[np.int64] = np.zeros(64, np.int64)
        self._start = _GrowingColumn(64)
        self._stop = _GrowingColumn(64)
        self._counted_start = _GrowingColumn(64)
        self._counted_stop = _GrowingColumn(64)
        self._constraints = [_GrowingColumn(64) for _ in range(PARTS)]
        self._counted = _GrowingColumn(64)
        self._tally = {
            name: _GrowingColumn(64) for name in ("population", "key", "mask", "next", "offset")
        }
        self._first = _GrowingColumn(64)
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._capacities: list[int] = []
        #: Number of entries in the sums of all tallies.
        self.length: int = 0

    @property
    def tallies(self) -> int:
        """Number of tallies."""
        return self._tally["key"].length

    def ensure(self, class_ids: Iterable[int]) -> None:
        """Compile the given classes if needed."""
        key_domains, classes = self.key_domains, self._cluster.classes
        key_domains.catch_up()
        seen = (self._cluster.domains.epoch, key_domains.layout)
        if seen != self._seen or self._has_outgrown():
            self._seen = seen
            self._reset()
        for class_id in class_ids:
            pod = classes[class_id]
            if class_id >= len(self._serial):
                more = np.zeros(max(class_id + 1, 2 * len(self._serial)), np.int64)
                more[: len(self._serial)] = self._serial
                self._serial = more
            if self._serial[class_id] != pod.serial:
                self._compile(pod)
                self._serial[class_id] = pod.serial

    def table(self) -> DomainTable:
        """The current arrays."""
        key_domains, tally = self.key_domains, self._tally
        kind, number, key, first, second, third = (each.used for each in self._constraints)
        return DomainTable(
            self._start.used,
            self._stop.used,
            kind,
            number,
            key,
            first,
            second,
            third,
            self._counted_start.used,
            self._counted_stop.used,
            self._counted.used,
            self._first_tally_of(),
            tally["next"].used,
            tally["population"].used,
            tally["key"].used,
            tally["mask"].used,
            tally["offset"].used,
            key_domains.domain,
            key_domains.block_domain,
            key_domains.domains,
            key_domains.is_host,
            key_domains.is_even,
            key_domains.mask,
            self.weights.affinity,
            self.weights.spread,
            self.layout,
        )

    def capacity(self, tally: int) -> int:
        """Number of entries allocated for the sums of one tally."""
        return self._capacities[int(self._tally["key"].used[tally])]

    def _first_tally_of(self) -> npt.NDArray[np.int32]:
        self._first.fit(len(self._cluster.domains.populations), -1)
        return self._first.used

    def _has_outgrown(self) -> bool:
        sizes = self.key_domains.domains.tolist()
        return any(
            capacity < size
            for capacity, size, host in zip(
                self._capacities, sizes, self.key_domains.is_host.tolist(), strict=False
            )
            if not host
        )

    # ------------------------------------------------------------ one class

    def _compile(self, pod: PodClass) -> None:
        wants = pod.terms
        start = self._constraints[0].length
        found = self._constraints_of(pod, wants)
        host = self.key_domains.is_host
        judged = sorted(found, key=lambda each: (not host[each[2]], each[2]))
        for each in judged:
            for column, value in zip(self._constraints, each, strict=True):
                column.append(int(value))
        first = self._counted.length
        for population in wants.counted:
            self._counted.append(population)
        for span, value in (
            (self._start, start),
            (self._stop, start + len(judged)),
            (self._counted_start, first),
            (self._counted_stop, self._counted.length),
        ):
            span.fit(pod.id + 1, 0)
            span.used[pod.id] = value

    def _constraints_of(self, pod: PodClass, wants: ClassTerms) -> list[Constraint]:
        weights = self.weights
        if wants.malformed and (weights.affinity_filters or weights.spread_filters):
            return [(ConstraintKind.NEVER, NO_TALLY, self._key(HOSTNAME_LABEL), 0, 0, 0)]
        found: list[Constraint] = []
        if weights.affinity_filters:
            for key in wants.affinity_keys:
                tally = self._number(wants.affinity_population, self._key(key), EVERYWHERE)
                found.append(
                    (ConstraintKind.NEAR, tally, self._key(key), int(wants.selects_itself), 0, 0)
                )
            for key, population in dict.fromkeys(
                (*wants.anti_affinity, *wants.running_anti_affinity)
            ):
                tally = self._number(population, self._key(key), EVERYWHERE)
                found.append((ConstraintKind.FAR, tally, self._key(key), 0, 0, 0))
        if weights.spread_filters:
            for each in wants.hard:
                tally = self._spread_tally(pod, each, wants.hard)
                at, least = self._key(each.key), max(each.least, 1)
                found.append((ConstraintKind.HARD, tally, at, each.skew, each.own, least))
        if weights.spread:
            among = () if wants.from_defaults else wants.soft
            for each in wants.soft:
                tally = self._spread_tally(pod, each, among)
                at, count = self._key(each.key), len(wants.soft)
                found.append((ConstraintKind.SOFT, tally, at, each.skew, count, 0))
        if weights.affinity:
            found += self._preferences(wants)
        return found

    def _preferences(self, wants: ClassTerms) -> list[Constraint]:
        """Preferred terms, summed by key and population, with the largest weight of each key."""
        sums: dict[tuple[str, int], int] = {}
        largest: dict[str, int] = {}
        for key, population, weight in wants.preferences:
            sums[key, population] = sums.get((key, population), 0) + weight
            largest[key] = max(largest.get(key, 0), abs(weight))
        total = sum(largest.values())
        return [
            (
                ConstraintKind.PREFERRED,
                self._number(population, self._key(key), EVERYWHERE),
                self._key(key),
                weight,
                largest[key],
                total,
            )
            for (key, population), weight in sums.items()
        ]

    def _spread_tally(
        self, pod: PodClass, spread: SpreadConstraint, among: tuple[SpreadConstraint, ...]
    ) -> int:
        if spread.population == NO_POPULATION:
            return NO_TALLY
        keys = tuple(sorted({self._key(each.key) for each in among}))
        mask = self.key_domains.mask_of(
            pod, keys, by_affinity=spread.by_affinity, by_taints=spread.by_taints
        )
        return self._number(spread.population, self._key(spread.key), mask)

    def _key(self, name: str) -> int:
        number = self.key_domains.key(name)
        while len(self._capacities) <= number:
            capacity = FIRST_CAPACITY
            while capacity < 2 * len(self.key_domains.values[len(self._capacities)]):
                capacity *= 2
            self._capacities.append(
                CAP if self.key_domains.is_host[len(self._capacities)] else capacity
            )
        return number

    def _number(self, population: int, key: int, mask: int) -> int:
        """Tally of a population by a key over a mask, created on first use."""
        found = self._numbers.get((population, key, mask))
        if found is not None:
            return found
        self._numbers[population, key, mask] = found = self.tallies
        self._first.fit(population + 1, -1)
        made = {
            "population": population,
            "key": key,
            "mask": mask,
            "next": int(self._first.used[population]),
            "offset": self.length,
        }
        for name, value in made.items():
            self._tally[name].append(value)
        self._first.used[population] = found
        self.length += self._capacities[key]
        return found


class _GrowingColumn:
    """An int32 column that grows at its end."""

    def __init__(self, capacity: int) -> None:
        self._array: npt.NDArray[Any] = np.zeros(capacity, np.int32)
        #: Number of entries in use.
        self.length = 0

    @property
    def used(self) -> npt.NDArray[np.int32]:
        """The entries in use: a view that is valid until the column grows."""
        return self._array[: self.length]

    def append(self, value: int) -> None:
        self.fit(self.length + 1, 0)
        self._array[self.length - 1] = value

    def fit(self, length: int, empty: int) -> None:
        """Grow to at least the given number of entries; fill new ones with ``empty``."""
        if length > len(self._array):
            more = np.zeros(max(length, 2 * len(self._array)), np.int32)
            more[: self.length] = self._array[: self.length]
            self._array = more
        if length > self.length:
            self._array[self.length : length] = empty
            self.length = length


def weights_of(
    filters: Iterable[FilterRule], scores: Iterable[tuple[ScoreRule, int]]
) -> InterPodWeights:
    """The inter-pod rules of a profile, selected by plugin name."""
    names = {rule.NAME for rule in filters}
    weights = {rule.NAME: weight for rule, weight in scores}
    return InterPodWeights(
        AFFINITY in names, SPREAD in names, weights.get(AFFINITY, 0), weights.get(SPREAD, 0)
    )
