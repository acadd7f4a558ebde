"""The one contract of scheduling rules: what a rule declares, and the forms in which it is called.

The default engine calls a ``FilterRule`` or ``ScoreRule`` for a class of pods and a batch of slots
and gets a mask or an int row. ``kube-parity`` calls a ``FilterPlugin`` or ``ScorePlugin`` for one
pod and gets kube-scheduler's statuses for all nodes; ``contract.shared`` lets it run a rule
unchanged. Both forms carry one ``Declaration``.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import NO_TYPICAL_PODS, CompiledScore, TypicalPodTable
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SUCCESS, NodeStatuses, PluginStatus
from stretto.state.classes.table import PodClass
from stretto.state.classes.terms import SpreadConstraint
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import ResourceColumns
from stretto.state.rows.snapshot import Columns, DerivedColumns
from stretto.state.work.units import Cure

SlotArray = npt.NDArray[np.int64]
"""int64[k]: the slots in question."""
BoolArray = npt.NDArray[np.bool_]
"""bool[k]: one answer per slot in question."""
IntArray = npt.NDArray[np.int32]
"""int32[k]: one score per slot in question."""
NodeScores = npt.NDArray[np.int64]
"""int64[k]: one position or score per node of a parity snapshot."""

TOP_SCORE: Final = 100
"""Scores run from 0 to this, on an absolute scale, before the profile's weight."""


class Scope(Enum):
    """What a rule's answer for a slot depends on, apart from the class."""

    #: The node object alone (labels, taints, name): cached per signature, patched on node changes.
    STATIC = "static"
    #: What is on this slot now (usage, ports, devices): cached per class, replayed from the log.
    SLOT = "slot"
    #: What is on other slots too (domains): evaluated at every decision.
    DOMAIN = "domain"


class Subject(Enum):
    """What a refusal is about; explanations word and group reasons by it."""

    #: The node and what is free on it.
    NODE = "node"
    #: The nodes that the pod names: its node name, selector or required affinity.
    NODE_CHOICE = "node choice"
    #: Pods on other nodes of the same domain.
    OTHER_PODS = "other pods"
    #: The pod's PVCs and disks.
    VOLUMES = "volumes"
    #: The pod's claims of dynamic resources.
    RESOURCE_CLAIMS = "resource claims"


