"""What-if: clusters of a fleet that are lost, drained or added while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.base.errors import InputError, UnknownNameError
from stretto.sim.fleet.building import add_cluster
from stretto.sim.fleet.description import ClusterShape
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.store import Patch


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What happens to the fleet."""

    #: Clusters that no longer answer.
    lost: tuple[str, ...] = ()
    #: Clusters that repel all pods.
    drained: tuple[str, ...] = ()
    #: Clusters that join.
    added: tuple[ClusterShape, ...] = ()
    #: Seconds after the start.
    at: float = 30.0

    @property
    def words(self) -> str:
        """What happens, in words; empty for nothing."""
        added = [each.name for each in self.added]
        parts = (("lose", self.lost), ("drain", self.drained), ("add", added))
        return ", ".join(f"{word} {' '.join(names)}" for word, names in parts if names)

    def check(self, known: Sequence[str]) -> None:
        """Compare with the names of the clusters of a fleet.

        Raises:
            UnknownNameError: a cluster that is lost or drained does not exist.
            InputError: a cluster that joins exists.
        """
        for name in (*self.lost, *self.drained):
            if name not in known:
                raise UnknownNameError("cluster", name, known)
        for each in self.added:
            if each.name in known:
                raise InputError("--add", each.name, "the name of a new cluster")

    def happen(self, fleet: EmbeddedFleet) -> None:
        """Let it happen now."""
        for name in self.lost:
            fleet.members[name].served.set_availability(ServerAvailability.SILENT)
        for name in self.drained:
            taints = [{"key": "stretto.dev/drained", "effect": "NoExecute"}]
            change = Patch("", name, {"spec": {"taints": taints}})
            fleet.host.patch(FEDERATED_CLUSTER.kind, [change])
        for shape in self.added:
            add_cluster(fleet, shape)


NOTHING = WhatIf()
"""Nothing happens."""
