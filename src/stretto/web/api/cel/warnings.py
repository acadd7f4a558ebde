"""Type checks of policies against the kinds that they match; the results are warnings only.

As in ``pkg/admission/plugin/policy/validating/typechecking.go`` of kube-apiserver. A policy is
valid without them, because its expressions read an object of any kind.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.schema.types import Form, StructType, ValueType
from stretto.api.wire.kinds import Kind
from stretto.cel.language.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    struct,
)
from stretto.cel.programs import Compiler
from stretto.web.api.cel.checks import PolicyExpressions
from stretto.web.api.cel.schemas import escaped
from stretto.web.api.cel.variables import WrittenType

Json = dict[str, Any]

_SCALARS: Final[Mapping[Form, CelType]] = {
    Form.STRING: STRING,
    Form.BYTES: BYTES,
    Form.BOOL: BOOL,
    Form.INT32: INT,
    Form.INT64: INT,
    Form.DOUBLE: DOUBLE,
    Form.TIME: TIMESTAMP,
    Form.MICRO_TIME: TIMESTAMP,
    Form.DURATION: STRING,
}
"""Types of scalars; values of other forms may have several types."""


@dataclass(frozen=True)
class MatchedKind:
    """A kind that a policy matches."""

    #: The kind.
    kind: Kind
    #: The fields of its objects.
    struct: StructType


def type_warnings(policy: Json, kinds: Iterable[MatchedKind]) -> list[Json]:
    """Return the warnings about the validations of a policy, as its status contains them."""
    compiler = Compiler()
    checked = [(each.kind, _environment(policy, each, compiler)) for each in kinds]
    found: list[Json] = []
    for place, text in _expressions(policy):
        problems = [
            f"{_shown(kind)}: {problem}\n"
            for kind, environment in checked
            if (problem := compiler.problem_of(text, environment))
        ]
        if problems:
            found.append({"fieldRef": place, "warning": "\n".join(problems)})
    return found


def _environment(policy: Json, matched: MatchedKind, compiler: Compiler) -> Any:
    expressions = PolicyExpressions(policy, compiler, _Types().subject(matched))
    for _ in expressions.errors():
        pass  # collects the types of the variables; their errors refuse the policy
    return expressions.environment()


def _expressions(policy: Json) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each expression."""
    for index, each in enumerate((policy.get("spec") or {}).get("validations") or ()):
        for name in ("expression", "messageExpression"):
            if each.get(name):
                yield f"spec.validations[{index}].{name}", each[name]


def _shown(kind: Kind) -> str:
    """A kind as Go prints it."""
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"


class _Types:
    """Types of the objects of one kind, by name."""

    def __init__(self) -> None:
        self._objects: dict[str, Mapping[str, CelType]] = {}

    def subject(self, matched: MatchedKind) -> WrittenType:
        """The type of the objects of a kind."""
        return WrittenType(self._struct(matched.struct, matched.kind.kind), self._objects)

    def _of(self, kind: ValueType, path: str) -> CelType:
        if kind.form is Form.STRUCT:
            return self._struct(kind.struct, path)
        if kind.form is Form.LIST and kind.item is not None:
            return list_of(self._of(kind.item, path))
        if kind.form is Form.MAP and kind.item is not None:
            return map_of(STRING, self._of(kind.item, path))
        return _SCALARS.get(kind.form, DYN)

    def _struct(self, found: StructType, path: str) -> CelType:
        """The type of a struct; one with further members has any type."""
        if found.is_open or found.others is not None:
            return DYN
        name = found.name or path
        if name not in self._objects:
            self._objects[name] = {}
            fields = ((escaped(each.name), each) for each in found.fields.values())
            self._objects[name] = {
                shown: self._of(each.type, f"{path}.{shown}") for shown, each in fields if shown
            }
        return struct(name)
