"""A federation put together: a loop over the host and its members, with all controllers."""

from stretto.base.clock import Clock
from stretto.federation.connection.protocol import MemberConnector
from stretto.federation.controllers.aggregate import AggregationController
from stretto.federation.controllers.automigration import AutoMigrationController
from stretto.federation.controllers.autoscale import AutoscaleController
from stretto.federation.controllers.clusters.health import HealthController
from stretto.federation.controllers.clusters.links import MemberLinks
from stretto.federation.controllers.clusters.membership import MembershipController
from stretto.federation.controllers.failover import FailoverController
from stretto.federation.controllers.federate import FederateController
from stretto.federation.controllers.feedback import FeedbackController
from stretto.federation.controllers.follow import FollowController
from stretto.federation.controllers.namespaces import NamespaceController
from stretto.federation.controllers.override import OverrideController
from stretto.federation.controllers.rollouts.course import FleetRollouts
from stretto.federation.controllers.schedule import ScheduleController
from stretto.federation.controllers.services.exports import ExportController
from stretto.federation.controllers.services.imports import ImportController
from stretto.federation.controllers.sync import SyncController
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.settings import FederationSettings
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.store import Store
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookClient


class Federation:
    """The controllers of a federation over connected stores."""

    def __init__(
        self,
        host: Store,
        clock: Clock,
        settings: FederationSettings,
        connector: MemberConnector,
        webhooks: WebhookClient = NO_WEBHOOKS,
    ) -> None:
        """A federation whose members join by their FederatedClusters.

        Args:
            host: where users write and federated objects live.
            clock: time of delays, health and migrations.
            settings: behaviour of the controllers.
            connector: opens connections to members.
            webhooks: sends the calls of scheduling profiles with webhooks.
        """
        #: The loop that runs the controllers.
        self.loop = ReconcileLoop(clock)
        #: The host and the members.
        self.fleet = ClusterFleet(self.loop.add_store(HOST, host), settings)
        self._links = MemberLinks(self.fleet, connector, self.loop)
        self.loop.add_controllers(
            [
                MembershipController(self.fleet, clock, self._links),
                HealthController(self.fleet, clock, self._links),
                FederateController(self.fleet),
                NamespaceController(self.fleet),
                AutoscaleController(self.fleet, clock),
                ScheduleController(self.fleet, clock, webhooks),
                FollowController(self.fleet),
                OverrideController(self.fleet, clock),
                ExportController(self.fleet),
                ImportController(self.fleet),
                SyncController(self.fleet, FleetRollouts(self.fleet, clock)),
                AutoMigrationController(self.fleet, clock),
                FeedbackController(self.fleet),
                AggregationController(self.fleet, clock),
            ]
        )
        if settings.failover is not None:
            self.loop.add_controllers([FailoverController(self.fleet, settings.failover)])

    def close(self) -> None:
        """Close the connections to all members and stop reading the host."""
        for cluster in self.fleet.clusters:
            self._links.close(cluster.record.name)
        self.loop.remove_store(HOST)
