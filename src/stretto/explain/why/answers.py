"""The results of ``stretto explain`` as values: stable codes and full sentences.

The command line formats them.
"""

from typing import Final

import msgspec

from stretto.explain.records.steps import StepFact
from stretto.explain.why.forbidden import PreemptionFacts
from stretto.explain.why.gangs import GangFacts
from stretto.explain.why.inquiry import NearFacts, Overlap, ReasonFacts
from stretto.explain.why.parts import ScoredNode
from stretto.explain.why.queues import ShareFacts
from stretto.explain.why.remedies.remedy import Remedy
from stretto.explain.words.reasons import Reason
from stretto.explain.words.standing import UnitFacts

SCHEMA: Final = "stretto.explain/v1"
"""Version of the JSON form of the structs below."""


class RequestedAmount(msgspec.Struct, frozen=True):
    """One requested amount."""

    #: Name of the resource.
    resource: str
    #: Exact amount.
    amount: int
    #: The amount in human units.
    text: str


class NodesVerdict(msgspec.Struct, frozen=True):
    """The verdicts of all nodes on a pod."""

    #: Number of nodes evaluated.
    total: int
    #: Nodes that every rule allows.
    available: int
    #: kube-scheduler's message: each node under its first refusal.
    message: str
    #: Every reason with its counts; a node counts under each of its reasons.
    reasons: tuple[ReasonFacts, ...]
    #: The most frequent combinations of reasons.
    overlaps: tuple[Overlap, ...]
    #: The refusing nodes that are closest to fitting.
    nearest: tuple[NearFacts, ...]


class NodeChoice(msgspec.Struct, frozen=True):
    """The nodes that fit a pod, by score."""

    #: Sentence that compares the chosen node, or the best one, with the others.
    sentence: str
    #: State on which the scores were computed.
    basis: str
    #: Number of nodes that fit.
    feasible: int
    #: Number of nodes that share the best score.
    tied: int
    #: Policy that breaks ties.
    tie_rule: str
    #: The best nodes and the chosen one.
    top: tuple[ScoredNode, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Explanation of why a pod is pending or on its node."""

    #: ``namespace/name``.
    pod: str
    #: State of the pod: ``bound``, ``pending``, ``unschedulable``, ...
    state: str
    #: Node of the pod; empty for none.
    node: str = ""
    #: Priority of the pod.
    priority: int = 0
    #: Requests of the pod.
    requests: tuple[RequestedAmount, ...] = ()
    #: The dominant reason; ``None`` for a pod that has a node.
    dominant: Reason | None = None
    #: Every reason, the dominant one first.
    reasons: tuple[Reason, ...] = ()
    #: Verdicts of the nodes; ``None`` for a pod that has a node.
    nodes: NodesVerdict | None = None
    #: Changes that would make the pod fit.
    cures: tuple[Remedy, ...] = ()
    #: Unit of the pod; ``None`` if there is nothing to report.
    unit: UnitFacts | None = None
    #: Reasons why preemption does not help; ``None`` if it may, or if the nodes' message covers
    #: them.
    preemption: PreemptionFacts | None = None
    #: Sub-cluster whose loop places the pod; empty for the default loop.
    sub_cluster: str = ""
    #: Number of pods of the gang that fit now; ``None`` for pods that start alone.
    gang: GangFacts | None = None
    #: State of the pod's queue and the queues that borrow from it; ``None`` if unknown.
    share: ShareFacts | None = None
    #: Nodes on which the pod was or could be placed; ``None`` if none fits.
    choice: NodeChoice | None = None
    #: Recorded steps of the pod.
    steps: tuple[StepFact, ...] = ()
    #: Number of failed attempts; without recorded steps, those since the last success.
    failed_attempts: int = 0


class NodeExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Explanation of why a pod is not on one node."""

    #: ``namespace/name``.
    pod: str
    #: Name of the node.
    node: str
    #: True if every rule allows the pod on the node.
    fits: bool
    #: Explanation as a sentence.
    sentence: str
    #: All obstacles on the node; ``None`` if the pod fits.
    refusal: NearFacts | None = None
    #: Score of the node; ``None`` if the pod does not fit.
    score: ScoredNode | None = None
    #: Current node of the pod with its score; ``None`` if the pod has none.
    chosen: ScoredNode | None = None
    #: Number of nodes that fit.
    feasible: int = 0
    #: State on which the explanation was computed.
    basis: str = ""
