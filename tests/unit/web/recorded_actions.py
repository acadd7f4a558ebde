"""Actions that only remember what was asked."""

from collections.abc import Sequence

from starlette.applications import Starlette

from stretto.web.dashboard.app import dashboard_app
from stretto.web.views.acting.contract import Action, SubmittedObject
from stretto.web.views.parts import DashboardParts, PlannedPod, PlanPreview
from stretto.web.views.sources import PlaneSource
from tests.unit.web.dashboards import small_cluster


class RecordedActions:
    """Remembers actions instead of doing them."""

    actor = "a test"

    def __init__(self, refusal: str = "") -> None:
        self.done: list[tuple[str, str]] = []
        self._refusal = refusal

    def refusal(self, action: Action, subject: str) -> str:
        return self._refusal and f"{self._refusal}: {action} {subject}"

    def act(self, action: Action, subject: str) -> None:
        self.done.append((action.value, subject))

    def check(self, text: str) -> Sequence[SubmittedObject]:
        return [SubmittedObject(text, self._refusal)]

    def submit(self, text: str) -> Sequence[SubmittedObject]:
        self.done.append(("submit", text))
        return self.check(text)


def acting_dashboard(actions: RecordedActions) -> Starlette:
    """A dashboard that may change objects."""
    source = PlaneSource("a small cluster", small_cluster().plane)
    preview = PlanPreview("1 of 1 pod would be placed.", [PlannedPod("default/x", "n1")])
    return dashboard_app(source, DashboardParts(plan=lambda _: preview, actions=actions))
