"""Admission of an object: the object as a cluster would store it, or a refusal.

    stored = admit(AdmissionRequest(POD, body), view)

The steps are those of the API server: defaults, mutating plugins, checks, quotas. Nothing is
written: the result contains the defaulted object and the changed quotas.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from stretto.api.admission import limits, priority, pvcs, quota
from stretto.api.admission.defaults import DEFAULTS
from stretto.api.admission.field_rules import check_field_rules
from stretto.api.admission.pods import default_pod
from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView, Operation
from stretto.api.admission.workloads import CONTROLLERS, default_controller
from stretto.api.codec import decode
from stretto.api.validation import validate
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind


class Admitted(NamedTuple):
    """Result of the admission of an object."""

    #: The object as the cluster would store it.
    body: JsonObject
    #: The changed ResourceQuotas, with the object charged.
    quotas: list[JsonObject]


def admit(request: AdmissionRequest, view: ObjectView) -> Admitted:
    """Default an object and check it against the other objects.

    An object that a cluster already stores (it has a ``resourceVersion``) passes unchanged, as in a
    dump; so does an object whose kind has no defaults.

    Raises:
        InputError: a field is invalid; the message contains its path.
        ForbiddenError: the other objects do not allow it.
    """
    body = copy.deepcopy(request.body)
    meta = body.setdefault("metadata", {})
    if request.kind.namespaced and not meta.get("namespace"):
        meta["namespace"] = request.namespace
    if is_stored(meta) and request.operation is Operation.CREATE:
        return Admitted(body, [])
    if request.kind in DEFAULTS:
        DEFAULTS[request.kind](body)
    if request.kind in _STEPS:
        _STEPS[request.kind](request, body, view)
    _check(request, body)
    if request.operation is Operation.UPDATE:
        return Admitted(body, [])
    limits.check_bounds(request, body, view)
    return Admitted(body, quota.check_quotas(request, body, view))


def has_step(kind: Kind) -> bool:
    """Return whether admission changes objects of a kind."""
    return kind in DEFAULTS or kind in _STEPS


def is_stored(meta: JsonObject) -> bool:
    """Return whether the metadata belongs to a stored object, as in a dump."""
    return bool(meta.get("resourceVersion") or (meta.get("uid") and meta.get("creationTimestamp")))


def _check(request: AdmissionRequest, body: JsonObject) -> None:
    """Check the types and the values of the defaulted object."""
    item = decode(request.kind, msgspec.json.encode(body))
    if request.operation is Operation.CREATE or request.kind == kinds.POD:
        check_field_rules(request.kind, body)
    validate(item)


_STEPS: Final[Mapping[Kind, Callable[[AdmissionRequest, JsonObject, ObjectView], None]]] = {
    kinds.POD: default_pod,
    kinds.PERSISTENT_VOLUME_CLAIM: pvcs.default_class,
    kinds.PRIORITY_CLASS: priority.check_class,
    **dict.fromkeys(CONTROLLERS, default_controller),
}
"""Defaults that depend on the request or on other objects."""
