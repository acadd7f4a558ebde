"""Tables of custom objects: values of columns by JSONPath, and columns of scales."""

from typing import Any

import pytest

from stretto.web.api.crds.printing import values_at
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
    ],
)
def test_a_path_selects_values(path: str, values: list[str]) -> None:
    assert values_at(ITEM, path) == values


def test_the_scale_of_a_custom_object_has_types_of_its_own() -> None:
    plain, own = format_of(("autoscaling", "Scale")).columns, custom_scale_format().columns
    assert [each.name for each in plain] == [each.name for each in own]
    assert (plain[0].format, own[0].format) == ("", "name")
    assert (plain[-1].type, own[-1].type) == ("string", "date")
