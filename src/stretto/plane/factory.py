"""Builds the parts of a plane that a restart or a role replaces: loops, binder, evictor."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from stretto.base.clock import Clock
from stretto.base.failpoints import Failpoint
from stretto.base.rng import Rng
from stretto.control.binder.binder import Binder, BinderOptions, ClaimJudge
from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.control.binder.hosts.judge import HostJudge, HostPool, host_pool
from stretto.control.binder.volumes import LateVolumes
from stretto.control.eviction.evictor import Evictor, EvictorOptions
from stretto.control.eviction.judge import EvictionChecks, PreemptionJudge
from stretto.control.eviction.parity_judge import ParityJudge, ParityPreemptionJudge
from stretto.control.scheduler.candidates import HostCandidates
from stretto.control.scheduler.loop import LoopHelpers, LoopId, SchedulingLoop
from stretto.control.scheduler.preemption import ShardPreemption
from stretto.control.scheduler.reclaim import ReclaimRehearsal
from stretto.control.scheduler.refused import RefusedClasses
from stretto.framework.affinity.recheck import ClaimRecheck
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.tiers import kernel
from stretto.framework.placers import Placer, PlacerFactory
from stretto.framework.preemption.terms import PriorityTerms, ReclaimTerms, UsageOf
from stretto.framework.profile.profile import load_profile
from stretto.framework.starts import NodeStarts
from stretto.plane.config import PlaneConfig
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import ConflictMode
from stretto.state.work.units import Units
from stretto.stores.store import Store


@dataclass(frozen=True)
class PartFactory:
    """Creates parts over one cluster and one store."""

    #: Configuration of the plane.
    config: PlaneConfig
    #: The cluster state.
    cluster: Cluster
    #: Every unit.
    units: Units
    #: The compiled profile.
    engine: CompiledProfile
    #: Remaining disruptions of the budgets.
    budgets: BudgetLedger
    #: Store to which parts write.
    store: Store
    #: Clock of the plane.
    clock: Clock
    #: Failpoint of the fault simulator.
    failpoint: Failpoint
    #: Returns the usage of queues; ``None`` if no queue is configured.
    usage: UsageOf
    #: True if the evictor evicts pods; otherwise another process does.
    evicts: bool = True

    @cached_property
    def placers(self) -> PlacerFactory:
        """Creates the runtimes of the loops."""
        return PlacerFactory(self.engine, self.config.tier, self.units)

    @cached_property
    def refused(self) -> RefusedClasses:
        """The classes that preemption could not help, for all loops."""
        return RefusedClasses()

    @cached_property
    def rng(self) -> Rng:
        """Random number generator of the plane."""
        return Rng(self.config.seed)

    def loop(self, number: int, sub_cluster: str) -> SchedulingLoop:
        """Create a scheduling loop of a shard, for one sub-cluster or for every node."""
        path = ("loop", sub_cluster) if sub_cluster else ()
        runtime = self.placers.new(self.rng.child("shard", number, *path))
        preempting = None
        if self.config.profile.preemption.enabled:
            terms = self.priority_terms()
            finder = self.placers.finder(runtime, terms, self.budgets, self.clock)
            preempting = ShardPreemption(self.cluster, self.units, finder, self.refused)
        identity = LoopId(number, sub_cluster)
        pods, cures_of = self.cluster.pods, self.engine.cures_of
        helpers = LoopHelpers(preempting, self._candidates(runtime, identity))
        return SchedulingLoop(identity, runtime, pods, cures_of, helpers)

    def _candidates(self, runtime: Placer, identity: LoopId) -> HostCandidates | None:
        """Create the search for further hosts of each claim, if claims try hosts."""
        profile = self.config.profile
        if profile.conflicts is not ConflictMode.HOSTS or not isinstance(runtime, Runtime):
            return None
        tables = self.cluster.pods, self.cluster.classes
        rng = self.rng.child("hosts", identity.shard, identity.sub_cluster)
        return HostCandidates(runtime, tables, profile.hosts, rng)

    @cached_property
    def hosts(self) -> HostPool:
        """The host actors; they outlive a binder."""
        ttl_s = self.config.profile.hosts.gang_seconds
        return host_pool(self.cluster, ttl_s)

    def priority_terms(self) -> PriorityTerms:
        """Create the terms of the pods that a preemptor may evict, with a balance of their own."""
        return PriorityTerms(self.cluster, self.config.profile.preemption, self.usage)

    def reclaim(self, is_spared: Callable[[int], bool]) -> ReclaimRehearsal:
        """Create the search for victims of reclaims.

        Pods for which ``is_spared`` is true are excluded.
        """
        placer = self.placers.new(self.rng.child("reclaim"))
        terms = ReclaimTerms(self.cluster, self.config.profile.preemption, is_spared)
        finder = self.placers.finder(placer, terms, self.budgets, self.clock)
        return ReclaimRehearsal(self.cluster, self.units, (placer, finder, terms), self.budgets)

    def starts(self) -> NodeStarts:
        """Create the view of nodes over time, for backfill.

        kube-parity plans with the rules of the default profile; its own rules decide the start.
        """
        placers, rng = self.placers, self.rng
        if self.config.profile.exact:
            engine = CompiledProfile(load_profile("default"), self.cluster)
            placers = PlacerFactory(engine, self.config.tier, self.units)
        return NodeStarts(self.cluster, lambda: placers.by_class(rng.child("starts")))

    def binder(self) -> Binder:
        """Create a binder; it adopts every assumed claim."""
        profile, rules, volumes = self.config.profile, self.placers.law(), self.placers.volumes()
        if rules is not None:
            judge: ClaimJudge = ParityJudge(self.cluster, rules, profile.commit)
            late: LateVolumes | None = rules.volumes_of
        else:
            checks = ClaimChecks(self.engine.is_eligible, self._recheck(), volumes)
            each = PlanJudge(self.cluster, checks, profile.conflicts, profile.commit)
            judge = each
            if profile.conflicts is ConflictMode.HOSTS:
                judge = HostJudge(each, self.hosts, self.clock.monotonic, self.failpoint)
            late = volumes.choice if volumes is not None else None
        options = BinderOptions(self.failpoint, late, profile.volume_timeout)
        return Binder(self.cluster, self.units, self.store, judge, options)

    def evictor(self) -> Evictor:
        """Create an evictor; it adopts every eviction in progress."""
        terms = self.priority_terms()
        rules = self.placers.law()
        if rules is not None:
            judge: PreemptionJudge = ParityPreemptionJudge(
                self.cluster, self.units, rules, terms, self.budgets
            )
        else:
            checks = EvictionChecks(
                self.engine.is_eligible, self._recheck(), self.placers.volumes()
            )
            judge = PreemptionJudge(self.cluster, self.units, checks, terms, self.budgets)
        options = EvictorOptions(self.failpoint, self.evicts)
        return Evictor(self.cluster, self.units, self.store, judge, options)

    def _recheck(self) -> ClaimRecheck:
        compiled = kernel(self.config.tier).recheck
        return ClaimRecheck(self.engine.between, self.cluster, compiled)
