"""Writes conditions to federated objects."""

from collections.abc import Iterable

from stretto.base.clock import Clock, timestamp
from stretto.base.errors import StrettoError, UnreachableError
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.conditions import with_conditions
from stretto.federation.problems import ACCEPTED, ObjectCondition, ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject


class ObjectReporter:
    """Writes conditions that change, and nothing else."""

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the federated objects of a fleet; ``clock`` gives the times of transitions."""
        self._fleet = fleet
        self._clock = clock

    def write(self, federated: StoredObject, changes: Iterable[ObjectCondition]) -> None:
        """Set conditions of an object.

        Raises:
            RetryError: the store refused the write.
        """
        present = federated.status.get("conditions") or ()
        after = with_conditions(present, changes, timestamp(self._clock.now()))
        if after is not None:
            writes.patch_status(self._fleet.host.store, federated, {"conditions": after})

    def write_problem(
        self, federated: StoredObject, error: ObjectProblemError | StrettoError
    ) -> None:
        """Set the condition of an object that cannot be worked on.

        Raises:
            RetryError: the store refused the write.
        """
        if isinstance(error, UnreachableError):
            return  # it is no problem of the object, and the next attempt follows
        if isinstance(error, ObjectProblemError):
            self.write(federated, [error.condition])
        else:
            self.write(federated, [ObjectCondition(ACCEPTED, "InvalidPolicy", str(error))])
