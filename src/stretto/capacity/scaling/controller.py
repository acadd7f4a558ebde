"""The controller of ScalingPolicies: it divides replicas and scales the workloads of the groups.

If pods of a group stay unschedulable, the group keeps the scheduled replicas, and the other
replicas move to the next groups. The status records this limit with its time, so it survives a
restart. Later the group is retried. Running replicas are removed only when the other replicas
suffice, so a trial never reduces the service.
"""

from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import structs, to_builtins

from stretto.api.types.capacity.scaling import (
    ScaleStrategy,
    ScalingGroupSpec,
    ScalingGroupStatus,
    ScalingPolicy,
    ScalingSpec,
)
from stretto.api.wire.kinds import POD, SCALING_POLICY
from stretto.base.clock import Clock, parse_timestamp, timestamp
from stretto.base.errors import InputError, UnknownNameError
from stretto.capacity.scaling.groups import GroupPlan, divide, held_back
from stretto.capacity.scaling.preview import look, with_forecast
from stretto.capacity.scaling.targets import TARGETS, TargetPods, pods_of, target_of
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache, StoredObject
from stretto.reconcile.conditions import condition_of, transition_time

INVALID: Final = "InvalidSpec"
"""Reason of a policy that cannot be divided."""
TRIED_AGAIN_S: Final = 300.0
"""Seconds for which a group keeps the limit of its scheduled replicas."""
CRON_S: Final = 30.0
"""Seconds between two evaluations of the limits by cron."""


class ScalingController:
    """Divides the replicas of ScalingPolicies and scales their workloads."""

    def __init__(self, cache: StoreCache, clock: Clock) -> None:
        """Reconcile the policies of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
        """
        #: Name in logs and messages.
        self.name = f"{cache.name}/scaling"
        self._cache = cache
        self._clock = clock
        self._policies = cache.follow(SCALING_POLICY)
        for kind in (*TARGETS.values(), POD):
            cache.follow(kind)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return the policy; for a workload or a pod, the policies of its namespace."""
        if change.source != self._cache.name:
            return
        if change.kind == SCALING_POLICY:
            yield change.object.name
        elif change.kind == POD or change.kind in TARGETS.values():
            for each in self._policies.in_namespace(change.object.record.namespace):
                yield each.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Divide the replicas of one policy and scale its workloads.

        Raises:
            RetryError: a write was refused.
        """
        item = self._policies.active(key)
        if item is None:
            return None
        try:
            return self._divided(item, item.read(ScalingPolicy))
        except (InputError, UnknownNameError) as error:
            self._report(item, {}, ("False", INVALID, str(error)))
            return None

    def _divided(self, item: StoredObject, policy: ScalingPolicy) -> float | None:
        """Divide, scale and report; return the seconds until the next evaluation."""
        groups, now = policy.spec.groups, self._clock.now()
        waits = [CRON_S] if any(each.bounds for each in groups) else []
        targets = {each.name: self._target(item, each) for each in groups}
        pods = {
            name: pods_of(self._cache, target, now)
            for name, target in targets.items()
            if target is not None
        }
        limits: dict[str, ScalingGroupStatus] = {}
        for each in groups:
            limits[each.name], wait = _limit(policy, each, pods.get(each.name), now)
            waits += [] if wait is None else [wait]
        fits = {name: each.fits for name, each in limits.items() if each.fits is not None}
        forecast, wanted = self._forecast(policy, now, fits, waits)
        plan = divide(wanted, datetime.fromtimestamp(now, UTC), fits)
        if wanted.scale_strategy is ScaleStrategy.AUTO:
            placed = {name: each.placed for name, each in pods.items()}
            plan = GroupPlan(held_back(wanted, plan, placed), plan.unmet)
            self._scale(targets, plan)
            replicas = sum(plan.replicas.values())
        else:
            replicas = sum(_size(each) for each in targets.values() if each is not None)
        missing = [each.target_ref.name for each in groups if targets[each.name] is None]
        status = {
            "replicas": replicas,
            "unmet": plan.unmet,
            "selector": policy.spec.selector,
            "groups": [_group_status(limits[each.name], plan) for each in groups],
            "forecast": forecast,
        }
        self._report(item, status, _verdict(plan, missing))
        return min(waits, default=None)

    def _forecast(
        self, policy: ScalingPolicy, now: float, fits: Mapping[str, int], waits: list[float]
    ) -> tuple[dict[str, Any] | None, ScalingSpec]:
        """Published forecast, and the replicas to divide.

        The next due time is appended to ``waits``.
        """
        rules = policy.spec.forecast
        if rules is None:
            return None, policy.spec
        found = look(policy, rules, now)
        waits.append(found.wait)
        published: dict[str, Any] = to_builtins(found.status)
        published["samples"] = list(found.status.samples)
        if found.status.replicas is None:
            return published, policy.spec
        ahead = with_forecast(policy, found.status.replicas).spec
        plan = divide(ahead, datetime.fromtimestamp(now, UTC), fits)
        published["groups"] = [
            {"name": each.name, "replicas": plan.replicas[each.name]} for each in ahead.groups
        ]
        return published, ahead if rules.strategy is ScaleStrategy.AUTO else policy.spec

    def _target(self, item: StoredObject, group: ScalingGroupSpec) -> StoredObject | None:
        """Workload of a group; ``None`` if it does not exist."""
        return target_of(self._cache, item.record.namespace, group.target_ref)

    def _scale(self, targets: Mapping[str, StoredObject | None], plan: GroupPlan) -> None:
        """Set the replicas of the workloads that exist."""
        for name, target in targets.items():
            wanted = plan.replicas[name]
            if target is not None and _size(target) != wanted:
                writes.patch(self._cache.store, target, {"spec": {"replicas": wanted}})

    def _report(
        self, item: StoredObject, status: Mapping[str, Any], verdict: tuple[str, str, str]
    ) -> None:
        """Write the fields of the status that differ."""
        word, reason, message = verdict
        generation = item.metadata.get("generation", 1)
        condition: dict[str, Any] = {
            "type": "Divided",
            "status": word,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
        }
        before = condition_of(item.status.get("conditions") or (), "Divided")
        now = timestamp(int(self._clock.now()))
        condition["lastTransitionTime"] = transition_time(before, word, now)
        wanted = {**status, "observedGeneration": generation, "conditions": [condition]}
        changed = {name: value for name, value in wanted.items() if item.status.get(name) != value}
        if changed:
            writes.patch_status(self._cache.store, item, changed)


