"""Texts have the trees, the places and the problems of syntax that kube-apiserver 1.36 states.

``syntax.jsonl`` contains recorded answers of its parser: for the cases of the conformance tests of
the language (``parse``, ``macros``, ``macros2`` and ``optionals``), and for texts with problems.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.cel.language.nodes import (
    CallNode,
    ConstantNode,
    FoldNode,
    ListNode,
    MapNode,
    NameNode,
    Node,
    SelectNode,
    StructNode,
    Tree,
)
from stretto.cel.language.parsing import ExpressionSyntaxError, parse
from stretto.cel.running.values import CelUint

LINES: Final = Path(__file__).with_name("syntax.jsonl").read_text(encoding="utf-8").splitlines()
ANSWERS: Final[list[dict[str, str]]] = [json.loads(line) for line in LINES]
VALID: Final = [each["expr"] for each in ANSWERS if "tree" in each]
PIECES: Final = (
    *("a", "b.c", "1", "2u", ".5", "'s'", "b'x'", "package", "true", "x.all(y, y)", "`q`", "ü"),
    *("(", ")", "[", "]", "{", "}", ",", ".", "?", ":", "-", "!", "+", "==", "<", "in", "&&", "||"),
    *("has(", "x.map(", "x.optMap(", "A{", "'", '"""', "\\", "\n", "//", "\x00"),
)


class Writer:
    """Writer of a tree as the recorded answers state it, with or without places."""

    def __init__(self, tree: Tree, *, has_places: bool = True) -> None:
        self._tree = tree
        self._has_places = has_places

    def text(self) -> str:
        return self._text(self._tree.root)

    def _at(self, node: Node) -> str:
        return f"@{self._tree.offsets[node.id]}" if self._has_places else ""

    def _all(self, *nodes: Node) -> str:
        return " ".join(map(self._text, nodes))

    def _entries(self, node: MapNode | StructNode) -> str:
        keys = (
            each.key if isinstance(each.key, str) else self._text(each.key) for each in node.entries
        )
        parts = zip(node.entries, keys, strict=True)
        return " ".join(
            f"{'?' * each.optional}{key}: {self._text(each.value)}" for each, key in parts
        )

    def _text(self, node: Node) -> str:
        at = self._at(node)
        match node:
            case ConstantNode(value=value):
                return f"{int(value)}u{at}" if isinstance(value, CelUint) else f"{value!r}{at}"
            case NameNode(name=name):
                return f"{name}{at}"
            case SelectNode():
                return (
                    f"({'has' if node.tests else '.'}{at} {self._text(node.operand)} {node.field})"
                )
            case CallNode():
                target = "" if node.target is None else f"{self._text(node.target)} "
                return f"({target}{node.function}{at} {self._all(*node.arguments)})".replace(
                    " )", ")"
                )
            case ListNode():
                items = (
                    "?" * (index in node.optional) + self._text(each)
                    for index, each in enumerate(node.items)
                )
                return f"[{at} {' '.join(items)}]"
            case MapNode():
                return f"{{{at} {self._entries(node)}}}"
            case StructNode():
                return f"{{{node.name}{at} {self._entries(node)}}}"
            case FoldNode():
                parts = self._all(node.start, node.condition, node.step, node.result)
                names = f"{node.variable},{node.second}"
                return f"(fold{at} {names} {self._text(node.range)} {node.accumulator} {parts})"


def answer(text: str) -> dict[str, str]:
    """Return the tree of a text, or its problems."""
    try:
        return {"tree": Writer(parse(text, has_bindings=True)).text()}
    except ExpressionSyntaxError as error:
        return {"issues": str(error)}


def tree(text: str) -> str:
    """Return the tree of a text without places."""
    return Writer(parse(text, has_bindings=True), has_places=False).text()


def test_texts_have_the_trees_and_the_problems_of_kubernetes() -> None:
    wanted = {each["expr"]: {key: each[key] for key in each if key != "expr"} for each in ANSWERS}
    assert {text: answer(text) for text in wanted} == wanted


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join))
def test_each_text_is_an_expression_or_has_a_problem_with_a_place(text: str) -> None:
    found = answer(text)
    assert "tree" in found or found["issues"].startswith("ERROR: <input>:")


@given(st.sampled_from(VALID), st.integers(1, 40))
def test_parentheses_around_an_expression_do_not_change_its_tree(text: str, count: int) -> None:
    assert tree("(" * count + text + "\n" + ")" * count) == tree(text)


@given(st.sampled_from(VALID), st.sampled_from(VALID), st.sampled_from(["==", "<", "in"]))
def test_conditions_bind_weaker_than_relations_and_stronger_than_choices(
    one: str, two: str, sign: str
) -> None:
    parts = f"({one}\n) {sign} a || b && ({two}\n) ? c : d"
    grouped = f"((({one}\n) {sign} a) || (b && ({two}\n))) ? c : d"
    assert tree(parts) == tree(grouped)


@given(st.text(alphabet="aé\"'\\\n\t\x07😁", max_size=20))
def test_a_string_with_escapes_has_its_characters(text: str) -> None:
    escaped = "".join(f"\\U{ord(each):08x}" for each in text)
    root: Any = parse(f"'{escaped}'").root
    assert root.value == text


@given(st.binary(max_size=20))
def test_bytes_with_escapes_have_their_octets(octets: bytes) -> None:
    escaped = "".join(f"\\{each:03o}" for each in octets)
    root: Any = parse(f"b'{escaped}'").root
    assert root.value == octets


@pytest.mark.parametrize(
    "text", ["0" * 5000 + "7", "-" + "0" * 5000 + "7", "0x" + "0" * 5000 + "7"]
)
def test_zeros_before_a_literal_do_not_count(text: str) -> None:
    root: Any = parse(text).root
    assert abs(root.value) == 7


def test_a_text_of_too_many_characters_is_no_expression() -> None:
    limit = "expression code point size exceeds limit: size: 100001, limit 100000"
    assert answer(" " * 100_001) == {"issues": f"ERROR: <input>:-1:0: {limit}"}


def test_a_macro_that_needs_bindings_is_a_call_without_them() -> None:
    assert Writer(parse("cel.bind(x, 1, x)"), has_places=False).text() == "(cel bind x 1 x)"
