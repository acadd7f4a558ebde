"""Templates give the text that kubectl 1.36 gives or are refused where it refuses them."""

from typing import Any

import pytest
from click.testing import CliRunner

from stretto.base.errors import InputError
from stretto.cli.main import cli
from stretto.cli.output.jsonpath.rendering import rendered
from stretto.cli.output.jsonpath.syntax import parsed

DOCUMENT: dict[str, Any] = {
    "kind": "List",
    "items": [
        {"name": "a", "cpu": 4, "labels": {"example.com/rack": "r1"}, "ready": True},
        {"name": "b", "cpu": 8, "labels": {}, "ready": False, "node": None},
        {"name": "c", "cpu": 16, "labels": {"example.com/rack": "r2"}, "ready": True},
    ],
    "none": [],
    "nested": {"z": 1, "a": {"b": [1, [2, 3]]}, "text": "<é&>"},
    "numbers": [1.5, 3.0, 1e21, 0.00001],
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
        ("{.items[0:3].name}", "a b c"),
        ("{.items[1:].name}", "b c"),
        ("{.items[:-1].name}", "a b"),
        ("{.items[-2:].name}", "b c"),
        ("{.items[1:1].name}", ""),
        ("{.items[3:].name}", ""),
        ("{.none[0:]}", ""),
        ("{.none[*].name}", ""),
        ("{.nope[0].name}", ""),
        ("{.items[0:2].name}", "a b"),
        ("{.items[0,2].name}", "a c"),
        ("{.items[::2].name}", "a c"),
        ("{.items[0, 2].name}", "a c"),
        ("{.items[0:1,2].name}", "a c"),
        ("{.items[*]['name','cpu']}", "a b c 4 8 16"),
        ("{['nested.a.b']}", "[1,[2,3]]"),
        ("{.nested.a.b[1][0]}", "2"),
        ("{.nested..b[0]}", "1"),
        ("{..['name']}", "a b c"),
        ("{..rack}", ""),
        ("{..name}", "a b c"),
        (r"{.items[0].labels.example\.com/rack}", "r1"),
        ("{.items[0].labels['example.com/rack']}", "r1"),  # more than kubectl: no escape needed
        (r"{.items[0].labels['example\.com/rack']}", "r1"),
        ('{.items[?(@.name=="b")].cpu}', "8"),
        ("{.items[?(@.cpu>4)].name}", "b c"),
        ("{.items[?(@.node)].name}", "b"),
        ("{.items[?(@.ready==true)].name}", "a c"),
        ("{.items[?(@.cpu!=8)].name}", "a c"),
        ("{.items[?( @.name == 'b' )].cpu}", "8"),
        ("{.items[?(4<@.cpu)].name}", "b c"),
        ("{.items[?(@.cpu>4.5)].name}", "b c"),  # more than kubectl: numbers compare
        ("{.items[?(@.nope=='x')].name}", ""),
        ("{.items[?(@.node=='x')].name}", ""),  # more than kubectl: a null is a missing value
        (r"{.items[?(@.labels.example\.com/rack=='r1')].name}", "a"),
        ("{.items[?(@.name=='a)')].name}", ""),
        ('{range .items[*]}{.name}{"\\t"}{.cpu}{"\\n"}{end}', "a\t4\nb\t8\nc\t16\n"),
        ("{range .items[*]}{range .labels.*}<{@}>{end};{end}", "<r1>;;<r2>;"),
        ("first {.items[0].name}, last {.items[-1].name}", "first a, last c"),
        ("{range .none[*]}x{end}{range .nope}y{end}done", "done"),
        ("{range .items}{[0].name}{end}", "a"),
        ("{.items[0].ready} {.items[1].node}", "true null"),
        ("{.kind}{1}{true}{-1.5}", "List1true-1.5"),
        ("{ .kind } a}b", "List a}b"),
        ('{"a\\"b\\tc"}{\'it\\\'s\'}{"\\u00e9\\x41\\101"}', "a\"b\tcit'séAA"),
        ("{.nested}", r'{"a":{"b":[1,[2,3]]},"text":"\u003cé\u0026\u003e","z":1}'),
        ("{.nested.text}", "<é&>"),
        ("{.numbers[*]}", "1.5 3 1e+21 1e-05"),
        ("{.numbers}", "[1.5,3,1e+21,0.00001]"),
        ("{.items[0].labels}", '{"example.com/rack":"r1"}'),
    ],
)
def test_a_template_gives_the_text(template: str, text: str) -> None:
    assert rendered(template, DOCUMENT) == text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items[*}", "unterminated array"),
        ("{.items", "unclosed action"),
        ("{.kind}{", "unclosed action"),
        ("{range .items[*]}{.name}", "without its {end}"),
        ("{.name}{end}", "not in range, nothing to end"),
        ("{items}", "unrecognized identifier items"),
        ("{.items[?(b)]}", "unrecognized identifier b"),
        ("{.items[?(@.name=='a']}", "unterminated filter"),
        ("{.items[?(@.name=='a')}", "unclosed array expect ]"),
        ("{.items[?(@.name=>'a')]}", "unrecognized filter operator =>"),
        ("{.items[?(@.a=='b' && @.c)]}", "unrecognized character '&'"),
        ("{.items[x]}", "invalid array index x"),
        ('{.items["name"]}', "invalid array index"),
        ("{....name}", "invalid multiple recursive descent"),
        ('{"open}', "unterminated quoted string"),
        (r'{"\q"}', r"invalid escape \q"),
        (r'{"\400"}', r"invalid escape \4"),
        (r'{"\ud800"}', r"invalid escape \u"),
        (r'{"\U0000DFFF"}', r"invalid escape \U"),
        (r'{"\U00110000"}', r"invalid escape \U"),
        ("{{.kind}}", "unrecognized character '{'"),
        ("{range}" * 65 + "{end}" * 65, "more than 64 ranges"),
    ],
)
def test_a_malformed_template_is_refused_without_a_document(template: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        parsed(template)
    assert problem in str(refused.value)
    assert template[:400] in str(refused.value)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items[99]}", "array index out of bounds: index 99, length 3"),
        ("{.items[-9].name}", "array index out of bounds: index -6, length 3"),
        ("{.items[0:9].name}", "array index out of bounds: index 8, length 3"),
        ("{.items[0,9].name}", "array index out of bounds: index 9, length 3"),
        ("{.none[0]}", "array index out of bounds: index 0, length 0"),
        ("{.items[2:1]}", "starting index 2 is greater than ending index 1"),
        ("{.items[::-1]}", "step must be > 0"),
        ("{.kind[0]}", "string is not array or slice"),
        ("{.nested[?(@.a)]}", "map is not array or slice"),
        ("{.items[?(@.cpu=='8')]}", "incompatible types for comparison: number and string"),
        ("{.items[?(@.ready>true)]}", "invalid type for comparison: boolean"),
        ("{.items[?(@.labels==@.labels)]}", "invalid type for comparison: map"),
        ("{.items[?(@['name','cpu']==4)]}", "can only compare one element at a time"),
    ],
)
def test_a_template_that_does_not_fit_the_document_is_refused(template: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        rendered(template, DOCUMENT)
    assert problem in str(refused.value)


def test_a_malformed_template_is_refused_before_the_state_is_read() -> None:
    words = ["get", "pods", "--on", "sqlite:missing.db", "-o", "jsonpath={.items[0}"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert "unterminated array" in result.output
