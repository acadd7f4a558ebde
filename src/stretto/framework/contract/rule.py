"""The contract of a scheduling rule: a vectorised function of a class, the nodes and some slots.

A rule is a filter, a score or both. It is asked about *slots*: all of them, or the few that changed
since it was last asked, always as one NumPy batch, never node by node. It says on what its
answer depends (``Scope``), so that the runtime knows what to keep, and which cluster events may
turn its "no" into a "yes" (``CURES``), so that nothing else wakes a waiting pod.

A verdict is a value: a mask over the slots, and on demand the reasons behind it. Exceptions are
for bugs; the runtime names the rule and goes on.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import NO_TYPICAL_PODS, CompiledScore, TypicalPodTable
from stretto.state.classes.table import PodClass
from stretto.state.classes.terms import SpreadConstraint
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.resources import ResourceColumns
from stretto.state.rows.snapshot import Columns
from stretto.state.work.units import Cure

SlotArray = npt.NDArray[np.int64]
"""int64[k]: the slots asked about."""
BoolArray = npt.NDArray[np.bool_]
"""bool[k]: one answer per slot asked about."""
IntArray = npt.NDArray[np.int32]
"""int32[k]: one score per slot asked about."""

TOP_SCORE: Final = 100
"""Scores run from 0 to this, on an absolute scale, before the profile's weight."""


class Scope(Enum):
    """On what a rule's answer for a slot depends, beside the class."""

    #: The node object alone (labels, taints, name): kept per signature, patched on node changes.
    STATIC = "static"
    #: What is on this slot now (usage, ports, devices): kept per class, replayed from the log.
    SLOT = "slot"
    #: What is on other slots too (domains): asked at every decision.
    DOMAIN = "domain"


class Neighbours(Protocol):
    """Who is where: pods by slot and by the domains of a node label."""

    @property
    def size(self) -> int:
        """Number of slots."""
        ...

    def domain(self, key: str) -> npt.NDArray[np.int64]:
        """int64[slot]: number of the label's value; 0 where the node lacks the label."""
        ...

    def is_host(self, key: str) -> bool:
        """Whether the label tells every node from every other."""
        ...

    def pods(self, population: int) -> npt.NDArray[np.int64]:
        """int64[slot]: pods of a population."""
        ...

    def live(self) -> npt.NDArray[np.bool_]:
        """bool[slot]: where a node lives."""
        ...

    def counting(
        self, pod: PodClass, spread: SpreadConstraint, among: tuple[SpreadConstraint, ...]
    ) -> npt.NDArray[np.bool_]:
        """bool[slot]: nodes that count for a constraint that stands among others."""
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
    """What a rule may look at. Read-only: a rule that writes to it is stopped."""

    #: Scan columns of the snapshot: free and allocatable amounts, ports, devices.
    columns: Columns
    #: Node objects by slot: names, labels, taints.
    nodes: NodeFacts
    #: The workload that fragmentation is measured against.
    typical: TypicalPodTable = NO_TYPICAL_PODS
    #: Who is where, for rules over domains; ``None`` where nobody counts.
    look: Neighbours | None = None


class Refusal(NamedTuple):
    """One reason for which a filter says no, and where."""

    #: Text in Kubernetes' form, such as ``Insufficient cpu``.
    reason: str
    #: bool[k]: the slots (of those asked about) that it holds for.
    mask: BoolArray
    #: Whether removing pods from the node could cure it (preemption may help).
    resolvable: bool = True


class Restrict(NamedTuple):
    """The pod may go to these slots only (pins such as a node's name)."""

    #: int64[k]: the only slots to look at.
    slots: SlotArray


class Fail(NamedTuple):
    """The pod may go nowhere, whatever the nodes have."""

    #: Text for people.
    reason: str


class Rule(ABC):
    """What every rule has. Subclass ``FilterRule``, ``ScoreRule`` or both."""

    #: Name in profiles and messages.
    NAME: ClassVar[str]
    #: On what the answer depends.
    SCOPE: ClassVar[Scope]
    #: Events that may turn its "no" into a "yes".
    CURES: ClassVar[Cure] = Cure.NONE
    #: Whether the kernels ask it themselves, from what is compiled of a class.
    FUSED: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read the profile's arguments; refuse unknown or wrong ones with ``InputError``."""
        self.args = args

    def signature(self, pod: PodClass) -> Hashable | None:
        """What of the class the answer depends on; ``None`` when the rule has no say.

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
    """Says where a pod may not go."""

    #: Reason in Kubernetes' form, for rules that have but one; empty names the rule.
    REASON: ClassVar[str] = ""

    @abstractmethod
    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where the pod may go."""

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Every reason with the slots it holds for; their union is where ``filter`` says no."""
        refused = ~self.filter(pod, view, slots)
        reason = self.REASON or f"node(s) rejected by rule {self.NAME}"
        return [Refusal(reason, refused)] if refused.any() else []


class ScoreRule(Rule):
    """Says where a pod does better."""

    @abstractmethod
    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k] in 0..100 for slots that pass every filter; others' values do not matter."""

    def compiled(self, resources: ResourceColumns) -> CompiledScore | None:
        """The form that the kernels compute themselves; ``None`` asks ``score`` instead."""
        return None
