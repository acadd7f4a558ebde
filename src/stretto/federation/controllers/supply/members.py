"""The clusters of a fleet as input of scheduling: decoded once, in tables."""

from collections.abc import Mapping, Sequence

import numpy as np

from stretto.federation.controllers.supply.promises import PromiseLedger
from stretto.federation.controllers.supply.reading import ClusterReader, KnownCluster
from stretto.federation.fleet import ClusterFleet, is_joined
from stretto.federation.objects.rules.digests import FleetDigests
from stretto.federation.scheduling.bulk import BulkPlanner
from stretto.federation.scheduling.fleet import Amounts, MemberFleet
from stretto.federation.scheduling.plugins import ClusterProfile
from stretto.federation.scheduling.replicas.contract import ReplicaDivider
from stretto.federation.scheduling.supply import SupplyTable
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject


class FleetMembers:
    """The clusters that have joined."""

    def __init__(self, fleet: ClusterFleet, promises: PromiseLedger) -> None:
        """Initialize for a fleet; ``promises`` are deducted from the capacity of the clusters."""
        self._fleet = fleet
        self._reader = ClusterReader(fleet)
        self._promises = promises
        self._seen: tuple[StoredObject, ...] = ()
        self._known: dict[str, KnownCluster] = {}
        self._fleets: dict[str, MemberFleet] = {}
        self._planners: dict[tuple[str, int], tuple[ClusterProfile, BulkPlanner]] = {}
        self._table = SupplyTable(())
        self._digests: FleetDigests | None = None
        promises.listen(self._promised)

    # ---------------------------------------------------------------- reads

    @property
    def table(self) -> SupplyTable:
        """Capacity of the clusters."""
        self._refresh()
        return self._table

    @property
    def digests(self) -> FleetDigests:
        """Digests of the cluster fields that policies read."""
        self._refresh()
        if self._digests is None:
            self._digests = FleetDigests(each.digests for each in self._known.values())
        return self._digests

    def fleet(self, type_: FederatedType) -> MemberFleet:
        """The clusters for objects of a kind."""
        self._refresh()
        found = self._fleets.get(type_.name)
        if found is None:
            found = MemberFleet(tuple(x.decoded.for_type(type_) for x in self._known.values()))
            self._fleets[type_.name] = found
        return found

    def planner(
        self, type_: FederatedType, profile: ClusterProfile, divide: ReplicaDivider
    ) -> BulkPlanner:
        """A planner for objects of a kind, with the plugins of a profile."""
        fleet, key = self.fleet(type_), (type_.name, id(profile))
        found = self._planners.get(key)
        if found is None:
            made = BulkPlanner(fleet, divide, profile, self._table)
            found = self._planners[key] = profile, made
        return found[1]

    def objects(self) -> dict[str, Fields]:
        """The clusters as JSON, by name."""
        self._refresh()
        return {name: each.object.fields for name, each in self._known.items()}

    # ---------------------------------------------------------------- inside

    def _refresh(self) -> None:
        """Update the tables after changes of the clusters."""
        if self._fleet.clusters is self._seen and not self._reader.counts_nodes:
            return
        clusters, promised = self._fleet.clusters, self._promises.sums
        before, after = self._known, dict[str, KnownCluster]()
        for each in filter(is_joined, clusters):
            name = each.record.name
            if (found := self._reader.read(each, before.get(name))) is not None:
                after[name] = found
        changed = [name for name, each in after.items() if before.get(name) is not each]
        self._seen, self._known = clusters, after
        if not changed and before.keys() == after.keys():
            return
        self._fleets.clear()
        same = before.keys() == after.keys() and all(
            before[name].decoded.differs_in_amounts_only(after[name].decoded) for name in changed
        )
        if same:
            for name in changed:
                self._table.changed(after[name].decoded.member)
            # Planners filter by amounts, so they must run these filters again.
            self._planners = {
                key: each for key, each in self._planners.items() if not each[1].reads_amounts
            }
        else:
            self._rebuild(promised)

    def _rebuild(self, promised: Mapping[str, Amounts]) -> None:
        """Rebuild all tables."""
        self._digests = None
        self._planners.clear()
        self._table = SupplyTable([each.decoded.member for each in self._known.values()])
        for cluster, sums in promised.items():
            self._promised((cluster,), (1,), sums)

    def _promised(self, clusters: Sequence[str], counts: Sequence[int], request: Amounts) -> None:
        """Update the tables after replicas were promised or promises ended."""
        position = self._table.position
        known = [at for at, name in enumerate(clusters) if name in position]
        places = np.array([position[clusters[at]] for at in known], np.int64)
        self._table.promise(places, np.array([counts[at] for at in known], np.int64), request)
