"""The ``reclaim`` settings of a profile: which estimator lends unused capacity, and its margins.

    stretto:
      reclaim: {estimator: reservation, margin: 0.15, extendedResources: batch}

The node agent publishes the estimate; the scheduler stops lending by reports that are too old.
"""

from enum import Enum
from typing import Any, Final

import msgspec

from stretto.framework.profile.capacity.section import check_ranges, read_section


class Estimator(Enum):
    """How the headroom of a node is estimated."""

    #: Katalyst: what measured containers are not expected to need.
    CANONICAL = "canonical"
    #: Katalyst: grows while loaned cores idle, shrinks while they are busy.
    UTILISATION = "utilisation"
    #: Koordinator: what online pods do not use now.
    BATCH = "batch"
    #: Koordinator: what online pods will not need soon, by their peaks.
    MID = "mid"
    #: Borg: a reservation per pod, which decays from the request to the use with a margin.
    RESERVATION = "reservation"


class ExtendedNames(Enum):
    """Extended resources of a node that publish its headroom too."""

    #: None; the CustomNodeResource alone.
    NONE = "none"
    #: Katalyst's.
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
    """How much of the unused capacity of a node is loaned."""

    #: The estimator.
    estimator: Estimator = Estimator.CANONICAL
    #: Cores kept free for pods that start.
    reserved_cores: float = 1.0
    #: Share of free memory that is loaned where the estimator has no formula for memory.
    memory_share: float = 0.6
    #: Part of the use that is added as a safety margin (``reservation``).
    margin: float = 0.15
    #: Seconds in which a new pod keeps its whole request (``reservation``); Borg's.
    start_seconds: float = 300.0
    #: Seconds in which a reservation decays to 37 % of its distance (``reservation``).
    decay_seconds: float = 300.0
    #: Percent of CPU that online and batch pods may use together (``batch``).
    cpu_percent: int = 60
    #: The same for memory.
    memory_percent: int = 65
    #: Utilisation of loaned cores below which more is loaned (``utilisation``).
    target: float = 0.6
    #: Extended resources that publish the headroom too.
    extended_resources: ExtendedNames = ExtendedNames.NONE
    #: Seconds after which a report is too old to lend by it.
    degrade_seconds: float = 900.0


def read_reclaim(value: Any, where: str) -> ReclaimRules | None:
    """The section ``reclaim`` of a profile; ``None`` without one.

    Raises:
        InputError: something has the wrong form; the path says where.
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
