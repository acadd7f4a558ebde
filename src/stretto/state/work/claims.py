"""Claims, plans and verdicts: messages that propose and judge placements (Omega's transactions).

A shard never changes the ledger. It proposes a ``Plan`` made on a snapshot; the binder checks every
claim against the current ledger and returns a ``Verdict``. Both are columns: a plan of a thousand
pods is a handful of arrays.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.work.units import Cure, Setback, Unit

NO_ROWS: Final[npt.NDArray[np.int64]] = np.zeros(0, np.int64)
"""No rows."""


class ConflictMode(Enum):
    """Condition for a conflict of a claim (Omega, section 3.4)."""

    #: The pod no longer fits.
    FIT = "fit"
    #: The node has changed since the snapshot.
    VERSION = "version"
    #: The node and its next best nodes refuse the claim, each from its own state (HULK).
    HOSTS = "hosts"


class CommitMode(Enum):
    """Effect of a conflict on the other claims of the unit (Omega, section 3.4)."""

    #: The other claims are granted, as far as ``at_least`` allows.
    INCREMENTAL = "incremental"
    #: The other claims are refused, too.
    ALL_OR_NOTHING = "all-or-nothing"


class UnitClaims(NamedTuple):
    """The claims of one unit inside a plan: ``rows[start:stop]``."""

    #: The unit.
    unit: Unit
    #: Index of the first claim.
    start: int
    #: Index after the last claim.
    stop: int
    #: Number of claims that must be granted together; if fewer hold, none is granted.
    at_least: int


class PlacementFailure(NamedTuple):
    """Reason why one pod could not be placed."""

    #: Events that may cure it.
    cures: Cure
    #: Message of the pod's FailedScheduling event.
    message: str


class VolumeChoice(NamedTuple):
    """Volume operations before a pod can be bound."""

    #: PVs to bind: (PV, namespace of the PVC, PVC).
    taken: tuple[tuple[str, str, str], ...] = ()
    #: PVCs that need the selected-node annotation, for provisioning: (namespace, PVC).
    made: tuple[tuple[str, str], ...] = ()


class SnapshotBasis(NamedTuple):
    """Position of a snapshot; equal to the cluster's own position if nothing has changed since."""

    #: Position in the ledger's log.
    ledger: int
    #: Version of the table of objects.
    objects: int


class AwaitedNode(NamedTuple):
    """A node that has capacity for a pod after pods whose eviction is in progress have ended."""

    #: Slot of the node.
    slot: int
    #: Devices and NUMA nodes for the pod.
    mask: int
    #: (row, serial) of the pods being evicted.
    awaited: tuple[tuple[int, int], ...]


class UnitPreemption(NamedTuple):
    """Evictions that must complete before the claims of one unit can be bound."""

    #: Position in ``Plan.units`` of the waiting claims.
    claims: int
    #: Rows of the victims.
    victims: tuple[int, ...]
    #: Serials of the victims.
    serials: tuple[int, ...]
    #: Victims whose eviction violates a PodDisruptionBudget.
    beyond: frozenset[int] = frozenset()
    #: Rows of lower-priority nominations that lose their capacity.
    displaced: tuple[int, ...] = ()
    #: (row, serial) of pods whose eviction was already in progress and whose capacity the claims
    #: use.
    awaited: tuple[tuple[int, int], ...] = ()


class OtherHosts(NamedTuple):
    """The next best nodes for a claim, best first."""

    #: int32[n]: slots.
    slots: npt.NDArray[np.int32]
    #: int64[n]: generations of those slots in the snapshot.
    generations: npt.NDArray[np.int64]
    #: int32[n]: differences between the best score and their scores.
    behind: npt.NDArray[np.int32]