class Neighbours(Protocol):
    """Pod counts by slot and by the domains of a node label."""

    @property
    def size(self) -> int:
        """Number of slots."""
        ...

    def domain(self, key: str) -> npt.NDArray[np.int64]:
        """int64[slot]: number of the label's value; 0 where the node lacks the label."""
        ...

    def is_host(self, key: str) -> bool:
        """Whether each node has a value of its own for the label."""
        ...

    def pods(self, population: int) -> npt.NDArray[np.int64]:
        """int64[slot]: pods of a population."""
        ...

    def live(self) -> npt.NDArray[np.bool_]:
        """bool[slot]: slots with a live node."""
        ...

    def counting(
        self, pod: PodClass, spread: SpreadConstraint, among: tuple[SpreadConstraint, ...]
    ) -> npt.NDArray[np.bool_]:
        """bool[slot]: nodes that count for one of several constraints."""
        ...

    def sums(
        self, population: int, key: str, within: npt.NDArray[np.bool_] | None = None
    ) -> npt.NDArray[np.int64]:
        """int64[domain]: pods of a population by value; entry 0 is always 0."""
        ...

    def present(self, key: str, within: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """bool[domain]: values that a node of a mask has."""
        ...


class View(NamedTuple):
    """What a rule may read. Read-only: the guard stops a rule that writes to it."""

    #: Scan columns of the snapshot: free and allocatable amounts, ports, devices.
    columns: Columns
    #: Node objects by slot: names, labels, taints.
    nodes: NodeFacts
    #: The workload that fragmentation is measured against.
    typical: TypicalPodTable = NO_TYPICAL_PODS
    #: Pod counts, for rules over domains; ``None`` where no rule counts pods.
    look: Neighbours | None = None


class Refusal(NamedTuple):
    """One reason for which a filter refuses, and the slots that it holds for."""

    #: Text in Kubernetes' form, such as ``Insufficient cpu``.
    reason: str
    #: bool[k]: the slots in question that it holds for.
    mask: BoolArray
    #: Whether evicting pods from the node could cure it (preemption may help).
    resolvable: bool = True


class Restrict(NamedTuple):
    """The pod may go to these slots only (pins such as a node's name)."""

    #: int64[k]: the only slots to look at.
    slots: SlotArray
    #: Names that the pod gives, absent nodes included; ``None`` where it names none.
    names: frozenset[str] | None = None


class Fail(NamedTuple):
    """The pod fits on no node of any kind."""

    #: Text for people.
    reason: str


class Declaration:
    """What a rule declares, for every engine.

    ``class X(..., declares=Y)`` takes every declaration that ``X`` does not make itself from ``Y``.
    """

    #: Name in profiles and messages.
    NAME: ClassVar[str]
    #: What the answer depends on.
    SCOPE: ClassVar[Scope]
    #: Events that may turn a refusal into an acceptance; a refused pod waits for these.
    CURES: ClassVar[Cure] = Cure.NONE
    #: The same where the rule refused the pod before any node was looked at; ``None``: ``CURES``.
    CYCLE_CURES: ClassVar[Cure | None] = None
    #: What a refusal is about.
    SUBJECT: ClassVar[Subject] = Subject.NODE
    #: Whether kube-scheduler calls it before the nodes (PreFilter). A rule without that step gives
    #: each node outside its ``Restrict`` a reason of its own, and is never skipped.
    PREFILTERS: ClassVar[bool] = True
    #: Weight of its score where the profile gives none: kube-scheduler's default.
    WEIGHT: ClassVar[int] = 1
    #: Whether every profile keeps it as a filter, also one that disables it.
    PERMANENT: ClassVar[bool] = False

    def __init_subclass__(cls, declares: "type[Declaration] | None" = None, **more: Any) -> None:
        """Take over the declarations of another form of the rule."""
        super().__init_subclass__(**more)
        if declares is None:
            return
        for name in _DECLARED:
            if name not in vars(cls) and hasattr(declares, name):
                setattr(cls, name, getattr(declares, name))


_DECLARED: Final = (
    "NAME",
    "SCOPE",
    "CURES",
    "CYCLE_CURES",
    "SUBJECT",
    "PREFILTERS",
    "WEIGHT",
    "PERMANENT",
)


# ---------------------------------------------------------------- by class and slot


class DerivedRule(DerivedColumns, Protocol):
    """A filter whose answer is a comparison of amounts in columns of its own.

    A slot passes if every derived column has the amount that the class takes from it. The last
    ``scored`` columns refuse no slot that the other columns admit, so they are not compared.
    """

    @property
    def scored(self) -> int:
        """How many columns, the last ones, only a score reads."""
        ...

    def amounts(self, pod: PodClass) -> Sequence[tuple[int, int]]:
        """What a class takes, in the order of the columns: (column, amount in scan steps)."""
        ...


class Rule(Declaration, ABC):
    """What every rule of the default engine has. Subclass ``FilterRule``, ``ScoreRule`` or both."""

    #: Whether the kernels apply it themselves, from what is compiled of a class.
    FUSED: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read the profile's arguments; refuse unknown or wrong ones with ``InputError``."""
        self.args = args

    def signature(self, pod: PodClass) -> Hashable | None:
        """What of the class the answer depends on; ``None`` when the rule does not concern it.

        Classes with equal signatures share one row of a static rule.
        """
        return pod.id

    def cures(self, pod: PodClass) -> Cure:
        """Those of ``CURES`` that may help pods of a class."""
        return self.CURES

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Narrow the search before any slot is looked at; ``None`` looks at all."""
        return None


class FilterRule(Rule):
    """Decides which slots a pod may use."""

    #: Reason in Kubernetes' form, for rules that have but one; empty names the rule.
    REASON: ClassVar[str] = ""
    #: Whether evicting pods may cure a refusal.
    RESOLVABLE: ClassVar[bool] = True

    def filter_signature(self, pod: PodClass) -> Hashable | None:
        """``signature`` of the filter alone, for rules that also score."""
        return self.signature(pod)

    @abstractmethod
    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where the pod may go."""

    def derived(self, nodes: NodeFacts, ledger: Ledger) -> DerivedRule | None:
        """The form for the kernels: columns that they compare and charge; else ``filter``."""
        return None

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Every reason with the slots it holds for; together they cover what ``filter`` refuses."""
        refused = ~self.filter(pod, view, slots)
        reason = self.REASON or f"node(s) rejected by rule {self.NAME}"
        return [Refusal(reason, refused, self.RESOLVABLE)] if refused.any() else []


class ScoreRule(Rule):
    """Ranks the slots that a pod may use."""

    #: Whether the compiled score reads the derived columns of the same rule as a filter.
    SCORES_DERIVED: ClassVar[bool] = False

    def score_signature(self, pod: PodClass) -> Hashable | None:
        """``signature`` of the score alone, for rules that also filter."""
        return self.signature(pod)

    @abstractmethod
    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k] in 0..100 for slots that pass every filter; others' values do not matter."""

    def compiled(self, resources: ResourceColumns) -> CompiledScore | None:
        """The form for the kernels; with ``None`` the engine calls ``score``."""
        return None


# ---------------------------------------------------------------- by pod and node, in statuses


class NodeDryRun:
    """One plugin's status for one node while pods are removed from it and added back."""

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""

    def status(self) -> PluginStatus:
        """The plugin's status for the node as it is now."""
        return SUCCESS


class FixedDryRun(NodeDryRun):
    """The dry run of a plugin that does not depend on the node's pods."""

    def __init__(self, status: PluginStatus) -> None:
        """Give this status, whichever pods are removed."""
        self._status = status

    def status(self) -> PluginStatus:
        """The plugin's status for the node."""
        return self._status


class NodeCheck(ABC):
    """One plugin's view of all nodes for one pod."""

    #: Names of the only nodes that the pod may go to; ``None`` for any.
    only: frozenset[str] | None = None

    @abstractmethod
    def verdict(self) -> NodeStatuses | None:
        """The plugin's status for every node; ``None`` where it refuses none."""

    def trial(self, node: int) -> NodeDryRun:
        """A dry run on one node."""
        verdict = self.verdict()
        return FixedDryRun(SUCCESS if verdict is None else verdict.status(node))


class FixedCheck(NodeCheck):
    """A view that is computed at once and that does not depend on other pods."""

    def __init__(self, verdict: NodeStatuses | None, only: frozenset[str] | None = None) -> None:
        """Give this verdict."""
        self._verdict = verdict
        self.only = only

    def verdict(self) -> NodeStatuses | None:
        """The computed statuses."""
        return self._verdict


class FilterPlugin(Declaration, ABC):
    """kube-parity's form of a filter: upstream's PreFilter and Filter for one pod."""

    @abstractmethod
    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """The plugin's view of the nodes, or the status that skips it or ends the cycle."""


class ScorePlugin(Declaration, ABC):
    """kube-parity's form of a score: upstream's Score and NormalizeScore for one pod."""

    @abstractmethod
    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: NodeScores
    ) -> NodeScores | None:
        """int64[k] in 0..100, normalised over the feasible nodes; ``None`` when it is skipped."""
