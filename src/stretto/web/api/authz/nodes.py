"""Rights of a kubelet: its own node, and the objects that pods on its node need."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, POD, Kind
from stretto.web.api.authn.users import User
from stretto.web.api.authz.rules import AccessAnswer, AccessRequest, access_of, allows
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]

_PREFIX: Final = "system:node:"
_GROUP: Final = "system:nodes"
_READS: Final = ("get", "list", "watch")
_OWN_WRITES: Final = ("get", "create", "update", "patch", "delete")
_LEASES: Final = "kube-node-lease"
_ATTACHMENT: Final = Kind(
    "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False
)
_ALLOWED: Final = AccessAnswer(True)
_NO_OPINION: Final = AccessAnswer(False)
_RULES: Final[tuple[tuple[str, str, str], ...]] = (
    ("", "services", "get list watch"),
    ("", "events", "create patch update"),
    ("events.k8s.io", "events", "create patch update"),
    ("authentication.k8s.io", "tokenreviews", "create"),
    ("authorization.k8s.io", "subjectaccessreviews localsubjectaccessreviews", "create"),
    ("certificates.k8s.io", "certificatesigningrequests", "create get list watch"),
    ("storage.k8s.io", "csidrivers", "get list watch"),
    ("node.k8s.io", "runtimeclasses", "get list watch"),
)
"""Group, resources and verbs of every node."""


def node_access(
    storage: ObjectStorage, user: User, wanted: AccessRequest, fields: Mapping[str, str]
) -> AccessAnswer:
    """Return whether a node has a right; users that are not nodes have none here.

    Args:
        storage: the pods that relate objects to nodes.
        user: the user.
        wanted: the requested access.
        fields: the values that a field selector requires, by field.
    """
    if _GROUP not in user.groups or not user.name.startswith(_PREFIX):
        return _NO_OPINION
    node = user.name.removeprefix(_PREFIX)
    if not node:
        return _no(f'unknown node for user "{user.name}"')
    check = _CHECKS.get((wanted.group, wanted.resource))
    if check is not None:
        return check(storage, node, wanted, fields)
    for group, resources, verbs in _RULES:
        rule = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
        if allows(rule, wanted):
            return _ALLOWED
    return _NO_OPINION


def user_access(
    storage: ObjectStorage, user: User, wanted: AccessRequest, fields: Mapping[str, str]
) -> AccessAnswer:
    """Return whether a user has a right, by roles or as a node."""
    found = access_of(storage, user, wanted)
    if found.allowed:
        return found
    answered = node_access(storage, user, wanted, fields)
    reasons = filter(None, (answered.reason, found.reason))
    return answered if answered.allowed else _no("\n".join(reasons))


def _no(reason: str) -> AccessAnswer:
    return AccessAnswer(False, reason)


def _related(storage: ObjectStorage, node: str, wanted: AccessRequest) -> AccessAnswer:
    """Return whether a pod on the node needs the object."""
    if not wanted.name:
        return _no("No Object name found")
    if wanted.name in _needed(storage, node, wanted):
        return _ALLOWED
    return _no(f"no relationship found between node '{node}' and this object")


def _needed(storage: ObjectStorage, node: str, wanted: AccessRequest) -> Iterator[str]:
    """The names of the objects of a resource that the pods of a node need."""
    if wanted.resource == "volumeattachments":
        for item in storage.items(_ATTACHMENT):
            if (item.get("spec") or {}).get("nodeName") == node:
                yield item["metadata"]["name"]
        return
    for pod in storage.items(POD, wanted.namespace):
        spec = pod.get("spec") or {}
        if spec.get("nodeName") != node:
            continue
        if wanted.resource == "persistentvolumes":
            yield from _volumes(storage, pod)
        else:
            yield from _REFERENCES[wanted.resource](pod)


def _volumes(storage: ObjectStorage, pod: Json) -> Iterator[str]:
    namespace = pod["metadata"].get("namespace", "")
    for name in _claims(pod):
        found = storage.find(PERSISTENT_VOLUME_CLAIM, namespace, name)
        if found is not None:
            yield str((found.item.get("spec") or {}).get("volumeName") or "")


def _claims(pod: Json) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            yield claim
        if volume.get("ephemeral") is not None:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _configuration(word: str, volume_key: str) -> Callable[[Json], Iterator[str]]:
    """The ConfigMaps or Secrets of a pod, in its volumes and in its containers."""

    def found(pod: Json) -> Iterator[str]:
        spec = pod["spec"]
        for volume in spec.get("volumes") or ():
            yield str((volume.get(word) or {}).get(volume_key) or "")
            for source in (volume.get("projected") or {}).get("sources") or ():
                yield str((source.get(word) or {}).get("name") or "")
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for container in spec.get(key) or ():
                for variable in container.get("env") or ():
                    source = variable.get("valueFrom") or {}
                    yield str((source.get(f"{word}KeyRef") or {}).get("name") or "")
                for source in container.get("envFrom") or ():
                    yield str((source.get(f"{word}Ref") or {}).get("name") or "")
        if word == "secret":
            for each in spec.get("imagePullSecrets") or ():
                yield str(each.get("name") or "")

    return found


def _resource_claims(pod: Json) -> Iterator[str]:
    for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        yield str(each.get("resourceClaimName") or "")
    for each in pod["spec"].get("resourceClaims") or ():
        yield str(each.get("resourceClaimName") or "")


_REFERENCES: Final[Mapping[str, Callable[[Json], Iterator[str]]]] = {
    "secrets": _configuration("secret", "secretName"),
    "configmaps": _configuration("configMap", "name"),
    "persistentvolumeclaims": _claims,
    "resourceclaims": _resource_claims,
    "serviceaccounts": lambda pod: iter([pod["spec"].get("serviceAccountName") or ""]),
    "pods": lambda pod: iter([pod["metadata"]["name"]]),
}
"""Objects that a pod references, by resource."""


def _read(
    storage: ObjectStorage, node: str, wanted: AccessRequest, _: Mapping[str, str]
) -> AccessAnswer:
    """Check access to ConfigMaps and Secrets."""
    if wanted.verb not in _READS:
        return _no("can only read resources of this type")
    if wanted.subresource:
        return _no("cannot read subresource")
    if not wanted.namespace:
        return _no("can only read namespaced object of this type")
    return _related(storage, node, wanted)


def _get(
    storage: ObjectStorage, node: str, wanted: AccessRequest, _: Mapping[str, str]
) -> AccessAnswer:
    """Check access to objects that are only read by name; the status of a PVC is also written."""
    is_status = wanted.resource == "persistentvolumeclaims" and wanted.subresource == "status"
    if is_status and wanted.verb in ("update", "patch"):
        return _related(storage, node, wanted)
    if wanted.verb != "get":
        return _no("can only get individual resources of this type")
    if wanted.subresource:
        return _no("cannot get subresource")
    return _related(storage, node, wanted)


def _token(
    storage: ObjectStorage, node: str, wanted: AccessRequest, _: Mapping[str, str]
) -> AccessAnswer:
    if wanted.verb != "create" or wanted.subresource != "token" or not wanted.name:
        return _no("can only create tokens for individual service accounts")
    return _related(storage, node, wanted)


def _node(
    _: ObjectStorage, node: str, wanted: AccessRequest, _fields: Mapping[str, str]
) -> AccessAnswer:
    if wanted.subresource == "status" and wanted.verb in ("update", "patch"):
        return _ALLOWED
    if wanted.subresource:
        return _NO_OPINION
    if wanted.verb in ("create", "update", "patch"):
        return _ALLOWED
    if wanted.verb not in _READS:
        return _NO_OPINION
    if wanted.name == node:
        return _ALLOWED
    others = f"'{wanted.name}'" if wanted.name else "all nodes"
    return _no(f"node '{node}' cannot read {others}, only its own Node object")


def _pod(
    storage: ObjectStorage, node: str, wanted: AccessRequest, fields: Mapping[str, str]
) -> AccessAnswer:
    verb, part = wanted.verb, wanted.subresource
    if (part, verb) in (("status", "update"), ("status", "patch"), ("eviction", "create")):
        return _ALLOWED
    if part:
        return _NO_OPINION
    if verb in ("create", "delete"):
        return _ALLOWED
    if verb == "get":
        return _related(storage, node, wanted)
    if verb in _READS and fields.get("spec.nodeName") == node:
        return _ALLOWED
    if verb in _READS:
        return _no("can only list/watch pods with spec.nodeName field selector")
    return _NO_OPINION


def _slice(
    storage: ObjectStorage, node: str, wanted: AccessRequest, fields: Mapping[str, str]
) -> AccessAnswer:
    if wanted.subresource:
        return _no("cannot authorize ResourceSlice subresources")
    if wanted.verb in ("list", "watch", "deletecollection"):
        if fields.get("spec.nodeName") == node:
            return _ALLOWED
        return _no(
            "can only list/watch/deletecollection resourceslices with nodeName field selector"
        )
    if wanted.verb == "create":
        return _ALLOWED
    kind = Kind("resource.k8s.io", "v1", "ResourceSlice", "resourceslices", namespaced=False)
    found = storage.find(kind, "", wanted.name)
    if found is not None and (found.item.get("spec") or {}).get("nodeName") == node:
        return _ALLOWED
    return _no(f"no relationship found between node '{node}' and this object")


def _own(word: str) -> Callable[..., AccessAnswer]:
    """Return a check for objects with the name of the node."""

    def check(
        _: ObjectStorage, node: str, wanted: AccessRequest, _fields: Mapping[str, str]
    ) -> AccessAnswer:
        if wanted.verb not in _OWN_WRITES:
            return _no(f"can only get, create, update, patch, or delete a {word}")
        if word == "node lease" and wanted.namespace != _LEASES:
            return _no(f'can only access leases in the "{_LEASES}" system namespace')
        if wanted.subresource:
            return _no(f"cannot authorize {word} subresources")
        if wanted.verb != "create" and wanted.name != node:
            return _no(f"can only access {word} with the same name as the requesting node")
        return _ALLOWED

    return check


_CHECKS: Final[Mapping[tuple[str, str], Callable[..., AccessAnswer]]] = {
    ("", "secrets"): _read,
    ("", "configmaps"): _read,
    ("", "persistentvolumeclaims"): _get,
    ("", "persistentvolumes"): _get,
    ("", "serviceaccounts"): _token,
    ("", "nodes"): _node,
    ("", "pods"): _pod,
    ("storage.k8s.io", "volumeattachments"): _get,
    ("storage.k8s.io", "csinodes"): _own("CSINode"),
    ("coordination.k8s.io", "leases"): _own("node lease"),
    ("resource.k8s.io", "resourceclaims"): _get,
    ("resource.k8s.io", "resourceslices"): _slice,
}
"""Checks by group and resource."""
