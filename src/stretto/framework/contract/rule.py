"""The contract of scheduling rules.

The declarations of a rule, and the forms in which it is called.

The default engine calls a ``FilterRule`` or ``ScoreRule`` for a class of pods and a batch of slots;
the result is a mask or an int row. ``kube-parity`` calls a ``FilterPlugin`` or ``ScorePlugin`` for
one pod; the result is kube-scheduler's statuses for all nodes. With ``contract.shared``, it runs a
rule unchanged. Both forms have one ``Declaration``.
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
"""int64[k]: the evaluated slots."""
BoolArray = npt.NDArray[np.bool_]
"""bool[k]: one value per evaluated slot."""
IntArray = npt.NDArray[np.int32]
"""int32[k]: one score per evaluated slot."""
NodeScores = npt.NDArray[np.int64]
"""int64[k]: one position or score per node of a parity snapshot."""

TOP_SCORE: Final = 100
"""Maximum score on an absolute scale, before the profile's weight; the minimum is 0."""


class Scope(Enum):
    """Inputs of a rule's result for a slot, apart from the class."""

    #: The node object alone (labels, taints, name): cached per signature, updated on node changes.
    STATIC = "static"
    #: The current state of this slot (usage, ports, devices): cached per class, updated from the
    #: log.
    SLOT = "slot"
    #: The state of other slots, too (domains): evaluated at every decision.
    DOMAIN = "domain"


class Subject(Enum):
    """Subject of a refusal; explanations word and group reasons by it."""

    #: The node and its free amounts.
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
        """Return whether each node has its own value of the label."""
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
    """State that a rule may read. It is read-only: the guard stops a rule that writes to it."""

    #: Scan columns of the snapshot: free and allocatable amounts, ports, devices.
    columns: Columns
    #: Node objects by slot: names, labels, taints.
    nodes: NodeFacts
    #: Typical pods against which fragmentation is measured.
    typical: TypicalPodTable = NO_TYPICAL_PODS
    #: Pod counts, for rules over domains; ``None`` if no rule counts pods.
    look: Neighbours | None = None


class Refusal(NamedTuple):
    """One reason for which a filter refuses slots, and the slots to which it applies."""

    #: Text in Kubernetes' form, such as ``Insufficient cpu``.
    reason: str
    #: bool[k]: evaluated slots to which it applies.
    mask: BoolArray
    #: True if evicting pods from the node could resolve it (preemption may help).
    resolvable: bool = True


class Restrict(NamedTuple):
    """Restriction of the pod to these slots (pins such as a node's name)."""

    #: int64[k]: the only slots to evaluate.
    slots: SlotArray
    #: Node names that the pod gives, including missing nodes; ``None`` if it gives none.
    names: frozenset[str] | None = None


class Fail(NamedTuple):
    """The pod fits on no node of any kind."""

    #: Text for people.
    reason: str


class Declaration:
    """The declarations of a rule, for every engine.

    ``class X(..., declares=Y)`` copies every declaration from ``Y`` that ``X`` does not make
    itself.
    """

    #: Name in profiles and messages.
    NAME: ClassVar[str]
    #: Inputs of the result.
    SCOPE: ClassVar[Scope]
    #: Events that may turn a refusal into an acceptance; a refused pod waits for these.
    CURES: ClassVar[Cure] = Cure.NONE
    #: Events if the rule refused the pod before the evaluation of nodes; ``None`` for the same as
    #: ``CURES``.
    CYCLE_CURES: ClassVar[Cure | None] = None
    #: Subject of its refusals.
    SUBJECT: ClassVar[Subject] = Subject.NODE
    #: True if kube-scheduler calls it before the nodes (PreFilter). A rule without that step gives
    #: each node outside its ``Restrict`` a reason of its own, and is never skipped.
    PREFILTERS: ClassVar[bool] = True
    #: Default weight of its score: kube-scheduler's default.
    WEIGHT: ClassVar[int] = 1
    #: True if every profile keeps it as a filter, even a profile that disables it.
    PERMANENT: ClassVar[bool] = False

    def __init_subclass__(cls, declares: "type[Declaration] | None" = None, **more: Any) -> None:
        """Copy the declarations of another form of the rule."""
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
    """A filter whose result is a comparison of amounts in columns of its own.

    A slot passes if every derived column has the amount that the class requests. The last
    ``scored`` columns refuse no slot that the other columns admit, so they are not compared.
    """

    @property
    def scored(self) -> int:
        """Number of columns at the end that only a score reads."""
        ...

    def amounts(self, pod: PodClass) -> Sequence[tuple[int, int]]:
        """Requests of a class, in the order of the columns: (column, amount in scan steps)."""
        ...


