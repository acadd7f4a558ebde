"""Recorded inputs of Koordinator's load-aware placement as values of the load models."""

from typing import Any

import msgspec

from stretto.capacity.load import estimate as estimates
from stretto_lab.conformance.capacity.pods import PodInput

Fields = dict[str, Any]
"""The members of an input or of a result."""


class NodeInput(msgspec.Struct, frozen=True):
    """A node."""

    #: Allocatable amounts.
    allocatable: dict[str, int] = {}
    #: Amounts before amplification, where they are given.
    raw_allocatable: dict[str, int] = {}


class EstimatorInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_estimator``."""

    #: The pod.
    pod: PodInput
    #: The node.
    node: NodeInput
    #: Factors in percent.
    estimate_factors: dict[str, int] = {}
    #: Whether the pod's own factors apply.
    allow_custom_estimation: bool = False


def estimator(given: Fields) -> Fields:
    """``ko_estimator``: the expected use of a pod, and the amounts of a node."""
    fields = msgspec.convert(given, EstimatorInput)
    factors = estimates.factors_with_defaults(fields.estimate_factors)
    pod = pod_estimate(fields.pod, factors, custom=fields.allow_custom_estimation)
    return {"pod": pod, "node": {**fields.node.allocatable, **fields.node.raw_allocatable}}


def pod_estimate(pod: PodInput, factors: dict[str, int], *, custom: bool) -> dict[str, int]:
    """The expected use of a pod, with its own factors where ``custom``."""
    if custom:
        factors = estimates.factors_with_defaults(pod.custom_factors, factors)
    return estimates.estimate(pod.requests(), pod.limits(), factors, pod.band())
