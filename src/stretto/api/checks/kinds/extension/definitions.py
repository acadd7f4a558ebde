"""Rules of CustomResourceDefinitions, except those of their schemas."""

from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    immutable,
    invalid,
    required,
    too_many,
)
from stretto.api.checks.fields.shapes import Rule, choice
from stretto.api.checks.fields.texts import dns_1035, dns_subdomain
from stretto.api.checks.kinds.extension.internals import internal_version
from stretto.api.checks.kinds.extension.locations import PathError, schema_at
from stretto.api.checks.kinds.extension.schemas import check_schema, has_default
from stretto.api.checks.kinds.extension.structure import conversion_problem
from stretto.api.checks.kinds.extension.webhooks import check_client, check_review_versions
from stretto.api.checks.kinds.values import Json

_SCOPE: Final = choice("Cluster", "Namespaced")
_KINDS: Final = ("kind", "listKind")
_MIXED: Final = "may have mixed case, but should otherwise match: "
_APPROVED: Final = "api-approved.kubernetes.io"
_UNAPPROVED: Final = (
    f'protected groups must have approval annotation "{_APPROVED}", see '
    "https://github.com/kubernetes/enhancements/pull/1111"
)
_APPROVAL_TEXT: Final = (
    f'protected groups must have approval annotation "{_APPROVED}" with either a URL or a reason '
    'starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
)
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_PRESERVED: Final = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
    "spec.versions[*].schema instead"
)
_EACH: Final = "spec.versions"
_MOST_COLUMNS: Final = 100
"""Maximum columns of tables: each is read from each object of a list."""
_MOST_VERSIONS: Final = 100
"""Maximum versions of a definition: the server makes an APIService for each of them."""
_NO_DEFAULTS: Final = "must be false in order to use defaults in the schema"
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_SIMPLE: Final = "must be a simple json path starting with ."
_MOST_FIELDS: Final = 8
_WARNING: Final = 256
_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings "
    "with formats are allowed."
)
_STRATEGY: Final = choice("None", "Webhook")


def check_definition(item: Json, old: Json | None) -> Errors:
    """Check a CustomResourceDefinition."""
    spec, name = item.get("spec") or {}, item["metadata"].get("name", "")
    names, group = spec.get("names") or {}, spec.get("group", "")
    found: Errors = []
    stated = (("generateName", item["metadata"].get("generateName", "")), ("name", name))
    for member, each in stated if old is None else ():
        if each and each != f"{names.get('plural', '')}.{group}":
            detail = 'must be spec.names.plural+"."+spec.group'
            found.append(invalid(f"metadata.{member}", each, detail))
    found += _group(group)
    found += _stated(_SCOPE, spec.get("scope"), "spec.scope")
    versions = spec.get("versions") or []
    if len(versions) > _MOST_VERSIONS:
        return [*found, too_many(_EACH, len(versions), _MOST_VERSIONS)]
    found += _versions(versions, preserves=bool(spec.get("preserveUnknownFields")))
    found += _names(names, "spec.names")
    for path, part, version in version_parts(versions):
        if not path.startswith(_EACH):
            found += _part(part, path, version, versions)
    found += _conversion(spec.get("conversion") or {})
    stored = (item.get("status") or {}).get("storedVersions") or []
    found += _stored(stored, versions)
    found += _approval(item, group)
    if spec.get("preserveUnknownFields"):
        found.append(invalid("spec.preserveUnknownFields", True, _PRESERVED))
    return found + (_changes(spec, old) if old is not None else [])


def _stated(rule: Rule, value: Any, path: str) -> Errors:
    """Check a value that must be present."""
    return rule(value, path) if value else [required(path)]


def _group(group: str) -> Errors:
    path = "spec.group"
    if not group:
        return [required(path)]
    found = _joined(path, group, dns_subdomain(group))
    if not found and "." not in group:
        found.append(invalid(path, group, "should be a domain with at least one dot"))
    return found


def _joined(path: str, value: str, problems: list[str]) -> Errors:
    """Return the problems of a text as one error."""
    return [invalid(path, value, ",".join(problems))] if problems else []


def _versions(versions: list[Json], *, preserves: bool) -> Errors:
    """Check the versions of a definition.

    Args:
        versions: the versions.
        preserves: whether the definition preserves unknown fields.
    """
    schemas = [(each.get("schema") or {}).get("openAPIV3Schema") for each in versions]
    found = [
        required(f"{_EACH}[{index}].schema.openAPIV3Schema")
        for index, each in enumerate(schemas)
        if each is None
    ]
    if preserves and any(map(has_default, schemas)):
        found.append(invalid("spec.preserveUnknownFields", True, _NO_DEFAULTS))
    parts = version_parts(versions)
    for index, each in enumerate(versions):
        path = f"{_EACH}[{index}]"
        found += _joined(f"{path}.name", each.get("name", ""), dns_1035(each.get("name", "")))
        found += _deprecation(each, f"{path}.deprecationWarning")
        for where, part, version in parts:
            if where.startswith(f"{path}."):
                found += _part(part, where, version, versions)
    if len({each.get("name", "") for each in versions}) < len(versions):
        found.append(invalid(_EACH, _shown(versions), "must contain unique version names"))
    if sum(1 for each in versions if each.get("storage")) != 1:
        detail = "must have exactly one version marked as storage version"
        found.append(invalid(_EACH, _shown(versions), detail))
    first = versions[0].get("name", "") if versions else ""
    return found + (_joined("spec.version", first, dns_1035(first)) if first else [])


