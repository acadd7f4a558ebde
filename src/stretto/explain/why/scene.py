"""The input of an explanation: a cluster with its rules, and facts about the units of its pods.

A scene shows a running plane or the record of a run (see ``sources``). An explanation schedules
nothing and changes nothing.
"""

from typing import Protocol

from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.records.steps import StepFact
from stretto.explain.why.judging import Judging, compiled_for, view_of
from stretto.explain.why.sources.lookup import row_named, slot_named
from stretto.explain.why.sources.unhandled import ObjectFacts
from stretto.explain.words.standing import UnitFacts
from stretto.framework.contract.rule import View
from stretto.framework.preemption.terms import NO_USAGE, UsageOf
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.queues.usage import QueueUsage
from stretto.state.work.units import Units


class UnitNotes(Protocol):
    """Facts about pods beyond the cluster state."""

    def unit_of(self, row: int) -> UnitFacts | None:
        """The pod's unit; ``None`` if there is nothing to report."""
        ...

    def members(self, row: int) -> list[int]:
        """Rows of the pending pods of the same unit, including this one."""
        ...

    def steps_of(self, row: int) -> tuple[StepFact, ...]:
        """The recorded steps of the pod."""
        ...


class Scene:
    """A cluster at one instant, with all input of explanations."""

    def __init__(
        self, cluster: Cluster, profile: Profile, notes: UnitNotes, usage: UsageOf = NO_USAGE
    ) -> None:
        """Build a scene; the cluster must not change while the scene is used.

        ``usage`` returns the charges of the queues, pod by pod, when an explanation needs them.
        """
        #: Nodes, pods and classes.
        self.cluster = cluster
        #: Profile with the rules.
        self.profile = profile
        #: Units and steps.
        self.notes = notes
        #: The compiled rules.
        self.engine = compiled_for(profile, cluster)
        #: Instant that the scene shows, as text.
        self.when = "the current state"
        #: The units of a running plane; ``None`` for a record.
        self.units: Units | None = None
        #: Usage of the queues; empty if unknown.
        self.queues: tuple[QueueFacts, ...] = ()
        self._usage = usage
        #: Facts of objects that the cluster does not keep.
        self.objects = ObjectFacts()
        #: The filters, and the scores with their weights, that decide about the pod of a row.
        self.rules = Judging(self.engine).rules

    @property
    def usage(self) -> QueueUsage | None:
        """Charges of the queues, pod by pod; ``None`` if unknown."""
        return self._usage()

    def view(self) -> View:
        """A new view of the cluster; its columns may be modified."""
        return view_of(self.engine)

    def row_of(self, pod: str) -> int:
        """The row of ``name`` or ``namespace/name``.

        Raises:
            NotFoundError: no such pod; the hint lists similar names.
        """
        return row_named(self.cluster, pod)

    def slot_of(self, node: str) -> int:
        """The slot of a node.

        Raises:
            NotFoundError: no such node; the hint lists similar names.
        """
        return slot_named(self.cluster, node)
