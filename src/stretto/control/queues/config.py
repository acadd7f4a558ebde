"""Configuration of queues, units and retries, with defaults and their reasons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from stretto.api.types.godel import Queue, QueuePolicy
from stretto.api.wire.kinds import Kind
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError, UnknownNameError, suggestion
from stretto.control.load_policies import LEAST_LOADED
from stretto.control.queues.policies import order_policy, policy_names
from stretto.framework.profile.profile import Profile
from stretto.state.queues.shape import ROOT, QueueShape, SiblingPolicy
from stretto.state.work.units import DEFAULT_QUEUE

ALL: Final = "all"
"""Value instead of a number: all existing pods must fit together."""

MinMember = int | str
"""A number of pods, or ``ALL``."""

MIN_MEMBERS: Final[Mapping[str, MinMember]] = MappingProxyType(
    {"ReplicaSet": 1, "Deployment": 1, "StatefulSet": 1, "DaemonSet": 1, "Job": 1}
)
"""Minimum by kind of owner: services are useful from the first pod on.

A Job overrides this by annotation.
"""


@dataclass(frozen=True)
class QueueConfig(QueueShape):
    """One queue of units: its place in the tree and the order of its units."""

    #: True if no unit may pass a failed head; ``None`` for the default of the policy.
    blocking: bool | None = None


def queue_config(queue: Queue) -> QueueConfig:
    """Configuration of a Queue object.

    Raises:
        InputError: the policy is unknown, an amount is not a quantity, or a weight is not
            positive.
    """
    name, spec = queue.metadata.name, queue.spec
    where = f"queue {name}: spec"
    try:
        order_policy(spec.policy)
    except UnknownNameError as error:
        hint = suggestion(error.nearest[:1], "install its package")
        expected = f"one of {', '.join(policy_names())}"
        raise InputError(f"{where}.policy", spec.policy, expected, hint) from error
    return QueueConfig(
        name=name,
        policy=spec.policy,
        weight=float(spec.weight),
        weights={name: float(share) for name, share in spec.resource_weights.items()},
        parent=spec.parent,
        resource=spec.resource,
        guarantee=amounts(spec.guarantee, f"{where}.guarantee"),
        limit=amounts(spec.limit, f"{where}.limit"),
        max_running_units=spec.max_running_units,
        draining=queue.metadata.deletion_timestamp is not None,
    )


@dataclass(frozen=True)
class DispatcherConfig:
    """Settings of the dispatcher."""

    #: Configured queues; any other queue is created when a pod names it.
    queues: tuple[QueueConfig, ...] = ()
    #: Settings of queues that are not configured; its name is ignored.
    other_queues: QueueConfig = QueueConfig(DEFAULT_QUEUE, policy=QueuePolicy.PRIORITY)
    #: Policy between top-level queues: a name of ``SIBLING_POLICIES``.
    between: str = SiblingPolicy.WEIGHT
    #: Resource or device kind that ``FairShare`` or a policy of a package measures.
    resource: str = "cpu"
    #: Number of pods that must fit together, by kind of owner; 1 for other kinds.
    min_members: Mapping[str, MinMember] = field(default_factory=lambda: MIN_MEMBERS)
    #: True if a pod without gang is a unit of its own, regardless of its owner.
    each_alone: bool = False
    #: Default schedule timeout of a PodGroup in seconds (Gödel's default).
    schedule_timeout: float = 300.0
    #: Load policy: the measure by which the next shard is chosen.
    dispatch: str = LEAST_LOADED
    #: True if unschedulable pods are retried; published protocols drop them.
    retry: bool = True
    #: Initial back-off in seconds after the store refused a write (Kubernetes' default).
    first_delay: float = 1.0
    #: Maximum back-off in seconds (Kubernetes' default).
    longest_delay: float = 10.0
    #: Number of immediate retries after a conflict; more would be a hot loop.
    free_retries: int = 3
    #: Seconds after which unschedulable units are retried without an event (Kubernetes' default).
    safety_net: float = 300.0
    #: Maximum number of units of a blocking queue at a shard; they return if its head fails.
    blocking_window: int = 64
    #: True if the usage of queues is counted even if no policy needs it, for reports.
    always_counts: bool = False
    #: PodGroups of other schedulers that pods may name: keys of ``workload_groups.FORMS``.
    group_forms: tuple[Kind, ...] = ()

    def __post_init__(self) -> None:
        for kind, number in self.min_members.items():
            if number != ALL and not (isinstance(number, int) and number >= 1):
                where = f"min_members: {kind}"
                raise InputError(where, number, f"a number of pods of at least 1, or {ALL!r}")
        if not 0 < self.first_delay <= self.longest_delay:
            where, expected = "first_delay", f"above 0 and at most {self.longest_delay} s"
            raise InputError(where, self.first_delay, expected)

    @property
    def counts_usage(self) -> bool:
        """True if the usage of queues, or the ends of pods, are needed."""
        policies = {queue.policy for queue in (*self.queues, self.other_queues)}
        if self.always_counts:
            return True
        return self.has_tree or any(order_policy(each).backfills for each in policies)

    @property
    def has_tree(self) -> bool:
        """True if turns depend on usage, guarantees or limits."""
        return self.between != SiblingPolicy.WEIGHT or any(q.in_tree for q in self.queues)

    def having(self, queues: Iterable[QueueConfig]) -> "DispatcherConfig":
        """A copy with other queues; a queue named ``root`` sets the policy between them."""
        named = {queue.name: queue for queue in queues}
        root = named.get(ROOT)
        if root is None:
            return replace(self, queues=tuple(named.values()))
        between, resource = root.siblings, root.resource
        return replace(self, queues=tuple(named.values()), between=between, resource=resource)

    def delay(self, failures: int) -> float:
        """Back-off in seconds after ``failures`` consecutive failures."""
        doublings = min(failures - 1, 30)
        return min(self.longest_delay, self.first_delay * 2.0**doublings) if failures > 0 else 0.0


def dispatcher_config(profile: Profile, queues: Sequence[QueueConfig] = ()) -> DispatcherConfig:
    """The dispatcher settings of a profile, with these configured queues.

    Queues without settings order their units by priority, as kube-scheduler does. An exact profile
    also forms units as kube-scheduler does: pods one by one.
    """
    return DispatcherConfig(
        queues=tuple(queues),
        each_alone=profile.exact,
        min_members={**MIN_MEMBERS, **profile.min_members},
        retry=profile.retry,
        first_delay=profile.first_delay,
        longest_delay=profile.longest_delay,
        dispatch=profile.dispatch,
    )
