"""The scene of a running plane."""

from stretto.control.dispatcher.views import UnitViews
from stretto.explain.records.steps import StepFact
from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import UnitFacts, facts_of, positions
from stretto.framework.preemption.terms import NO_USAGE
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.units import Unit, Units


class LiveNotes:
    """Units as the dispatcher has them now."""

    def __init__(self, units: Units, views: UnitViews | None = None) -> None:
        """Read the units of a plane; they must not change meanwhile."""
        self._units = units
        self._views = views
        self._positions: dict[Unit, tuple[int, int]] | None = None

    def unit_of(self, row: int) -> UnitFacts | None:
        """The pod's unit as it is now."""
        unit = self._units.of_row(row)
        if unit is None:
            return None
        if self._positions is None:
            self._positions = positions(self._units)
        failure = self._views.failure(unit) if self._views is not None else ""
        return facts_of(unit, self._positions.get(unit, (0, 0)), failure=failure, views=self._views)

    def members(self, row: int) -> list[int]:
        """Rows of the pending pods of the pod's unit."""
        unit = self._units.of_row(row)
        return list(unit.pending) if unit is not None else [row]

    def steps_of(self, row: int) -> tuple[StepFact, ...]:
        """No steps: a plane does not record them."""
        return ()


def live_scene(
    cluster: Cluster, profile: Profile, units: Units, views: UnitViews | None = None
) -> Scene:
    """The scene of a plane; the dispatcher's ``views`` add queue limits and usage."""
    usage = NO_USAGE if views is None else lambda: views.charges
    scene = Scene(cluster, profile, LiveNotes(units, views), usage)
    scene.units = units
    if views is not None:
        scene.queues = tuple(views.queues())
    return scene
