"""Alternatives of an affinity in order, and the spread over values of a label."""

from stretto.api.types.federation.policies import SchedulingMode
from stretto.api.wire.meta import SelectorRequirement
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict, schedule
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload, LabelSpread

REGIONS = {"a": "east", "b": "east", "c": "west", "d": "north", "e": ""}


def term(region: str) -> tuple[ClusterTerm, ...]:
    return (ClusterTerm((SelectorRequirement("region", "In", (region,)),)),)


def placed(*unready: str, **fields: object) -> FederatedPlacement:
    """A duplicated workload over five clusters in three regions and one without."""
    workload = FederatedWorkload("default/web", 2, SchedulingMode.DUPLICATE, **fields)  # type: ignore[arg-type]
    members = tuple(
        MemberCluster(name, {"region": region} if region else {}, ready=name not in unready)
        for name, region in REGIONS.items()
    )
    return schedule(workload, MemberFleet(members))


def test_the_first_alternative_with_a_feasible_cluster_counts() -> None:
    alternatives = (term("west"), term("east"))
    assert placed(alternatives=alternatives).selected == ("c",)
    assert placed("c", alternatives=alternatives).selected == ("a", "b")


def test_no_cluster_fits_where_every_alternative_fails() -> None:
    found = placed(alternatives=(term("south"),))
    assert found.verdict is PlacementVerdict.NO_CLUSTER_FITS
    assert found.filtered_by["a"] == "ClusterAffinities"


def test_a_spread_uses_the_best_groups() -> None:
    assert placed(spread=(LabelSpread("region", most=1),)).selected == ("a", "b")
    assert placed(spread=(LabelSpread("region", most=2),)).selected == ("a", "b", "c")


def test_a_spread_leaves_out_clusters_without_the_label() -> None:
    assert "e" not in placed(spread=(LabelSpread("region"),)).selected


def test_a_spread_takes_clusters_of_missing_groups_within_the_limit() -> None:
    found = placed(spread=(LabelSpread("region", least=2),), max_clusters=2)
    assert set(found.selected) == {"a", "c"}


def test_too_few_groups_place_nothing_new() -> None:
    found = placed("c", "d", spread=(LabelSpread("region", least=2),))
    assert (found.verdict, found.replicas) == (PlacementVerdict.SPREAD_UNMET, {})
