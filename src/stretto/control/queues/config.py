"""What may be set about queues, units and retries, with defaults and their reasons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import Final

from stretto.api.types.godel import Queue, QueuePolicy
from stretto.api.wire.quantity import amounts, format_amount
from stretto.base.errors import InputError
from stretto.control.load_policies import LEAST_LOADED
from stretto.framework.profile.profile import Profile
from stretto.state.work.units import DEFAULT_QUEUE

ALL: Final = "all"
"""In place of a number: all pods that exist must fit together."""

MinMember = int | str
"""A number of pods, or ``ALL``."""

MIN_MEMBERS: Final[Mapping[str, MinMember]] = MappingProxyType(
    {"ReplicaSet": 1, "Deployment": 1, "StatefulSet": 1, "DaemonSet": 1, "Job": 1}
)
"""Services are useful from the first pod on; a Job says otherwise by annotation."""


class SiblingPolicy(StrEnum):
    """Whose turn it is when several queues have something to send."""

    #: The queue that has sent the fewest pods for its weight.
    WEIGHT = "Weighted"
    #: The queue with the least dominant share for its weight.
    DRF = QueuePolicy.DRF.value
    #: The queue with the least of one resource for its weight.
    FAIR_SHARE = QueuePolicy.FAIR_SHARE.value


ROOT: Final = "root"
"""Name of the queue whose policy says how the turn goes between all others."""
_BETWEEN: Final = (QueuePolicy.DRF, QueuePolicy.FAIR_SHARE)


def between_of(policy: str) -> SiblingPolicy:
    """How the turn goes between the queues of one that has this policy."""
    return SiblingPolicy(str(policy)) if policy in _BETWEEN else SiblingPolicy.WEIGHT


@dataclass(frozen=True)
class QueueConfig:
    """One queue."""

    #: Its name.
    name: str
    #: In which order it gives out its units: a name of ``QueuePolicy``.
    policy: str = QueuePolicy.FIFO_SKIP
    #: Its share of the dispatches while others wait too.
    weight: float = 1.0
    #: Whether nothing may pass a failed head; ``None`` leaves it to the policy.
    blocking: bool | None = None
    #: The queue it is part of; empty for one that stands beside the others.
    parent: str = ""
    #: Its share of single resources, where that is another one than ``weight``.
    weights: Mapping[str, float] = field(default_factory=dict)
    #: The resource that ``FairShare`` counts between its queues.
    resource: str = "cpu"
    #: What it gets back when others have borrowed it: amounts as the engine counts, by resource.
    guarantee: Mapping[str, int] = field(default_factory=dict)
    #: What it never exceeds, by resource; a resource that is not named has no limit.
    limit: Mapping[str, int] = field(default_factory=dict)
    #: Units that may run at once in it and in its queues; ``None`` for any number.
    max_running_units: int | None = None
    #: Its object is gone and it is still used: what runs goes on, nothing more starts.
    draining: bool = False

    def __post_init__(self) -> None:
        for name, share in (("", self.weight), *self.weights.items()):
            if not 0 < share < inf:
                where = f"queue {self.name}: weight {name}".strip()
                raise InputError(where, share, "a number above 0", "use 1 for an equal share")
        for word, given in (("guarantee", self.guarantee), ("limit", self.limit)):
            for resource, amount in given.items():
                if amount < 0:
                    where = f"queue {self.name}: {word}.{resource}"
                    raise InputError(where, format_amount(resource, amount), "an amount from 0 on")
        if self.max_running_units is not None and self.max_running_units < 0:
            where = f"queue {self.name}: maxRunningUnits"
            raise InputError(where, self.max_running_units, "0 or more", "0 closes the queue")

    @property
    def in_tree(self) -> bool:
        """Whether it says anything that only a tree of queues can keep."""
        kept = self.parent or self.guarantee or self.limit or self.weights or self.draining
        return bool(kept) or self.max_running_units is not None


def queue_config(queue: Queue) -> QueueConfig:
    """A queue's object as the dispatcher's settings.

    Raises:
        InputError: an amount is no quantity, or the weight is none.
    """
    name, spec = queue.metadata.name, queue.spec
    where = f"queue {name}: spec"
    return QueueConfig(
        name=name,
        policy=str(spec.policy),
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
    """Everything that may be set about a dispatcher."""

    #: Queues with settings of their own; any other is made when a pod names it.
    queues: tuple[QueueConfig, ...] = ()
    #: What queues without settings are like; its name is not used.
    other_queues: QueueConfig = QueueConfig(DEFAULT_QUEUE)
    #: Whose turn it is between queues.
    between: SiblingPolicy = SiblingPolicy.WEIGHT
    #: The resource or device kind that ``SiblingPolicy.FAIR_SHARE`` counts.
    resource: str = "cpu"
    #: Pods that must fit together, by the kind of their owner; kinds not named get 1.
    min_members: Mapping[str, MinMember] = field(default_factory=lambda: MIN_MEMBERS)
    #: Whether pods that need no others are units of their own, whoever owns them.
    each_alone: bool = False
    #: Seconds a PodGroup may wait that names no time itself (Gödel's default).
    schedule_timeout: float = 300.0
    #: Name of the measure by which the least loaded shard is given work next.
    dispatch: str = LEAST_LOADED
    #: Whether pods that fit nowhere are tried again; published protocols drop them.
    retry: bool = True
    #: Seconds before the first retry after a refusal by the store (Kubernetes' default).
    first_delay: float = 1.0
    #: Longest delay between retries in seconds (Kubernetes' default).
    longest_delay: float = 10.0
    #: Retries at once after a plain conflict; more would be a hot loop.
    free_retries: int = 3
    #: Seconds after which sleepers are tried without an event (Kubernetes' default).
    safety_net: float = 300.0
    #: Units of a blocking queue that are at its shard at once: what a failing head throws back.
    blocking_window: int = 64

    def __post_init__(self) -> None:
        for kind, number in self.min_members.items():
            if number != ALL and not (isinstance(number, int) and number >= 1):
                where = f"min_members: {kind}"
                raise InputError(where, number, f"a number of pods from 1 on, or {ALL!r}")
        if not 0 < self.first_delay <= self.longest_delay:
            where, expected = "first_delay", f"above 0 and at most {self.longest_delay} s"
            raise InputError(where, self.first_delay, expected)

    @property
    def counts_usage(self) -> bool:
        """Whether anything asks what queues hold, or when it ends."""
        policies = {queue.policy for queue in (*self.queues, self.other_queues)}
        return self.has_tree or QueuePolicy.EASY in policies

    @property
    def has_tree(self) -> bool:
        """Whether turns go by what queues hold, guarantee or limit."""
        return self.between is not SiblingPolicy.WEIGHT or any(q.in_tree for q in self.queues)

    def having(self, queues: Iterable[QueueConfig]) -> "DispatcherConfig":
        """The same with other queues; one that is named ``root`` says how turns go."""
        named = {queue.name: queue for queue in queues}
        root = named.get(ROOT)
        if root is None:
            return replace(self, queues=tuple(named.values()))
        between, resource = between_of(root.policy), root.resource
        return replace(self, queues=tuple(named.values()), between=between, resource=resource)

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        doublings = min(failures - 1, 30)
        return min(self.longest_delay, self.first_delay * 2.0**doublings) if failures > 0 else 0.0


def dispatcher_config(profile: Profile, queues: Sequence[QueueConfig] = ()) -> DispatcherConfig:
    """What a profile says of retries and gangs, with queues that have settings of their own.

    Where kube-scheduler's rules decide, its queue does too: pods one by one, by priority.
    """
    exact = profile.exact
    others = QueuePolicy.PRIORITY if exact else QueuePolicy.FIFO_SKIP
    return DispatcherConfig(
        queues=tuple(queues),
        other_queues=QueueConfig(DEFAULT_QUEUE, policy=others),
        each_alone=exact,
        min_members={**MIN_MEMBERS, **profile.min_members},
        retry=profile.retry,
        first_delay=profile.first_delay,
        longest_delay=profile.longest_delay,
        dispatch=profile.dispatch,
    )
