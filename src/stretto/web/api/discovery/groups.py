"""Groups, versions and resources as lists: ``/api``, ``/apis`` and the paths below them."""

import base64
import hashlib
import re
from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.web.api.resources import ResourceTable, ServedResource

Json = dict[str, Any]

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES: Final = {None: 2, "beta": 1, "alpha": 0}


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sort key of versions: stable before beta before alpha, newer first when reversed."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0, version)
    return (_STAGES[match[2]], int(match[1]), int(match[3] or 0), "")


def groups(resources: ResourceTable) -> dict[str, list[str]]:
    """Versions by group name, the preferred version first."""
    found: dict[str, list[str]] = {}
    for each in resources.all():
        versions = found.setdefault(each.group, [])
        if each.group and each.kind.version not in versions:
            versions.append(each.kind.version)
    found.pop("", None)
    return {
        group: sorted(versions, key=version_rank, reverse=True) for group, versions in found.items()
    }


def api_versions(address: str) -> Json:
    """Return the document ``/api``."""
    client = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [client]}


def group_list(resources: ResourceTable) -> Json:
    """Return the document ``/apis``."""
    listed = [_group(group, versions) for group, versions in groups(resources).items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def group_document(resources: ResourceTable, group: str) -> Json | None:
    """Return the document ``/apis/GROUP``; ``None`` for a group that is not served."""
    versions = groups(resources).get(group)
    if versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def _group(group: str, versions: list[str]) -> Json:
    entries = [{"groupVersion": f"{group}/{each}", "version": each} for each in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def resource_list(resources: ResourceTable, group: str, version: str) -> Json | None:
    """Return the resources of a version; ``None`` if the version is not served."""
    found = [
        each for each in resources.all() if (each.group, each.kind.version) == (group, version)
    ]
    if not found:
        return None
    listed: list[Json] = []
    for each in found:
        listed.append(_resource(each))
        listed += _subresources(each)
    if not any(each.definition for each in found):
        listed.sort(key=lambda entry: str(entry["name"]))
    name = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": name,
        "resources": listed,
    }


def _resource(each: ServedResource) -> Json:
    facts = each.facts
    entry: Json = {
        "name": each.resource,
        "singularName": facts.singular,
        "namespaced": each.kind.namespaced,
        "kind": each.kind.kind,
        "verbs": list(facts.verbs),
    }
    if facts.short:
        entry["shortNames"] = list(facts.short)
    if facts.categories:
        entry["categories"] = list(facts.categories)
    is_stored = each.computed is None and each.key != ("", "ComponentStatus")
    if "list" in facts.verbs and is_stored:
        entry["storageVersionHash"] = storage_hash(each)
    return entry


def _subresources(each: ServedResource) -> list[Json]:
    found = []
    for name, facts in each.facts.subresources.items():
        group, version, kind = facts.kind
        entry: Json = {
            "name": f"{each.resource}/{name}",
            "singularName": "",
            "namespaced": each.kind.namespaced,
        }
        if version and (group, version) != (each.group, each.kind.version):
            entry |= {"group": group, "version": version}
        found.append(entry | {"kind": kind, "verbs": list(facts.verbs)})
    return found


_OLDER: Final = frozenset(
    {
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)
"""Kinds that kube-apiserver stores in v1beta1, so that an older server can read them."""


def storage_hash(each: ServedResource) -> str:
    """Return the hash of the storage version of the objects."""
    kind = each.stored
    if each.key in _OLDER:
        kind = Kind(kind.group, "v1beta1", kind.kind, kind.plural)
    text = f"{kind.group}/{each.version.get('storage', kind.version)}/{kind.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
