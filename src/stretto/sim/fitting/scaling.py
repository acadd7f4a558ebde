"""Trials of ScalingPolicies: the real controllers and the real scheduler on a copy of a state."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.types.capacity.scaling import ScalingGroupSpec, ScalingPolicy
from stretto.api.wire.kinds import SCALING_POLICY
from stretto.base.errors import InputError
from stretto.capacity.scaling.controller import INVALID, ScalingController
from stretto.capacity.scaling.targets import active_pods, target_of
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import SchedulingRules, StoreState
from stretto.reconcile.cache import Name, StoredObject
from stretto.sim.fitting.controlled import ControlledCopy
from stretto.stores.store import Patch

SCHEMA: Final = "stretto.scale/v1"
"""Version of the results as JSON."""
LONGEST_S: Final = 240.0
"""Virtual seconds of a trial, enough for several groups that cannot place all replicas."""


class GroupTrial(msgspec.Struct, frozen=True):
    """Effect of a trial on one group."""

    #: Name of the group.
    name: str
    #: Its workload, such as ``Deployment default/web``.
    workload: str
    #: Replicas before; ``None`` for a workload that does not exist.
    before: int | None
    #: Replicas after.
    replicas: int
    #: Number of its pods on nodes afterwards.
    placed: int
    #: Number of replicas that fit, if not all do; ``None`` otherwise.
    fits: int | None


class ScalingTrial(msgspec.Struct, frozen=True):
    """Effect of a trial on one policy."""

    #: The policy, as ``namespace/name``.
    policy: str
    #: Desired replicas.
    wanted: int
    #: Replicas without capacity in any group.
    unmet: int
    #: Reason why not all replicas are divided; empty if they are.
    message: str
    #: The groups.
    groups: tuple[GroupTrial, ...]


class ScaleReport(msgspec.Struct, frozen=True):
    """Effect of trials on the policies of a manifest."""

    #: Title of the state.
    state: str
    #: The policies.
    policies: tuple[ScalingTrial, ...]


def try_scaling(
    state: StoreState,
    objects: Sequence[InputObject],
    wanted: int | None,
    rules: SchedulingRules,
) -> list[ScalingTrial]:
    """Try the policies of a manifest.

    Args:
        state: the state; it is not changed.
        objects: the policies, and workloads that are missing from the state or differ from it.
        wanted: replicas of each policy; ``None`` for the replicas in its spec.
        rules: rules of the scheduler.

    Raises:
        InputError: no object is a policy, the store refuses one, or a policy cannot be divided.
    """
    names = [(each.namespace, each.name) for each in objects if each.kind == SCALING_POLICY]
    if not names:
        found = ", ".join(each.title for each in objects[:5]) or None
        hint = "add one to MANIFEST"
        raise InputError("MANIFEST", found, "an object of kind ScalingPolicy", hint)
    trial = _Trial(state, rules)
    trial.write(objects)
    if wanted is not None:
        change = {"spec": {"replicas": wanted}}
        trial.store.patch(SCALING_POLICY, [Patch(*name, change) for name in names])
    trial.run()
    before = {name: trial.sizes(name) for name in names}
    trial.scale()
    trial.run()
    trial.check(names)
    return [trial.found(name, before[name]) for name in names]


class _Trial:
    """A copy of a state on which policies act."""

    def __init__(self, state: StoreState, rules: SchedulingRules) -> None:
        self._copy = ControlledCopy(state, rules)
        self.store = self._copy.store
        self._cache = self._copy.cache
        self._policies = self._cache.follow(SCALING_POLICY)

    def write(self, objects: Sequence[InputObject]) -> None:
        """Create objects, or replace the objects of the same names."""
        self._copy.write(objects)

    def scale(self) -> None:
        """Add the controller of the policies."""
        controller = ScalingController(self._cache, self._copy.clock)
        self._copy.add(controller, [each.name for each in self._policies])

    def run(self) -> None:
        """Run scheduler and controllers for ``LONGEST_S`` seconds of virtual time."""
        self._copy.run(LONGEST_S)

    def check(self, names: Sequence[Name]) -> None:
        """Refuse a policy that its controller cannot divide."""
        for name in names:
            for each in self._policy(name).status.conditions:
                if each.reason == INVALID:
                    where = f"scalingpolicy {'/'.join(name)}"
                    raise InputError(where, None, f"a valid spec: {each.message}")

    def sizes(self, name: Name) -> dict[str, int | None]:
        """Replicas of the workload of each group of a policy; ``None`` without a workload."""
        targets = {each.name: self._target(name, each) for each in self._policy(name).spec.groups}
        return {
            group: None if target is None else int(target.spec.get("replicas", 1))
            for group, target in targets.items()
        }

    def found(self, name: Name, before: Mapping[str, int | None]) -> ScalingTrial:
        """The result for a policy."""
        policy = self._policy(name)
        stated = {each.name: each for each in policy.status.groups}
        groups = tuple(
            GroupTrial(
                each.name,
                f"{each.target_ref.kind} {name[0]}/{each.target_ref.name}",
                before[each.name],
                stated[each.name].replicas if each.name in stated else 0,
                self._placed(name, each),
                stated[each.name].fits if each.name in stated else None,
            )
            for each in policy.spec.groups
        )
        message = next((each.message for each in policy.status.conditions), "")
        wanted = policy.spec.replicas
        return ScalingTrial("/".join(name), wanted, policy.status.unmet, message, groups)

    def _policy(self, name: Name) -> ScalingPolicy:
        item = self._policies.get(*name)
        assert item is not None, name
        return item.read(ScalingPolicy)

    def _target(self, name: Name, group: ScalingGroupSpec) -> StoredObject | None:
        return target_of(self._cache, name[0], group.target_ref)

    def _placed(self, name: Name, group: ScalingGroupSpec) -> int:
        target = self._target(name, group)
        if target is None:
            return 0
        return sum(bool(pod.record.node) for pod in active_pods(self._cache, target))
