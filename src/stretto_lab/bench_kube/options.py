"""What the bench against kube-scheduler may be asked: light to import, for the command line."""

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
"""Our side, as results name it."""
KUBE_SCHEDULER: Final = "kube-scheduler"
"""The other side."""
LEAST_NODES: Final = 10
"""Below, workloads lose their shape (each anti-affine pod wants a node of its own)."""


class KubeBenchOptions(msgspec.Struct, frozen=True):
    """What to measure."""

    #: Workloads, apart by commas, of ``WORKLOADS``.
    workload: str = ",".join(WORKLOADS)
    #: Who else is measured: ``kube-scheduler`` or ``none``.
    against: str = KUBE_SCHEDULER
    #: Nodes; pod counts scale with them.
    nodes: int = 5000
    #: Small pods that run already, beside what a workload has running by itself.
    running: int = 0
    #: Rounds; each measures every side once, in turn.
    rounds: int = 2
    #: Pods a second in the pass that measures latency.
    rate: float = 50.0
    #: Seconds without a binding after which the rest counts as not placed.
    patience: float = 60.0
    #: Stretto's profile by name or file.
    profile: str = "default"

    def names(self) -> list[str]:
        """The workloads that are asked for, each once.

        Raises:
            UnknownNameError: there is no such workload.
            InputError: none is named.
        """
        names = list(dict.fromkeys(filter(None, map(str.strip, self.workload.split(",")))))
        for name in names:
            if name not in WORKLOADS:
                raise UnknownNameError("workload", name, WORKLOADS)
        if not names:
            raise InputError("--workload", self.workload, f"one or more of {', '.join(WORKLOADS)}")
        return names
