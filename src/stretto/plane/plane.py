"""The plane: a whole scheduler over one store.

    store.watch → pump → cluster → dispatcher → shards → binder → store.bind

``STEP`` lists the stages of a step in order. A role that runs only a part of the scheduler selects
its parts and stages with a ``Wiring``. The same plane runs in real time, in virtual time and under
the fault simulator: clock, randomness, store and failpoints are arguments.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.pump import Pump
from stretto.control.queues.config import dispatcher_config
from stretto.control.reporting.held_back import LimitedPods
from stretto.control.reporting.reporter import Reporter, ReportSources
from stretto.control.reporting.statuses import StatusWriter
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.control.reporting.wording import eviction_reports
from stretto.control.scheduler.loop import SchedulingLoop
from stretto.control.scheduler.partition import Partitions
from stretto.control.scheduler.shard import Shard
from stretto.control.scheduler.sub_clusters import sub_clusters_of
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.preemption.explain import MessageSuffixes
from stretto.plane.config import Observer, PlaneConfig, Step, Witness
from stretto.plane.controllers import ControllerSources, PlaneControllers
from stretto.plane.factory import PartFactory
from stretto.plane.work import ALL_PARTS, Part, StepWork
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.queries.pool import Pool
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.units import Cure, Dispatch, Units
from stretto.stores.store import Store


class Stage(NamedTuple):
    """One stage of a step."""

    #: Name of the stage, for the diagram in ARCHITECTURE.md.
    name: str
    #: Runs the stage; returns true if it changed something, so that the next step runs immediately.
    run: Callable[["Plane", StepWork], bool | None]
    #: True if the stage runs before the store is read, and also before the first list is complete.
    before_sync: bool = False


class Wiring(NamedTuple):
    """Differences between the plane of a role and the scheduler in one process."""

    #: Optional parts of the plane.
    parts: frozenset[Part] = ALL_PARTS
    #: Stages of a step; empty for ``STEP``.
    stages: tuple[Stage, ...] = ()
    #: True if the plane evicts pods itself.
    evicts: bool = True
    #: Creates the loop of a shard for a sub-cluster; ``None`` for the plane's own loops.
    make_loop: Callable[["Plane", int, str], SchedulingLoop] | None = None
    #: Adds the nodes that another process has planned to the work of a shard; ``None`` if the plane
    #: plans itself.
    add_planned: Callable[["Plane", Sequence[Dispatch]], Sequence[Dispatch]] | None = None
    #: Clock times of the role's work without an event.
    timers: tuple[Callable[[], float], ...] = ()


WHOLE: Final = Wiring()
"""Wiring of the scheduler in one process: every part."""


class Plane:
    """One scheduler: pump, dispatcher, shards and binder over one store."""

    def __init__(
        self,
        config: PlaneConfig,
        store: Store,
        clock: Clock,
        failpoint: Failpoint = no_failpoint,
        wiring: Wiring = WHOLE,
    ) -> None:
        """Build the parts; the store is not read before the first step."""
        #: Configuration of the plane.
        self.config = config
        #: The store that it reads and writes.
        self.store = store
        #: Clock of the plane.
        self.clock = clock
        profile = config.profile
        for rule in profile.outside:
            rule.use_clock(clock)
        #: The cluster state.
        self.cluster = Cluster(profile.shape(_shape(config)))
        #: Every unit.
        self.units = Units()
        #: The compiled profile, shared by the shards.
        self.engine = CompiledProfile(profile, self.cluster)
        self._wiring = wiring
        self._failpoint = failpoint
        #: The stages of a step, in order.
        self.stages = wiring.stages or STEP
        #: Clock time until which a step has no work without changes in the store.
        self._rest_until = float("-inf")
        self._begin_dispatching()
        self._begin_placing()
        self._begin_controllers()
        self._begin_reports()
        #: The shards.
        self.shards: list[Shard] = []
        for _ in range(config.shards):
            self.add_shard()

    def _begin_dispatching(self) -> None:
        """Create the pump and the dispatcher."""
        config, profile, store = self.config, self.config.profile, self.store
        #: Maps classes to sub-clusters; ``None`` without sub-clusters.
        self.sub_clusters = sub_clusters_of(profile, self.cluster)
        #: Reads the store.
        kinds = (*config.group_forms, *profile.kinds)
        self.pump = Pump(store, self.cluster, self._failpoint, config.compare_every, kinds)
        #: Orders units and dispatches them.
        self.dispatcher = Dispatcher(
            self.cluster.pods,
            self.units,
            replace(
                config.dispatcher or dispatcher_config(profile), group_forms=config.group_forms
            ),
            Pool(self.cluster),
        )
        self._partitions = Partitions(self.dispatcher.shares)

    def _begin_placing(self) -> None:
        """Create the binder, the evictor, and the parts that a restart replaces."""
        #: Remaining disruptions of the budgets.
        self.budgets = BudgetLedger(
            self.cluster,
            self.store.allowances if self.store.capabilities.counts_disruptions else None,
        )
        #: Creates the parts that a restart replaces.
        self.factory = PartFactory(
            config=self.config,
            cluster=self.cluster,
            units=self.units,
            engine=self.engine,
            budgets=self.budgets,
            store=self.store,
            clock=self.clock,
            failpoint=self._failpoint,
            usage=lambda: self.dispatcher.reclaimer.usage,
            evicts=self._wiring.evicts,
        )
        self.dispatcher.sender.backfill.use(self.factory.starts())
        #: Checks plans and binds pods.
        self.binder = self.factory.binder()
        #: Evicts pods, and reserves their capacity for the claims that wait for it.
        self.evictor = self.factory.evictor()
        #: Finds victims for queues below their guarantee.
        self.reclaim_search = self.factory.reclaim(lambda _: False)

    def _begin_controllers(self) -> None:
        """Create the controllers for nodes and placed pods."""
        sources = ControllerSources(
            config=self.config,
            cluster=self.cluster,
            units=self.units,
            budgets=self.budgets,
            store=self.store,
            clock=self.clock,
            evictor=lambda: self.evictor,
            usage=self.factory.usage,
            is_protected=self.is_protected,
            eligible=self.engine.is_eligible,
        )
        #: All controllers.
        self.controllers = PlaneControllers(sources, self._wiring.parts)
        #: Ends expired reservations.
        self.reservations = self.controllers.reservations
        #: Moves pods so that whole GPUs or nodes become free.
        self.rescheduler = self.controllers.rescheduler
        #: Evicts pods that do not run yet from over-committed nodes.
        self.overcommit_eviction = self.controllers.overcommit_eviction

    def _begin_reports(self) -> None:
        """Create the observers, and the parts that write events, conditions and statuses."""
        #: Called after each step with an effect.
        self.observers: list[Observer] = []
        #: Called with each batch of changes.
        self.witnesses: list[Witness] = [self.reservations.witness, self.rescheduler.witness]
        #: Verdicts of all nodes on pending classes: for events, metrics and stories.
        self.verdicts = ClassVerdicts(self.engine)
        #: Writes conditions and events of pending pods; ``None`` if the plane reports nothing.
        self.reporter: Reporter | None = None
        #: Writes statuses of Queues and PodGroups; ``None`` if the plane reports nothing.
        self.statuses: StatusWriter | None = None
        report, parts = self.config.report, self._wiring.parts
        if report is None:
            return
        if Part.REPORTER in parts:
            sources = ReportSources(
                self.verdicts,
                MessageSuffixes(self.engine, self.budgets, self.factory.priority_terms()).of,
                LimitedPods(self.cluster.pods, self.units, self.dispatcher.views),
            )
            self.reporter = Reporter(self.cluster, self.units, sources, self.store, report)
        if Part.STATUSES in parts:
            self.statuses = StatusWriter(
                self.cluster,
                self.units,
                self.dispatcher,
                self.store,
                lambda: self.binder.unanswered_rows(),  # noqa: PLW0108  (a restart replaces it)
            )

    # ------------------------------------------------------------ replaceable parts

    def add_shard(self) -> Shard:
        """Start one more shard."""
        self.wake()
        number = max((shard.number for shard in self.shards), default=-1) + 1
        shard = self._new_shard(number)
        self.shards.append(shard)
        self.dispatcher.add_shard(number)
        return shard

    def restart_shard(self, number: int, now: float) -> None:
        """Replace a dead shard; the dispatcher dispatches its work again."""
        self.wake()
        self.dispatcher.remove_shard(number, now)
        self.shards = [s if s.number != number else self._new_shard(number) for s in self.shards]
        self.dispatcher.add_shard(number)

    def restart_binder(self, now: float) -> None:
        """Replace a dead binder; the new one reads back every assumed claim.

        Plans in transit and unread verdicts are lost, so the dispatcher dispatches all units of the
        shards again.
        """
        self.wake()
        self.binder = self.factory.binder()
        self.evictor = self.factory.evictor()
        self.dispatcher.binder_lost(now)
        for number in [shard.number for shard in self.shards]:
            self.restart_shard(number, now)

    def _new_shard(self, number: int) -> Shard:
        make = self._wiring.make_loop
        if make is None:
            return Shard(
                number,
                lambda sub_cluster: self.factory.loop(number, sub_cluster),
                self.sub_clusters,
                self.clock,
            )
        return Shard(number, lambda sub_cluster: make(self, number, sub_cluster), None, self.clock)

    # ------------------------------------------------------------ a step

    def step(self) -> bool:
        """Run every stage once; returns false if nothing changed.

        After a step in which no stage acted, the next steps return immediately until the store has
        changes or a part is due. Asynchronous stores may have answers at any time, and roles have
        further sources, so their planes run every step completely.
        """
        now = self.clock.monotonic()
        if now < self._rest_until and not self.pump.has_news(now):
            return False
        work, acted = StepWork(now), False
        for stage in self.stages:
            if stage.before_sync:
                acted = stage.run(self, work) or acted
        moved = self.pump.poll(now) > 0
        synced = self.pump.synced
        for stage in self.stages if synced else ():
            if not stage.before_sync:
                acted = stage.run(self, work) or acted
        may_rest = not (acted or self._wiring.stages or self.store.capabilities.answers_later)
        self._rest_until = self.next_due() if may_rest and synced else float("-inf")
        return moved or acted

    def wake(self) -> None:
        """Run every stage in the next step, even if nothing is due: a part was changed."""
        self._rest_until = float("-inf")

    def look(self) -> None:
        """Read all changes of the store without scheduling decisions."""
        now = self.clock.monotonic()
        while self.pump.poll(now):
            self._refuse_ratios()
            self.controllers.look(now)
            self.absorb(StepWork(now))

    def run_until_idle(self, most_steps: int = 1_000_000) -> int:
        """Step until nothing changes at this instant; returns the number of steps."""
        self.wake()
        for steps in range(most_steps):
            if not self.step():
                return steps
        return most_steps

    def next_due(self) -> float:
        """Clock time of the next work without an event."""
        due = [writer.next_due() for writer in (self.reporter, self.statuses) if writer is not None]
        due += [self.dispatcher.next_due(), self.binder.next_due(), self.pump.next_due()]
        due += [self.evictor.next_due(), self.factory.refused.next_due()]
        due += [part.next_due() for part in self.controllers.timed]
        return min(*due, *(timer() for timer in self._wiring.timers))

    def close(self) -> None:
        """Read the answers of binds in flight and stop watching; the caller closes the store."""
        with closing(self.pump):
            self.binder.land(self.clock.monotonic())

    # ------------------------------------------------------------ stages

    def settle_answers(self, work: StepWork) -> bool:
        """Read late answers of binds and evictions; bind confirmed claims, requeue void ones."""
        refusals = list(self.binder.resolve_unanswered(work.now))
        settled = self.evictor.settle(work.now)
        refusals += settled.refused
        if settled.confirmed:
            refusals += self.binder.bind_ready(settled.confirmed, work.now)
        work.refusals = self.dispatcher.answers.settle(refusals, work.now) if refusals else []
        return bool(refusals)

    def run_controllers(self, work: StepWork) -> None:
        """Run the controllers: ratios, reservations, moves, eviction from over-committed nodes."""
        self._refuse_ratios()
        for part in self.controllers.timed:
            part.step(work.now)

    def _refuse_ratios(self) -> None:
        """Report that configured ratios have no effect if the profile has no section for them."""
        if self.cluster.overcommit_configs and self.config.profile.capacity.overcommit is None:
            self.controllers.ratios.refuse_configs()

    def absorb(self, work: StepWork) -> None:
        """Pass changes to the dispatcher; units that an event may cure return to their queue."""
        changes, now = self.cluster.changes, work.now
        if self.factory.refused.take_due(now):
            changes.add_cures(Cure.POD_EVICTABLE)
        cures = changes.cures
        if changes:
            for witness in self.witnesses:
                witness(changes, now)
        if self.dispatcher.absorb(changes, now):
            changes.clear()
            self.dispatcher.begin_census()
            self.pump.census()
            self.dispatcher.absorb(changes, now)
        changes.clear()
        self.dispatcher.timers.wake(cures, self.capacity, now)
        self._failpoint("dispatcher.absorbed")

    def run_timers(self, work: StepWork) -> None:
        """End back-offs, fail late gangs, retry units that have waited long."""
        self.dispatcher.timers.due(work.now)

    def partition(self, work: StepWork) -> None:
        """Assign blocks of nodes to the shards."""
        del work
        if not self.config.partition or len(self.shards) < 2:
            return
        ledger, numbers = self.cluster.ledger, [shard.number for shard in self.shards]
        owners = self._partitions.update(ledger.slots, numbers, ledger)
        for shard in self.shards:
            shard.follow(owners == shard.number)

    def schedule(self, work: StepWork) -> bool:
        """Dispatch units; each loop of each shard makes a plan on its own snapshot."""
        self.engine.learn()
        waiting = [(shard.number, shard.waiting) for shard in self.shards]
        capacity = self.dispatcher.sender.capacities(self.config.batch, waiting)
        dispatched = self.dispatcher.sender.dispatch(work.now, capacity)
        for shard, units in zip(self.shards, dispatched, strict=True):
            if units:
                add = self._wiring.add_planned
                shard.accept(units if add is None else add(self, units))
        self._failpoint("dispatcher.handed-out")
        work.plans = [plan for shard in self.shards for plan in shard.cycle(self.config.batch)]
        self._failpoint("shard.planned")
        return bool(work.plans)

    def bind(self, work: StepWork) -> None:
        """Commit every plan at the binder; the dispatcher gets the verdicts."""
        work.verdicts = [self._commit(plan, work.now) for plan in work.plans]

    def _commit(self, plan: Plan, now: float) -> Verdict:
        plan = self.evictor.deferring(plan)
        verdict = self.binder.commit(plan.plain() if plan.preemptions else plan, now)
        if plan.preemptions:
            verdict = self.evictor.commit(plan, verdict, now)
        self._failpoint("binder.answered")
        answers = self.dispatcher.answers
        if plan.setbacks:
            answers.set_back(plan.setbacks, now)
        for granted in (verdict.granted, verdict.nominated):
            if len(granted):
                answers.placed(granted, now)
        if verdict.refused:
            answers.settle(verdict.refused, now)
        return verdict

    def reclaim(self, work: StepWork) -> None:
        """Order evictions for queues below their guarantee and for broken gangs."""
        by_guarantee = Part.RECLAIM in self._wiring.parts
        search = self.reclaim_search
        for order in self.dispatcher.reclaim(search, work.now, by_guarantee=by_guarantee):
            self.evictor.order(order, work.now)

    def evict(self, work: StepWork) -> bool:
        """Send the evictions that are due."""
        return self.evictor.send(work.now)

    def observe(self, work: StepWork) -> bool:
        """Collect failed units and evictions, and call the observers."""
        work.failed = self.dispatcher.drain_failures()
        work.evictions = self.evictor.take_news()
        if work.plans or work.refusals or work.failed or work.evictions:
            step = Step(
                work.now, work.plans, work.verdicts, work.refusals, work.failed, work.evictions
            )
            for observer in self.observers:
                observer(step)
        return bool(work.failed)

    def report(self, work: StepWork) -> None:
        """Write the next batch of conditions and events."""
        bound = self.binder.take_bound()
        if self.reporter is None:
            return
        self.reporter.given_up(work.failed)
        for plan in work.plans:
            self.reporter.set_back(plan.setbacks)
        self.reporter.bound(bound, self.clock)
        if self._wiring.evicts:
            evicted = eviction_reports(work.evictions.started)
            self.reporter.evicted(evicted, self.clock)
        self.reporter.report(work.now, self.clock, is_binding=self.binder.is_waiting)

    def write_statuses(self, work: StepWork) -> None:
        """Write the next batch of statuses."""
        if self.statuses is not None:
            self.statuses.report(work.now, self.clock)

    def is_protected(self, row: int) -> bool:
        """Return whether a rule of the profile protects a pod from evictions for another reason."""
        return self.evictor.is_protected(row, self.clock.monotonic())

    def capacity(self, class_id: int) -> int:
        """Maximum number of pods of a class that fit on the first shard's current snapshot."""
        return self.shards[0].capacity(class_id)


