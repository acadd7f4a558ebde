"""Options of the bench against kube-scheduler, in a module that the command line imports fast."""

from typing import Final

import msgspec

from stretto.base.errors import InputError, UnknownNameError

WORKLOADS: Final = (
    "basic",
    "node-affinity",
    "spread",
    "pod-affinity",
    "pod-anti-affinity",
    "preemption",
    "daemonset",
    "churn",
    "gang",
)
"""Every workload, in the order of the tables."""
STRETTO: Final = "stretto"
"""Name of Stretto in results."""
QUIET: Final = "stretto-without-events"
"""Name of Stretto without ``Scheduled`` events in results."""
KUBE_SCHEDULER: Final = "kube-scheduler"
"""Name of kube-scheduler in results."""
LEAST_NODES: Final = 10
"""Minimum number of nodes: each anti-affine pod needs its own node."""


class KubeBenchOptions(msgspec.Struct, frozen=True):
    """Workloads and rounds."""

    #: Workloads of ``WORKLOADS``, separated by commas.
    workload: str = ",".join(WORKLOADS)
    #: Other scheduler: ``kube-scheduler`` or ``none``.
    against: str = KUBE_SCHEDULER
    #: True if Stretto is also measured without ``Scheduled`` events.
    both_settings: bool = True
    #: Nodes; pod counts scale with them.
    nodes: int = 5000
    #: Additional small running pods.
    running: int = 0
    #: Rounds; each measures every side once.
    rounds: int = 2
    #: Pods per second in the latency pass.
    rate: float = 50.0
    #: Seconds without a bind after which the remaining pods count as not placed.
    timeout: float = 60.0
    #: Profile of Stretto, by name or file.
    profile: str = "default"
    #: Source of the figures, as the note of the plots: machine and commit.
    note: str = ""

    def names(self) -> list[str]:
        """The selected workloads without duplicates.

        Raises:
            UnknownNameError: a workload is unknown.
            InputError: the list is empty.
        """
        names = list(dict.fromkeys(filter(None, map(str.strip, self.workload.split(",")))))
        for name in names:
            if name not in WORKLOADS:
                raise UnknownNameError("workload", name, WORKLOADS)
        if not names:
            raise InputError("--workload", self.workload, f"one or more of {', '.join(WORKLOADS)}")
        return names
