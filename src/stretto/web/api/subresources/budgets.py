"""Writes of an eviction: a condition of the pod, and a charge to its budget."""

from typing import Any, Final

from stretto.api.types.heads import DISRUPTION_TARGET, ENDED
from stretto.api.wire.kinds import POD_DISRUPTION_BUDGET
from stretto.reconcile.conditions import condition_of, with_condition
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, internal
from stretto.web.api.objects.ownership import own_status
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.tables.values import condition, matches_selector

Json = dict[str, Any]

_TEXT: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_RETRY: Final = 10
_ALLOWED: Final = "DisruptionAllowed"
"""The condition of a budget."""


def is_free(item: Json) -> bool:
    """Return whether no budget protects a pod: it has ended, is pending, or is being deleted."""
    phase = (item.get("status") or {}).get("phase")
    deleting = bool(item["metadata"].get("deletionTimestamp"))
    return deleting or phase in (*ENDED, "Pending")


def targeted(state: ApiState, call: Call, found: StoredItem) -> StoredItem:
    """Return a pod with the condition of its eviction; a dry run does not change it."""
    if call.options.dry_run:
        return found
    status = found.item.get("status") or {}
    condition: Json = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": state.now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    item = {**found.item, "status": {**status, "conditions": [*others, condition]}}
    return state.storage.replace(call.resource, found.record, item)


def charge(state: ApiState, call: Call, found: StoredItem) -> None:
    """Charge one disruption to the budget of a pod.

    Raises:
        ApiError: the budget allows none, or several budgets select the pod.
    """
    labels = found.item["metadata"].get("labels") or {}
    budgets = [
        each
        for each in state.storage.items(POD_DISRUPTION_BUDGET, call.route.namespace)
        if matches_selector((each.get("spec") or {}).get("selector"), labels)
    ]
    if len(budgets) > 1:
        text = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
        raise internal(text)
    if not budgets:
        return
    budget = budgets[0]
    status = budget.get("status") or {}
    ready = (condition(found.item, "Ready") or {}).get("status") == "True"
    policy = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy")
    if not ready:
        healthy = status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0)
        if policy == "AlwaysAllow":
            return
        if healthy and status.get("desiredHealthy", 0) > 0:
            return
    _decrement(state, call, budget, found.record.name)


def _decrement(state: ApiState, call: Call, budget: Json, pod: str) -> None:
    metadata, status = budget["metadata"], budget.get("status") or {}
    name = metadata["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise _refused(text, _RETRY)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise failures.forbidden(
            "policy", "poddisruptionbudgets", name, "pdb disruptions allowed is negative"
        )
    if allowed == 0:
        raise _refused(f"The disruption budget {name} {_why_none(status)}", 0)
    if call.options.dry_run:
        return
    resource = state.resources.find("policy", "v1", "poddisruptionbudgets")
    stored = state.storage.find(POD_DISRUPTION_BUDGET, metadata.get("namespace", ""), name)
    if resource is None or stored is None:
        return
    disrupted = {**(status.get("disruptedPods") or {}), pod: state.now}
    changed = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    if allowed == 1:
        changed["conditions"] = _exhausted(state, status)
    item = {**stored.item, "status": changed}
    own_status(state, resource, stored.item, item)
    state.storage.replace(resource, stored.record, item)


def _why_none(status: Json) -> str:
    """Return why a budget allows no disruption."""
    failed = condition_of(status.get("conditions") or (), _ALLOWED) or {}
    if failed.get("status") == "False" and failed.get("reason") == "SyncFailed":
        why = failed.get("message", "")
        return f"does not allow evicting pods currently because it failed sync: {why}"
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if current <= desired:
        return f"needs {desired} healthy pods and has {current} currently"
    return "does not allow evicting pods currently"


def _exhausted(state: ApiState, status: Json) -> list[Json]:
    """Return the conditions of a budget without remaining disruptions."""
    taken: Json = {
        "type": _ALLOWED,
        "status": "False",
        "observedGeneration": status.get("observedGeneration", 0),
        "reason": "InsufficientPods",
        "message": "",
    }
    return with_condition(status.get("conditions"), taken, state.now)


def _refused(text: str, seconds: int) -> ApiError:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": text}]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return ApiError(429, "TooManyRequests", _TEXT, details)