STEP: Final[tuple[Stage, ...]] = (
    Stage("answers", Plane.settle_answers),
    Stage("controllers", Plane.run_controllers),
    Stage("absorb", Plane.absorb),
    Stage("timers", Plane.run_timers),
    Stage("partition", Plane.partition),
    Stage("schedule", Plane.schedule),
    Stage("bind", Plane.bind),
    Stage("reclaim", Plane.reclaim),
    Stage("evict", Plane.evict),
    Stage("observe", Plane.observe),
    Stage("report", Plane.report),
    Stage("statuses", Plane.write_statuses),
)
"""The stages of a step of the scheduler in one process, in order."""


def with_stage(stages: tuple[Stage, ...], stage: Stage) -> tuple[Stage, ...]:
    """Return the stages with the stage of the same name replaced."""
    return tuple(stage if each.name == stage.name else each for each in stages)


def insert_after(stages: tuple[Stage, ...], name: str, stage: Stage) -> tuple[Stage, ...]:
    """Return the stages with one more stage after the stage with a name."""
    at = next(i for i, each in enumerate(stages) if each.name == name) + 1
    return (*stages[:at], stage, *stages[at:])


def _shape(config: PlaneConfig) -> ClusterConfig:
    """Configuration of the cluster state that a plane needs."""
    profile = config.profile
    names = config.cluster.scheduler_names.union(profile.scheduler_names)
    preemptible = names if profile.preemption.spares_others else None
    return msgspec.structs.replace(
        config.cluster, fan_out=config.shards, scheduler_names=names, preemptible=preemptible
    )
