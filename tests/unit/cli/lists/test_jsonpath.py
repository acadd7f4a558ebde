"""JSONPath templates give the text that kubectl gives."""

from typing import Any

import pytest

from stretto.base.errors import InputError
from stretto.cli.output.jsonpath import rendered

DOCUMENT: dict[str, Any] = {
    "kind": "List",
    "items": [
        {"name": "a", "cpu": 4, "labels": {"example.com/rack": "r1"}, "ready": True},
        {"name": "b", "cpu": 8, "labels": {}, "ready": False, "node": None},
        {"name": "c", "cpu": 16, "labels": {"example.com/rack": "r2"}, "ready": True},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.kind}", "List"),
        (".kind", "List"),
        ("{$.kind}", "List"),
        ("{.items[*].name}", "a b c"),
        ("{.items[0].name}", "a"),
        ("{.items[-1].name}", "c"),
        ("{.items[7].name}", ""),
        ("{.items[0:2].name}", "a b"),
        ("{.items[0,2].name}", "a c"),
        ("{.items[::2].name}", "a c"),
        ("{.items[*]['name','cpu']}", "a 4 b 8 c 16"),
        ("{..rack}", ""),
        ("{..name}", "a b c"),
        (r"{.items[0].labels.example\.com/rack}", "r1"),
        ("{.items[0].labels['example.com/rack']}", "r1"),
        ('{.items[?(@.name=="b")].cpu}', "8"),
        ("{.items[?(@.cpu>4)].name}", "b c"),
        ("{.items[?(@.node)].name}", "b"),
        ("{.items[?(@.ready==true)].name}", "a c"),
        ("{.items[?(@.cpu!=8)].name}", "a c"),
        ('{range .items[*]}{.name}{"\\t"}{.cpu}{"\\n"}{end}', "a\t4\nb\t8\nc\t16\n"),
        ("{range .items[*]}{range .labels.*}<{@}>{end};{end}", "<r1>;;<r2>;"),
        ("first {.items[0].name}, last {.items[-1].name}", "first a, last c"),
        ("{.items[0].ready} {.items[1].node}", "true "),
        ("{.items[0].labels}", '{"example.com/rack":"r1"}'),
    ],
)
def test_a_template_gives_the_text(template: str, text: str) -> None:
    assert rendered(template, DOCUMENT) == text


@pytest.mark.parametrize(
    "template",
    [
        "{.items[*}",
        "{.items",
        "{range .items[*]}{.name}",
        "{.name}{end}",
        "{items}",
        "{.items[?(b)]}",
    ],
)
def test_a_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(InputError, match="-o jsonpath"):
        rendered(template, DOCUMENT)
