"""Expressions that select devices; they have the types of a device.

The types are those of ``dynamic-resource-allocation/cel`` in Kubernetes.
"""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import FieldError, invalid
from stretto.cel.language.environment import Environment
from stretto.cel.language.types import ANY, BOOL, STRING, map_of, parsed_type, struct
from stretto.cel.programs import CelError, Compiler, stated

Json = dict[str, Any]

_DEVICE: Final = "kubernetes.DRADevice"
_ENVIRONMENT: Final = Environment(
    {"device": struct(_DEVICE)},
    {
        _DEVICE: {
            "driver": STRING,
            "attributes": map_of(STRING, map_of(STRING, ANY)),
            "capacity": map_of(STRING, map_of(STRING, parsed_type("kubernetes.Quantity"))),
            "allowMultipleAllocations": BOOL,
        }
    },
    has_bindings=True,
)


def device_errors(item: Json, compiler: Compiler) -> Iterator[FieldError]:
    """Yield the errors of expressions in a DeviceClass, a ResourceClaim or a claim template."""
    spec, path = item.get("spec") or {}, "spec"
    yield from _selectors(spec, path, compiler)
    if isinstance(spec.get("spec"), dict):
        spec, path = spec["spec"], "spec.spec"
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        where = f"{path}.devices.requests[{index}]"
        if request.get("exactly") and request.get("firstAvailable"):
            continue  # the request is refused without a look at either form
        yield from _selectors(request.get("exactly") or {}, f"{where}.exactly", compiler)
        for place, each in enumerate(request.get("firstAvailable") or ()):
            yield from _selectors(each, f"{where}.firstAvailable[{place}]", compiler)


def _selectors(owner: Json, path: str, compiler: Compiler) -> Iterator[FieldError]:
    for index, each in enumerate(owner.get("selectors") or ()):
        if each.get("cel") is None:
            continue
        text = each["cel"].get("expression", "")
        problem = _problem(text, compiler)
        if problem:
            yield invalid(f"{path}.selectors[{index}].cel.expression", text, problem)


def _problem(text: str, compiler: Compiler) -> str:
    """Return why an expression cannot be used; empty if it can."""
    try:
        kind = compiler.compiled(text, _ENVIRONMENT).kind
    except CelError as error:
        return stated(error)
    if kind in (BOOL, ANY):
        return ""
    return f"must evaluate to bool or the unknown type, not {kind}"