class Plan(NamedTuple):
    """Result of one cycle of a shard."""

    #: Number of the shard.
    shard: int
    #: int64[claim]: rows of the pods.
    rows: npt.NDArray[np.int64]
    #: int64[claim]: serials of the pods, to detect reused rows.
    serials: npt.NDArray[np.int64]
    #: int32[claim]: target slots.
    slots: npt.NDArray[np.int32]
    #: int64[claim]: generations of those slots in the snapshot.
    generations: npt.NDArray[np.int64]
    #: int64[claim]: versions of those slots in the snapshot.
    versions: npt.NDArray[np.int64]
    #: int32[claim]: bit masks of the requested devices.
    devices: npt.NDArray[np.int32]
    #: Claims by unit, in order.
    units: list[UnitClaims]
    #: Units (or parts of them) that could not be placed.
    setbacks: list[Setback]
    #: Volume operations by claim.
    volumes: Mapping[int, VolumeChoice] = {}
    #: Position of the snapshot; ``None`` if the claims depend on amounts only.
    basis: SnapshotBasis | None = None
    #: Counts and nodes on which inter-pod decisions depended; ``None`` if there were none.
    others: tuple[int, int, int] | None = None
    #: Evictions needed for some units' claims.
    preemptions: Sequence[UnitPreemption] = ()
    #: Nodes to try if the first one refuses, by claim.
    alternatives: Mapping[int, OtherHosts] = {}

    def plain(self) -> "Plan":
        """Return the plan without the units that need evictions."""
        if not self.preemptions:
            return self
        waiting = {each.claims for each in self.preemptions}
        remaining = [unit for i, unit in enumerate(self.units) if i not in waiting]
        index = [i for unit in remaining for i in range(unit.start, unit.stop)]
        place = {claim: at for at, claim in enumerate(index)}
        return self._replace(
            rows=self.rows[index],
            serials=self.serials[index],
            slots=self.slots[index],
            generations=self.generations[index],
            versions=self.versions[index],
            devices=self.devices[index],
            units=[u._replace(start=place[u.start], stop=place[u.stop - 1] + 1) for u in remaining],
            volumes={place[i]: each for i, each in self.volumes.items() if i in place},
            preemptions=(),
            alternatives={place[i]: o for i, o in self.alternatives.items() if i in place},
        )


class ConflictCause(Enum):
    """Cause for which the binder did not grant a claim."""

    POD_DELETED = "pod deleted or changed"
    NODE_DELETED = "node deleted"
    NODE_CHANGED = "node changed"
    NOT_ELIGIBLE = "node no longer eligible"
    DOES_NOT_FIT = "no longer fits"
    INTER_POD_RULE_BROKEN = "an inter-pod rule no longer holds"
    DOMAIN_FULL = "domain cap of the unit reached"
    VOLUME_TAKEN = "a PV or PVC was taken or changed"
    #: A PVC of the pod was not bound or provisioned in time.
    VOLUME_TIMED_OUT = "volumes not bound or provisioned in time"
    GANG_SHORT = "too few pods of the gang remain"
    VICTIM_DELETED = "a victim was deleted or changed"
    VICTIM_TAKEN = "a victim is evicted for another pod"
    VICTIM_PROTECTED = "a victim is protected"
    VICTIM_GUARANTEED = "the queue of a victim would fall below its guarantee"
    BUDGET_EXHAUSTED = "a PodDisruptionBudget is exhausted"
    VICTIM_REFUSED = "the store refuses to evict a victim"
    VICTIM_STUCK = "the eviction of a victim is stuck"
    DISPLACED = "its capacity went to a pod of higher priority"
    STORE_REFUSED = "store refused"
    STORE_CONFLICT = "store conflict"


class Verdict(NamedTuple):
    """The binder's answer to a plan."""

    #: Number of the shard.
    shard: int
    #: Rows that are claimed and will be bound.
    granted: npt.NDArray[np.int64]
    #: Units with refused rows, and the causes.
    refused: list[tuple[Unit, tuple[int, ...], ConflictCause]]
    #: Rows that are claimed and wait for their victims.
    nominated: npt.NDArray[np.int64] = NO_ROWS
