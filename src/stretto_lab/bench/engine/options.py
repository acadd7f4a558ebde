"""Options of the engine bench, in a module that the command line imports fast."""

import msgspec


class EngineBenchOptions(msgspec.Struct, frozen=True):
    """Cluster, pods and passes."""

    #: Nodes of the cluster.
    nodes: int = 20_000
    #: Running pods.
    running: int = 1_000_000
    #: Pods to place in the throughput pass.
    pods: int = 50_000
    #: Distinct classes of the pods.
    classes: int = 200
    #: Share of the classes with host ports, selectors, affinity or tolerations.
    constrained: float = 0.3
    #: Pods per unit.
    units: int = 1
    #: Shards of the plane.
    shards: int = 1
    #: Pods per second in the latency pass; 0 skips it.
    rate: float = 10_000.0
    #: Seconds of the latency pass.
    seconds: float = 3.0
    #: Throughput passes; the median is reported.
    rounds: int = 3
    #: ``memory`` or ``sqlite:PATH``.
    store: str = "memory"
    #: Profile by name or path.
    profile: str = "default"
    #: Kernel tier.
    tier: str = "auto"
    #: Zones of the cluster.
    zones: int = 10
    #: Pods that fit on no node and stay pending.
    pending: int = 0
    #: A Python rule that is added to the profile: ``filter``, ``score`` or ``domain``; empty for
    #: none.
    python_rule: str = ""
    #: True if nodes report their usage and are overcommitted, and LoadAware filters and scores.
    measured: bool = False
