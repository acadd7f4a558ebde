"""Validation of values against a schema, with the messages of kube-apiserver."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from stretto.api.checks.custom.formats import format_test
from stretto.api.checks.custom.steps import Steps, TooManyStepsError
from stretto.api.checks.fields.errors import (
    MOST_ERRORS,
    Errors,
    FieldError,
    duplicate,
    invalid,
    quoted,
    required,
    shown,
    too_long,
    type_invalid,
    unsupported,
)
from stretto.api.wire.values import identities

Json = dict[str, Any]

_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)
_SOME: Final = "<nil>"


def check_value(value: Any, schema: Json, path: str = "") -> Errors:
    """Return the errors of a value, in the order of its members.

    A schema may refer to each value thousands of times, and RE2 may take a step for each
    instruction of a pattern and character of a text. A value that needs too many steps is refused.
    """
    found = _Found(Steps(MOST_STEPS))
    try:
        _check(value, schema, path, found)
    except TooManyStepsError:
        found.append(FieldError("FieldValueTooLong", _TOO_MANY_STEPS, path or _SOME))
    return found


MOST_STEPS: Final = 50_000
"""Maximum steps of the check of a value: a step takes about a microsecond."""
_TOO_MANY_STEPS: Final = (
    f"Too long: the check takes more than {MOST_STEPS} steps; use fewer values, shorter texts, or "
    "a schema with simpler patterns and fewer alternatives"
)
_COMPARED: Final = 16
"""Values of an enumeration that are compared in a step."""
_SCANNED: Final = 4
"""Items without errors, and members of them, that are checked in a step."""


class _Found(list[FieldError]):
    """The errors of a value, and the steps that its check has left."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        #: The steps, which the parts of a value share.
        self.steps = steps

    def of(self, value: Any, schema: Json, path: str) -> "_Found":
        """Return the errors of a value by one of several alternatives."""
        found = _Found(self.steps)
        self.steps.spend(1)
        _check(value, schema, path, found)
        return found


def _check(value: Any, schema: Json, path: str, found: _Found) -> None:
    """Add the errors of a value, unless an answer cannot contain further ones."""
    if len(found) > MOST_ERRORS or (value is None and schema.get("nullable")):
        return
    kind = type(value)
    if kind is not _TYPES.get(schema.get("type") or ""):
        wrong = _wrong_type(value, schema, path)
        if wrong is not None:
            found.append(wrong)
    if value is not None and not _COMBINED.isdisjoint(schema):
        found += _combined(value, schema, path, found)
    if kind is list:
        _list(value, schema, path, found)
    elif kind in _NUMBERS:
        found += _number(value, schema, path)
    elif kind is str and not _FREE_TEXT.isdisjoint(schema):
        _text(value, schema, path, found)
    if "enum" in schema:
        _enumerated(value, schema["enum"], path, found)
    if kind is dict:
        _object(value, schema, path, found)


