"""Expressions that select devices: their syntax, and the fields of the device that they read.

Called functions are not checked, because Kubernetes' versions and sets are not available here.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import FieldError, invalid
from stretto.web.api.cel.language.parsing import ExpressionSyntaxError, parse

Json = dict[str, Any]

_KNOWN: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
"""Fields of a device in expressions."""
_TEXTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_READ: Final = re.compile(r"(?<![\w.])device\s*(\.)\s*(\w+)")


def device_errors(item: Json) -> Iterator[FieldError]:
    """Yield the errors of expressions in a DeviceClass, a ResourceClaim or a claim template."""
    spec, path = item.get("spec") or {}, "spec"
    yield from _selectors(spec, path)
    if isinstance(spec.get("spec"), dict):
        spec, path = spec["spec"], "spec.spec"
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        where = f"{path}.devices.requests[{index}]"
        yield from _selectors(request.get("exactly") or {}, f"{where}.exactly")
        for place, each in enumerate(request.get("firstAvailable") or ()):
            yield from _selectors(each, f"{where}.firstAvailable[{place}]")


def _selectors(owner: Json, path: str) -> Iterator[FieldError]:
    for index, each in enumerate(owner.get("selectors") or ()):
        text = (each.get("cel") or {}).get("expression", "")
        problem = _problem(text) if text.strip() else ""
        if problem:
            yield invalid(f"{path}.selectors[{index}].cel.expression", text, problem)


def _problem(text: str) -> str:
    """Return why an expression cannot be used; empty if it can."""
    try:
        parse(text)
    except ExpressionSyntaxError as error:
        return f"compilation failed: {error}"
    blank = _TEXTS.sub(lambda match: " " * len(match[0]), text)
    for match in _READ.finditer(blank):
        if match[2] not in _KNOWN:
            place = match.start(1)
            head = f"compilation failed: ERROR: <input>:1:{place + 1}: undefined field '{match[2]}'"
            return f"{head}\n | {text}\n | {'.' * place}^"
    return ""
