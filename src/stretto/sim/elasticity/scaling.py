"""Recording of the replicas that scaling groups change in a run."""

from collections.abc import Hashable, Iterable

import msgspec

from stretto.api.types.capacity.scaling import ScalingPolicy
from stretto.api.wire.kinds import SCALING_POLICY
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.capacity.scaling.targets import TARGETS
from stretto.reconcile.cache import Change, StoreCache, StoredObject


class ReplicaMove(msgspec.Struct, frozen=True):
    """A change of the replicas of one group."""

    #: Virtual seconds since the run began.
    seconds: float
    #: The policy, as ``namespace/name``.
    policy: str
    #: Name of the group.
    group: str
    #: Its workload, such as ``Deployment default/web``.
    workload: str
    #: Replicas before.
    before: int
    #: Replicas after.
    after: int


class ReplicaMoves:
    """Observes the workloads of scaling groups; a reconciler without keys."""

    def __init__(self, cache: StoreCache, clock: Clock) -> None:
        """Observe the caches of a store from now on."""
        #: Name among the controllers.
        self.name = f"{cache.name}/replica-moves"
        #: The changes so far, in order.
        self.found: list[ReplicaMove] = []
        self._clock = clock
        self._begin = clock.monotonic()
        self._policies = cache.follow(SCALING_POLICY)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Record a change of replicas; return no keys."""
        if change.old is not None and change.new is not None and change.kind.kind in TARGETS:
            before, after = _replicas(change.old), _replicas(change.new)
            if before != after:
                self._record(change.new, before, after)
        return ()

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Do nothing, because no key is ever due."""
        del key, now
        return None

    def _record(self, workload: StoredObject, before: int, after: int) -> None:
        """Record a change once for each group that scales the workload."""
        namespace, name = workload.name
        kind, seconds = workload.record.kind.kind, round(self._clock.monotonic() - self._begin, 3)
        for item in self._policies.in_namespace(namespace):
            try:
                groups = item.read(ScalingPolicy).spec.groups
            except InputError:  # an event of the policy reports the error
                continue
            policy, title = "/".join(item.name), f"{kind} {namespace}/{name}"
            self.found += [
                ReplicaMove(seconds, policy, group.name, title, before, after)
                for group in groups
                if (group.target_ref.kind, group.target_ref.name) == (kind, name)
            ]


def _replicas(workload: StoredObject) -> int:
    return int(workload.spec.get("replicas", 1))
