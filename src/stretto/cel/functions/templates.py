"""The function ``format``: texts with placeholders, as ``ext/formatting.go`` in cel-go."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.cel.functions.conversions import small_number, to_string
from stretto.cel.language.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    Sort,
)
from stretto.cel.running.budget import MOST_CHARACTERS, limited
from stretto.cel.running.values import (
    CelDuration,
    CelOpaque,
    CelOptional,
    CelTime,
    EvaluationError,
    kind_of,
    type_name,
)

_CLAUSE: Final = re.compile(
    r"%(?:%|(?P<rest>(?P<point>\.)?(?P<digits>[0-9]*)(?P<verb>.)?))", re.DOTALL
)
_DEFAULT_PRECISION: Final = 6
_HEAD: Final = "error during formatting: "
_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")
_TEXT_KINDS: Final = (INT, UINT, DOUBLE, BOOL, STRING, TIMESTAMP, BYTES, DURATION, NULL)


@dataclass(frozen=True)
class _Verb:
    """A placeholder."""

    #: Restriction to the types that it accepts.
    rule: str
    #: The accepted types.
    kinds: tuple[CelType, ...]
    #: Returns the text of a value with a precision.
    write: Callable[[Any, int], str]


def formatted(template: str, values: Sequence[Any]) -> str:
    """Return a template with values in place of its placeholders."""
    found: list[str] = []
    used, size = 0, len(template)
    for part in _parts(template, len(values)):
        if isinstance(part, str):
            found.append(part)
            continue
        verb, precision = part
        value = values[used]
        if not _accepts(verb, kind_of(value)) or _is_plain_text(verb, value):
            raise EvaluationError(_refusal(verb, kind_of(value)))
        found.append(verb.write(value, precision))
        used += 1
        size += len(found[-1])
        limited(size)
    return "".join(found)


def template_problem(template: str, kinds: Sequence[CelType]) -> tuple[str, int]:
    """Return why values of some types do not fit a template; empty if they do.

    The second part is the index of the value at fault; -1 for the template.
    """
    used = 0
    try:
        for part in _parts(template, len(kinds)):
            if isinstance(part, str):
                continue
            if kinds[used] != DYN and not _accepts(part[0], kinds[used]):
                return _refusal(part[0], kinds[used]), used
            used += 1
    except EvaluationError as error:
        return str(error), -1
    if len(kinds) > used:
        text = f"too many arguments supplied to string.format (expected {used}, got {len(kinds)})"
        return text, -1
    return "", -1


def _parts(template: str, count: int) -> Iterator[str | tuple[_Verb, int]]:
    """Yield the texts and the placeholders of a template for a number of values."""
    at = used = 0
    for match in _CLAUSE.finditer(template):
        yield template[at : match.start()]
        at = match.end()
        if match["rest"] is None:
            yield "%"
            continue
        if used >= count:
            raise EvaluationError(f"index {used} out of range")
        used += 1
        yield _clause(match)
    yield template[at:]


def _clause(match: re.Match[str]) -> tuple[_Verb, int]:
    if not match["rest"]:
        raise EvaluationError("unexpected end of string")
    head = "could not parse formatting clause: "
    if match["point"] and not match["verb"]:
        text = "error while parsing precision: could not find end of precision specifier"
        raise EvaluationError(head + text)
    letter = match["rest"][0] if not match["point"] else match["verb"]
    verb = _VERBS.get(letter)
    if verb is None:
        raise EvaluationError(f"{head}unrecognized formatting clause {quoted(letter)}")
    digits = match["digits"] if match["point"] else ""
    precision = small_number(digits)
    if precision is None:
        problem = f"strconv.Atoi: parsing {quoted(digits)}: value out of range"
        raise EvaluationError(f"{head}error while converting precision to integer: {problem}")
    return verb, precision if digits else _DEFAULT_PRECISION


def _accepts(verb: _Verb, kind: CelType) -> bool:
    is_text = verb is _VERBS["s"] and kind.sort in (Sort.LIST, Sort.MAP, Sort.TYPE)
    return is_text or kind in verb.kinds


def _is_plain_text(verb: _Verb, value: Any) -> bool:
    """True if a placeholder of floats gets a text that stands for none."""
    is_real = verb.kinds == (DOUBLE, STRING)
    return is_real and isinstance(value, str) and value not in _SPECIAL


def _refusal(verb: _Verb, kind: CelType) -> str:
    return f"{_HEAD}{verb.rule}, was given {type_name(kind)}"


def _text(value: Any, _: int = 0) -> str:
    return _whole(value, _KnownTexts())


class _KnownTexts:
    """Texts of lists and maps, so that one that occurs several times in a value is written once."""

    def __init__(self) -> None:
        # A value is kept with its text, so that its identity stays unique.
        self._texts: dict[int, tuple[Any, str]] = {}
        self._left = MOST_CHARACTERS

    def find(self, value: Any) -> str:
        """Return the text of a list or a map."""
        found = self._texts.get(id(value))
        if found is not None:
            return found[1]
        text = _collection(value, self)
        if len(text) <= self._left:
            self._left -= len(text)
            self._texts[id(value)] = value, text
        return text


def _whole(value: Any, known: _KnownTexts) -> str:
    if isinstance(value, list | tuple | Mapping):
        return known.find(value)
    if isinstance(value, CelType):
        return type_name(value)
    return "null" if value is None else to_string(value)


def _collection(value: Any, known: _KnownTexts) -> str:
    if not isinstance(value, Mapping):
        return f"[{', '.join(_limited_texts(value, known))}]"
    keys = _limited_texts(map(_key, value), known)
    values = _limited_texts(value.values(), known)
    shown = sorted(zip(keys, values, strict=True))
    return "{" + ", ".join(f"{key}:{each}" for key, each in shown) + "}"


def _limited_texts(values: Iterable[Any], known: _KnownTexts) -> Iterator[str]:
    size = 0
    for each in values:
        text = _inner(each, known)
        size += len(text)
        limited(size)
        yield text


def _key(key: Any) -> Any:
    """Return a key of a map whose type has a text.

    Raises:
        EvaluationError: the type has none.
    """
    if not isinstance(key, str | int):
        name = type_name(kind_of(key))
        raise EvaluationError(f"{_HEAD}no formatting function for map key of type {name}")
    return key


def _inner(value: Any, known: _KnownTexts) -> str:
    """Return the text of a value in a list or a map: a literal of CEL."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return f"b{quoted(to_string(value))}"
    if isinstance(value, float):
        return f"{value:.6f}" if isfinite(value) else quoted(to_string(value))
    if isinstance(value, CelTime | CelDuration):
        word = "timestamp" if isinstance(value, CelTime) else "duration"
        return f"{word}({quoted(to_string(value))})"
    if isinstance(value, CelOptional | CelOpaque):
        name = type_name(kind_of(value))
        raise EvaluationError(f"{_HEAD}no formatting function for {name}")
    return _whole(value, known)