def _deprecation(version: Json, path: str) -> Errors:
    """Check the warning of a deprecated version."""
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return [invalid(path, text, "can only be set for deprecated versions")]
    found = []
    if len(text.encode()) > _WARNING:
        found.append(invalid(path, text, f"must be <= {_WARNING} characters long"))
    if not text:
        found.append(invalid(path, text, "must not be an empty string"))
    index = next((place for place, each in enumerate(text) if not each.isprintable()), None)
    if index is not None:
        place = len(text[:index].encode())
        detail = (
            "must only contain printable UTF-8 characters; non-printable character found at index "
            f"{place}"
        )
        found.append(invalid(path, text, detail))
    return found


def _shown(versions: list[Json]) -> list[Json] | None:
    """Return versions as messages quote them."""
    own = {name for path, name, _ in version_parts(versions) if path.startswith(_EACH)}
    return [internal_version(each, own) for each in versions] or None


_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def version_parts(versions: list[Json]) -> list[tuple[str, str, Json]]:
    """Path, name and version of each part; common parts count once, for the definition."""
    found: list[tuple[str, str, Json]] = []
    for name in _PARTS:
        values = [each.get(name) for each in versions]
        if not values:
            continue
        if all(each == values[0] for each in values):
            path = "spec.validation" if name == "schema" else f"spec.{name}"
            found.append((path, name, versions[0]))
        else:
            found += [
                (f"spec.versions[{index}].{name}", name, each)
                for index, each in enumerate(versions)
            ]
    return found


def _part(name: str, path: str, version: Json, versions: list[Json]) -> Errors:
    """Check a part of a version, or of all versions if the part is common to them."""
    value = version.get(name)
    if not value:
        return []
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    if name == "schema":
        sharing = versions if path == "spec.validation" else [version]
        has_status = any("status" in (each.get("subresources") or {}) for each in sharing)
        return check_schema(schema, f"{path}.openAPIV3Schema", has_status=has_status)
    if name == "subresources":
        return _scale(value.get("scale"), f"{path}.scale")
    if name == "additionalPrinterColumns":
        if len(value) > _MOST_COLUMNS:
            return [too_many(path, len(value), _MOST_COLUMNS)]
        return [error for i, each in enumerate(value) for error in _column(each, f"{path}[{i}]")]
    has_own_schema = any(each.get("schema") != version.get("schema") for each in versions)
    if path.startswith(_EACH) and not has_own_schema:
        detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return [invalid(path, "", detail)]
    problem = conversion_problem(schema)
    where = f"{path.removesuffix('selectableFields')}schema.openAPIV3Schema"
    found = [invalid(where, "", problem)] if problem else []
    return found + _selectable(value, path, schema)


def _scale(scale: Json | None, path: str) -> Errors:
    if scale is None:
        return []
    found: Errors = []
    for name, member in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        value, where = scale.get(name, ""), f"{path}.{name}"
        if not value:
            found.append(required(where))
        elif not value.startswith("."):
            found.append(invalid(where, value, _SIMPLE))
        elif not value.startswith(f"{member}."):
            found.append(invalid(where, value, f"should be a json path under {member}"))
    selector, where = scale.get("labelSelectorPath"), f"{path}.labelSelectorPath"
    if selector and not selector.startswith("."):
        found.append(invalid(where, selector, _SIMPLE))
    elif selector and not selector.startswith((".spec.", ".status.")):
        detail = "should be a json path under either .spec or .status"
        found.append(invalid(where, selector, detail))
    return found


def _column(column: Json, path: str) -> Errors:
    found: Errors = []
    if not column.get("name"):
        found.append(required(f"{path}.name"))
    kind, listed = column.get("type", ""), ",".join(_COLUMN_TYPES)
    if not kind:
        found.append(required(f"{path}.type", f"must be one of {listed}"))
    elif kind not in _COLUMN_TYPES:
        found.append(invalid(f"{path}.type", kind, f"must be one of {listed}"))
    form = column.get("format", "")
    if form and form not in _COLUMN_FORMATS:
        listed = ",".join(_COLUMN_FORMATS)
        found.append(invalid(f"{path}.format", form, f"must be one of {listed}"))
    json_path = column.get("jsonPath", "")
    where = f"{path}.JSONPath"
    if not json_path:
        found.append(required(where))
    elif not json_path.startswith("."):
        found.append(invalid(where, json_path, _SIMPLE))
    return found