def _enumerated(value: Any, known: list[Any], path: str, found: _Found) -> None:
    found.steps.spend(len(known) // _COMPARED)
    if value not in known:
        found.steps.spend(len(known))
        allowed = [each if isinstance(each, str) else shown(each) for each in known]
        found.append(unsupported(path or _SOME, value, allowed))


_TYPES: Final[dict[str, type]] = {"string": str, "boolean": bool, "array": list, "object": dict}
"""Types of Python that have no other value than those of a type of schemas."""
_NUMBERS: Final = frozenset({int, float})
"""Types of numbers in JSON."""
_FREE_TEXT: Final = frozenset({"maxLength", "minLength", "pattern", "format"})
"""Members of schemas that limit texts."""
_COMBINED: Final = frozenset({"allOf", "anyOf", "oneOf", "not"})
"""Members of schemas that contain schemas of the same value."""
_NUMBER_LIMITS: Final = frozenset({"format", "maximum", "minimum", "multipleOf"})
"""Members of schemas that limit numbers."""
_LIMITS: Final = (_FREE_TEXT | _COMBINED | _NUMBER_LIMITS | {"enum"}) - {"maxLength"}
"""Members of schemas that limit scalars, except the length of texts."""
_OBJECT_LIMITS: Final = _COMBINED | {
    "additionalProperties",
    "enum",
    "maxProperties",
    "minProperties",
}
"""Members of schemas that limit objects, except those about one member."""
_SCALARS: Final = {str: "string", bool: "boolean", int: "integer"}
"""Types of schemas whose values have a type of Python."""


def _is_free(value: Any, schema: Json) -> bool:
    """Return whether a scalar has the type of its schema, which has no limit but a length."""
    word = _SCALARS.get(type(value))
    if word is None or schema.get("type") != word or not _LIMITS.isdisjoint(schema):
        return False
    if word == "string":
        return "maxLength" not in schema or len(value) <= schema["maxLength"]
    return word != "integer" or value in _INT64


def _is_free_object(value: Json, schema: Json) -> bool:
    """Return whether an object has the required members, and only free scalars."""
    if schema.get("type") != "object" or not _OBJECT_LIMITS.isdisjoint(schema):
        return False
    for name in schema.get("required") or ():
        if name not in value:
            return False
    properties = schema.get("properties") or {}
    for name, each in value.items():
        inner = properties.get(name)
        if inner is None or not _is_free(each, inner):
            return False
    return True


def _wrong_type(value: Any, schema: Json, path: str) -> FieldError | None:
    wanted, word = schema.get("type") or "", _word(value)
    if schema.get("x-kubernetes-int-or-string"):
        wanted, holds = "integer,string", word == "string" or _is_of(value, word, "integer")
    else:
        holds = not wanted or _is_of(value, word, wanted)
    if holds:
        return None
    if schema.get("format") and isinstance(value, list) and wanted not in _NUMERIC:
        return None
    if schema.get("format") and not isinstance(value, str | list | None):
        wanted, word = schema["format"], _FORMAT_WORDS.get(word, "")
    return type_invalid(path or _SOME, word, f'{path} in body must be of type {wanted}: "{word}"')


def _is_of(value: Any, word: str, wanted: str) -> bool:
    """Return whether a value of the type ``word`` has the type that is wanted."""
    if wanted == "integer":
        return word == "integer" or (isinstance(value, float) and _is_whole(value))
    if wanted == "number":
        return word in ("integer", "number")
    return word == wanted or wanted not in _TYPES


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if value in _INT64 else "number"
    return _WORDS[type(value)]


_WORDS: Final[dict[type, str]] = {float: "number", str: "string", list: "array", dict: "object"}
"""Types of schemas by the types of other values."""
_NUMERIC: Final = ("integer", "number")
"""Types whose format does not permit lists, as an oversight of ``type.go`` in kube-openapi does."""
_FORMAT_WORDS: Final = {"integer": "int64", "number": "float64"}
"""Formats of numbers as represented in JSON."""
_EXACT: Final = 2**53 - 1
"""The largest magnitude up to which a float is an exact integer."""


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) <= _EXACT


def _text(value: str, schema: Json, path: str, found: _Found) -> None:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        found.append(too_long(path, schema["maxLength"]))
    elif "minLength" in schema and len(value) < schema["minLength"]:
        least = schema["minLength"]
        text = f"{path} in body should be at least {least} chars long"
        found.append(invalid(path, value, text))
    elif "pattern" in schema and not found.steps.matches(schema["pattern"], value):
        text = f"{path} in body should match '{schema['pattern']}'"
        found.append(invalid(path, value, text))
    holds = format_test(schema["format"]) if schema.get("format") else None
    if holds is not None and not holds(value):
        text = f"{path} in body must be of type {schema['format']}: {quoted(value)}"
        found.append(type_invalid(path, value, text))


def _number(value: float, schema: Json, path: str) -> Iterator[FieldError]:
    bounds = {"int32": _INT32, "int64": _INT64}.get(schema.get("format") or "")
    whole = value in _INT64 if isinstance(value, int) else _is_whole(value)
    if bounds is not None and (not whole or int(value) not in bounds):
        text = f"Checked value must be of type integer with format {schema['format']} in {path}"
        yield FieldError("FieldValueInvalid", f'Invalid value: "": {text}', _SOME)
    if schema.get("type") == "integer" and not schema.get("format") and not whole:
        text = f"Checked value must be of type integer (default format) in {path}"
        yield FieldError("FieldValueInvalid", f'Invalid value: "": {text}', _SOME)
    if _NUMBER_LIMITS.isdisjoint(schema):
        return
    if "multipleOf" in schema:
        yield from _multiple(value, schema["multipleOf"], path)
    for name, word in (("minimum", "greater than"), ("maximum", "less than")):
        if name not in schema:
            continue
        limit = int(schema[name]) if type(value) is int and whole else schema[name]
        exclusive = schema.get(f"exclusive{name.capitalize()}")
        fails = value > limit if name == "maximum" else value < limit
        if fails or (exclusive and value == limit):
            end = f"{word} {_plain(limit)}" if exclusive else f"{word} or equal to {_plain(limit)}"
            yield invalid(path, value, f"{path} in body should be {end}")


