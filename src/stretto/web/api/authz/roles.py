"""Roles and bindings of a new server, and aggregated roles."""

from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, Final

import msgspec

from stretto.api.wire.values import identity
from stretto.web.api.authz.rules import CLUSTER_ROLE
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.tables.values import matches_selector

Json = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_DATA: Final = "data/bootstrap.jsonl"
"""Objects of a new kube-apiserver 1.36; ``scripts/kube_rights.py`` writes the file."""
_NOTES: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def bootstrap_rights() -> Iterator[tuple[str, Json]]:
    """Yield the roles and bindings of a new server, each with its resource."""
    text = resources.files("stretto.web.api.authz").joinpath(_DATA).read_bytes()
    for line in text.splitlines():
        resource, namespace, name, labels, rest = msgspec.json.decode(line)
        metadata = {"name": name, "labels": {**_LABELS, **labels}, "annotations": _NOTES}
        place = {"namespace": namespace} if namespace else {}
        yield resource, {"metadata": {**metadata, **place}, **rest}


def after_role(state: ApiState, admission: AdmittedWrite) -> None:
    """Recompute the aggregated roles after a change of a ClusterRole."""
    if state.aggregates_roles and admission.resource.stored == CLUSTER_ROLE:
        aggregate(state)


def aggregate(state: ApiState) -> None:
    """Set the rules of each aggregated role from the selected roles, which may aggregate too."""
    resource = state.resources.find(_GROUP, "v1", "clusterroles")
    roles = state.storage.items(CLUSTER_ROLE)
    for _ in roles:
        changed = [each for each in roles if _collect(each, roles)]
        for role in changed:
            stored = state.storage.find(CLUSTER_ROLE, "", role["metadata"]["name"])
            if stored is not None and resource is not None:
                item = {**stored.item, "rules": role["rules"]}
                state.storage.replace(resource, stored.record, item)
        if not changed:
            return


class _Selectors:
    """Selectors of labels, found by one of their labels: a role may have thousands."""

    def __init__(self, selectors: Sequence[Json]) -> None:
        self._found: dict[tuple[str, str] | None, list[Json]] = {}
        for each in selectors:
            first = next(iter((each.get("matchLabels") or {}).items()), None)
            self._found.setdefault(first, []).append(each)

    def select(self, labels: dict[str, str]) -> bool:
        """Return whether a selector selects labels."""
        return any(
            matches_selector(each, labels)
            for key in (None, *labels.items())
            for each in self._found.get(key, ())
        )


def _collect(role: Json, roles: list[Json]) -> bool:
    """Set the rules of an aggregated role; return whether they changed."""
    rule = role.get("aggregationRule")
    if not rule:
        return False
    found: dict[bytes, Json] = {}
    selectors = _Selectors(rule.get("clusterRoleSelectors") or ())
    for other in roles:
        if other is not role and selectors.select(other["metadata"].get("labels") or {}):
            for each in other.get("rules") or ():
                found.setdefault(identity(each), each)
    rules = list(found.values())
    if rules == (role.get("rules") or []):
        return False
    role["rules"] = rules
    return True