def _selectable(fields: list[Json], path: str, schema: Json) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, json_path = f"{path}[{index}].jsonPath", field.get("jsonPath", "")
        if not json_path:
            found.append(required(where))
            continue
        try:
            target = schema_at(schema, json_path, brackets=False)
        except PathError as error:
            found.append(invalid(where, json_path, f"is an invalid path: {error}"))
            continue
        if json_path.split(".")[1] == "metadata":
            detail = "must not point to fields in metadata"
            found.append(invalid(where, json_path, detail))
        if target.get("type") not in ("boolean", "integer", "string"):
            found.append(invalid(where, json_path, _SELECTABLE))
        if json_path in seen:
            found.append(duplicate(where, json_path))
        seen.add(json_path)
    return found + ([too_many(path, len(seen), _MOST_FIELDS)] if len(seen) > _MOST_FIELDS else [])


def _names(names: Json, path: str) -> Errors:
    found = [
        required(f"{path}.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not names.get(name)
    ]
    for name in ("plural", "singular", "kind", "listKind"):
        value = names.get(name, "")
        problems = dns_1035(value.lower() if name in _KINDS else value) if value else []
        if problems and name in _KINDS:
            problems = [f"{_MIXED}{','.join(problems)}"]
        found += _joined(f"{path}.{name}", value, problems)
    for index, each in enumerate(names.get("shortNames") or ()):
        found += _joined(f"{path}.shortNames[{index}]", each, dns_1035(each))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        found.append(invalid(f"{path}.listKind", names["listKind"], detail))
    for index, each in enumerate(names.get("categories") or ()):
        found += _joined(f"{path}.categories[{index}]", each, dns_1035(each))
    return found


def _conversion(conversion: Json) -> Errors:
    path = "spec.conversion"
    strategy, hook = conversion.get("strategy", ""), conversion.get("webhook")
    if not conversion:
        return []
    found = _stated(_STRATEGY, strategy, f"{path}.strategy")
    if strategy == "Webhook":
        client = (hook or {}).get("clientConfig")
        if client is None:
            detail = "required when strategy is set to Webhook"
            found.append(required(f"{path}.webhookClientConfig", detail))
        else:
            found += check_client(client, f"{path}.webhookClientConfig")
        versions = (hook or {}).get("conversionReviewVersions") or []
        where = f"{path}.conversionReviewVersions"
        if not versions:
            found.append(required(where))
        return found + check_review_versions(versions, where) if versions else found
    detail = "should not be set when strategy is not set to Webhook"
    for name, shown in (
        ("clientConfig", "webhookClientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ):
        if (hook or {}).get(name):
            found.append(forbidden(f"{path}.{shown}", detail))
    return found


def _stored(stored: list[str], versions: list[Json]) -> Errors:
    path = "status.storedVersions"
    if not stored:
        return [invalid(path, None, "must have at least one stored version")]
    found: Errors = []
    left = dict.fromkeys(stored)
    for version in versions:
        name = version.get("name", "")
        if version.get("storage") and name not in left:
            found.append(invalid(path, stored, f"must have the storage version {name}"))
        left.pop(name, None)
    for index, each in enumerate(stored):
        if each in left:
            detail = (
                f"missing from spec.versions; {each} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {each} and removes {each} from status.storedVersions"
            )
            found.append(invalid(f"{path}[{index}]", each, detail))
    return found


def _approval(item: Json, group: str) -> Errors:
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return []
    path = f"metadata.annotations[{_APPROVED}]"
    notes = item["metadata"].get("annotations") or {}
    value = notes.get(_APPROVED)
    if not value:
        return [required(path, _UNAPPROVED)]
    if value.startswith(("unapproved", "https://", "http://")):
        return []
    return [invalid(path, value, _APPROVAL_TEXT)]


def _changes(spec: Json, old: Json) -> Errors:
    """Check a change: the group and the plural are immutable; once served, more fields are."""
    before = old.get("spec") or {}
    conditions = (old.get("status") or {}).get("conditions") or ()
    is_served = any(
        each.get("type") == "Established" and each.get("status") == "True" for each in conditions
    )
    names, was = spec.get("names") or {}, before.get("names") or {}
    found: Errors = []
    if is_served:
        if spec.get("scope") != before.get("scope"):
            found.append(immutable("spec.scope", spec.get("scope")))
        if names.get("kind") != was.get("kind"):
            found.append(immutable("spec.names.kind", names.get("kind")))
    if spec.get("group") != before.get("group"):
        found.append(immutable("spec.group", spec.get("group")))
    if names.get("plural") != was.get("plural"):
        found.append(immutable("spec.names.plural", names.get("plural")))
    return found
