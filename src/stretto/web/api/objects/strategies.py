"""Preparation of each kind before it is stored: generation, status, initial values.

A strategy contains the behaviour of a kind that no schema describes. Kinds without an entry have
the default strategy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from stretto.api.checks.fields.metadata import NameRule
from stretto.api.checks.fields.texts import (
    address_name,
    dns_label,
    dns_subdomain,
    path_segment,
    short_subdomain,
)
from stretto.api.schema.decoding import zero
from stretto.api.wire.values import is_equal
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]


@dataclass(frozen=True)
class Strategy:
    """Strategy for preparing objects of a kind."""

    #: True if ``metadata.generation`` counts changes.
    counts: bool = False
    #: True if a new object keeps the status in the request.
    keeps_status: bool = False
    #: Returns the problems of a name.
    name_rule: NameRule = dns_subdomain
    #: True if the prefix of a generated name follows the rule of names.
    checks_prefix: bool = True
    #: True if a PUT of a name that does not exist creates the object.
    creates_on_update: bool = False
    #: True if an update needs a resource version.
    needs_version: bool = False
    #: Fields besides the metadata whose change increments the generation.
    counted: tuple[str, ...] = ("spec",)


_COUNTED: Final = frozenset(
    {
        ("", "Pod"), ("", "ReplicationController"), ("", "PodTemplate"),
        ("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "DaemonSet"),
        ("apps", "StatefulSet"), ("batch", "Job"), ("batch", "CronJob"),
        ("networking.k8s.io", "Ingress"), ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"), ("policy", "PodDisruptionBudget"),
        ("scheduling.k8s.io", "PriorityClass"), ("discovery.k8s.io", "EndpointSlice"),
        ("resource.k8s.io", "ResourceSlice"), ("resource.k8s.io", "DeviceClass"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)  # fmt: skip
"""Kinds of Kubernetes with a generation."""
_COUNTED_FROM_ZERO: Final = frozenset({("storage.k8s.io", "CSIDriver")})
"""Kinds whose generation counts the changes only, and is absent at first."""

_WHOLE: Final = (
    "spec",
    "webhooks",
    "endpoints",
    "ports",
    "template",
    "value",
    "description",
    "globalDefault",
    "preemptionPolicy",
)
"""Fields whose change counts in kinds without a spec."""
STATUS_ONLY: Final = frozenset(
    {
        ("apiregistration.k8s.io", "APIService"), ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"), ("networking.k8s.io", "ServiceCIDR"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    }
)  # fmt: skip
"""Kinds for which a write of the status does not change the metadata."""
SIGNING_REQUEST: Final = ("certificates.k8s.io", "CertificateSigningRequest")
_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"


_CONDITIONAL: Final = frozenset(
    {
        ("policy", "PodDisruptionBudget"), ("coordination.k8s.io", "Lease"),
        ("coordination.k8s.io", "LeaseCandidate"), ("node.k8s.io", "RuntimeClass"),
        (_STORAGE, "CSIDriver"), (_STORAGE, "CSINode"), (_STORAGE, "VolumeAttachment"),
        (_STORAGE, "CSIStorageCapacity"), (_ADMISSION, "ValidatingAdmissionPolicy"),
        (_ADMISSION, "ValidatingAdmissionPolicyBinding"), (_ADMISSION, "MutatingAdmissionPolicy"),
        (_ADMISSION, "MutatingAdmissionPolicyBinding"),
        (_ADMISSION, "ValidatingWebhookConfiguration"),
        (_ADMISSION, "MutatingWebhookConfiguration"), ("apiregistration.k8s.io", "APIService"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)  # fmt: skip
"""Kinds whose updates require a resource version."""

_WHOLE_NAME: Final = {
    "name_rule": partial(dns_subdomain, unit="bytes"),
    "checks_prefix": False,
}
"""Rule of names of kinds that Kubernetes checks by declarations."""
_SPECIAL: Final[Mapping[tuple[str, str], dict[str, Any]]] = {
    ("", "Namespace"): {"name_rule": dns_label},
    ("", "ReplicationController"): _WHOLE_NAME,
    ("resource.k8s.io", "DeviceClass"): _WHOLE_NAME,
    ("policy", "PodDisruptionBudget"): {"name_rule": path_segment},
    SIGNING_REQUEST: {"name_rule": path_segment},
    ("", "Service"): {"name_rule": dns_label, "creates_on_update": True},
    ("apps", "StatefulSet"): {"name_rule": dns_label},
    ("batch", "CronJob"): {"name_rule": short_subdomain},
    ("scheduling.k8s.io", "PriorityClass"): {"counted": ()},
    ("apiregistration.k8s.io", "APIService"): {"name_rule": path_segment},
    ("networking.k8s.io", "IPAddress"): {"name_rule": address_name},
    ("", "Node"): {"keeps_status": True},
    ("", "Endpoints"): {"creates_on_update": True},
    ("", "Event"): {"name_rule": path_segment, "creates_on_update": True},
    ("", "LimitRange"): {"creates_on_update": True},
    ("coordination.k8s.io", "Lease"): {"creates_on_update": True},
    ("coordination.k8s.io", "LeaseCandidate"): {"creates_on_update": True},
    ("node.k8s.io", "RuntimeClass"): {"creates_on_update": True},
    ("events.k8s.io", "Event"): {"creates_on_update": True},
    (_RBAC, "Role"): {"name_rule": path_segment, "creates_on_update": True},
    (_RBAC, "ClusterRole"): {"name_rule": path_segment, "creates_on_update": True},
    (_RBAC, "RoleBinding"): {"name_rule": path_segment, "creates_on_update": True},
    (_RBAC, "ClusterRoleBinding"): {"name_rule": path_segment, "creates_on_update": True},
}


def strategy_of(resource: ServedResource) -> Strategy:
    """The strategy of a kind."""
    if resource.definition is not None:
        return Strategy(counts=True, needs_version=True, counted=())
    key = resource.key
    found = _STRATEGIES.get(key)
    if found is None:
        found = _STRATEGIES[key] = _made(resource, key)
    return found


_STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {}
"""Cache of strategies by group and kind."""


def _made(resource: ServedResource, key: tuple[str, str]) -> Strategy:
    counts = key in _COUNTED
    facts: dict[str, Any] = dict(_SPECIAL.get(key, {}))
    facts["needs_version"] = key in _CONDITIONAL
    if counts and "spec" not in resource.struct.fields:
        facts.setdefault("counted", _WHOLE)
    return Strategy(counts=counts, **facts)


def reset_status(item: Json, resource: ServedResource) -> None:
    """Remove the status of the request from a new object."""
    item.pop("status", None)
    known = resource.struct.fields.get("status") if resource.definition is None else None
    if known is not None and known.is_emitted:
        item["status"] = zero(known)


def keep_status(item: Json, old: Json) -> None:
    """Keep the stored status in a changed object."""
    item.pop("status", None)
    if "status" in old:
        item["status"] = old["status"]


def count_generation(item: Json, old: Json, strategy: Strategy, resource: ServedResource) -> None:
    """Increment the generation if the spec has changed."""
    before = old["metadata"].get("generation", 0)
    if not strategy.counts and resource.key not in _COUNTED_FROM_ZERO:
        generation = before
    elif resource.definition is not None:
        generation = before + (not is_equal(_content(item, resource), _content(old, resource)))
    else:
        changed = any(item.get(name) != old.get(name) for name in strategy.counted)
        if resource.key == ("apps", "Deployment"):
            notes = item["metadata"].get("annotations"), old["metadata"].get("annotations")
            changed = changed or notes[0] != notes[1]
        if resource.key == ("discovery.k8s.io", "EndpointSlice"):
            changed = changed or item["metadata"].get("labels") != old["metadata"].get("labels")
        generation = before + changed
    metadata = item["metadata"]
    metadata.pop("generation", None)
    if generation:
        metadata["generation"] = generation


def _content(item: Json, resource: ServedResource) -> Json:
    """Return a custom object without the parts that do not count for the generation."""
    left = {"metadata", "kind", "apiVersion"} | ({"status"} if resource.has_status else set())
    return {key: each for key, each in item.items() if key not in left}
