"""The kinds of a federation's host, as installed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.api.kinds.table import entry_of, federation_kinds
from stretto.api.wire.kinds import Kind

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "federation" / "crds"


def version(kind: Kind) -> dict[str, Any]:
    text = (FOLDER / f"{kind.plural}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)["spec"]["versions"][0]
    return found


@pytest.mark.parametrize("kind", federation_kinds(), ids=lambda kind: kind.kind)
def test_a_kind_has_its_columns_and_subresources(kind: Kind) -> None:
    found = version(kind)
    columns = [each["name"] for each in found.get("additionalPrinterColumns", [])]
    assert columns == [each.name for each in entry_of(kind).columns]
    assert sorted(found.get("subresources", {})) == sorted(entry_of(kind).subresources)


def untyped(schema: dict[str, Any], path: str) -> list[str]:
    """Places without a type, which a structural schema does not allow."""
    open_ = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
    found = [] if "type" in schema or any(schema.get(each) for each in open_) else [path]
    for name, each in schema.get("properties", {}).items():
        found += untyped(each, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found += untyped(schema[key], f"{path}[]")
    return found


@pytest.mark.parametrize("kind", federation_kinds(), ids=lambda kind: kind.kind)
def test_a_schema_is_structural(kind: Kind) -> None:
    assert untyped(version(kind)["schema"]["openAPIV3Schema"], kind.kind) == []


def test_a_policy_refuses_contradicting_bounds() -> None:
    kind = next(each for each in federation_kinds() if each.kind == "PropagationPolicy")
    spec = version(kind)["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    preferences = spec["placement"]["items"]["properties"]["preferences"]
    rules = preferences["x-kubernetes-validations"]
    assert "minReplicas exceeds maxReplicas" in rules[0]["message"]
