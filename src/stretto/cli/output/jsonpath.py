r"""JSONPath templates as in ``kubectl -o jsonpath``.

``{.items[*].name}``, ``{range .items[*]}{.name}{"\t"}{.node}{"\n"}{end}``, filters such as
``[?(@.status=="pending")]``, indices, slices, unions of names and recursive descent. Libraries
implement RFC 9535, which has no text templates and no ``range``
(https://kubernetes.io/docs/reference/kubectl/jsonpath/).
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from stretto.base.errors import InputError

OPTION: Final = "-o jsonpath"
_SYNTAX: Final = "a JSONPath template such as {.items[*].name}"
_PART: Final = re.compile(r"\{((?:\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|[^{}\"'])*)\}|([^{}]+)")
_STEP: Final = re.compile(
    r"(?P<deep>\.\.)(?P<all>\*|(?:\\.|[\w/-])+)"
    r"|\.(?P<key>\*|(?:\\.|[\w/-])+)"
    r"|\[(?P<star>\*)\]"
    r"|\[(?P<slice>-?\d*:-?\d*(?::-?\d+)?)\]"
    r"|\[(?P<numbers>-?\d+(?:,-?\d+)*)\]"
    r"|\[(?P<names>'[^']*'(?:,'[^']*')*)\]"
    r"|\[\?\((?P<filter>[^()]*)\)\]"
)
_FILTER: Final = re.compile(r"^\s*@(\S*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*$")
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def rendered(template: str, value: Any) -> str:
    """The text of a template for a document.

    Args:
        template: text with expressions in braces; without braces, one expression.
        value: the document as plain data.

    Raises:
        InputError: the template is malformed.
    """
    parts = _parts(template if "{" in template else f"{{{template}}}")
    text, position = _block(parts, 0, value)
    if position < len(parts):
        raise InputError(OPTION, "{end}", "a {range ...} before each {end}")
    return text


def _parts(template: str) -> list[tuple[bool, str]]:
    """The template in order: (is an expression, its text)."""
    found, at = [], 0
    while at < len(template):
        match = _PART.match(template, at)
        if match is None:
            raise InputError(OPTION, template[at:], _SYNTAX, "close each brace and quote")
        found.append((match[1] is not None, match[1].strip() if match[1] is not None else match[2]))
        at = match.end()
    return found


def _block(parts: Sequence[tuple[bool, str]], at: int, value: Any) -> tuple[str, int]:
    """The text up to the end of the template or of a range, and the position behind it."""
    text = ""
    while at < len(parts):
        is_expression, part = parts[at]
        if not is_expression:
            text += part
        elif part == "end":
            return text, at
        elif part.startswith("range "):
            more, at = _range(parts, at, part.removeprefix("range ").strip(), value)
            text += more
        elif part[:1] in ("'", '"'):
            text += re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), part[1:-1])
        else:
            text += " ".join(_shown(each) for each in values_at(part, value))
        at += 1
    return text, at


def _range(parts: Sequence[tuple[bool, str]], at: int, path: str, value: Any) -> tuple[str, int]:
    """The text of a range, and the position of its end."""
    text, end = "", _end_of(parts, at)
    for each in values_at(path, value):
        text += _block(parts[:end], at + 1, each)[0]
    return text, end


def _end_of(parts: Sequence[tuple[bool, str]], at: int) -> int:
    depth = 0
    for place in range(at, len(parts)):
        is_expression, part = parts[place]
        if is_expression:
            depth += part.startswith("range ")
            depth -= part == "end"
        if depth == 0:
            return place
    raise InputError(OPTION, "{" + parts[at][1] + "}", "an {end} for each {range ...}")


def values_at(path: str, value: Any) -> list[Any]:
    """The values at a path; a missing key gives none.

    Raises:
        InputError: the path is malformed.
    """
    path = path.removeprefix("$").removeprefix("@")
    if path in ("", "."):
        return [value]
    if path[0] not in ".[":
        raise InputError(OPTION, path, _SYNTAX, "begin a path with a dot")
    found, at = [value], 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise InputError(OPTION, path, _SYNTAX, f"check it from {path[at:]!r} on")
        found = [each for one in found for each in _step(match, one)]
        at = match.end()
    return found


def _step(match: re.Match[str], value: Any) -> Iterator[Any]:
    """The values that one step of a path leads to."""
    if match["deep"]:
        yield from _deep(match["all"].replace("\\", ""), value)
    elif match["key"] == "*" or match["star"]:
        yield from _children(value)
    elif match["key"]:
        yield from _named(match["key"].replace("\\", ""), value)
    elif match["names"]:
        for name in re.findall(r"'([^']*)'", match["names"]):
            yield from _named(name, value)
    elif match["filter"] is not None:
        yield from (each for each in _children(value) if _passes(match["filter"], each))
    elif isinstance(value, list):
        if match["slice"]:
            yield from value[slice(*(int(n) if n else None for n in match["slice"].split(":")))]
        else:
            numbers = map(int, match["numbers"].split(","))
            yield from (value[n] for n in numbers if -len(value) <= n < len(value))


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _named(name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and name in value:
        yield value[name]


def _deep(name: str, value: Any) -> Iterator[Any]:
    """Values of a key at any depth, the outermost first."""
    yield from _children(value) if name == "*" else _named(name, value)
    for each in _children(value):
        yield from _deep(name, each)


def _passes(condition: str, value: Any) -> bool:
    """Whether a value meets the condition of a filter."""
    match = _FILTER.match(condition)
    if match is None:
        raise InputError(OPTION, condition, 'a condition such as @.status=="pending"')
    path, sign, literal = match[1], match[2], match[3]
    found = values_at(path, value)
    if not sign:
        return bool(found)
    return any(_compared(sign, each, _literal(literal)) for each in found)


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _compared(sign: str, left: Any, right: Any) -> bool:
    if isinstance(left, str) != isinstance(right, str):
        left, right = _shown(left), _shown(right)
    try:
        return _COMPARE[sign](left, right)
    except TypeError:
        return False


def _shown(value: Any) -> str:
    """A value as text: strings as they are, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
