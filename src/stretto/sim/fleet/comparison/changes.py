"""Clusters of a fleet that are lost, drained or added during a what-if run."""

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
    """Events of a what-if run."""

    #: Clusters that stop answering.
    lost: tuple[str, ...] = ()
    #: Clusters that get a taint that repels all pods.
    drained: tuple[str, ...] = ()
    #: Clusters that join.
    added: tuple[ClusterShape, ...] = ()
    #: Time of the events in seconds after the start.
    at: float = 30.0

    @property
    def words(self) -> str:
        """The events as text; empty without events."""
        added = [each.name for each in self.added]
        parts = (("lose", self.lost), ("drain", self.drained), ("add", added))
        return ", ".join(f"{word} {' '.join(names)}" for word, names in parts if names)

    def check(self, known: Sequence[str]) -> None:
        """Check the names against the clusters of a fleet.

        Raises:
            UnknownNameError: a lost or drained cluster does not exist.
            InputError: an added cluster exists already.
        """
        for name in (*self.lost, *self.drained):
            if name not in known:
                raise UnknownNameError("cluster", name, known)
        for each in self.added:
            if each.name in known:
                raise InputError("--add", each.name, "the name of a new cluster")

    def happen(self, fleet: EmbeddedFleet) -> None:
        """Apply the events now."""
        for name in self.lost:
            fleet.members[name].served.set_availability(ServerAvailability.SILENT)
        for name in self.drained:
            taints = [{"key": "stretto.dev/drained", "effect": "NoExecute"}]
            change = Patch("", name, {"spec": {"taints": taints}})
            fleet.host.patch(FEDERATED_CLUSTER.kind, [change])
        for shape in self.added:
            add_cluster(fleet, shape)
