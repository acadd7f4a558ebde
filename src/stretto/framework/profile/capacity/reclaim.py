"""The ``reclaim`` settings of a profile: the estimator of reclaimable capacity, and its margins.

    stretto:
      reclaim: {estimator: reservation, margin: 0.15, extendedResources: batch}

The node agent publishes the estimate; the scheduler ignores reports that are too old.
"""

from enum import Enum
from typing import Any, Final

import msgspec

from stretto.framework.profile.capacity.section import check_ranges, read_section


class Estimator(Enum):
    """Method that estimates the headroom of a node."""

    #: Katalyst: the amount that measured containers are not expected to need.
    CANONICAL = "canonical"
    #: Katalyst: grows while reclaimed cores are idle, shrinks while they are busy.
    UTILISATION = "utilisation"
    #: Koordinator: the amount that online pods do not use now.
    BATCH = "batch"
    #: Koordinator: the amount that online pods will not need soon, from their peaks.
    MID = "mid"
    #: Borg: a reservation per pod, which decays from the request to the use with a margin.
    RESERVATION = "reservation"


class ExtendedNames(Enum):
    """Extended resources of a node that also publish its headroom."""

    #: None; the CustomNodeResource alone.
    NONE = "none"
    #: Katalyst's resources.
    KATALYST = "katalyst"
    #: Koordinator's batch resources.
    BATCH = "batch"
    #: Koordinator's mid resources.
    MID = "mid"

    @property
    def names(self) -> tuple[str, str] | None:
        """The names of CPU (in milli) and memory (in bytes); ``None`` for no resources."""
        return _NAMES.get(self)


_NAMES: Final = {
    ExtendedNames.KATALYST: (
        "resource.katalyst.kubewharf.io/reclaimed_millicpu",
        "resource.katalyst.kubewharf.io/reclaimed_memory",
    ),
    ExtendedNames.BATCH: ("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"),
    ExtendedNames.MID: ("kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"),
}


class ReclaimRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Settings of the reclaimed part of a node's unused capacity."""

    #: Estimator of the headroom.
    estimator: Estimator = Estimator.CANONICAL
    #: Cores kept free for pods that start.
    reserved_cores: float = 1.0
    #: Share of free memory that is reclaimed if the estimator has no formula for memory.
    memory_share: float = 0.6
    #: Fraction of the use that is added as a safety margin (``reservation``).
    margin: float = 0.15
    #: Seconds for which a new pod keeps its whole request (``reservation``), as in Borg.
    start_seconds: float = 300.0
    #: Seconds in which a reservation decays to 37 % of its distance (``reservation``).
    decay_seconds: float = 300.0
    #: Percent of CPU that online and batch pods may use together (``batch``).
    cpu_percent: int = 60
    #: Percent of memory that online and batch pods may use together (``batch``).
    memory_percent: int = 65
    #: Utilisation of reclaimed cores below which more is reclaimed (``utilisation``).
    target: float = 0.6
    #: Extended resources that also publish the headroom.
    extended_resources: ExtendedNames = ExtendedNames.NONE
    #: Seconds after which a report is too old to be used.
    degrade_seconds: float = 900.0


def read_reclaim(value: Any, where: str) -> ReclaimRules | None:
    """Read the section ``reclaim`` of a profile; ``None`` without one.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    if value is None or value is False:
        return None
    expected = f"estimator ({', '.join(each.value for each in Estimator)}) and its margins"
    rules = read_section(value, ReclaimRules, expected, where)
    ranges = {
        "reservedCores": (rules.reserved_cores, 0.0, 4096.0),
        "memoryShare": (rules.memory_share, 0.0, 1.0),
        "margin": (rules.margin, 0.0, 10.0),
        "startSeconds": (rules.start_seconds, 0.0, 86_400.0),
        "decaySeconds": (rules.decay_seconds, 1.0, 86_400.0),
        "cpuPercent": (rules.cpu_percent, 1, 500),
        "memoryPercent": (rules.memory_percent, 1, 500),
        "target": (rules.target, 0.01, 1.0),
        "degradeSeconds": (rules.degrade_seconds, 1.0, 86_400.0),
    }
    check_ranges(ranges, where)
    return rules
