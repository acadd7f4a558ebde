"""Where Stretto does otherwise than KubeAdmiral on purpose, each with its reason.

A rule looks at one differing part of an outcome and never at the name of a scenario. Where a rule
explains a federated object, it explains the objects of members and the status of the source too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

Fields = dict[str, Any]


class OutcomeFacts(Protocol):
    """What rules read of a whole outcome."""

    @property
    def want(self) -> Fields:
        """The recorded parts."""
        ...

    @property
    def got(self) -> Fields:
        """The parts of the replay."""
        ...

    @property
    def kinds(self) -> Mapping[str, str]:
        """Kinds by the name of their configuration."""
        ...

    @property
    def by_capacity(self) -> frozenset[str]:
        """Federated objects whose placement depends on the free capacity of clusters."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """One differing part of an outcome."""

    #: ``federated``, ``members`` or ``source``.
    part: str
    #: Name of the object; of the cluster in ``members``.
    name: str
    #: The recorded value.
    want: Any
    #: The value of the replay.
    got: Any
    #: The whole outcome.
    outcome: OutcomeFacts
    #: Rules by the source of the federated objects that they explain, such as ``Deployment/web``.
    explained: Mapping[str, str]


def source_of(federated: str, kinds: Mapping[str, str]) -> str:
    """The source of a federated object, such as ``Deployment/web``; empty if it is not known."""
    for suffix, kind in kinds.items():
        if federated.endswith(f"-{suffix}"):
            return f"{kind}/{federated.removesuffix(f'-{suffix}')}"
    return ""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One rule."""

    #: Name in reports.
    name: str
    #: Why Stretto differs.
    reason: str
    #: Whether it explains a difference.
    explains: Callable[[Difference], bool]


def _without(value: Any, *keys: str) -> Any:
    """A value without some members."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if key not in keys}


_AGGREGATED: Final = ("DaemonSet", "StatefulSet", "CronJob", "Service", "Ingress")
"""Kinds whose status KubeAdmiral does not aggregate, or not from several clusters."""


def _status_of_every_kind(item: Difference) -> bool:
    """KubeAdmiral leaves the defaults of the server: zeros."""
    part, name, want, got = item.part, item.name, item.want, item.got
    kind = name.partition("/")[0]
    if part != "source" or kind not in _AGGREGATED:
        return False
    return got is not None and not any((want or {}).values())


def _jobs_reach_members(item: Difference) -> bool:
    """The recorded members refuse Jobs for labels that the host's server has added."""
    part, name, want, got = item.part, item.name, item.want, item.got
    if part == "federated" and name.endswith("-jobs.batch"):
        states = set((want or {}).get("clusters", {}).values())
        return bool(states & {"CreationFailed", "UpdateFailed"}) and got is not None
    if part == "source" and name.startswith("Job/"):
        return not want or not set(want) - {"startTime"}
    if part == "members":
        jobs = {key for key in got or {} if key.startswith("Job/")} - set(want or {})
        return bool(jobs) and _without(got, *jobs) == want
    return False


def _job_end(item: Difference) -> bool:
    """The recorded host refuses the end of a Job, so its status stays at an earlier moment."""
    part, name, want, got = item.part, item.name, item.want, item.got
    if part != "source" or not name.startswith("Job/") or not want or not got:
        return False
    return int(got.get("succeeded") or 0) + int(got.get("failed") or 0) > 0


def _deleted_policy(item: Difference) -> bool:
    """KubeAdmiral keeps the differences of an override policy that was deleted."""
    part, want, got = item.part, item.want, item.got
    if part != "federated" or not isinstance(want, dict) or not isinstance(got, dict):
        return False
    controller = "overridepolicy-controller"
    before, after = want.get("overrides", {}), got.get("overrides", {})
    same = ("overrides", "pending", "synced")
    return (
        controller in before
        and controller not in after
        and _without(want, *same) == _without(got, *same)
    )


def _opt_out(item: Difference) -> bool:
    """KubeAdmiral moves the annotation to where it does not look for it."""
    part, name, want, got = item.part, item.name, item.want, item.got
    if part == "members":
        spaces = set((want or {}).keys() ^ (got or {}).keys())
        is_other = any(not each.startswith("Namespace/") for each in spaces)
        return bool(spaces) and not is_other and _without(want, *spaces) == _without(got, *spaces)
    controller = "nsautoprop-controller"
    is_placed = controller in ((want or {}).get("placements") or {})
    stays = got is None or controller not in (got.get("placements") or {})
    return part == "federated" and name.endswith("-namespaces") and is_placed and stays


