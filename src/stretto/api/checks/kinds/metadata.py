"""Repeated metadata checks of each kind, in kube-apiserver's order.

kube-apiserver checks the metadata of each changed object twice, and most kinds check it again in
their own rules. A response lists a cause as often as it is found. Only the rules of the kinds
refuse finalizers that are neither qualified nor known.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.fields.metadata import (
    NameRule,
    check_changed_metadata,
    check_marks,
    check_metadata,
    check_own_finalizers,
    check_plain_metadata,
    check_prefix,
)
from stretto.api.checks.fields.texts import path_segment

Json = dict[str, Any]


class _MetadataCheck(Enum):
    """One check of the metadata of a changed object."""

    #: All rules.
    WHOLE = 1
    #: Rules of immutable and read-only fields.
    CHANGE = 2
    #: All rules, including the names of finalizers.
    OWN_WHOLE = 3
    #: Rules of immutable and read-only fields, including the names of finalizers.
    OWN_CHANGE = 4


_Key = tuple[str, str]
_WHOLE: Final = (_MetadataCheck.WHOLE,)
_CHANGE: Final = (_MetadataCheck.CHANGE,)
_CHANGE_WHOLE: Final = (_MetadataCheck.CHANGE, _MetadataCheck.WHOLE)
_OWN_WHOLE: Final = (_MetadataCheck.OWN_WHOLE,)
_OWN_CHANGE: Final = (_MetadataCheck.OWN_CHANGE,)
_OWN_CHANGE_WHOLE: Final = (_MetadataCheck.OWN_CHANGE, _MetadataCheck.OWN_WHOLE)
_OWN_WHOLE_CHANGE: Final = (_MetadataCheck.OWN_WHOLE, _MetadataCheck.OWN_CHANGE)
_ADMISSION: Final = "admissionregistration.k8s.io"
_NETWORK: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_RESOURCE: Final = "resource.k8s.io"
_FLOWS: Final = "flowcontrol.apiserver.k8s.io"

_ROUNDS: Final[Mapping[_Key, Sequence[_MetadataCheck]]] = {
    ("", "Event"): (),
    ("policy", "PodDisruptionBudget"): (),
    ("coordination.k8s.io", "Lease"): _CHANGE,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _CHANGE,
    ("node.k8s.io", "RuntimeClass"): _CHANGE_WHOLE,
    ("apiregistration.k8s.io", "APIService"): _CHANGE_WHOLE,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WHOLE,
    (_ADMISSION, "MutatingWebhookConfiguration"): _WHOLE,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _WHOLE,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _WHOLE,
    (_ADMISSION, "MutatingAdmissionPolicy"): _WHOLE,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _WHOLE,
    ("", "LimitRange"): _OWN_WHOLE,
    ("discovery.k8s.io", "EndpointSlice"): _OWN_WHOLE,
    (_STORAGE, "CSINode"): _OWN_WHOLE,
    (_STORAGE, "VolumeAttachment"): _OWN_WHOLE,
    (_FLOWS, "FlowSchema"): _OWN_WHOLE,
    (_FLOWS, "PriorityLevelConfiguration"): _OWN_WHOLE,
    ("", "PersistentVolume"): (_MetadataCheck.OWN_WHOLE, _MetadataCheck.OWN_WHOLE),
    ("", "Pod"): _OWN_CHANGE_WHOLE,
    ("", "ConfigMap"): _OWN_CHANGE_WHOLE,
    ("", "Secret"): _OWN_CHANGE_WHOLE,
    ("", "Endpoints"): _OWN_CHANGE_WHOLE,
    ("", "ServiceAccount"): _OWN_CHANGE_WHOLE,
    ("", "PersistentVolumeClaim"): _OWN_CHANGE_WHOLE,
    ("apps", "ControllerRevision"): _OWN_CHANGE_WHOLE,
    (_NETWORK, "Ingress"): _OWN_CHANGE_WHOLE,
    (_NETWORK, "IngressClass"): _OWN_CHANGE_WHOLE,
    (_STORAGE, "VolumeAttributesClass"): _OWN_CHANGE_WHOLE,
    ("", "Node"): _OWN_WHOLE_CHANGE,
    ("", "Namespace"): _OWN_WHOLE_CHANGE,
    ("batch", "Job"): _OWN_WHOLE_CHANGE,
    (_NETWORK, "IPAddress"): _OWN_WHOLE_CHANGE,
    (_STORAGE, "StorageClass"): _OWN_WHOLE_CHANGE,
    (_STORAGE, "CSIStorageCapacity"): _OWN_WHOLE_CHANGE,
    (_RBAC, "Role"): _OWN_WHOLE_CHANGE,
    (_RBAC, "ClusterRole"): _OWN_WHOLE_CHANGE,
    (_RBAC, "RoleBinding"): _OWN_WHOLE_CHANGE,
    (_RBAC, "ClusterRoleBinding"): _OWN_WHOLE_CHANGE,
    (_RESOURCE, "DeviceClass"): _OWN_WHOLE_CHANGE,
    (_RESOURCE, "ResourceClaim"): _OWN_WHOLE_CHANGE,
    (_RESOURCE, "ResourceClaimTemplate"): _OWN_WHOLE_CHANGE,
}
"""Checks that the rules of a kind repeat after a change; for other kinds of Kubernetes: CHANGE."""
_OF_STATUS: Final[Mapping[_Key, Sequence[_MetadataCheck]]] = {
    ("batch", "CronJob"): (),
    ("policy", "PodDisruptionBudget"): (),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _CHANGE,
}
"""Checks that are repeated after a write of the status."""
_PLAIN: Final = frozenset(
    {
        key
        for key, rounds in _ROUNDS.items()
        if not {_MetadataCheck.OWN_WHOLE, _MetadataCheck.OWN_CHANGE} & set(rounds)
    }
)
"""Kinds whose rules accept any qualified finalizer."""


def check_new_metadata(
    key: _Key | None,
    metadata: Json,
    rule: NameRule,
    *,
    namespaced: bool,
    checks_prefix: bool = True,
) -> Errors:
    """Return the refused metadata fields of a new object.

    Args:
        key: group and kind; ``None`` for a custom resource.
        metadata: the metadata.
        rule: returns the problems of a name.
        namespaced: whether the kind has namespaces.
        checks_prefix: whether the rule is that of prefixes too; otherwise only a path limits them.
    """
    checked = metadata if checks_prefix else {**metadata, "generateName": ""}
    found = check_metadata(checked, rule, namespaced=namespaced)
    found += [] if checks_prefix else check_prefix(metadata, path_segment)
    return found if key is None or key in _PLAIN else found + check_own_finalizers(metadata)


def check_metadata_update(
    key: _Key | None, new: Json, old: Json, rule: NameRule | None, part: str = ""
) -> Errors:
    """Return the refused metadata fields of a changed object.

    Args:
        key: group and kind; ``None`` for a custom resource.
        new: its metadata.
        old: the stored metadata.
        rule: returns the problems of a name; ``None`` if the kind does not check prefixes.
        part: the subresource that is written; empty for the object itself.
    """
    plain = check_plain_metadata(new)
    whole = check_prefix(new, path_segment) + plain
    named = (check_prefix(new, rule) if rule else []) + plain
    change = check_changed_metadata(new, old) + (check_marks(new) if plain else [])
    own = check_own_finalizers(new)
    if not (whole or named or change or own):
        return []
    rounds = {
        _MetadataCheck.WHOLE: named,
        _MetadataCheck.CHANGE: change,
        _MetadataCheck.OWN_WHOLE: named + own,
        _MetadataCheck.OWN_CHANGE: change + own,
    }
    repeated = [error for each in _rounds(key, part) for error in rounds[each]]
    return whole + change + repeated


def _rounds(key: _Key | None, part: str) -> Sequence[_MetadataCheck]:
    if key is None:
        return _CHANGE
    if part == "status":
        return _OF_STATUS.get(key, _OWN_CHANGE)
    return _ROUNDS.get(key, _OWN_CHANGE)
