"""Intended differences from KubeAdmiral, each with its reason.

A rule reads one differing object of an outcome and never the name of a scenario. A rule that
explains a federated object also explains the objects of members and the status of the source.
"""

from typing import Any, Final

from stretto.federation import names
from stretto_lab.conformance.wire.rules.circumstances import CIRCUMSTANCES
from stretto_lab.conformance.wire.rules.differences import Deviation, Difference
from stretto_lab.conformance.wire.rules.facts import waits_for_scheduler

_NAMESPACES: Final = "nsautoprop-controller"
_OVERRIDES: Final = "overridepolicy-controller"
_SPACES: Final = "-namespaces"
_MIGRATION: Final = "auto-migration-info"
_REFUSED: Final = frozenset({"CreationFailed", "UpdateFailed"})
"""States of a Job that members refuse."""


def _status_of_every_kind(item: Difference) -> bool:
    """True for a status that KubeAdmiral leaves at the server's defaults: zeros.

    It does not aggregate DaemonSets, and StatefulSets only in exactly one cluster.
    """
    kind = item.name.partition("/")[0]
    if item.part != "source" or not item.want or any(item.want.values()):
        return False
    if kind == "DaemonSet":
        return True
    if kind != "StatefulSet":
        return False
    members = [each for each in item.outcome.got["members"].values() if item.name in each]
    total = sum(int((each[item.name] or {}).get("replicas", 0)) for each in members)
    return len(members) != 1 and int((item.got or {}).get("replicas", 0)) == total


def _jobs_reach_members(item: Difference) -> bool:
    """True for Jobs that the recorded members refuse because of labels of the host's server."""
    if item.part != "federated" or not item.name.endswith("-jobs.batch"):
        return False
    want, got = _states(item)
    return bool(want) and want <= _REFUSED and got == {"OK"}


def _states(item: Difference) -> tuple[set[str], set[str]]:
    """States of an object in its members; empty if it differs in more than these states."""
    if not item.agrees_without("clusters", "propagated"):
        return set(), set()
    want, got = (set((each.get("clusters") or {}).values()) for each in (item.want, item.got))
    return want, got


def _job_end(item: Difference) -> bool:
    """True for the end of a Job, which the recorded host refuses, so that its status is older."""
    if item.part != "source" or not item.name.startswith("Job/") or not item.got:
        return False
    want, got = _counts(item.want or {}), _counts(item.got)
    is_later = all(got[x] >= want[x] for x in ("succeeded", "failed")) and got != want
    has_end = "completionTime" in (item.want or {})
    return is_later and got["active"] <= want["active"] and not has_end


def _counts(status: Any) -> dict[str, int]:
    return {name: int(status.get(name) or 0) for name in ("active", "succeeded", "failed")}


def _deleted_policy(item: Difference) -> bool:
    """True for overrides of a deleted override policy, which KubeAdmiral keeps."""
    if item.part != "federated" or not item.agrees_without("overrides", "pending", "synced"):
        return False
    before, after = (dict(each.get("overrides") or {}) for each in (item.want, item.got))
    gone = before.pop(_OVERRIDES, None)
    return gone is not None and before == after and item.name in item.facts.without_policy


def _kept_replicas(item: Difference) -> bool:
    """True for replicas that members keep, of a kind for which KubeAdmiral has no path."""
    if item.part != "federated" or item.name not in item.facts.keeping:
        return False
    want, got = _states(item)
    return "FieldRetentionFailed" in want and got == {"OK"}


def _opt_out(item: Difference) -> bool:
    """True for the opt-out annotation, which KubeAdmiral moves to a place that it does not read."""
    if item.part != "federated" or item.name not in item.facts.opted_out:
        return False
    is_placed = _NAMESPACES in ((item.want or {}).get("placements") or {})
    stays = item.got is None or "placements" not in item.got
    return item.name.endswith(_SPACES) and is_placed and stays


