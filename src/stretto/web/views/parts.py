"""Optional parts of a dashboard besides its source; the process that serves it decides."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from stretto.control.controllers.move_plan import DefragPlan
from stretto.explain.inventory.run_comparison import RunComparison
from stretto.explain.inventory.runs import RunRow
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
    #: Why it would stay pending; empty for a placed pod.
    reason: str = ""


class PlanPreview(NamedTuple):
    """The result if objects were submitted now."""

    #: One sentence with the figures.
    summary: str
    #: The pods of the objects.
    pods: Sequence[PlannedPod]
    #: Pods that would be evicted, with their nodes.
    victims: Sequence[tuple[str, str]] = ()
    #: Objects that would be refused, and notes about skipped ones.
    notes: Sequence[str] = ()


Planner = Callable[[str], PlanPreview]
"""Plans pasted YAML, in a thread; raises ``InputError`` for text that is not valid."""
Defragmenter = Callable[[ReschedulingGoal, int], DefragPlan]
"""Plans at most a number of moves towards a goal, in a thread."""


StartEstimator = Callable[[str], str]
"""When a pending pod, ``namespace/name``, starts: a sentence, made in a thread."""


class Studies(Protocol):
    """The run records."""

    def rows(self) -> Sequence[RunRow]:
        """All records, the latest first."""
        ...

    def compare(self, names: Sequence[str]) -> RunComparison:
        """Compare records; the first one is the reference.

        Raises:
            InputError: no record is named, too many are, or one of them is unreadable.
            NotFoundError: no record has one of the names.
        """
        ...

    def picture(self, comparison: RunComparison) -> bytes:
        """The pods placed over time as PNG; empty if no report has them.

        Raises:
            MissingExtraError: the library that draws is not installed.
        """
        ...


class DashboardParts(NamedTuple):
    """The optional parts of a dashboard."""

    #: The run records; ``None`` without a page of studies.
    studies: Studies | None = None
    #: Plans pasted objects; ``None`` without that page.
    plan: Planner | None = None
    #: Plans moves that free nodes or GPUs; ``None`` without that page.
    defragment: Defragmenter | None = None
    #: Estimates the starts of pending pods; ``None`` without estimates.
    start: StartEstimator | None = None
    #: The offers of a master; ``None`` without that page.
    offers: Callable[[], OfferBoard] | None = None
    #: The clusters of a federation; ``None`` without that page.
    clusters: Callable[[], Sequence[ClusterFacts]] | None = None
    #: Changes objects; ``None`` for a dashboard that only reads.
    actions: Actions | None = None


READ_ONLY: Final = DashboardParts()
"""No studies, plans or actions."""
