"""Differences that come from the recording itself: its environment, and its omissions.

Like every rule, these read one differing object of an outcome and never the name of a scenario.
"""

from typing import Any, Final

from stretto.federation import names
from stretto_lab.conformance.wire.rules.differences import Deviation, Difference, placed

_SPACE: Final = "Namespace/"
_SPACES: Final = "-namespaces"
_NEAR: Final = 4
"""Divisor of the total: replicas that other scenarios can move between clusters, at least one."""


def _ended_objects(found: Difference) -> bool:
    """True for an object that is recorded until another controller has ended it."""
    if found.part != "members" or found.got is not None:
        return False
    if (found.want or {}).get("terminating"):
        return True
    want, _ = found.federated()
    is_placed = found.cluster in placed(want) and not want.get("terminating")
    is_system = found.name == f"{_SPACE}{names.SYSTEM_NAMESPACE}"  # joining creates it
    return found.name.startswith(_SPACE) and not is_placed and not is_system


def _left_namespaces(found: Difference) -> bool:
    """True for a namespace of another scenario on the host."""
    own, name = found.facts.own, found.name
    is_space = found.part == "federated" and name.endswith(_SPACES) and found.got is None
    return is_space and own is not None and name.removesuffix(_SPACES) not in own


def _unrecorded_join(found: Difference) -> bool:
    """True for writes of a cluster's bootstrap token, which are not recorded."""
    space = f"{_SPACE}{names.SYSTEM_NAMESPACE}"
    return (found.part, found.name, found.want) == ("members", space, None)


def _deferred_in_turn(found: Difference) -> bool:
    """True for an annotation that KubeAdmiral alternately writes and removes on cluster events."""
    return found.part == "federated" and found.agrees_without()


def _unready(found: Difference) -> bool:
    """True for objects of an unready cluster that KubeAdmiral marks only on another event."""
    if found.part != "federated" or not found.agrees_without("clusters", "propagated"):
        return False
    shown, ours = (each.get("clusters") or {} for each in (found.want, found.got))
    if shown.keys() != ours.keys():
        return False
    differing = [name for name in shown if shown[name] != ours[name]]
    marked = [name for name in differing if (shown[name], ours[name]) == ("ClusterNotReady", "OK")]
    return bool(marked) and marked == differing and set(marked) <= found.facts.unready


def _capacity_in_use(found: Difference) -> bool:
    """True for a placement by free capacity that other recorded scenarios used at the time.

    The totals must be equal. If capacity chooses the clusters, their number must be the recorded
    number. If capacity weighs the clusters, every share must be near the recorded share.
    """
    if found.part != "federated" or not _same_but_placement(found):
        return False
    want, got = _divided(found.want), _divided(found.got)
    if sum(want.values()) != sum(got.values()):
        return False
    if found.name in found.facts.chosen:
        return len(placed(found.want)) == len(placed(found.got))
    if found.name not in found.facts.weighed:
        return False
    near = max(1, sum(want.values()) // _NEAR)
    return all(abs(want.get(x, 0) - got.get(x, 0)) <= near for x in want.keys() | got.keys())


def _same_but_placement(found: Difference) -> bool:
    changes = ("placements", "overrides", "clusters", "auto-migration-info")
    if not found.agrees_without(*changes):
        return False
    return bool(found.want.get("placements") and found.got.get("placements"))


def _divided(federated: Any) -> dict[str, int]:
    """Divided replicas by cluster; empty for an object that is not divided."""
    overrides = (federated.get("overrides") or {}).get("global-scheduler") or {}
    return {
        cluster: sum(int(each["value"]) for each in patches)
        for cluster, patches in overrides.items()
    }


CIRCUMSTANCES: Final = (
    Deviation(
        "ended-objects",
        "A deleted object does not exist; the recording shows it until another controller ends it.",
        _ended_objects,
    ),
    Deviation(
        "left-namespaces",
        "The recording shows a namespace of another scenario.",
        _left_namespaces,
    ),
    Deviation(
        "unrecorded-join",
        "The recording omits the writes of a cluster's bootstrap token.",
        _unrecorded_join,
    ),
    Deviation(
        "deferred-in-turn",
        "Other scenarios change clusters, which defers decisions and changes the annotation.",
        _deferred_in_turn,
    ),
    Deviation(
        "unready-clusters",
        "An unready cluster is marked on its own object, and on others when they change.",
        _unready,
    ),
    Deviation(
        "capacity-in-use",
        "Placements by free capacity differ by the use of other recorded scenarios.",
        _capacity_in_use,
    ),
)
"""All rules; the first that explains a difference applies."""
