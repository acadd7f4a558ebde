"""The plane: the one place where the parts are joined. It has no logic of its own.

    store.watch → pump → cluster → dispatcher → shards → binder → store.bind

``step`` passes one batch along that way and says whether anything moved. The same plane runs in
real time, in virtual time and under the fault simulator: clock, chance, store and failpoints are
arguments.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.base.rng import Rng
from stretto.control.binder.binder import Binder, Refusals
from stretto.control.binder.conflicts import PlanJudge
from stretto.control.controllers.overcommit_relief import OvercommitEviction
from stretto.control.controllers.rescheduler import Rescheduler
from stretto.control.controllers.reservations import Reservations
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.eviction.evictor import Evictor
from stretto.control.eviction.judge import PreemptionJudge
from stretto.control.eviction.parity_judge import ParityJudge, ParityPreemptionJudge
from stretto.control.pump import Pump
from stretto.control.queues.config import DispatcherConfig, dispatcher_config
from stretto.control.reporting.held_back import LimitedPods
from stretto.control.reporting.reporter import ReportConfig, Reporter
from stretto.control.reporting.statuses import StatusWriter
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.control.scheduler.loop import BATCH, SchedulingLoop
from stretto.control.scheduler.partition import Partitions
from stretto.control.scheduler.preemption import ShardPreemption
from stretto.control.scheduler.shard import Shard
from stretto.control.scheduler.sub_clusters import sub_clusters_of
from stretto.framework.affinity.recheck import ClaimRecheck
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.kernels.tiers import kernel
from stretto.framework.placers import PlacerFactory
from stretto.framework.preemption.explain import MessageSuffixes
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.queries.pool import Pool
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.reclaim_view import ReclaimView
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.units import Units
from stretto.stores.store import Store


class PlaneConfig(msgspec.Struct, frozen=True):
    """What a plane is built from."""

    #: The rules, tie rule, modes and delays.
    profile: Profile
    #: Number of scheduler shards.
    shards: int = 1
    #: How the cluster is modelled.
    cluster: ClusterConfig = ClusterConfig()
    #: Queues and the forming of units; ``None`` takes what the profile says of retries and gangs.
    dispatcher: DispatcherConfig | None = None
    #: Seed of every draw the plane makes.
    seed: int = 0
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"
    #: Pods a shard places in one cycle.
    batch: int = BATCH
    #: Whether shards try nodes of their own first.
    partition: bool = True
    #: Seconds between comparisons with a fresh list; infinity where the store loses nothing.
    compare_every: float = float("inf")
    #: What is told in the store of pods that wait; ``None`` tells nothing.
    report: ReportConfig | None = None


class Step(NamedTuple):
    """What one step did, for observers."""

    #: Clock time of the step, in seconds.
    now: float
    #: What the shards proposed.
    plans: Sequence[Plan]
    #: What the binder said, one verdict a plan.
    verdicts: Sequence[Verdict]
    #: Claims that the store refused or that were found void by reading back.
    refusals: Refusals
    #: Units given up on for good, with the reason.
    failed: Sequence[UnitFailure]


Observer = Callable[[Step], None]
"""Told of every step that did something."""
Witness = Callable[[ClusterChanges, float], None]
"""Told of a batch of changes at a clock time, before they are forgotten."""


class Plane:
    """One scheduler, whole: pump, dispatcher, shards and binder over one store."""

    def __init__(
        self, config: PlaneConfig, store: Store, clock: Clock, failpoint: Failpoint = no_failpoint
    ) -> None:
        """Build the parts; nothing is read before the first step."""
        #: What it was built from.
        self.config = config
        #: The store it reads and writes.
        self.store = store
        #: Its time.
        self.clock = clock
        for rule in config.profile.outside:
            rule.clock = clock
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        shape = msgspec.structs.replace(
            config.cluster, fan_out=config.shards, scheduler_names=names
        )
        #: The cluster as it is known.
        self.cluster = Cluster(config.profile.shape(shape))
        self.cluster.preemption_attributes.ours = (
            names if config.profile.preemption.spares_others else None
        )
        #: Every unit.
        self.units = Units()
        #: The rules compiled, shared by the shards.
        self.engine = CompiledProfile(config.profile, self.cluster)
        #: Makes the shards' runtimes.
        self.placers = PlacerFactory(self.engine, config.tier, self.units)
        #: What tells sub-clusters apart; ``None`` where there are none.
        self.sub_clusters = sub_clusters_of(config.profile, self.cluster)
        #: Reads the store.
        self.pump = Pump(store, self.cluster, failpoint, config.compare_every, config.profile.kinds)
        #: Orders units and hands them out.
        queues = config.dispatcher or dispatcher_config(config.profile)
        pool = Pool(self.cluster)
        self.dispatcher = Dispatcher(self.cluster.pods, self.units, queues, pool)
        #: What is left of the disruption budgets.
        self.budgets = BudgetLedger(self.cluster, getattr(store, "allowances", None))
        #: Places pods.
        self.shards: list[Shard] = []
        self._listen()
        self._failpoint = failpoint
        self._rng = Rng(config.seed)
        self._partitions = Partitions(self.dispatcher.shares)
        #: Judges and binds.
        self.binder = self._new_binder()
        self._begin_controllers()
        #: Asks pods to leave, and keeps the room of those who wait for it.
        self.evictor = self._new_evictor()
        #: What the reclaim of queues' guarantees may ask of nodes.
        rules, eligible = config.profile.preemption, self.engine.is_eligible
        self.floor = ReclaimView(self.cluster, rules, eligible, self._probe, self.budgets)
        self.floor.would_fit = lambda *of: self.evictor.would_fit(*of)  # noqa: PLW0108 - a restart makes a new evictor
        for _ in range(config.shards):
            self.add_shard()

    def _listen(self) -> None:
        """Who is told of what happens, and who tells it in the store."""
        #: Told of every step that did something.
        self.observers: list[Observer] = []
        #: Told of every batch of changes.
        self.witnesses: list[Witness] = []
        #: What nodes say to classes that wait: for events, metrics and stories.
        self.verdicts = ClassVerdicts(self.engine)
        #: Tells in the store what waits and why; ``None`` where nobody wants to be told.
        self.reporter: Reporter | None = None
        #: Tells in the store how Queues and PodGroups fare; ``None`` like the reporter.
        self.statuses: StatusWriter | None = None
        if self.config.report is not None:
            self.reporter = Reporter(
                self.cluster, self.units, self.verdicts, self.store, self.config.report
            )
            self.reporter.preemption = MessageSuffixes(self.engine, self.budgets).of
            self.reporter.held_back = LimitedPods(
                self.cluster.pods, self.units, self.dispatcher.views
            )
            self.statuses = StatusWriter(self.cluster, self.units, self.dispatcher, self.store)
            self.statuses.unanswered_rows = lambda: self.binder.unanswered_rows()  # noqa: PLW0108 - a restart makes a new binder

    def _begin_controllers(self) -> None:
        """What looks after pods that are placed, now and then."""
        cluster, profile = self.cluster, self.config.profile
        #: Times kept places out.
        self.reservations = Reservations(cluster, self.store)
        #: Moves pods so that whole GPUs or nodes come free.
        self.rescheduler = Rescheduler(cluster, self.units, self.store, self.budgets)
        self.rescheduler.run(
            profile.rescheduling, lambda: self.evictor, self.clock, self.config.tier
        )
        self.witnesses += [self.reservations.witness, self.rescheduler.witness]
        #: Has pods that do not run yet leave nodes that give more than they have.
        self.relief = OvercommitEviction(cluster, self.store, self.clock, lambda: self.evictor)
        self.relief.run(profile.relief, self.clock.monotonic())
        self._controllers = (self.reservations, self.rescheduler, self.relief)

    # ------------------------------------------------------------ parts that may be replaced

    def add_shard(self) -> Shard:
        """Start one more shard."""
        number = max((shard.number for shard in self.shards), default=-1) + 1
        shard = self._new_shard(number)
        self.shards.append(shard)
        self.dispatcher.add_shard(number)
        return shard

    def restart_shard(self, number: int, now: float) -> None:
        """A shard has died: its work is handed out again, and a fresh one takes its number."""
        self.dispatcher.remove_shard(number, now)
        self.shards = [s if s.number != number else self._new_shard(number) for s in self.shards]
        self.dispatcher.add_shard(number)

    def restart_binder(self, now: float) -> None:
        """The binder has died: a new one reads back whatever is assumed.

        Plans that were on their way and verdicts that nobody heard are lost with it, so whatever
        the shards had been handed is handed out again.
        """
        self.binder = self._new_binder()
        self.evictor = self._new_evictor()
        self.dispatcher.binder_lost(now)
        for number in [shard.number for shard in self.shards]:
            self.restart_shard(number, now)

    def _new_shard(self, number: int) -> Shard:
        return Shard(number, partial(self._new_loop, number), self.sub_clusters, self.clock)

    def _new_loop(self, number: int, sub_cluster: str) -> SchedulingLoop:
        whose = ("loop", sub_cluster) if sub_cluster else ()
        runtime = self.placers.new(self._rng.child("shard", number, *whose))
        loop = SchedulingLoop(number, runtime, self.cluster.pods, self.engine.cures_of)
        loop.sub_cluster = sub_cluster
        if self.config.profile.preemption.enabled:
            finder = self.placers.finder(runtime, self.budgets, self.clock)
            loop.preempting = ShardPreemption(self.cluster, self.units, finder, self.clock)
        return loop

    def _new_binder(self) -> Binder:
        profile, law = self.config.profile, self.placers.law()
        if law is not None:
            judge: PlanJudge = ParityJudge(self.cluster, law, profile.commit)
        else:
            referee = self._new_referee()
            eligible = self.engine.is_eligible
            judge = PlanJudge(self.cluster, eligible, profile.conflicts, profile.commit, referee)
        volumes = judge.volumes = self.placers.volumes()
        binder = Binder(self.cluster, self.units, self.store, judge, self._failpoint)
        late = volumes.choice if volumes is not None else None
        binder.volumes.late = law.volumes_of if law is not None else late
        binder.volumes.patience = profile.volume_patience
        return binder

    def _new_referee(self) -> ClaimRecheck:
        return ClaimRecheck(self.engine.between, self.cluster, kernel(self.config.tier).recheck)

    def _new_evictor(self) -> Evictor:
        rules, law = self.config.profile.preemption, self.placers.law()
        if law is not None:
            judge: PreemptionJudge = ParityPreemptionJudge(
                self.cluster, self.units, law, rules, self.budgets
            )
        else:
            eligible = self.engine.is_eligible
            judge = PreemptionJudge(self.cluster, self.units, eligible, rules, self.budgets)
            judge.between, judge.volumes = self._new_referee(), self.placers.volumes()
        return Evictor(self.cluster, self.units, self.store, judge, self._failpoint)

    # ------------------------------------------------------------ the walk

    def step(self) -> bool:
        """Pass one batch along the way; False when nothing moved."""
        now = self.clock.monotonic()
        moved = self.pump.poll(now) > 0
        if not self.pump.synced:
            return moved
        refusals = [*self.binder.resolve_unanswered(now), *self._settle_nominations(now)]
        self.dispatcher.settle(refusals, now)
        for controller in self._controllers:
            controller.step(now)
        self._absorb(now)
        self.dispatcher.due(now)
        self.engine.learn()
        plans = self._plan(now)
        verdicts = [self._commit(plan, now) for plan in plans]
        for order in self.dispatcher.reclaim(self.floor, now):
            self.evictor.order(order, now)
        moved = self.evictor.send(now) or moved
        failed = self.dispatcher.drain_failures()
        if plans or refusals or failed:
            report = Step(now, plans, verdicts, refusals, failed)
            for observer in self.observers:
                observer(report)
        if self.reporter is not None:
            self._report(self.reporter, plans, verdicts, failed, now)
        return moved or bool(plans or refusals or failed)

    def look(self) -> None:
        """Take in what the store has, and decide nothing."""
        now = self.clock.monotonic()
        while self.pump.poll(now):
            self._absorb(now)

    def run_until_idle(self, most_steps: int = 1_000_000) -> int:
        """Step until nothing moves at this instant; returns the steps taken."""
        for steps in range(most_steps):
            if not self.step():
                return steps
        return most_steps

    def next_due(self) -> float:
        """Clock time at which there is something to do although no event comes."""
        due = [lane.next_due() for lane in (self.reporter, self.statuses) if lane is not None]
        due += [self.dispatcher.next_due(), self.binder.next_due(), self.pump.next_due()]
        due += [each.next_due() for each in (self.evictor, *self._controllers)]
        return min(due)

    def close(self) -> None:
        """Hear of binds under way and stop watching; the store is the caller's."""
        with closing(self.pump):
            self.binder.land(self.clock.monotonic())

    def _absorb(self, now: float) -> None:
        """Events to the dispatcher, and whoever they cure back to its queue."""
        changes = self.cluster.changes
        cures = changes.cures
        if changes:
            for witness in self.witnesses:
                witness(changes, now)
        self.dispatcher.absorb(changes, now)
        changes.clear()
        if self.dispatcher.needs_census():
            self.pump.census()
            self.dispatcher.absorb(changes, now)
            changes.clear()
        self.dispatcher.wake(cures, self._probe, now)
        self._failpoint("dispatcher.absorbed")

    def _report(
        self,
        reporter: Reporter,
        plans: Sequence[Plan],
        verdicts: Sequence[Verdict],
        failed: Sequence[UnitFailure],
        now: float,
    ) -> None:
        """Let the reporter hear what was decided, and write its next batch."""
        reporter.given_up(failed)
        for plan in plans:
            reporter.set_back(plan.setbacks)
        for verdict in verdicts:
            reporter.placed(verdict.granted)
        reporter.report(now, self.clock)
        if self.statuses is not None:
            self.statuses.report(now, self.clock)

    def _probe(self, class_id: int) -> int:
        """How many pods of a class fit at most, on the first shard's snapshot as it is now."""
        return self.shards[0].room(class_id)

    def _plan(self, now: float) -> list[Plan]:
        """Hand out units and let every loop of every shard make a plan on its own snapshot."""
        self._follow_partitions()
        room = self.dispatcher.room(self.config.batch, [(s.number, s.waiting) for s in self.shards])
        handed = self.dispatcher.dispatch(now, room)
        for shard, work in zip(self.shards, handed, strict=True):
            shard.accept(work)
        self._failpoint("dispatcher.handed-out")
        plans = [plan for shard in self.shards for plan in shard.cycle(self.config.batch)]
        self._failpoint("shard.planned")
        return plans

    def _commit(self, plan: Plan, now: float) -> Verdict:
        """One plan through the binder, and its outcome back to the dispatcher."""
        verdict = self.binder.commit(plan.plain(), now)
        if plan.preemptions:
            verdict = self.evictor.commit(plan, verdict, now)
        self._failpoint("binder.answered")
        self.dispatcher.set_back(plan.setbacks, now)
        self.dispatcher.placed_rows(verdict.granted, now)
        if len(verdict.nominated):
            self.dispatcher.placed_rows(verdict.nominated, now)
        self.dispatcher.settle(verdict.refused, now)
        return verdict

    def _settle_nominations(self, now: float) -> Refusals:
        """Bind the claims whose victims have gone; what is void goes back."""
        settled = self.evictor.settle(now)
        return [*settled.refused, *self.binder.bind_ready(settled.ripe, now)]

    def _follow_partitions(self) -> None:
        """Give each shard the blocks that are its own."""
        if not self.config.partition or len(self.shards) < 2:
            return
        ledger, numbers = self.cluster.ledger, [shard.number for shard in self.shards]
        owners = self._partitions.update(ledger.slots, numbers, ledger)
        for shard in self.shards:
            shard.follow(owners == shard.number)
