"""Tables of custom objects: values of columns by JSONPath, and columns of scales."""

from typing import Any

import pytest

from stretto.web.api.crds.printing import table_format, values_at
from stretto.web.api.tables.columns import custom_scale_format, format_of

ITEM: dict[str, Any] = {"spec": {"x": "a", "list": [{"x": "b"}, {"y": {"x": "c"}}]}}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("..x", ["a", "b", "c"]),
        (".spec.list..x", ["b", "c"]),
        (".spec.list[*].x", ["b"]),
        ("..list[0].x", ["b"]),
        (".spec..none", []),
        (".spec.*.x", []),
        (".spec.list[-2:].x", ["b"]),
        (".spec.list[0:2:2].x", ["b"]),
        (".spec.list[1,0]..x", ["c", "b"]),
        (".spec.list[2]", []),
        (".spec[*]", []),
        ("['spec.x']", ["a"]),
        (".spec['x','x']", ["a", "a"]),
        ('.spec.list[?(@.x=="b")].x', ["b"]),
        (".spec.list[?(@.x!='b')]", []),
        (".spec.list[?(@.y)].y.x", ["c"]),
        (".spec.list[?(@.x>1)].x", []),
    ],
)
def test_a_path_selects_values(path: str, values: list[str]) -> None:
    assert values_at(ITEM, path) == values


def test_a_column_shows_numbers_and_objects_as_go_prints_them() -> None:
    columns = [{"name": each, "type": "string", "jsonPath": f".{each}"} for each in "abc"]
    item = {"metadata": {"name": "o"}, "a": 1234567.5, "b": {"z": 1, "a": "<"}, "c": 2.0}
    cells = table_format(columns).cells(item, 0.0)
    assert cells == ["o", "1.2345675e+06", '{"a":"\\u003c","z":1}', "2"]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("integer", 1.5, 1),
        ("integer", 1e30, -(2**63)),
        ("integer", "1", None),
        ("number", 2, 2),
        ("string", None, "<no value>"),
    ],
)
def test_a_cell_has_the_type_of_its_column(kind: str, value: Any, cell: Any) -> None:
    form = table_format([{"name": "A", "type": kind, "jsonPath": ".spec.a"}])
    item = {"metadata": {"name": "n"}, "spec": {"a": value}}
    assert form.cells(item, 0.0) == ["n", cell]


def test_the_scale_of_a_custom_object_has_types_of_its_own() -> None:
    plain, own = format_of(("autoscaling", "Scale")).columns, custom_scale_format().columns
    assert [each.name for each in plain] == [each.name for each in own]
    assert (plain[0].format, own[0].format) == ("", "name")
    assert (plain[-1].type, own[-1].type) == ("string", "date")