def _limit(
    policy: ScalingPolicy, group: ScalingGroupSpec, found: TargetPods | None, now: float
) -> tuple[ScalingGroupStatus, float | None]:
    """Limit of a group, and the seconds until it may change without an event.

    A limit stays for some time. It is reduced if further pods fit on no node: they may have been
    created later than the first ones.

    Args:
        policy: the policy, whose status contains the limits.
        group: the group.
        found: the pods of its workload; ``None`` if that does not exist.
        now: wall time in seconds.
    """
    if found is None:
        return ScalingGroupStatus(group.name, fits=0), None
    stated = next((each for each in policy.status.groups if each.name == group.name), None)
    if stated is not None and stated.fits is not None and stated.limited_time is not None:
        left = TRIED_AGAIN_S - (now - parse_timestamp(stated.limited_time))
        if left > 0:
            fits = min(stated.fits, found.scheduled) if found.stuck else stated.fits
            wait = left if found.next_look is None else min(left, found.next_look)
            return structs.replace(stated, fits=fits), wait
    if not found.stuck:
        return ScalingGroupStatus(group.name), found.next_look
    limit = ScalingGroupStatus(group.name, fits=found.scheduled, limited_time=timestamp(int(now)))
    return limit, TRIED_AGAIN_S


def _size(workload: StoredObject) -> int:
    """Current number of replicas of a workload."""
    return int(workload.spec.get("replicas", 1))


def _group_status(limit: ScalingGroupStatus, plan: GroupPlan) -> dict[str, Any]:
    found: dict[str, Any] = {"name": limit.name, "replicas": plan.replicas[limit.name]}
    if limit.fits is not None:
        found["fits"] = limit.fits
    if limit.limited_time is not None:
        found["limitedTime"] = limit.limited_time
    return found


def _verdict(plan: GroupPlan, missing: list[str]) -> tuple[str, str, str]:
    """Status, reason and message of the condition."""
    if missing:
        return "False", "TargetMissing", f"no workload of the name {', '.join(missing)}"
    if plan.unmet:
        return "False", "GroupsFull", f"{plan.unmet} replicas have no group: raise max or add nodes"
    return "True", "AllDivided", ""
