"""Groups of clusters: alternatives of an affinity in order, and the spread over values of a label.

Both are extensions of KubeAdmiral's policies. They apply to the clusters that pass the filters.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stretto.federation.scheduling.filters import matches
from stretto.federation.scheduling.fleet import MemberFleet
from stretto.federation.scheduling.selectors import Ranking
from stretto.federation.scheduling.workload import FederatedWorkload, LabelSpread


@dataclass(frozen=True, slots=True)
class SpreadChoice:
    """Clusters that meet the spread constraints."""

    #: The clusters, best first.
    ranking: Ranking
    #: The first label with too few values; empty if all have enough.
    unmet: str = ""


def first_group(workload: FederatedWorkload, fleet: MemberFleet) -> MemberFleet:
    """The clusters of the first alternative that matches any; all without alternatives."""
    for terms in workload.alternatives:
        mask = fleet.mask(any(matches(term, each) for term in terms) for each in fleet.members)
        if mask.any():
            return fleet.only(mask)
    return fleet if not workload.alternatives else MemberFleet(())


def within_most(workload: FederatedWorkload, fleet: MemberFleet, ranking: Ranking) -> Ranking:
    """The clusters in the best groups; each label limits the number of its groups."""
    for rule in workload.spread:
        values = _values(rule, fleet)
        groups = list(dict.fromkeys(values[each.name] for each in ranking if values[each.name]))
        kept = set(groups[: rule.most])
        ranking = tuple(each for each in ranking if values[each.name] in kept)
    return ranking


def with_least(
    workload: FederatedWorkload, fleet: MemberFleet, ranking: Ranking, selected: Ranking
) -> SpreadChoice:
    """The selected clusters; clusters of missing groups replace the last ones.

    Args:
        workload: the workload.
        fleet: the clusters.
        ranking: all usable clusters, best first.
        selected: clusters that the selectors chose, best first.
    """
    for rule in workload.spread:
        values = _values(rule, fleet)
        chosen = list(selected)
        for each in ranking:
            present = [values[x.name] for x in chosen]
            if len(set(present)) >= rule.least:
                break
            if values[each.name] in present:
                continue
            spare = [x for x in reversed(chosen) if present.count(values[x.name]) > 1]
            if not spare:
                break
            chosen[chosen.index(spare[0])] = each
        if len({values[x.name] for x in chosen}) < rule.least:
            return SpreadChoice(selected, rule.label)
        selected = tuple(chosen)
    return SpreadChoice(selected)


def _values(rule: LabelSpread, fleet: MemberFleet) -> Mapping[str, str]:
    """The value of a label by cluster; empty if the cluster does not have it."""
    return {each.name: each.labels.get(rule.label, "") for each in fleet.members}
