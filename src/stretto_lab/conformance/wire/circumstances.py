"""Differences that come from the recording itself: its environment, and what it leaves out.

As every rule, these look at one differing part of an outcome and never at the name of a scenario.
"""

from typing import Any, Final

from stretto.federation import names
from stretto_lab.conformance.wire.deviations import Deviation, Difference

_MARKS: Final = frozenset({"clusters", "propagated"})
"""Members that the state of a cluster changes."""
_SPACE: Final = "Namespace/"
_CLUSTER_REASONS: Final = frozenset(
    {"disableRescheduling:true", "rescheduleWhen:nil", "clusterAPIResourcesChanged:false"}
)
"""Reasons that a change of a cluster can have, also one by another recorded scenario."""


def _changed(want: Any, got: Any) -> set[str]:
    """The members that differ; a missing value has none."""
    before, after = want or {}, got or {}
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _ended_namespaces(found: Difference) -> bool:
    """A namespace is shown until KubeAdmiral deletes it again; its end is written by others."""
    if found.part != "members" or not isinstance(found.want, dict):
        return False
    changed, got = _changed(found.want, found.got), found.got or {}
    return bool(changed) and all(each.startswith(_SPACE) and each not in got for each in changed)


def _unrecorded_join(found: Difference) -> bool:
    """What a cluster's bootstrap token wrote is not in the recording."""
    space = f"{_SPACE}{names.SYSTEM_NAMESPACE}"
    return (
        found.part == "members"
        and _changed(found.want, found.got) == {space}
        and space not in (found.want or {})
    )


def _deferred_in_turn(found: Difference) -> bool:
    """KubeAdmiral writes and removes the annotation in turn on each event of a cluster."""
    key = "scheduling-deferred-reasons"
    if found.part != "federated" or _changed(found.want, found.got) != {key}:
        return False
    shown = {found.want.get(key), found.got.get(key)}
    return None in shown and bool(shown & _CLUSTER_REASONS)


def _unready(found: Difference) -> bool:
    """KubeAdmiral marks objects of an unready cluster when some other event makes it look."""
    if found.part != "federated" or not _changed(found.want, found.got) <= _MARKS:
        return False
    return bool(_unready_clusters(found.want, found.got))


def _unready_clusters(want: Any, got: Any) -> set[str]:
    """Clusters that the recording marks as unready and the replay does not."""
    shown, ours = (want or {}).get("clusters") or {}, (got or {}).get("clusters") or {}
    return {
        name
        for name, state in shown.items()
        if state == "ClusterNotReady" and ours.get(name) == "OK"
    }


def _host_namespaces(found: Difference) -> bool:
    """A namespace that stays on the host is complete; KubeAdmiral never syncs its object."""
    want, got = found.want or {}, found.got or {}
    return (
        found.part == "federated"
        and found.name.endswith("-namespaces")
        and not want.get("synced")
        and "placements" not in want
        and "placements" not in got
        and bool(got.get("synced"))
    )


CIRCUMSTANCES: Final = (
    Deviation(
        "host-namespaces",
        "A namespace that stays on the host is complete.",
        _host_namespaces,
    ),
    Deviation(
        "ended-namespaces",
        "A deleted namespace is gone; the recording shows it until another controller ends it.",
        _ended_namespaces,
    ),
    Deviation(
        "unrecorded-join",
        "The recording leaves out what the bootstrap token of a cluster wrote.",
        _unrecorded_join,
    ),
    Deviation(
        "deferred-in-turn",
        "Other scenarios change clusters, which defers decisions; the annotation comes and goes.",
        _deferred_in_turn,
    ),
    Deviation(
        "unready-clusters",
        "An unready cluster is marked on its own object, and on others when they change.",
        _unready,
    ),
)
"""All rules; the first that explains a difference counts."""


def circumstance_of(found: Difference) -> str | None:
    """The name of the rule that explains a difference; ``None`` if no rule does."""
    return next((each.name for each in CIRCUMSTANCES if each.explains(found)), None)
