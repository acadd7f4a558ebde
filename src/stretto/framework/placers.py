"""Creates the placement engine of each shard, for any rules.

``engine.runtime.Runtime`` decides by class, with cached scores; ``parity.runtime.ParityRuntime``
decides by pod, with kube-scheduler's own rules. A shard has one of the two.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.sampling import SamplingStage, sampling_of
from stretto.framework.engine.turns import PlacingStage
from stretto.framework.groups.mixed import MixedGangStage
from stretto.framework.groups.pinned import PinnedStage
from stretto.framework.groups.stage import GroupStage
from stretto.framework.model.cached_facts import PodFactsCache
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.parity.victims import ParityVictimFinder
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.preemption.finder import VictimFinder
from stretto.framework.preemption.terms import EvictionTerms
from stretto.framework.preemption.tiers import search_of
from stretto.framework.preemption.volumes import VolumeVictimFinder
from stretto.framework.volumes.rules import VolumeRules
from stretto.framework.volumes.stage import VolumeStage
from stretto.state.rows.snapshot import Columns
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.units import Units

Finder = VictimFinder | ParityVictimFinder
"""Finds victims for unschedulable pods."""


class Placer(Protocol):
    """The engine with which one shard places pods, on its own snapshot."""

    #: uint8[block]: blocks of the shard's own partition; all of them without a partition.
    own_block: npt.NDArray[np.uint8]

    @property
    def columns(self) -> Columns:
        """Amounts, generations and versions by slot in the snapshot."""
        ...

    def sync(self) -> None:
        """Update the snapshot."""

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the snapshot, in order; the snapshot includes the result immediately."""
        ...

    def capacity(self, class_id: int) -> int:
        """Upper bound of the number of pods of a class that fit at present; 0 means none."""
        ...


class PlacerFactory:
    """Creates the runtimes for the shards of one profile."""

    def __init__(self, engine: CompiledProfile, tier: str, units: Units | None = None) -> None:
        """Use the state that the shards share; ``tier`` names the kernels.

        ``units`` maps pods to units.
        """
        self._units = units
        self._engine = engine
        self._tier = tier
        self._fact_cache = PodFactsCache(engine.cluster)

    def new(self, rng: Rng) -> Placer:
        """Create a runtime with its own snapshot."""
        if self._engine.profile.exact:
            return ParityRuntime(self._engine.cluster, self._fact_cache)
        return self.by_class(rng)

    def by_class(self, rng: Rng) -> Runtime:
        """Create a runtime that decides by class."""
        return Runtime(self._engine, rng, self._tier, self._stages)

    def _stages(self, runtime: Runtime) -> Sequence[PlacingStage]:
        """The stages for units that a score alone cannot decide, in order."""
        groups, profile = GroupStage(runtime, self._units), self._engine.profile
        sampling = sampling_of(profile, self._engine.cluster.nodes)
        return [
            PinnedStage(runtime),
            MixedGangStage(runtime, groups),
            *([VolumeStage(runtime, groups.places)] if profile.needs_volumes else []),
            groups,
            *([SamplingStage(runtime, sampling)] if sampling is not None else []),
        ]

    def law(self) -> ParityRuntime | None:
        """Validator of claims if resources do not suffice for validation; ``None`` if they do."""
        if not self._engine.profile.exact:
            return None
        return ParityRuntime(self._engine.cluster, self._fact_cache)

    def volumes(self) -> VolumeRules | None:
        """Validator of volumes if resources decide the rest; ``None`` for no volumes."""
        profile = self._engine.profile
        if profile.exact or not profile.needs_volumes:
            return None
        names = frozenset(r.NAME for r in profile.filters if isinstance(r, VolumeRule))
        return VolumeRules(self._engine.cluster, names)

    def finder(
        self, placer: Placer, terms: EvictionTerms, budgets: BudgetLedger, clock: Clock
    ) -> Finder:
        """The victim finder for pods that a runtime does not place."""
        if isinstance(placer, ParityRuntime):
            return ParityVictimFinder(self._engine.cluster, placer, terms, budgets, clock)
        assert isinstance(placer, Runtime)
        volumes, searches = self.volumes(), search_of(self._tier)
        if volumes is None:
            return VictimFinder(placer, terms, budgets, clock, searches)
        found = VolumeVictimFinder(placer, terms, budgets, clock, searches)
        found.use(volumes)
        return found