def _system_namespace(item: Difference) -> bool:
    """KubeAdmiral leaves system namespaces pending."""
    part, name, want, got = item.part, item.name, item.want, item.got
    is_system = part == "federated" and name.startswith("kube-") and name.endswith("-namespaces")
    return is_system and bool((want or {}).get("pending")) and bool((got or {}).get("synced"))


def _capacity_in_use(item: Difference) -> bool:
    """The placement follows free capacity, which other recorded scenarios used meanwhile."""
    want, got = item.want, item.got
    if item.part != "federated" or item.name not in item.outcome.by_capacity:
        return False
    if not (want and got and want.get("placements") and got.get("placements")):
        return False
    changes = ("placements", "overrides", "clusters", "auto-migration-info")
    return _without(want, *changes) == _without(got, *changes) and _total(want) == _total(got)


def _total(federated: Fields) -> int:
    """Divided replicas; the number of clusters of an object that is not divided."""
    counts = [
        patch["value"]
        for patches in (federated.get("overrides") or {}).get("global-scheduler", {}).values()
        for patch in patches
    ]
    return sum(counts) if counts else len(federated["placements"].get("global-scheduler", ()))


def _profile_appears(item: Difference) -> bool:
    """KubeAdmiral looks for a missing profile with back-off only."""
    want, got = item.want, item.got
    if item.part != "federated" or not want or not got or "placements" in want:
        return False
    groups = want.get("pending") or [[]]
    waits = groups[0] == ["kubeadmiral.io/global-scheduler"]
    return waits and want["propagated"] == [None, None] and bool(got.get("placements"))


def _reported_generation(item: Difference) -> bool:
    """The generation of a source counts the writes of annotations that report placements."""
    want, got = item.want, item.got
    if item.part != "source" or not isinstance(want, dict) or not isinstance(got, dict):
        return False
    if _without(want, "observedGeneration") != _without(got, "observedGeneration"):
        return False
    federated = item.outcome.got["federated"]
    found = [
        each for name, each in federated.items() if source_of(name, item.outcome.kinds) == item.name
    ]
    return all(each.get("synced") and not each.get("pending") for each in found)


def _held_autoscaler(item: Difference) -> bool:
    """KubeAdmiral places an autoscaler in the moment before its workload is federated."""
    want, got = item.want, item.got
    if item.part != "federated" or not want or not got:
        return False
    groups = got.get("pending") or [[]]
    waits = groups[0] == ["kubeadmiral.io/federatedhpa-controller"]
    return waits and "placements" not in got and _without(want, "placements") == got


DEVIATIONS: Final = (
    Deviation(
        "namespace-opt-out",
        "The annotation no-auto-propagation keeps a namespace on the host.",
        _opt_out,
    ),
    Deviation(
        "system-namespaces",
        "A namespace that stays on the host is complete, not pending.",
        _system_namespace,
    ),
    Deviation(
        "status-of-every-kind",
        "The status of DaemonSets, and of StatefulSets in several clusters, is aggregated.",
        _status_of_every_kind,
    ),
    Deviation(
        "jobs-reach-members",
        "Labels that the host's API server adds to Jobs do not go to members.",
        _jobs_reach_members,
    ),
    Deviation(
        "job-end-reaches-host",
        "The end of a Job is written with the conditions that newer servers require.",
        _job_end,
    ),
    Deviation(
        "deleted-override-policy",
        "A deleted override policy leaves no differences behind.",
        _deleted_policy,
    ),
    Deviation(
        "capacity-in-use",
        "Placements by free capacity differ by what other recorded scenarios used meanwhile.",
        _capacity_in_use,
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
"""All rules; the first that explains a difference counts."""


def deviation_of(item: Difference) -> str | None:
    """The name of the rule that explains a difference; ``None`` if no rule does."""
    found = next((each.name for each in DEVIATIONS if each.explains(item)), None)
    return found if found is not None else _follows(item)


def _follows(item: Difference) -> str | None:
    """The rule of the federated object that a difference follows from."""
    if item.part == "source":
        return item.explained.get(item.name)
    if item.part != "members":
        return None
    want, got = item.want or {}, item.got or {}
    changed = [key for key in want.keys() | got.keys() if want.get(key) != got.get(key)]
    rules = [item.explained.get(key) for key in changed]
    return None if None in rules else next(iter(rules), None)
