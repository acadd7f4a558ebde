"""The controllers of elasticity, for a daemon over a cluster: replicas, nodes and requests."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from stretto.api.kinds.table import scheduled_kinds
from stretto.api.wire.kinds import (
    NODE,
    NODE_OVERCOMMIT_CONFIG,
    POD,
    SCALING_POLICY,
    TIDE_NODE_POOL,
    VERTICAL_CHECKPOINT,
    VERTICAL_POD_AUTOSCALER,
    Kind,
)
from stretto.base.clock import Clock
from stretto.capacity.overcommit.matched import MatchedNodesController
from stretto.capacity.scaling.controller import ScalingController
from stretto.capacity.scaling.targets import TARGETS
from stretto.capacity.tides.controller import TideController
from stretto.capacity.vertical.controller import VerticalController
from stretto.capacity.vertical.pods import FOLLOWED
from stretto.capacity.vertical.source import DEFAULT_RECOMMENDER, VerticalSource
from stretto.daemons.controllers.daemon import LeaderTools
from stretto.daemons.controllers.metrics import loop_families
from stretto.explain.metrics.tally import MetricFamily
from stretto.plane.config import PlaneConfig
from stretto.plane.placements import PlacementTrial
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.loop import ReconcileLoop
from stretto.reconcile.usage import RequestedUse
from stretto.stores.store import Record

_PREFIX: Final = "stretto_scaler_"
_NAME: Final = "cluster"


class ScalerPart(StrEnum):
    """A controller of the process."""

    #: Divides the replicas of ScalingPolicies.
    SCALING = "scaling"
    #: Switches the nodes of TideNodePools.
    TIDES = "tides"
    #: Lists the nodes of NodeOvercommitConfigs.
    OVERCOMMIT = "overcommit"
    #: Recommends the requests of containers to VerticalPodAutoscalers.
    VERTICAL = "vertical"


_CONFIGURED_BY: Final = {
    ScalerPart.SCALING: SCALING_POLICY,
    ScalerPart.TIDES: TIDE_NODE_POOL,
    ScalerPart.OVERCOMMIT: NODE_OVERCOMMIT_CONFIG,
    ScalerPart.VERTICAL: VERTICAL_POD_AUTOSCALER,
}


class ScalerConfig(NamedTuple):
    """Configuration of a scaler process."""

    #: Its controllers.
    parts: frozenset[ScalerPart]
    #: The scheduler that tries node switches first.
    plane: PlaneConfig
    #: Name of the recommender in ``spec.recommenders`` of VerticalPodAutoscalers.
    recommender: str = DEFAULT_RECOMMENDER


class ScalerTerms:
    """Starts the controllers for each term of leadership."""

    def __init__(self, config: ScalerConfig, clock: Clock) -> None:
        """Create the terms; no controller is started."""
        self._config = config
        self._clock = clock

    def start(self, tools: LeaderTools) -> "ScalerControllers":
        """Start controllers that have listed all the kinds they read, and have no other state.

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
        if ScalerPart.OVERCOMMIT in self._config.parts:
            loop.add_controllers([MatchedNodesController(cache)])
        if ScalerPart.VERTICAL in self._config.parts:
            use = RequestedUse(tools.usage, self._clock)
            source = VerticalSource(use, self._config.recommender)
            loop.add_controllers([VerticalController(cache, self._clock, source)])
        return ScalerControllers(loop, cache, _acted_for(self._config.parts))


class ScalerControllers:
    """The controllers in one term of leadership."""

    def __init__(self, loop: ReconcileLoop, cache: StoreCache, kinds: Sequence[Kind]) -> None:
        """Run the controllers of a loop, which read a cache and act for objects of ``kinds``."""
        #: The loop that runs the controllers.
        self.loop = loop
        self._cache = cache
        self._kinds = kinds

    def in_flight(self) -> bool:
        """Return whether a write has no answer yet.

        Always False, because each write is synchronous.
        """
        return False

    def synced(self) -> Mapping[str, int]:
        """The number of objects of each kind that the controllers act for."""
        return {kind.plural: len(self._cache.follow(kind)) for kind in self._kinds}

    def families(self, now: float) -> Iterator[MetricFamily]:
        """All metrics at a monotonic time in seconds."""
        return loop_families(_PREFIX, self.loop, now)

    def troubles(self) -> Iterator[tuple[str, str]]:
        """Kinds that the server no longer allows to read."""
        for kind, text in self._cache.refused.items():
            yield f"list {kind.resource}", text

    def close(self) -> None:
        """Stop reading the cluster."""
        self.loop.remove_store(_NAME)


def _acted_for(parts: frozenset[ScalerPart]) -> tuple[Kind, ...]:
    """The kinds whose objects configure controllers."""
    return tuple(kind for part, kind in _CONFIGURED_BY.items() if part in parts)


def _read_by(parts: frozenset[ScalerPart]) -> tuple[Kind, ...]:
    """The kinds that controllers read."""
    scaling = (SCALING_POLICY, *TARGETS.values(), POD) if ScalerPart.SCALING in parts else ()
    tides = (TIDE_NODE_POOL, *scheduled_kinds()) if ScalerPart.TIDES in parts else ()
    nodes = (NODE_OVERCOMMIT_CONFIG, NODE) if ScalerPart.OVERCOMMIT in parts else ()
    vertical: tuple[Kind, ...] = ()
    if ScalerPart.VERTICAL in parts:
        vertical = (VERTICAL_POD_AUTOSCALER, VERTICAL_CHECKPOINT, *FOLLOWED)
    return tuple(dict.fromkeys((*scaling, *tides, *nodes, *vertical)))


def _records(cache: StoreCache) -> list[Record]:
    """The state of the cluster that a scheduler reads."""
    return [each.record for kind in scheduled_kinds() for each in cache.follow(kind)]