def _based(letter: str) -> Callable[[Any, int], str]:
    def write(value: Any, _: int) -> str:
        if isinstance(value, str | bytes):
            raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            return raw.hex().upper() if letter == "X" else raw.hex()
        return format(int(value), letter)

    return write


def _fixed(value: Any, precision: int) -> str:
    limited(precision)
    number = float(value)
    whole = number in (float("inf"), float("-inf"))
    return ("∞" if number > 0 else "-∞") if whole else f"{number:,.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    limited(precision)
    number = float(value)
    if not isfinite(number):
        return _fixed(number, precision)
    digits, _, exponent = f"{number:.{precision}e}".partition("e")
    raised = f"{int(exponent):03d}" if int(exponent) < 0 else f"{int(exponent):02d}"
    return f"{digits}×10{raised.translate(_RAISED)}"


_VERBS: Final[Mapping[str, _Verb]] = {
    "s": _Verb(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
        _TEXT_KINDS,
        _text,
    ),
    "d": _Verb("decimal clause can only be used on integers", (INT, UINT), _text),
    "f": _Verb("fixed-point clause can only be used on doubles", (DOUBLE, STRING), _fixed),
    "e": _Verb("scientific clause can only be used on doubles", (DOUBLE, STRING), _scientific),
    "b": _Verb(
        "only integers and bools can be formatted as binary", (INT, UINT, BOOL), _based("b")
    ),
    "o": _Verb("octal clause can only be used on integers", (INT, UINT), _based("o")),
    **{
        letter: _Verb(
            "only integers, byte buffers, and strings can be formatted as hex",
            (INT, UINT, STRING, BYTES),
            _based(letter),
        )
        for letter in "xX"
    },
}
"""Placeholders by their letter."""
