"""Claims, plans and verdicts: how placements are proposed and judged (Omega's transactions).

A shard never changes the ledger. It proposes a ``Plan`` made on a snapshot; the binder checks every
claim against the ledger as it is now and answers with a ``Verdict``. Both are columns: a plan of a
thousand pods is a handful of arrays.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.work.units import Cure, Setback, Unit

NO_ROWS: Final[npt.NDArray[np.int64]] = np.zeros(0, np.int64)
"""No row at all."""


class ConflictMode(Enum):
    """When a claim conflicts (Omega, section 3.4)."""

    #: Only when the pod does not fit any more.
    FIT = "fit"
    #: As soon as its node has changed since the snapshot.
    VERSION = "version"


class CommitMode(Enum):
    """What a conflict does to the other claims of the same unit (Omega, section 3.4)."""

    #: They are granted, as far as ``at_least`` allows.
    INCREMENTAL = "incremental"
    #: They are refused with it.
    ALL_OR_NOTHING = "all-or-nothing"


class UnitClaims(NamedTuple):
    """The claims of one unit inside a plan: ``rows[start:stop]``."""

    #: The unit.
    unit: Unit
    #: First claim.
    start: int
    #: After the last claim.
    stop: int
    #: Claims that must be granted together, or none is.
    at_least: int


class PlacementFailure(NamedTuple):
    """Why one pod found no place."""

    #: Events that may cure it.
    cures: Cure
    #: What the pod's FailedScheduling event says.
    message: str


class VolumeChoice(NamedTuple):
    """What is to be done about one pod's volumes before it is bound."""

    #: Volumes to keep for claims: (volume, namespace of the claim, claim).
    taken: tuple[tuple[str, str, str], ...] = ()
    #: Claims to be told the pod's node, where their volumes will be made: (namespace, claim).
    made: tuple[tuple[str, str], ...] = ()


class SnapshotBasis(NamedTuple):
    """How far a snapshot had come; equal to the cluster's own, nothing has changed since."""

    #: Position in the ledger's log.
    ledger: int
    #: Version of the table of objects.
    objects: int


class AwaitedNode(NamedTuple):
    """A node that takes a pod once those who leave it already have left."""

    #: Its slot.
    slot: int
    #: Devices and NUMA nodes that the pod is to get.
    mask: int
    #: (row, serial) of those who leave.
    awaited: tuple[tuple[int, int], ...]


class UnitPreemption(NamedTuple):
    """What must leave before the claims of one unit can be bound."""

    #: Position in ``Plan.units`` of the claims that wait for it.
    claims: int
    #: Rows of the pods that must leave.
    victims: tuple[int, ...]
    #: Their serials.
    serials: tuple[int, ...]
    #: Those of them whose leaving breaks a disruption budget.
    beyond: frozenset[int] = frozenset()
    #: Rows of claims of lower priority that wait for their own victims and lose their room.
    displaced: tuple[int, ...] = ()
    #: (row, serial) of pods that leave anyway, on whose room the claims count.
    awaited: tuple[tuple[int, int], ...] = ()


class Plan(NamedTuple):
    """What one shard proposes in one cycle."""

    #: Number of the shard.
    shard: int
    #: int64[claim]: rows of the pods.
    rows: npt.NDArray[np.int64]
    #: int64[claim]: serials of the pods, so that a row used again is not mistaken.
    serials: npt.NDArray[np.int64]
    #: int32[claim]: wanted slots.
    slots: npt.NDArray[np.int32]
    #: int64[claim]: generations of those slots in the snapshot.
    generations: npt.NDArray[np.int64]
    #: int64[claim]: versions of those slots in the snapshot.
    versions: npt.NDArray[np.int64]
    #: int32[claim]: bit masks of the wanted devices.
    devices: npt.NDArray[np.int32]
    #: Claims by unit, in order.
    units: list[UnitClaims]
    #: Units (or parts of them) that found no place.
    setbacks: list[Setback]
    #: Volumes that pods get with their places, by claim.
    volumes: Mapping[int, VolumeChoice] = {}
    #: What the snapshot reflected; ``None`` where claims are judged by amounts anyway.
    basis: SnapshotBasis | None = None
    #: Counts and nodes that other pods' part in it follows from; ``None`` where they had none.
    others: tuple[int, int, int] | None = None
    #: What must leave for some of the units' claims.
    preemptions: Sequence[UnitPreemption] = ()

    def plain(self) -> "Plan":
        """The plan without the units for which somebody must leave first."""
        if not self.preemptions:
            return self
        waiting = {each.claims for each in self.preemptions}
        kept = [unit for i, unit in enumerate(self.units) if i not in waiting]
        index = [i for unit in kept for i in range(unit.start, unit.stop)]
        place = {claim: at for at, claim in enumerate(index)}
        return self._replace(
            rows=self.rows[index],
            serials=self.serials[index],
            slots=self.slots[index],
            generations=self.generations[index],
            versions=self.versions[index],
            devices=self.devices[index],
            units=[u._replace(start=place[u.start], stop=place[u.stop - 1] + 1) for u in kept],
            volumes={place[i]: each for i, each in self.volumes.items() if i in place},
            preemptions=(),
        )


class ConflictCause(Enum):
    """Why the binder did not grant a claim."""

    POD_DELETED = "pod gone or changed"
    NODE_DELETED = "node gone"
    NODE_CHANGED = "node changed"
    NOT_ELIGIBLE = "node no longer eligible"
    DOES_NOT_FIT = "no longer fits"
    INTER_POD_RULE_BROKEN = "other pods came first: a rule between pods no longer holds"
    DOMAIN_FULL = "its unit may not have more pods there"
    VOLUME_TAKEN = "a volume or claim was taken or changed"
    #: Nobody has bound or made a volume that the pod has a claim to.
    VOLUME_TIMED_OUT = "its volumes were not there in time"
    GANG_SHORT = "too few of the gang left"
    VICTIM_DELETED = "a victim has gone or changed"
    VICTIM_TAKEN = "a victim leaves for somebody else"
    VICTIM_PROTECTED = "a victim is protected"
    BUDGET_EXHAUSTED = "a disruption budget is used up"
    VICTIM_REFUSED = "the store does not let a victim go"
    VICTIM_STUCK = "a victim does not leave"
    DISPLACED = "its room went to a pod of higher priority"
    STORE_REFUSED = "store refused"
    STORE_CONFLICT = "store conflict"


class Verdict(NamedTuple):
    """What became of a plan."""

    #: Number of the shard.
    shard: int
    #: Rows that are claimed now and go to the store.
    granted: npt.NDArray[np.int64]
    #: Units with rows that were not granted, and why.
    refused: list[tuple[Unit, tuple[int, ...], ConflictCause]]
    #: Rows that are claimed now and wait for their victims.
    nominated: npt.NDArray[np.int64] = NO_ROWS
