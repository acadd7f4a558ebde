"""Optional parts of a dashboard besides its source; the serving process chooses them."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from stretto.control.controllers.move_plan import DefragPlan
from stretto.explain.inventory.run_comparison import RunComparison
from stretto.explain.inventory.runs import RunRow
from stretto.explain.records.curves import CurvePlot
from stretto.federation.answers.records import ClusterFacts
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.web.views.acting.contract import Actions
from stretto.web.views.offers import OfferBoard


class PlannedPod(NamedTuple):
    """The result for one pod of submitted objects."""

    #: ``namespace/name``.
    pod: str
    #: Its node; empty if it would stay pending.
    node: str
    #: Reason why it would stay pending; empty for a placed pod.
    reason: str = ""


class PlanPreview(NamedTuple):
    """The result of submitting objects now."""

    #: One sentence with the figures.
    summary: str
    #: The pods of the objects.
    pods: Sequence[PlannedPod]
    #: Pods that would be evicted, with their nodes.
    victims: Sequence[tuple[str, str]] = ()
    #: Objects that would be refused, and notes about skipped ones.
    notes: Sequence[str] = ()


Planner = Callable[[str], PlanPreview]
"""Plans pasted YAML, in a thread; raises ``InputError`` for invalid text."""
DrainPlanner = Callable[[str], PlanPreview]
"""Plans where the pods of a node would go, in a thread; raises ``NotFoundError``."""
Defragmenter = Callable[[ReschedulingGoal, int], DefragPlan]
"""Plans a limited number of moves towards a goal, in a thread."""


StartEstimator = Callable[[str], str]
"""Returns a sentence with the estimated start of a pod, ``namespace/name``; runs in a thread."""


class Studies(Protocol):
    """The run records."""

    def rows(self) -> Sequence[RunRow]:
        """All records, the latest first."""
        ...

    def compare(self, names: Sequence[str]) -> RunComparison:
        """Compare records; the first one is the reference.

        Raises:
            InputError: there is no name, too many names, or an unreadable record.
            NotFoundError: no record has one of the names.
        """
        ...

    def picture(self, plot: CurvePlot) -> bytes:
        """Draw a plot as PNG.

        Raises:
            MissingExtraError: the drawing library is not installed.
        """
        ...


class DashboardParts(NamedTuple):
    """The optional parts of a dashboard."""

    #: The run records; ``None``: no page of studies.
    studies: Studies | None = None
    #: Plans pasted objects; ``None``: no such page.
    plan: Planner | None = None
    #: Plans moves that free nodes or GPUs; ``None``: no such page.
    defragment: Defragmenter | None = None
    #: Estimates the starts of pending pods; ``None``: no estimates.
    start: StartEstimator | None = None
    #: Plans the drain of a node; ``None``: no such page.
    drain: DrainPlanner | None = None
    #: Returns the offers of a master; ``None``: no such page.
    offers: Callable[[], OfferBoard] | None = None
    #: Returns the clusters of a federation; ``None``: no such page.
    clusters: Callable[[], Sequence[ClusterFacts]] | None = None
    #: Changes objects; ``None``: the dashboard is read-only.
    actions: Actions | None = None


READ_ONLY: Final = DashboardParts()
"""No studies, plans or actions."""
