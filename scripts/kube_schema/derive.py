"""Derive the compact types of the Kubernetes API from Go types and a server's OpenAPI v3 documents.

Usage: ``derive.py TYPES_JSON OPENAPI_FOLDER DISCOVERY_JSON... > kubernetes.jsonl``: the output of
``main.go`` beside this file, the documents of ``/openapi/v3`` of a kube-apiserver, and its
aggregated discovery. Descriptions are not copied.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

PREFIXES: Final = (
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
)


def main() -> None:
    """Print one JSON line for each type, then one for each resource."""
    types = json.loads(Path(sys.argv[1]).read_text())
    schemas: dict[str, Any] = {}
    for path in sorted(Path(sys.argv[2]).glob("*.json")):
        document = json.loads(path.read_text())
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            schemas[short_name(name)] = schema
    served = [json.loads(Path(each).read_text()) for each in sys.argv[3:]]
    kinds = {key: name for key, name in types["kinds"].items() if is_served(key, served)}
    wanted = reachable(types["types"], [*kinds.values(), "meta/v1.Status", "meta/v1.APIResource"])
    for name in sorted(wanted):
        print(line(["type", name, fields(types["types"][name], schemas.get(name, {}))]))
    for key, name in sorted(kinds.items()):
        group, version, kind = key.split("/")
        print(line(["kind", group, version, kind, name]))
    for document in served:
        for group in document["items"]:
            for resource in resources(group):
                print(line(resource))


def line(value: Any) -> str:
    """A compact line."""
    return json.dumps(value, separators=(",", ":"))


def short_name(name: str) -> str:
    """The name of a type as in the Go types: ``core/v1.Container``."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            package, _, last = name.removeprefix(prefix).rpartition(".")
            return f"{package.replace('.', '/')}.{last}"
    return name


def is_served(key: str, served: list[Any]) -> bool:
    """Return whether a server serves a group and version; the meta kinds are always wanted."""
    group, version, _ = key.split("/")
    if (group, version) == ("", "v1"):
        return True
    return any(
        item["metadata"].get("name", "") == group
        and any(each["version"] == version for each in item["versions"])
        for document in served
        for item in document["items"]
    )


def reachable(types: dict[str, Any], roots: list[str]) -> set[str]:
    """The structs that some roots need."""
    found: set[str] = set()
    waiting = [root for root in roots if root in types]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for each in types[name] or []:
            inner = each["t"].replace("[]", "").replace("{}", "")
            if inner.startswith("."):
                waiting.append(inner[1:])
    return found


def fields(go: list[dict[str, Any]] | None, schema: dict[str, Any]) -> list[list[Any]]:
    """Fields as ``[name, type, flags, facts]``."""
    required = schema.get("required", [])
    result: list[list[Any]] = []
    for each in go or []:
        described = schema.get("properties", {}).get(each["n"], {})
        flags = "p" * each.get("p", False) + each.get("o", "") + "r" * (each["n"] in required)
        facts = field_facts(each, described)
        result.append([each["n"], each["t"], flags, *([facts] if facts else [])])
    return result


def field_facts(go: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """Facts of a field for merging, defaults and messages."""
    facts: dict[str, Any] = {}
    if described.get("default") not in (None, {}, "", 0, False):
        facts["default"] = described["default"]
    for key, name in (
        ("list", "x-kubernetes-list-type"),
        ("keys", "x-kubernetes-list-map-keys"),
        ("map", "x-kubernetes-map-type"),
        ("enum", "enum"),
    ):
        if name in described:
            facts[key] = described[name]
    if go.get("b"):
        facts["proto"] = go["b"]
    if go.get("ps"):
        facts["patch"] = go["ps"]
    if go.get("pk"):
        facts["key"] = go["pk"]
    plain = go["g"].lstrip("*")
    named = plain.replace("[]", "").replace("map[string]", "")
    if go["t"].endswith("string") and named != "string":
        facts["go"] = plain
    return facts


def resources(group: dict[str, Any]) -> list[list[Any]]:
    """Resources as ``[resource, group, version, name, kind, facts]``, subresources included."""
    name, result = group["metadata"].get("name", ""), []
    for version in group["versions"]:
        for each in version["resources"]:
            facts = {
                key: each[field]
                for key, field in (
                    ("singular", "singularResource"),
                    ("short", "shortNames"),
                    ("categories", "categories"),
                )
                if each.get(field)
            }
            facts["verbs"] = each["verbs"]
            if each["scope"] == "Namespaced":
                facts["namespaced"] = True
            facts["subresources"] = {
                sub["subresource"]: {
                    "kind": [
                        sub["responseKind"].get(key, "") for key in ("group", "version", "kind")
                    ],
                    "verbs": sub["verbs"],
                }
                for sub in each.get("subresources", [])
                if sub.get("responseKind")
            }
            result.append(
                [
                    "resource",
                    name,
                    version["version"],
                    each["resource"],
                    each["responseKind"]["kind"],
                    facts,
                ]
            )
    return result


if __name__ == "__main__":
    main()
