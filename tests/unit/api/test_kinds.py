"""Kinds are found by what a manifest or a user calls them."""

import pytest

from stretto.api.wire import kinds
from stretto.base.errors import UnknownNameError


def test_a_kind_is_found_by_what_a_manifest_writes() -> None:
    assert kinds.kind_of("v1", "Pod") is kinds.POD
    assert kinds.kind_of("scheduling.godel.kubewharf.io/v1alpha1", "PodGroup") is kinds.POD_GROUP


@pytest.mark.parametrize("name", ["pod", "Pod", "PODS", "po"])
def test_a_kind_is_found_by_what_a_user_calls_it(name: str) -> None:
    assert kinds.kind_named(name) is kinds.POD


def test_a_kind_is_found_by_its_plural_and_group() -> None:
    assert kinds.kind_named("deployments.apps") is kinds.DEPLOYMENT


def test_every_kind_comes_back_from_its_own_names() -> None:
    for kind in kinds.KINDS:
        assert kinds.kind_of(kind.api_version, kind.kind) is kind
        assert kinds.kind_named(kind.resource) is kind


def test_the_api_version_of_the_core_has_no_group() -> None:
    assert kinds.POD.api_version == "v1"
    assert kinds.QUEUE.api_version == "scheduling.stretto.dev/v1alpha1"


def test_a_misspelt_kind_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="v1 Pod"):
        kinds.kind_of("v1", "Podd")


def test_a_known_kind_in_a_wrong_version_names_the_right_one() -> None:
    with pytest.raises(UnknownNameError, match="apps/v1 Deployment"):
        kinds.kind_of("extensions/v1beta1", "Deployment")


def test_a_name_no_kind_has_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="nodes"):
        kinds.kind_named("node5")
