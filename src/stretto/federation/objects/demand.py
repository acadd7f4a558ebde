"""Demand of a template: replicas, and the requests of one replica."""

from functools import lru_cache
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.effective_requests import requests
from stretto.api.types.pod import PodSpec
from stretto.base.errors import InputError
from stretto.federation.objects.paths import field_at
from stretto.federation.planner.supply.capacity import Amounts
from stretto.federation.scheduling.resources import is_scalar
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields

_POD_TEMPLATES: Final = ("spec.template.spec", "spec.jobTemplate.spec.template.spec")
"""Paths of the spec of pods in a workload."""
_DEMANDING: Final = ("name", "resources", "restartPolicy")
"""Fields of a container that determine its requests or errors in them."""
_KEPT: Final = 1 << 14
"""Size of the cache of decoded requests."""


def replicas_of(template: Fields, type_: FederatedType) -> int:
    """Desired replicas of a template; 0 if its kind has none."""
    path = type_.paths.replicas_spec
    if not path:
        return 0
    found = field_at(template, path)
    return found if isinstance(found, int) else 1


def stated_replicas(template: Fields, type_: FederatedType) -> int:
    """Desired replicas of a template, as ``replicas_of``, with a check of the value.

    Raises:
        InputError: the value is not a whole number, or is negative.
    """
    path = type_.paths.replicas_spec
    stated = field_at(template, path) if path else None
    if stated is not None and (type(stated) is not int or stated < 0):
        raise InputError(f"template: {path}", stated, "a whole number of 0 or more")
    return replicas_of(template, type_)


def request_of(template: Fields, *, counts_all: bool = True) -> Amounts:
    """Requests of one replica: CPU in thousandths, other resources in units; empty if unknown.

    Args:
        template: the workload.
        counts_all: true if CPU, memory and storage count; otherwise only extended resources count.

    Raises:
        InputError: a quantity is malformed.
    """
    spec = pod_spec(template)
    if spec is None:
        return {}
    parts: Fields = {key: spec[key] for key in ("overhead", "resources") if key in spec}
    for key in ("containers", "initContainers"):
        parts[key] = [_demanding(each) for each in spec.get(key) or ()]
    found = _requests(msgspec.json.encode(parts))
    return found if counts_all else {x: count for x, count in found.items() if is_scalar(x)}


def _demanding(container: Fields) -> Fields:
    """A container with only the fields that determine its requests."""
    return {key: container[key] for key in _DEMANDING if key in container}


@lru_cache(maxsize=_KEPT)
def _requests(spec: bytes) -> Amounts:
    """Requests of the pods of a spec; templates with equal containers are decoded once."""
    return requests(decode_as(PodSpec, spec, "template"))


def pod_spec(template: Fields) -> Fields | None:
    """The spec of the pods of a workload, or of a pod itself; ``None`` if there is none."""
    if template.get("kind") == "Pod":
        return template.get("spec")
    for path in _POD_TEMPLATES:
        found = field_at(template, path)
        if isinstance(found, dict):
            return found
    return None
