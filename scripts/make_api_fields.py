"""Write the fields of the built-in kinds from an OpenAPI document of Kubernetes.

    python scripts/make_api_fields.py kubernetes/api/openapi-spec/swagger.json

The result, ``src/stretto/api/admission/data/kubernetes.json``, has the type of each kind and the
type of each field: a primitive type, ``[]`` or ``{}`` before the type of items, ``#`` before the
name of another type, or ``any``.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src/stretto/api/admission/data/kubernetes.json"
PREFIX = "io.k8s."
SPECIAL = {
    "apimachinery.pkg.api.resource.Quantity": "quantity",
    "apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
}
LEFT_OUT = ("DeleteOptions", "WatchEvent", "List")
UNSTABLE = re.compile("alpha|beta")
KEPT_UNSTABLE = re.compile("scheduling|resource")

Definitions = dict[str, dict[str, Any]]


def type_of(definitions: Definitions, field: dict[str, Any]) -> str:
    """The type of one field."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2].removeprefix(PREFIX)
        if name in SPECIAL:
            return SPECIAL[name]
        target = definitions[PREFIX + name]
        if "properties" in target:
            return f"#{name}"
        return "any" if target.get("type", "object") == "object" else str(target["type"])
    kind = field.get("type")
    if kind == "array":
        return f"[]{type_of(definitions, field['items'])}"
    if kind == "object" and "additionalProperties" in field:
        return f"{{}}{type_of(definitions, field['additionalProperties'])}"
    return "any" if kind in (None, "object") else str(kind)


def kinds_of(definitions: Definitions) -> dict[str, str]:
    """The type of each kind, by ``apiVersion`` and kind."""
    found = {}
    for name, definition in definitions.items():
        for each in definition.get("x-kubernetes-group-version-kind", ()):
            version = "/".join(filter(None, (each["group"], each["version"])))
            stable = not UNSTABLE.search(version) or KEPT_UNSTABLE.search(version)
            if stable and not each["kind"].endswith(LEFT_OUT):
                found[f"{version} {each['kind']}"] = name.removeprefix(PREFIX)
    return found


def types_of(definitions: Definitions, first: set[str]) -> dict[str, dict[str, str]]:
    """The fields of some types and of all types that they contain."""
    found: dict[str, dict[str, str]] = {}
    waiting = [*first, "api.core.v1.PodTemplateSpec"]
    while waiting:
        name = waiting.pop()
        fields = definitions[PREFIX + name].get("properties")
        if name in found or fields is None:
            continue
        found[name] = {key: type_of(definitions, fields[key]) for key in sorted(fields)}
        waiting += [each.partition("#")[2] for each in found[name].values() if "#" in each]
    return found


def main(source: str) -> None:
    """Write the file."""
    definitions = json.loads(Path(source).read_bytes())["definitions"]
    kinds = kinds_of(definitions)
    types = types_of(definitions, set(kinds.values()))
    last = Counter(name.rpartition(".")[2] for name in types)

    def short(name: str) -> str:
        end = name.rpartition(".")[2]
        return end if last[end] == 1 else re.sub(r"^(api|apimachinery\.pkg\.apis)\.", "", name)

    def renamed(kind: str) -> str:
        head, mark, name = kind.partition("#")
        return f"{head}#{short(name)}" if mark else kind

    named = {key: short(kinds[key]) for key in sorted(kinds)}
    fields = {short(n): {key: renamed(t) for key, t in types[n].items()} for n in types}
    parts: dict[str, dict[str, Any]] = {
        "kinds": named,
        "types": {name: fields[name] for name in sorted(fields)},
    }
    blocks = []
    for title, part in parts.items():
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in part.items()]
        blocks.append(f'"{title}": {{\n' + ",\n".join(lines) + "\n}")
    TARGET.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
