"""Owners of the fields of custom objects in several versions."""

from collections.abc import Iterable
from typing import Any

from stretto.api.edit.apply.managers import Managers
from stretto.api.edit.apply.walking import ApplyError, check_typed, struct_value
from stretto.api.schema.structural import struct_of_schema
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]


def fit_versions(resource: ServedResource, managers: Managers, items: Iterable[Json]) -> bool:
    """Whether objects fit the schemas of all versions in which managers own fields.

    If they do not, kube-apiserver cannot compare the versions and forgets the managers.
    """
    if resource.definition is None:
        return True
    schemas: dict[str, Json] = resource.version["schemas"]
    versions = {each.key.api_version for each in managers.values()}
    others = versions - {resource.kind.api_version}
    known = [schemas.get(each.rpartition("/")[2]) for each in sorted(others)]
    kinds = [struct_value(struct_of_schema(each)) for each in known if each is not None]
    found = list(items) if kinds else []
    try:
        for kind in kinds:
            for each in found:
                check_typed(each, kind)
    except ApplyError:
        return False
    return True