def _multiple(value: float, stated: float, path: str) -> Iterator[FieldError]:
    """Check that a number is a multiple of another one, whose fraction is lost for integers."""
    is_integer = isinstance(value, int) and value in _INT64
    step = int(stated) if is_integer else stated
    if step <= 0:
        detail = f"factor MultipleOf declared for {path} must be positive: {_plain(step)}"
        yield invalid(path, step, detail)
        return
    if is_integer:
        holds = value % step == 0
    else:
        holds = _is_whole(value / step if step >= 1 else 1 / step * value)
    if not holds:
        yield invalid(path, value, f"{path} in body should be a multiple of {_plain(step)}")


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _list(value: list[Any], schema: Json, path: str, found: _Found) -> None:
    items = schema.get("items")
    if isinstance(items, dict):
        found.steps.spend(_size(value) // _SCANNED)
        for index, each in enumerate(value):
            if not (_is_free_object if type(each) is dict else _is_free)(each, items):
                _check(each, items, f"{path}[{index}]", found)
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        found.append(_too_many(path, len(value), schema["maxItems"]))
    if "minItems" in schema and len(value) < schema["minItems"]:
        text = f"{path} in body should have at least {schema['minItems']} items"
        found.append(invalid(path, len(value), text))
    found += _repeated(value, schema, path)


def _size(value: list[Any]) -> int:
    """Return the number of items of a list and of members of its items."""
    return len(value) + sum(len(each) for each in value if type(each) is dict)


def _too_many(path: str, count: int, limit: int) -> FieldError:
    text = f"Too many: {count}: must have at most {limit} item{'' if limit == 1 else 's'}"
    return FieldError("FieldValueTooMany", text, path)


def _repeated(value: list[Any], schema: Json, path: str) -> Iterator[FieldError]:
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if kind not in ("set", "map"):
        return
    marks = value if kind == "set" else [_keys_of(each, keys) for each in value]
    seen: set[str] = set()
    for index, text in enumerate(identities(marks)):
        if kind == "map" and not isinstance(value[index], dict | None):
            detail = "must be an object for an array of list-type map"
            yield invalid(f"{path}[{index}]", value[index], detail)
            return
        if text in seen:
            yield duplicate(f"{path}[{index}]", marks[index])
        seen.add(text)


def _keys_of(item: Any, keys: Sequence[str]) -> Any:
    return {key: item[key] for key in keys if key in item} if isinstance(item, dict) else item


def _object(value: Json, schema: Json, path: str, found: _Found) -> None:
    properties = schema.get("properties") or {}
    prefix = f"{path}." if path else ""
    missing = [name for name in schema.get("required") or () if name not in value]
    found.steps.spend(len(missing))
    found += [required(f"{prefix}{name}") for name in missing]
    extra = schema.get("additionalProperties")
    if properties or isinstance(extra, dict):
        _members(value, properties, extra, path, found)
    _count(value, schema, path, found)


def _members(value: Json, properties: Json, extra: Any, path: str, found: _Found) -> None:
    """Add the errors of the members of an object."""
    prefix = f"{path}." if path else ""
    found.steps.spend(len(value))
    limited = [
        (name, inner)
        for name, each in value.items()
        if isinstance(inner := properties.get(name) or extra, dict) and not _is_free(each, inner)
    ]
    for name, inner in sorted(limited):  # names are unique
        if path or name != "metadata" or name not in properties:
            _check(value[name], inner, f"{prefix}{name}", found)


def _count(value: Json, schema: Json, path: str, found: _Found) -> None:
    """Add the errors of the number of members."""
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        found.append(_too_many(path, len(value), schema["maxProperties"]))
    if "minProperties" in schema and len(value) < schema["minProperties"]:
        text = f"{path} in body should have at least {schema['minProperties']} properties"
        found.append(invalid(path, len(value), text))


def _combined(value: Any, schema: Json, path: str, errors: _Found) -> Iterator[FieldError]:
    """Yield the errors of a value by the alternatives of its schema.

    Args:
        value: the value.
        schema: the schema with the alternatives.
        path: the path of the value.
        errors: the errors so far, whose steps the alternatives share.
    """
    if schema.get("anyOf"):
        found = [errors.of(value, each, path) for each in schema["anyOf"]]
        if all(found):
            yield _composed(f'"{path}" must validate at least one schema (anyOf)')
            yield from found[0]
    if schema.get("oneOf"):
        found = [errors.of(value, each, path) for each in schema["oneOf"]]
        valid = sum(not each for each in found)
        if valid != 1:
            end = "Found none valid" if not valid else f"Found {valid} valid alternatives"
            yield _composed(f'"{path}" must validate one and only one schema (oneOf). {end}')
            if not valid:
                yield from found[0]
    if schema.get("allOf"):
        found = [errors.of(value, each, path) for each in schema["allOf"]]
        yield from chain.from_iterable(found)
        if any(found):
            end = "" if not all(found) else ". None validated"
            yield _composed(f'"{path}" must validate all the schemas (allOf){end}')
    if schema.get("not") is not None and not errors.of(value, schema["not"], path):
        yield _composed(f'"{path}" must not validate the schema (not)')


def _composed(text: str) -> FieldError:
    return FieldError("FieldValueInvalid", f'Invalid value: "": {text}', _SOME)
