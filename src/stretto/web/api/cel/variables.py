"""Types of the variables of policies and of conditions of webhooks.

The fields are those of ``pkg/admission/plugin/cel/compile.go`` in kube-apiserver.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stretto.cel.functions.rights import AUTHORIZER, RESOURCE_CHECK
from stretto.cel.language.environment import Environment
from stretto.cel.language.types import DYN, CelType, parsed_type, struct

_VARIABLES: Final = "kubernetes.variables"
"""Type of the variable that contains the variables of a policy."""


def _fields(**kinds: str) -> dict[str, CelType]:
    return {name: parsed_type(kind) for name, kind in kinds.items()}


_TEXTS: Final = "list(string)"
_OBJECTS: Final[Mapping[str, Mapping[str, CelType]]] = {
    "kubernetes.GroupVersionKind": _fields(group="string", version="string", kind="string"),
    "kubernetes.GroupVersionResource": _fields(group="string", version="string", resource="string"),
    "kubernetes.UserInfo": _fields(
        username="string", uid="string", groups=_TEXTS, extra=f"map(string, {_TEXTS})"
    ),
    "kubernetes.AdmissionRequest": _fields(
        kind="kubernetes.GroupVersionKind",
        resource="kubernetes.GroupVersionResource",
        subResource="string",
        requestKind="kubernetes.GroupVersionKind",
        requestResource="kubernetes.GroupVersionResource",
        requestSubResource="string",
        name="string",
        namespace="string",
        operation="string",
        userInfo="kubernetes.UserInfo",
        dryRun="bool",
        options="dyn",
    ),
    "kubernetes.NamespaceSpec": _fields(finalizers=_TEXTS),
    "kubernetes.NamespaceCondition": _fields(
        status="string",
        type="string",
        lastTransitionTime="timestamp",
        message="string",
        reason="string",
    ),
    "kubernetes.NamespaceStatus": _fields(
        conditions="list(kubernetes.NamespaceCondition)", phase="string"
    ),
    "kubernetes.NamespaceMetadata": _fields(
        name="string",
        generateName="string",
        namespace="string",
        labels="map(string, string)",
        annotations="map(string, string)",
        UID="string",
        creationTimestamp="timestamp",
        deletionGracePeriodSeconds="int",
        deletionTimestamp="timestamp",
        generation="int",
        resourceVersion="string",
        finalizers=_TEXTS,
    ),
    "kubernetes.Namespace": _fields(
        metadata="kubernetes.NamespaceMetadata",
        spec="kubernetes.NamespaceSpec",
        status="kubernetes.NamespaceStatus",
    ),
}
"""Fields of the objects that the variables contain."""
_WRITE: Final[Mapping[str, CelType]] = {
    "object": DYN,
    "oldObject": DYN,
    "namespaceObject": struct("kubernetes.Namespace"),
    "request": struct("kubernetes.AdmissionRequest"),
}
_RIGHTS: Final[Mapping[str, CelType]] = {
    "authorizer": AUTHORIZER,
    "authorizer.requestResource": RESOURCE_CHECK,
}


@dataclass(frozen=True)
class WrittenType:
    """The type of the written object."""

    #: Type of the object.
    kind: CelType = DYN
    #: Fields of the objects that it contains, by the names of their types.
    objects: Mapping[str, Mapping[str, CelType]] = field(default_factory=dict)


ANY_OBJECT: Final = WrittenType()
"""An object of any kind."""


def write_environment(
    *,
    subject: WrittenType = ANY_OBJECT,
    has_params: bool = False,
    variables: Mapping[str, CelType] | None = None,
    has_rights: bool = True,
    has_mutations: bool = False,
) -> Environment:
    """Return the environment of expressions about a write.

    Args:
        subject: the type of the written object.
        has_params: whether a policy declares the kind of its parameters.
        variables: types of the variables of a policy; ``None`` for conditions.
        has_rights: whether expressions may check rights.
        has_mutations: whether expressions create configurations and operations.
    """
    written = dict.fromkeys(("object", "oldObject"), subject.kind)
    known = {**_WRITE, **written, **(_RIGHTS if has_rights else {})}
    objects = {**_OBJECTS, **subject.objects}
    if has_params:
        known["params"] = DYN
    if variables is not None:
        known["variables"] = struct(_VARIABLES)
        objects[_VARIABLES] = variables
    return Environment(known, objects, has_mutations)


WRITE: Final = Environment(
    {
        **dict.fromkeys(
            ("object", "oldObject", "namespaceObject", "request", "params", "variables"), DYN
        ),
        **_RIGHTS,
    },
    has_mutations=True,
)
"""Environment of the evaluation of checked expressions, without declared types."""
RULES: Final = Environment({"self": DYN, "oldSelf": DYN})
"""Environment of the evaluation of the rules of schemas, without declared types."""
