"""A federation put together: a loop over the host and its members, with all controllers."""

from stretto.base.clock import Clock
from stretto.federation.controllers.aggregate import AggregationController
from stretto.federation.controllers.automigration import AutoMigrationController
from stretto.federation.controllers.federate import FederateController
from stretto.federation.controllers.feedback import FeedbackController
from stretto.federation.controllers.follow import FollowController
from stretto.federation.controllers.namespaces import NamespaceController
from stretto.federation.controllers.override import OverrideController
from stretto.federation.controllers.rollouts.course import FleetRollouts
from stretto.federation.controllers.schedule import ScheduleController
from stretto.federation.controllers.sync import SyncController
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.settings import FederationSettings
from stretto.reconcile.cache import StoreCache
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
        webhooks: WebhookClient = NO_WEBHOOKS,
    ) -> None:
        """A federation without members.

        Args:
            host: where users write and federated objects live.
            clock: time of delays, health and migrations.
            settings: behaviour of the controllers.
            webhooks: sends the calls of scheduling profiles with webhooks.
        """
        #: The loop that runs the controllers.
        self.loop = ReconcileLoop(clock)
        #: The host and the members.
        self.fleet = ClusterFleet(self.loop.add_store(HOST, host), settings)
        self.loop.add_controllers(
            [
                FederateController(self.fleet),
                NamespaceController(self.fleet),
                ScheduleController(self.fleet, clock, webhooks),
                FollowController(self.fleet),
                OverrideController(self.fleet),
                SyncController(self.fleet, FleetRollouts(self.fleet, clock)),
                AutoMigrationController(self.fleet, clock),
                FeedbackController(self.fleet),
                AggregationController(self.fleet),
            ]
        )

    def connect(self, name: str, store: Store) -> StoreCache:
        """Connect a member; its FederatedCluster says whether it is used."""
        cache = self.loop.add_store(name, store)
        self.fleet.connect(name, cache)
        return cache

    def disconnect(self, name: str) -> None:
        """Disconnect a member; what it runs stays."""
        self.fleet.disconnect(name)
        self.loop.remove_store(name)
