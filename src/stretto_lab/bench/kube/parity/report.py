"""Results of the parity replay."""

import msgspec


class ParityDeviation(msgspec.Struct, frozen=True):
    """A pod on which the two schedulers differ."""

    #: The pod.
    pod: str
    #: Node chosen by kube-scheduler; empty for none.
    chosen: str
    #: Stretto's best nodes.
    best: list[str]
    #: Message of kube-scheduler if it found no node.
    their_message: str
    #: Message of Stretto.
    our_message: str
    #: JSON of the pod, for diagnosis.
    body: str


class ParityReport(msgspec.Struct):
    """Agreement of the two schedulers."""

    #: Number of tested pods.
    pods: int = 0
    #: Number of pods that received a node.
    placed: int = 0
    #: Number of placed pods with a single best node, for which no random choice matters.
    decided: int = 0
    #: All pods on which they differ.
    deviations: list[ParityDeviation] = []
