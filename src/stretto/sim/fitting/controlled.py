"""A copy of a state with its scheduler and the controllers of its workloads, in virtual time."""

from collections.abc import Callable, Sequence
from typing import Final

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import PlaneCopy, SchedulingRules, StoreState
from stretto.plane.plane import Plane
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.loop import ReconcileLoop
from stretto.reconcile.reconciler import Reconciler
from stretto.stores.store import StatusReason, Store, Update
from stretto.workloads.standalone import standalone_controllers

ANY_SCHEDULER: Final = frozenset({"", "default-scheduler"})
"""Scheduler names of pods without an own scheduler; a trial places them too."""
_STEP_S: Final = 1.0


class ControlledCopy:
    """A copy on which controllers act; the state itself is not changed."""

    def __init__(self, state: StoreState, rules: SchedulingRules) -> None:
        """Copy a state; no controller acts yet."""
        names = state.settings.scheduler_names | ANY_SCHEDULER
        settings = state.settings._replace(scheduler_names=names)
        copied = state._replace(settings=settings)
        self._copy = PlaneCopy(copied, rules._replace(events=True))
        self._clock = self._copy.clock
        if state.at is not None:
            self._clock.jump_wall(state.at)
        self._loop = ReconcileLoop(self._clock)
        #: The objects of the copy.
        self.store: Store = self._copy.store
        #: Caches of the objects.
        self.cache: StoreCache = self._loop.add_store("copy", self.store)
        #: Virtual time.
        self.clock: Clock = self._clock
        self._loop.add_controllers(standalone_controllers(self.cache, self._clock))

    @property
    def plane(self) -> Plane:
        """The scheduler."""
        return self._copy.plane

    def write(self, objects: Sequence[InputObject]) -> None:
        """Create objects, or replace the objects of the same names.

        Raises:
            InputError: the store refuses an object.
        """
        for item in objects:
            (reply,) = self.store.create(item.kind, [item.body])
            if reply.code is StatusReason.ALREADY_EXISTS:
                update = Update(item.namespace, item.name, item.body)
                (reply,) = self.store.update(item.kind, [update])
            if reply.record is None:
                raise InputError(
                    item.title, None, "an object that the store accepts", reply.message
                )

    def add(self, controller: Reconciler, keys: Sequence[object]) -> None:
        """Add a controller, beginning with some keys."""
        self._loop.add_controllers([controller])
        for key in keys:
            self._loop.make_due(controller.name, key)

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Run scheduler and controllers for seconds of virtual time, or until ``until`` is true."""
        end = self._clock.monotonic() + seconds
        while self._clock.monotonic() < end and not until():
            before = -1
            while before != self._copy.store.version:
                before = self._copy.store.version
                self._loop.step()
                self._copy.plane.run_until_idle()
            self._clock.advance(_STEP_S)
