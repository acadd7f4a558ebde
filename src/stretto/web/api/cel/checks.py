"""Compilation checks of the expressions in policies, webhooks and definitions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import Errors, FieldError, invalid
from stretto.cel.language.environment import Environment
from stretto.cel.language.types import DYN, CelType, Sort
from stretto.cel.programs import CelError, Compiler, TooManyNodesError, stated
from stretto.web.api.cel.definitions import definition_errors, without_refused
from stretto.web.api.cel.devices import device_errors
from stretto.web.api.cel.variables import ANY_OBJECT, WrittenType, write_environment

Json = dict[str, Any]

_MUTATIONS: Final = {"applyConfiguration": "Object", "jsonPatch": "list(JSONPatch)"}
"""Members of mutations that contain an expression, and the type of its value."""
_MOST_CHARACTERS: Final = 30_000
"""Maximum total characters of an object's distinct expressions; large definitions have 15,000."""
_MOST_NODES: Final = 5_000
"""Maximum total nodes of an object's expressions. Large definitions have 2,900."""
_MOST_ERROR_TEXT: Final = 10_000
"""Characters of errors after which compilation stops; invalid expressions take longest."""
_STATED: Final = re.compile(
    rb'"(?:expression|messageExpression|rule|valueExpression)":("[^"\\]*+(?:\\.[^"\\]*+)*+")'
)
"""Members with expressions in a JSON text; a text within a string has escaped quotes."""
_SCHEMA: Final = ".openAPIV3Schema"
"""Part of the path of a schema in a definition."""


def expression_errors(
    key: tuple[str, str], item: Json, old: Json | None, refused: Sequence[str]
) -> Errors:
    """Return the errors of an object's expressions; unchanged objects are not checked.

    Args:
        key: group and kind.
        item: the object.
        old: the stored object; ``None`` for a new one.
        refused: paths of the fields that other checks refuse.
    """
    check = _CHECKS.get(key)
    if check is None or (old is not None and _content(item) == _content(old)):
        return []
    texts = _texts(item)
    if texts and key == _DEFINITION and any(_SCHEMA in each for each in refused):
        item = without_refused(item)
        texts = _texts(item)
    if not texts:
        return []
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        return _too_large(f"{len(texts)} expressions", _MOST_CHARACTERS, "characters")
    found: list[FieldError] = []
    length = 0
    try:
        for each in check(item, old, Compiler(_MOST_NODES)):
            found.append(each)
            length += len(each.message)
            if length > _MOST_ERROR_TEXT:
                break
    except TooManyNodesError:
        found += _too_large(f"{len(texts)} expressions", _MOST_NODES, "nodes")
    return found


def _too_large(shown: str, most: int, what: str) -> Errors:
    return [invalid("spec", shown, f"its expressions must have at most {most} {what} together")]


def _texts(value: Json) -> set[str]:
    """Return the expressions in an object; a search in its text needs no walk over its values."""
    found = set(_STATED.findall(msgspec.json.encode(value)))
    return set(map(msgspec.json.decode, found))


def _content(item: Json) -> Any:
    return item.get("spec"), item.get("webhooks")


@dataclass(frozen=True)
class _ExpressionCheck:
    """Check of the expressions of one environment."""

    #: Compiler of the object's expressions.
    compiler: Compiler
    #: The variables that the expressions may read.
    environment: Environment

    def errors(self, text: str, path: str, wants: str = "") -> Errors:
        """Return the error of an expression; other checks refuse an empty one."""
        problem = self._problem(text, wants)
        return [invalid(path, text, problem)] if problem else []

    def conditions(self, conditions: Any, path: str) -> Iterator[FieldError]:
        """Yield the errors of match conditions."""
        for index, each in enumerate(conditions or ()):
            yield from self.errors(
                each.get("expression", ""), f"{path}[{index}].expression", "bool"
            )

    def annotation(self, text: str, path: str) -> Errors:
        """Return the error of the value of an audit annotation."""
        problem = self._problem(text, "string")
        if problem == "must evaluate to string but got null":
            return []
        shown = problem.replace("to string but", "to one of [string null_type] but")
        return [invalid(path, text, shown)] if problem else []

    def _problem(self, text: str, wants: str) -> str:
        return self.compiler.problem_of(text, self.environment, wants) if text.strip() else ""


