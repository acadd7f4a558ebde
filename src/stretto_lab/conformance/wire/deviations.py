"""Where Stretto does otherwise than KubeAdmiral on purpose, each with its reason.

A rule looks at one differing part of an outcome and never at the name of a scenario.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Deviation:
    """One rule."""

    #: Name in reports.
    name: str
    #: Why Stretto differs.
    reason: str
    #: Whether it explains a difference: (part, name, recorded value, value of the replay).
    explains: Callable[[str, str, Any, Any], bool]


def _without(value: Any, *keys: str) -> Any:
    """A value without some members."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if key not in keys}


def _status_of_every_kind(part: str, name: str, want: Any, got: Any) -> bool:
    """KubeAdmiral leaves the defaults of the server: zeros."""
    kind = name.partition("/")[0]
    if part != "source" or kind not in ("DaemonSet", "StatefulSet"):
        return False
    return got is not None and not any((want or {}).values())


def _jobs_reach_members(part: str, name: str, want: Any, got: Any) -> bool:
    """The recorded members refuse Jobs for labels that the host's server has added."""
    if part == "federated" and name.endswith("-jobs.batch"):
        states = set((want or {}).get("clusters", {}).values())
        return bool(states & {"CreationFailed", "UpdateFailed"}) and got is not None
    if part == "source" and name.startswith("Job/"):
        return not want or not set(want) - {"startTime"}
    if part == "members":
        jobs = {key for key in got or {} if key.startswith("Job/")} - set(want or {})
        return bool(jobs) and _without(got, *jobs) == want
    return False


def _job_end(part: str, name: str, want: Any, got: Any) -> bool:
    """The recorded host refuses the end of a Job, so its status stays at an earlier moment."""
    if part != "source" or not name.startswith("Job/") or not want or not got:
        return False
    return int(got.get("succeeded") or 0) + int(got.get("failed") or 0) > 0


def _deleted_policy(part: str, _name: str, want: Any, got: Any) -> bool:
    """KubeAdmiral keeps the differences of an override policy that was deleted."""
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


def _opt_out(part: str, name: str, want: Any, got: Any) -> bool:
    """KubeAdmiral moves the annotation to where it does not look for it."""
    if part == "members":
        spaces = set((want or {}).keys() ^ (got or {}).keys())
        is_other = any(not each.startswith("Namespace/") for each in spaces)
        return bool(spaces) and not is_other and _without(want, *spaces) == _without(got, *spaces)
    controller = "nsautoprop-controller"
    is_placed = controller in ((want or {}).get("placements") or {})
    stays = got is None or controller not in (got.get("placements") or {})
    return part == "federated" and name.endswith("-namespaces") and is_placed and stays


def _system_namespace(part: str, name: str, want: Any, got: Any) -> bool:
    """KubeAdmiral leaves system namespaces pending."""
    is_system = part == "federated" and name.startswith("kube-") and name.endswith("-namespaces")
    return is_system and bool((want or {}).get("pending")) and bool((got or {}).get("synced"))


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
)
"""All rules; the first that explains a difference counts."""


def deviation_of(part: str, name: str, want: Any, got: Any) -> str | None:
    """The name of the rule that explains a difference; ``None`` if no rule does."""
    return next((each.name for each in DEVIATIONS if each.explains(part, name, want, got)), None)