def _not_stopped(item: Difference) -> bool:
    """True for the value ``false`` of an annotation that stops scheduling in KubeAdmiral."""
    if item.part != "federated" or item.name not in item.facts.not_stopped:
        return False
    return item.agrees_without(
        "placements", "overrides", "clusters", "propagated", "pending", "synced", _MIGRATION
    )


def _host_namespaces(item: Difference) -> bool:
    """True for objects in namespaces of every cluster, which KubeAdmiral does not sync."""
    want, got, space = item.want or {}, item.got or {}, item.name.removesuffix(_SPACES)
    is_own = space.startswith("kube-") or space in ("default", names.SYSTEM_NAMESPACE)
    is_shown = item.part == "federated" and item.name.endswith(_SPACES) and is_own
    is_complete = "placements" not in got and bool(got.get("synced"))
    return is_shown and not want.get("synced") and "clusters" not in want and is_complete


def _profile_appears(item: Difference) -> bool:
    """True for a missing profile, which KubeAdmiral reads again only with back-off."""
    if item.part != "federated" or not item.want or not item.got:
        return False
    waited = waits_for_scheduler(item.want) and item.name in item.facts.waited
    return waited and item.want["propagated"] == [None, None] and bool(item.got.get("placements"))


def _reported_generation(item: Difference) -> bool:
    """True for the generation of a Deployment, which counts reports of placements.

    An object that waits keeps the generation of its last synced state, so both must wait for the
    same controllers.
    """
    is_shown = item.part == "source" and item.name.startswith("Deployment/")
    if not is_shown or not item.agrees_without("observedGeneration"):
        return False
    want, got = item.federated()
    if want.get("pending"):
        return bool(want == got)
    return all(each.get("synced") and not each.get("pending") for each in (want, got))


def _held_autoscaler(item: Difference) -> bool:
    """True for an autoscaler that KubeAdmiral places before its workload is federated."""
    if item.part != "federated" or not item.agrees_without("placements"):
        return False
    groups = item.got.get("pending") or [[]]
    return groups[0] == ["kubeadmiral.io/federatedhpa-controller"] and "placements" not in item.got


DEVIATIONS: Final = (
    Deviation(
        "kept-replicas",
        "Members keep the replicas of every kind with replicas, such as StatefulSets.",
        _kept_replicas,
    ),
    Deviation(
        "namespace-opt-out",
        "The annotation no-auto-propagation keeps a namespace on the host.",
        _opt_out,
    ),
    Deviation(
        "scheduling-not-stopped",
        "The annotation no-scheduling stops the scheduling of an object if its value is true.",
        _not_stopped,
    ),
    Deviation(
        "host-namespaces",
        "A namespace that every cluster has stays on the host and is complete.",
        _host_namespaces,
    ),
    Deviation(
        "status-of-every-kind",
        "The status of DaemonSets, and of StatefulSets in several clusters, is aggregated.",
        _status_of_every_kind,
    ),
    Deviation(
        "jobs-reach-members",
        "Labels that the host's API server adds to Jobs are not written to members.",
        _jobs_reach_members,
    ),
    Deviation(
        "job-end-reaches-host",
        "The end of a Job is written with the conditions that newer servers require.",
        _job_end,
    ),
    Deviation(
        "deleted-override-policy",
        "A deleted override policy leaves no differences.",
        _deleted_policy,
    ),
    Deviation(
        "profile-appears",
        "An object that waits for its profile or webhook is scheduled as soon as it exists.",
        _profile_appears,
    ),
    Deviation(
        "held-autoscaler",
        "An autoscaler whose workload does not allow it has no placement.",
        _held_autoscaler,
    ),
    Deviation(
        "reported-generation",
        "The generation of a source counts how often its placement was reported.",
        _reported_generation,
    ),
)
"""All rules; the first that explains a difference applies."""


def rule_of(item: Difference) -> str | None:
    """The name of the rule that explains a difference; ``None`` if there is none."""
    rules = (*CIRCUMSTANCES, *DEVIATIONS)
    found = next((each.name for each in rules if each.explains(item)), None)
    if found is not None or item.part == "federated":
        return found
    return item.explained.get(item.name)
