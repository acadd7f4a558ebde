"""Objects that follow a workload to its clusters: dependencies of its pods, and named objects."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from stretto.api.wire.kinds import POD_GROUP
from stretto.federation import names
from stretto.federation.objects.demand import pod_spec
from stretto.federation.objects.members.units import group_name
from stretto.federation.objects.placements import overrides_by
from stretto.reconcile.cache import Fields, StoredObject

LEADERS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"})
"""Kinds that other objects follow."""
_SOURCES: Final = (
    ("configMap", "name", "ConfigMap"),
    ("secret", "secretName", "Secret"),
    ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
)
"""Sources of volumes: member, field with the name, kind."""
_ENV_SOURCES: Final = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
_ENV_FROM: Final = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))


class ObjectName(NamedTuple):
    """Name of an object in the same namespace."""

    #: API group.
    group: str
    #: Kind.
    kind: str
    #: Name.
    name: str


class _Reference(NamedTuple):
    """A reference of a pod to an object."""

    #: The object.
    object: ObjectName
    #: True if the pod also starts without the object.
    optional: bool = False


def followers(federated: StoredObject) -> set[ObjectName]:
    """The objects that follow a federated object; empty if following is disabled for it."""
    if not _leads(federated):
        return set()
    return {each.object for each in _of_pods(federated)} | named_followers(federated)


def needed_followers(federated: StoredObject) -> set[ObjectName]:
    """The followers that the pods of an object need to start."""
    if not _leads(federated):
        return set()
    return {each.object for each in _of_pods(federated) if not each.optional}


def named_followers(federated: StoredObject) -> set[ObjectName]:
    """The followers that an annotation of an object names; empty if following is disabled."""
    text = federated.annotations.get(names.FOLLOWER_LIST, "")
    return set(_named(text)) if text and _leads(federated) else set()


def _leads(federated: StoredObject) -> bool:
    """True if an object can have followers."""
    if federated.annotations.get(names.ENABLE_FOLLOWING) != "true":
        return False
    return (federated.spec.get("template") or {}).get("kind") in LEADERS


def leader_of(federated: StoredObject) -> ObjectName:
    """The name by which followers refer to an object."""
    template = federated.spec["template"]
    group = str(template.get("apiVersion", "")).rpartition("/")[0]
    return ObjectName(group, template["kind"], template["metadata"]["name"])


def _of_pods(federated: StoredObject) -> Iterator[_Reference]:
    """Objects that the pods of an object refer to."""
    if gang := group_name(federated):
        yield _Reference(ObjectName(POD_GROUP.group, POD_GROUP.kind, gang))
    spec = pod_spec(federated.spec["template"]) or {}
    account = spec.get("serviceAccountName")
    if account and account != "default":
        yield _Reference(ObjectName("", "ServiceAccount", account))
    for secret in spec.get("imagePullSecrets") or ():
        yield _Reference(ObjectName("", "Secret", secret["name"]))
    for volume in spec.get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            yield from _of_volume(source)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        yield from _of_container(container)


def _of_volume(source: Fields) -> Iterator[_Reference]:
    """The object of a volume or a projected source; the latter names a Secret by ``name``."""
    for member, field, kind in _SOURCES:
        found: Fields = source.get(member) or {}
        name = found.get(field) or found.get("name")
        if name:
            yield _Reference(ObjectName("", kind, name), found.get("optional") is True)


def _of_container(container: Fields) -> Iterator[_Reference]:
    """Objects that the environment of a container reads."""
    sources = [(each, _ENV_FROM) for each in container.get("envFrom") or ()]
    variables = container.get("env") or ()
    sources += [(each.get("valueFrom") or {}, _ENV_SOURCES) for each in variables]
    for source, members in sources:
        for member, kind in members:
            found: Fields = source.get(member) or {}
            if name := found.get("name"):
                yield _Reference(ObjectName("", kind, name), found.get("optional") is True)


def _named(text: str) -> Iterator[ObjectName]:
    """The objects in the text of the annotation; empty if it is malformed."""
    try:
        found: Any = json.loads(text or "[]")
        for each in found:
            yield ObjectName(each.get("group") or "", each["kind"], each["name"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return


def gang_shares(group: StoredObject, leaders: Iterable[StoredObject]) -> dict[str, list[Fields]]:
    """Patches of ``minMember`` of a PodGroup, for clusters with fewer pods than the minimum."""
    least = (group.spec["template"].get("spec") or {}).get("minMember")
    counts: dict[str, int] = {}
    for leader in leaders:
        for name, patches in overrides_by(leader.spec, names.SCHEDULER).items():
            values = [x["value"] for x in patches if isinstance(x.get("value"), int)]
            counts[name] = counts.get(name, 0) + sum(values)
    return {
        name: [{"op": "replace", "path": "/spec/minMember", "value": count}]
        for name, count in sorted(counts.items())
        if isinstance(least, int) and 0 < count < least
    }