class Rule(Declaration, ABC):
    """Base of every rule of the default engine. Subclass ``FilterRule``, ``ScoreRule`` or both."""

    #: True if the kernels apply it themselves, from the compiled constants of a class.
    FUSED: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read the profile's arguments; raise ``InputError`` for unknown or invalid ones."""
        self.args = args

    def signature(self, pod: PodClass) -> Hashable | None:
        """Part of the class on which the result depends; ``None`` if the rule does not apply.

        Classes with equal signatures share one row of a static rule.
        """
        return pod.id

    def cures(self, pod: PodClass) -> Cure:
        """Events among ``CURES`` that may help pods of a class."""
        return self.CURES

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Restrict the search before any slot is evaluated; ``None`` for all slots."""
        return None


class FilterRule(Rule):
    """Determines the slots that a pod may use."""

    #: Reason in Kubernetes' form, for rules with only one reason; if empty, the reason names the
    #: rule.
    REASON: ClassVar[str] = ""
    #: True if evicting pods may resolve a refusal.
    RESOLVABLE: ClassVar[bool] = True

    def filter_signature(self, pod: PodClass) -> Hashable | None:
        """``signature`` of the filter alone, for rules that also score."""
        return self.signature(pod)

    @abstractmethod
    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the pod may be placed."""

    def derived(self, nodes: NodeFacts, ledger: Ledger) -> DerivedRule | None:
        """Form for the kernels: columns that they compare and charge.

        ``None`` to use ``filter``.
        """
        return None

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Every reason with the slots to which it applies.

        Together they cover the refused slots.
        """
        refused = ~self.filter(pod, view, slots)
        reason = self.REASON or f"node(s) rejected by rule {self.NAME}"
        return [Refusal(reason, refused, self.RESOLVABLE)] if refused.any() else []


class ScoreRule(Rule):
    """Scores the slots that a pod may use."""

    #: True if the compiled score reads the derived columns of the same rule as a filter.
    SCORES_DERIVED: ClassVar[bool] = False

    def score_signature(self, pod: PodClass) -> Hashable | None:
        """``signature`` of the score alone, for rules that also filter."""
        return self.signature(pod)

    @abstractmethod
    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k] in 0..100 for slots that pass every filter.

        The values of other slots are ignored.
        """

    def compiled(self, resources: ResourceColumns) -> CompiledScore | None:
        """Form for the kernels; ``None`` to call ``score``."""
        return None


# ---------------------------------------------------------------- by pod and node, in statuses


class NodeDryRun:
    """Status of one plugin for one node while pods are removed from it and added back."""

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""

    def status(self) -> PluginStatus:
        """The plugin's status for the current node."""
        return SUCCESS


class FixedDryRun(NodeDryRun):
    """The dry run of a plugin that does not depend on the node's pods."""

    def __init__(self, status: PluginStatus) -> None:
        """Return this status for any removed pods."""
        self._status = status

    def status(self) -> PluginStatus:
        """The plugin's status for the node."""
        return self._status


class NodeCheck(ABC):
    """Result of one plugin for one pod on all nodes."""

    #: Names of the only nodes that the pod may use; ``None`` for any.
    only: frozenset[str] | None = None

    @abstractmethod
    def verdict(self) -> NodeStatuses | None:
        """The plugin's status for every node; ``None`` if it refuses none."""

    def trial(self, node: int) -> NodeDryRun:
        """A dry run on one node."""
        verdict = self.verdict()
        return FixedDryRun(SUCCESS if verdict is None else verdict.status(node))


class FixedCheck(NodeCheck):
    """A result that is computed at once and does not depend on other pods."""

    def __init__(self, verdict: NodeStatuses | None, only: frozenset[str] | None = None) -> None:
        """Return this verdict."""
        self._verdict = verdict
        self.only = only

    def verdict(self) -> NodeStatuses | None:
        """The computed statuses."""
        return self._verdict


class FilterPlugin(Declaration, ABC):
    """kube-parity's form of a filter: upstream's PreFilter and Filter for one pod."""

    @abstractmethod
    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """The plugin's result for all nodes, or the status that skips it or ends the cycle."""


class ScorePlugin(Declaration, ABC):
    """kube-parity's form of a score: upstream's Score and NormalizeScore for one pod."""

    @abstractmethod
    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: NodeScores
    ) -> NodeScores | None:
        """int64[k] in 0..100, normalised over the feasible nodes; ``None`` if it is skipped."""