class PolicyExpressions:
    """The conditions and the variables of a policy."""

    def __init__(self, item: Json, compiler: Compiler, subject: WrittenType = ANY_OBJECT) -> None:
        """Read a policy about objects of any kind, or of one kind."""
        self._subject = subject
        self._compiler = compiler
        self._spec: Json = item.get("spec") or {}
        self._has_params = bool(self._spec.get("paramKind"))
        self._variables: dict[str, CelType] = {}

    def environment(self, *, has_rights: bool = True, has_mutations: bool = False) -> Environment:
        """Return the environment of expressions that may read all variables, if there are any."""
        has_variables = has_mutations or bool(self._spec.get("variables"))
        return write_environment(
            subject=self._subject,
            has_params=self._has_params,
            variables=self._variables if has_variables else None,
            has_rights=has_rights,
            has_mutations=has_mutations,
        )

    def errors(self) -> Iterator[FieldError]:
        """Yield the errors of match conditions and of variables, which read earlier ones."""
        plain = write_environment(subject=self._subject, has_params=self._has_params)
        check = _ExpressionCheck(self._compiler, plain)
        yield from check.conditions(self._spec.get("matchConditions"), "spec.matchConditions")
        for index, each in enumerate(self._spec.get("variables") or ()):
            text, kind = each.get("expression", ""), DYN
            try:
                kind = _field_kind(self._compiler.compiled(text, self.environment()).kind)
            except CelError as error:
                if not text.strip():
                    continue
                yield invalid(f"spec.variables[{index}].expression", text, stated(error))
            self._variables[each.get("name", "")] = kind


def _field_kind(kind: CelType) -> CelType:
    """Return the type of a variable whose value has a type."""
    if kind.sort is Sort.BASIC:
        return kind
    if kind.sort in (Sort.LIST, Sort.MAP):
        return CelType(kind.sort, kind.name, tuple(map(_field_kind, kind.parameters)))
    return DYN


def _mutating_policy(item: Json, _: Json | None, compiler: Compiler) -> Iterator[FieldError]:
    """Check a MutatingAdmissionPolicy."""
    policy = PolicyExpressions(item, compiler)
    yield from policy.errors()
    check = _ExpressionCheck(compiler, policy.environment(has_mutations=True))
    for index, each in enumerate((item.get("spec") or {}).get("mutations") or ()):
        for member, wants in _MUTATIONS.items():
            text = (each.get(member) or {}).get("expression") or ""
            yield from check.errors(text, f"spec.mutations[{index}].{member}.expression", wants)


def _validating_policy(item: Json, _: Json | None, compiler: Compiler) -> Iterator[FieldError]:
    """Check a ValidatingAdmissionPolicy."""
    spec, policy = item.get("spec") or {}, PolicyExpressions(item, compiler)
    yield from policy.errors()
    check = _ExpressionCheck(compiler, policy.environment())
    bare = _ExpressionCheck(compiler, policy.environment(has_rights=False))
    for index, each in enumerate(spec.get("validations") or ()):
        where = f"spec.validations[{index}]"
        yield from check.errors(each.get("expression", ""), f"{where}.expression", "bool")
        text = each.get("messageExpression", "")
        yield from bare.errors(text, f"{where}.messageExpression", "string")
    for index, each in enumerate(spec.get("auditAnnotations") or ()):
        where = f"spec.auditAnnotations[{index}].valueExpression"
        yield from check.annotation(each.get("valueExpression", ""), where)


def _webhooks(item: Json, _: Json | None, compiler: Compiler) -> Iterator[FieldError]:
    check = _ExpressionCheck(compiler, write_environment())
    for index, hook in enumerate(item.get("webhooks") or ()):
        yield from check.conditions(
            hook.get("matchConditions"), f"webhooks[{index}].matchConditions"
        )


def _devices(item: Json, _: Json | None, compiler: Compiler) -> Iterator[FieldError]:
    return device_errors(item, compiler)


def _claims(item: Json, old: Json | None, compiler: Compiler) -> Iterator[FieldError]:
    """Check a new claim or claim template; a changed spec is refused as a whole."""
    return device_errors(item, compiler) if old is None else iter(())


_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_ADMISSION: Final = "admissionregistration.k8s.io"
_Check = Callable[[Json, Json | None, Compiler], Iterator[FieldError]]
_CHECKS: Final[Mapping[tuple[str, str], _Check]] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): _mutating_policy,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _validating_policy,
    (_ADMISSION, "MutatingWebhookConfiguration"): _webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _webhooks,
    _DEFINITION: definition_errors,
    ("resource.k8s.io", "DeviceClass"): _devices,
    ("resource.k8s.io", "ResourceClaim"): _claims,
    ("resource.k8s.io", "ResourceClaimTemplate"): _claims,
}
"""Checks by kind."""
