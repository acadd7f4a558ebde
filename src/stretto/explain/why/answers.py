"""The answers of ``stretto explain`` as values: stable codes and full sentences.

The layout is up to the command line.
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
    #: The same in human units.
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

    #: How the chosen node, or the best one, compares; for people.
    sentence: str
    #: The state on which the scores were computed.
    basis: str
    #: Nodes that fit.
    feasible: int
    #: Nodes that share the best score.
    tied: int
    #: How ties are broken.
    tie_rule: str
    #: The best nodes and the chosen one.
    top: tuple[ScoredNode, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about why a pod is pending or on its node."""

    #: ``namespace/name``.
    pod: str
    #: State of the pod: ``bound``, ``pending``, ``unschedulable``, ...
    state: str
    #: Its node; empty for none.
    node: str = ""
    #: Its priority.
    priority: int = 0
    #: Its requests.
    requests: tuple[RequestedAmount, ...] = ()
    #: The dominant reason; ``None`` for a pod that has a node.
    dominant: Reason | None = None
    #: Every reason, the dominant one first.
    reasons: tuple[Reason, ...] = ()
    #: Verdicts of the nodes; ``None`` for a pod that has a node.
    nodes: NodesVerdict | None = None
    #: What would make the pod fit.
    cures: tuple[Remedy, ...] = ()
    #: Its unit; ``None`` if there is nothing to report.
    unit: UnitFacts | None = None
    #: Why preemption does not help; ``None`` if it may, or if the nodes' message covers it.
    preemption: PreemptionFacts | None = None
    #: Sub-cluster whose loop places it; empty for the default loop.
    sub_cluster: str = ""
    #: How much of its gang fits now; ``None`` for pods that start alone.
    gang: GangFacts | None = None
    #: State of its queue and the queues that borrow from it; ``None`` if unknown.
    share: ShareFacts | None = None
    #: The nodes it was or could be placed on; ``None`` if none fits.
    choice: NodeChoice | None = None
    #: Its recorded steps.
    steps: tuple[StepFact, ...] = ()
    #: Failed placement attempts; without recorded steps, those since the last success.
    failed_attempts: int = 0


class NodeExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod is not on one node."""

    #: ``namespace/name``.
    pod: str
    #: The node in question.
    node: str
    #: Whether every rule allows the pod there.
    fits: bool
    #: The answer as a sentence.
    sentence: str
    #: Everything against the node; ``None`` if it fits.
    refusal: NearFacts | None = None
    #: Score of the node; ``None`` if it does not fit.
    score: ScoredNode | None = None
    #: The pod's current node with its score; ``None`` if it has none.
    chosen: ScoredNode | None = None
    #: Nodes that fit.
    feasible: int = 0
    #: The state on which the answer was computed.
    basis: str = ""
