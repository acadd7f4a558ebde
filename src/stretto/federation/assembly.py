"""Composition of a federation: a loop over the host and its members, with all controllers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock
from stretto.federation.connection.calls import InlineCalls, PooledCalls
from stretto.federation.connection.protocol import MemberConnector
from stretto.federation.controllers.aggregate import AggregationController
from stretto.federation.controllers.automigration import AutoMigrationController
from stretto.federation.controllers.autoscale import AutoscaleController
from stretto.federation.controllers.clusters.health import HealthController
from stretto.federation.controllers.clusters.links import LinkEvents, MemberAccess, MemberLinks
from stretto.federation.controllers.clusters.membership import MembershipController
from stretto.federation.controllers.clusters.parting import ClusterParting, ShardDuties
from stretto.federation.controllers.exchange.peers import ShardPeers
from stretto.federation.controllers.exchange.reporting import ShardReporter, ShardReportSources
from stretto.federation.controllers.failover import FailoverController
from stretto.federation.controllers.federate import FederateController
from stretto.federation.controllers.feedback import FeedbackController
from stretto.federation.controllers.follow import FollowController
from stretto.federation.controllers.kinds import TypeController
from stretto.federation.controllers.namespaces import NamespaceController
from stretto.federation.controllers.override import OverrideController
from stretto.federation.controllers.placing.reporting import PolicyController
from stretto.federation.controllers.propagation.deliveries import MemberDeliveries
from stretto.federation.controllers.propagation.writer import MemberWriter
from stretto.federation.controllers.reports import COMPONENT, ObjectReporter
from stretto.federation.controllers.rollouts.course import FleetRollouts
from stretto.federation.controllers.rollouts.reading import MemberDeployments
from stretto.federation.controllers.schedule import ScheduleController
from stretto.federation.controllers.services.exports import ExportController
from stretto.federation.controllers.services.imports import ImportController
from stretto.federation.controllers.supply.agreement import CapacityAgreement
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.controllers.sync import SyncController
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.scaling.ports import MakeAutoscaler, fleet_ports
from stretto.federation.settings import CapacitySource, FederationSettings
from stretto.federation.shares import WHOLE, ControllerShare, ShardedController
from stretto.reconcile.cache import KindSelection, every_object
from stretto.reconcile.event_queue import EVENTS, EventQueue
from stretto.reconcile.loop import ReconcileLoop
from stretto.reconcile.reconciler import Reconciler
from stretto.stores.store import Store
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookClient

OBSERVERS: Final = (ShardReporter, MembershipController, HealthController)
"""Controllers that every process runs: they connect members, and write only for their share."""
CONTROLLERS: Final = tuple(
    each.name
    for each in (
        MembershipController,
        HealthController,
        TypeController,
        PolicyController,
        FederateController,
        NamespaceController,
        AutoscaleController,
        ScheduleController,
        FollowController,
        OverrideController,
        ExportController,
        ImportController,
        SyncController,
        AutoMigrationController,
        FeedbackController,
        AggregationController,
        FailoverController,
    )
)
"""The names of all controllers, in the order in which they receive a change."""


@dataclass(frozen=True)
class FederationParts:
    """Parts of a federation besides its host and its members."""

    #: Client for the webhooks of scheduling profiles.
    webhooks: WebhookClient = NO_WEBHOOKS
    #: Number of threads for joining and leaving; 0 for members that answer at once.
    threads: int = 0
    #: Called on any thread when the loop has work.
    wake: Callable[[], None] = lambda: None
    #: The share of the work of this process.
    share: ControllerShare = WHOLE
    #: Creates the controller of autoscalers that run on the host; ``None`` for none.
    autoscaler: MakeAutoscaler | None = None


DEFAULT_PARTS: Final = FederationParts()
"""Parts for members that answer at once, without webhooks."""


class Federation:
    """The controllers of a federation over connected stores."""

    def __init__(
        self,
        host: Store,
        clock: Clock,
        settings: FederationSettings,
        connector: MemberConnector,
        parts: FederationParts = DEFAULT_PARTS,
    ) -> None:
        """Create a federation whose members join by their FederatedClusters.

        Args:
            host: store of the sources and the federated objects.
            clock: time of delays, health and migrations.
            settings: behaviour of the controllers.
            connector: opens connections to members.
            parts: further parts.
        """
        #: The loop that runs the controllers.
        self.loop = ReconcileLoop(clock, wake=parts.wake, silence=settings.silence)
        #: The host and the members.
        share = parts.share
        self.fleet = ClusterFleet(self.loop.add_store(HOST, host, share.selection), settings)
        peers = ShardPeers(self.fleet, share, clock)
        #: Capacity of the clusters, on which the shards agree.
        self.agreement = CapacityAgreement(FleetSupply(self.fleet, clock, share.owns), peers)
        #: Writes to members in flight.
        self.deliveries = MemberDeliveries(lambda key: self.loop.post(SyncController.name, key))
        #: Events about objects on their way to the host.
        self.events = EventQueue(host, clock, COMPONENT, lambda: self.loop.post(EVENTS, EVENTS))
        events = LinkEvents(partial(_member_selection, share, settings), self.deliveries.forget)
        self._links = MemberLinks(self.fleet, connector, self.loop, events)
        self._pool = PooledCalls(parts.threads, self.loop.post) if parts.threads else None
        access = MemberAccess(self._links, self._pool or InlineCalls())
        for controller in self._controllers(clock, access, parts):
            if isinstance(controller, OBSERVERS):
                self.loop.add_controllers([controller])
            elif share.runs(controller.name):
                self._add(controller, share)
        if parts.autoscaler is not None and share.runs(AutoscaleController.name):
            ports = fleet_ports(self.fleet, self._links.connection, clock)
            self._add(parts.autoscaler(self.fleet.host, ports), share)
        self.loop.add_controllers([self.events])

    def close(self) -> None:
        """Close the connections to all members and stop reading the host."""
        if self._pool is not None:
            self._pool.close()
        for cluster in self.fleet.clusters:
            self._links.close(cluster.record.name)
        self.loop.remove_store(HOST)

    def _add(self, controller: Reconciler, share: ControllerShare) -> None:
        """Register a controller for its share of the keys."""
        own = controller if share.shards == 1 else ShardedController(controller, share.owns)
        self.loop.add_controllers([own])

    def _controllers(
        self, clock: Clock, access: MemberAccess, parts: FederationParts
    ) -> Iterator[Reconciler]:
        """All controllers, in the order in which they receive a change."""
        fleet, settings, share = self.fleet, self.fleet.settings, parts.share
        supply, peers = self.agreement.supply, self.agreement.peers
        in_flight = self.deliveries.in_flight if share.shards > 1 else lambda _: 0
        parting = ClusterParting(fleet, access, share, in_flight)
        if share.shards > 1:
            places = supply.promises_count and share.runs(ScheduleController.name)
            promises = supply.promises if places else None
            sources = ShardReportSources(peers, promises, parting.parts)
            yield ShardReporter(fleet, clock, share, sources)
        yield MembershipController(fleet, clock, access, ShardDuties(share, parting, peers))
        yield HealthController(fleet, clock, access.links, share)
        yield TypeController(fleet, clock)
        yield PolicyController(fleet, clock)
        yield FederateController(fleet)
        yield NamespaceController(fleet)
        reporter = ObjectReporter(fleet, clock, self.events)
        yield AutoscaleController(fleet, reporter)
        yield ScheduleController(fleet, self.agreement, parts.webhooks, reporter)
        yield FollowController(fleet, reporter)
        yield OverrideController(fleet, reporter)
        yield ExportController(fleet)
        yield ImportController(fleet)
        writer = MemberWriter(fleet, self.deliveries)
        deployments = MemberDeployments(fleet, self.deliveries.attempts)
        rollouts = FleetRollouts(deployments, clock)
        yield SyncController(fleet, rollouts, writer, reporter.warn)
        yield AutoMigrationController(fleet, clock)
        yield FeedbackController(fleet)
        yield AggregationController(fleet, reporter)
        if settings.failover is not None:
            yield FailoverController(fleet, settings.failover)


def _member_selection(
    share: ControllerShare, settings: FederationSettings, cluster: str
) -> KindSelection:
    """The objects of a member that a process reads.

    The process that reports the capacity of the cluster sums up all its pods, and so does each
    process that counts what is free on nodes.
    """
    sums = share.has(HealthController.name, cluster) or settings.capacity is CapacitySource.NODES
    return lambda kind: every_object(kind) if sums and kind == POD else share.selection(kind)
