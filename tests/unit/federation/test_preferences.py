"""Preferred terms of a workload: points for the labels of clusters."""

import pytest

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.api.wire.meta import SelectorRequirement
from stretto.base.errors import InputError
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.scores import preferred_terms
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload

FLEET = MemberFleet((MemberCluster("a", {"gen": "3"}), MemberCluster("b")))
ON_LABEL = (SelectorRequirement("gen", "Exists"),)
ON_NAME = (SelectorRequirement("metadata.name", "In", ("b",)),)
NO_NUMBER = (SelectorRequirement("gen", "Gt", ("x",)),)


def points(term: ClusterTerm) -> list[int]:
    """Points of both clusters."""
    modes = SchedulingMode.DIVIDE, ReplicasStrategy.SPREAD
    workload = FederatedWorkload("default/web", 1, *modes, preferred=(term,))
    return preferred_terms(workload, FLEET).tolist()


def test_a_preferred_term_gives_points_for_labels() -> None:
    assert points(ClusterTerm(ON_LABEL, weight=7)) == [7, 0]


def test_a_preferred_term_ignores_its_requirements_on_names() -> None:
    assert points(ClusterTerm(ON_LABEL, ON_NAME, weight=7)) == [7, 0]
    assert points(ClusterTerm((), ON_NAME, weight=7)) == [0, 0]


def test_an_invalid_preferred_term_is_an_error_only_if_it_has_weight() -> None:
    assert points(ClusterTerm(NO_NUMBER, weight=0)) == [0, 0]
    with pytest.raises(InputError, match="exactly one integer for Gt"):
        points(ClusterTerm(NO_NUMBER, weight=1))
