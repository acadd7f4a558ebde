"""The controllers of scaling groups and tidal pools, for a daemon over a cluster."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from stretto.api.kinds.table import scheduled_kinds
from stretto.api.wire.kinds import POD, SCALING_POLICY, TIDE_NODE_POOL, Kind
from stretto.base.clock import Clock
from stretto.capacity.scaling.controller import ScalingController
from stretto.capacity.scaling.targets import TARGETS
from stretto.capacity.tides.controller import TideController
from stretto.daemons.controllers.daemon import LeaderTools
from stretto.daemons.controllers.metrics import loop_families
from stretto.explain.metrics.tally import MetricFamily
from stretto.plane.config import PlaneConfig
from stretto.plane.placements import PlacementTrial
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.store import Record

_PREFIX: Final = "stretto_scaler_"
_NAME: Final = "cluster"


class ScalerPart(StrEnum):
    """A controller of the process."""

    #: Divides the replicas of ScalingPolicies.
    SCALING = "scaling"
    #: Switches the nodes of TideNodePools.
    TIDES = "tides"


class ScalerConfig(NamedTuple):
    """What a process runs."""

    #: Its controllers.
    parts: frozenset[ScalerPart]
    #: The scheduler that tries switches first.
    plane: PlaneConfig


class ScalerTerms:
    """Starts the controllers for each term of leadership."""

    def __init__(self, config: ScalerConfig, clock: Clock) -> None:
        """Controllers that are not started."""
        self._config = config
        self._clock = clock

    def start(self, tools: LeaderTools) -> "ScalerControllers":
        """Controllers that have listed all that they read, and remember nothing else.

        Raises:
            NotAllowedError: a required permission is missing.
        """
        loop = ReconcileLoop(self._clock, wake=tools.wake)
        cache = loop.add_store(_NAME, tools.store)
        for kind in _read_by(self._config.parts):
            cache.follow_synced(kind)
        if ScalerPart.SCALING in self._config.parts:
            loop.add_controllers([ScalingController(cache, self._clock)])
        if ScalerPart.TIDES in self._config.parts:
            trial = PlacementTrial(self._config.plane, lambda: _records(cache))
            loop.add_controllers([TideController(cache, self._clock, trial.placed)])
        return ScalerControllers(loop, cache)


class ScalerControllers:
    """The controllers in one term of leadership."""

    def __init__(self, loop: ReconcileLoop, cache: StoreCache) -> None:
        """Those of a loop, which read a cache."""
        #: What runs them.
        self.loop = loop
        self._cache = cache

    def in_flight(self) -> bool:
        """Whether a write has no answer yet: each waits for its answer."""
        return False

    def synced(self) -> Mapping[str, int]:
        """The number of objects of each kind that they act for."""
        kinds = [kind for kind in (SCALING_POLICY, TIDE_NODE_POOL) if kind in self._cache.kinds]
        return {kind.plural: len(self._cache.follow(kind)) for kind in kinds}

    def families(self, now: float) -> Iterator[MetricFamily]:
        """All metrics at a monotonic time in seconds."""
        return loop_families(_PREFIX, self.loop, now)

    def troubles(self) -> Iterator[tuple[str, str]]:
        """Kinds that the server does not allow to read any more."""
        for kind, text in self._cache.refused.items():
            yield f"list {kind.resource}", text

    def close(self) -> None:
        """Stop reading the cluster."""
        self.loop.remove_store(_NAME)


def _read_by(parts: frozenset[ScalerPart]) -> tuple[Kind, ...]:
    """The kinds that controllers read."""
    scaling = (SCALING_POLICY, *TARGETS.values(), POD) if ScalerPart.SCALING in parts else ()
    tides = (TIDE_NODE_POOL, *scheduled_kinds()) if ScalerPart.TIDES in parts else ()
    return tuple(dict.fromkeys((*scaling, *tides)))


def _records(cache: StoreCache) -> list[Record]:
    """The state of the cluster that a scheduler reads."""
    return [each.record for kind in scheduled_kinds() for each in cache.follow(kind)]
