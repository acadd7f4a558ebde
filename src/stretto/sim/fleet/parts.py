"""Parts of an embedded federation besides its controllers."""

from dataclasses import dataclass
from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.federation.shares import ControllerShare
from stretto.sim.fleet.controllers import MoreControllers
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookClient
from stretto.workloads.kubelet.course import CourseOf, default_course


@dataclass(frozen=True)
class FleetParts:
    """Parts of an embedded federation besides its controllers."""

    #: Function that determines the course of bound pods.
    course: CourseOf = default_course
    #: Further controllers of a member.
    more: MoreControllers = lambda _: ()
    #: Client for the webhooks of scheduling profiles.
    webhooks: WebhookClient = NO_WEBHOOKS
    #: Called before each write of the federation takes effect, and before it is answered.
    failpoint: Failpoint = no_failpoint
    #: Kinds that members serve besides those of Kubernetes and of their CRDs.
    kinds: tuple[Kind, ...] = ()
    #: True if the API servers of members support server-side apply, as real ones do.
    applies: bool = False
    #: Number of processes among which the objects are divided.
    shards: int = 1

    def share(self, shard: int) -> ControllerShare:
        """The share of one process."""
        return ControllerShare(shard=shard, shards=self.shards)


DEFAULT_PARTS: Final = FleetParts()
"""Pods run as usual, and no webhook answers."""
