"""Claims, plans and verdicts: how placements are proposed and judged (Omega's transactions).

A shard never changes the ledger. It proposes a ``Plan`` made on a snapshot; the binder checks every
claim against the ledger as it is now and answers with a ``Verdict``. Both are columns: a plan of a
thousand pods is a handful of arrays.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.units import Cure, Setback, Unit


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


class NoPlace(NamedTuple):
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


class Basis(NamedTuple):
    """How far a snapshot had come; equal to the cluster's own, nothing has changed since."""

    #: Position in the ledger's log.
    ledger: int
    #: Version of the table of objects.
    objects: int


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
    basis: Basis | None = None


class ConflictCause(Enum):
    """Why the binder did not grant a claim."""

    POD_GONE = "pod gone or changed"
    NODE_GONE = "node gone"
    NODE_CHANGED = "node changed"
    NOT_ELIGIBLE = "node no longer eligible"
    DOES_NOT_FIT = "no longer fits"
    VOLUME_GONE = "a volume or claim was taken or changed"
    GANG_SHORT = "too few of the gang left"
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
