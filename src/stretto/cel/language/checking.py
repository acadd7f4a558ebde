"""Checker of expressions: the types of all nodes, and the forms of the called functions.

The rules and the texts of problems are those of ``checker/checker.go`` in cel-go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from stretto.cel.language.environment import Environment
from stretto.cel.language.nodes import (
    CallNode,
    ConstantNode,
    Entry,
    FoldNode,
    ListNode,
    MapNode,
    NameNode,
    Node,
    SelectNode,
    StructNode,
    Tree,
    qualified_name,
)
from stretto.cel.language.problems import Problem
from stretto.cel.language.signatures import FunctionForm, declared_functions
from stretto.cel.language.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    STRING,
    CelType,
    Sort,
    Substitutions,
    instantiated,
    is_closed,
    is_dynamic,
    list_of,
    map_of,
    most_general,
    optional_of,
    struct,
    type_of_type,
    unwrapped,
)
from stretto.cel.running.values import kind_of

_LOGIC: Final = ("_&&_", "_||_")
_SELECT: Final = "_?._"


@dataclass(frozen=True)
class Checked:
    """A checked expression; it is usable only without problems."""

    #: The expression.
    tree: Tree
    #: Types of the nodes by identifier.
    types: Mapping[int, CelType]
    #: Forms of the calls that apply, by the identifier of the node.
    forms: Mapping[int, tuple[FunctionForm, ...]]
    #: Names of the variables and types that nodes stand for.
    names: Mapping[int, str]
    #: Calls of functions whose receiver is part of the function's name.
    functions: Mapping[int, str]
    #: The problems, in the order in which they were found.
    problems: tuple[Problem, ...]

    @property
    def kind(self) -> CelType:
        """Type of the expression's value."""
        return self.types[self.tree.root.id]


@dataclass(frozen=True)
class _Match:
    """The forms of a function that fit some arguments."""

    #: The forms.
    forms: tuple[FunctionForm, ...]
    #: Type of the result; ``None`` if no form fits.
    result: CelType | None
    #: Number of the new parameters of the tried forms.
    parameters: int


def check(tree: Tree, environment: Environment) -> Checked:
    """Check an expression."""
    return _Checker(tree, environment).checked()


class _Checker:
    """Checker of one expression."""

    def __init__(self, tree: Tree, environment: Environment) -> None:
        self._tree = tree
        self._environment = environment
        self._scopes: list[dict[str, CelType]] = []
        self._types: dict[int, CelType] = {}
        self._forms: dict[int, tuple[FunctionForm, ...]] = {}
        self._names: dict[int, str] = {}
        self._functions: dict[int, str] = {}
        self._problems: list[Problem] = []
        self._known = Substitutions()
        self._numbers = 0

    def checked(self) -> Checked:
        self._check(self._tree.root)
        types = {node: self._known.resolved(kind, final=True) for node, kind in self._types.items()}
        problems = tuple(self._problems)
        return Checked(self._tree, types, self._forms, self._names, self._functions, problems)

    def _check(self, node: Node) -> CelType:
        kind: CelType = _CHECKS[type(node)](self, node)
        self._types[node.id] = kind
        return kind

    def _problem(self, node: int, text: str) -> CelType:
        self._problems.append(Problem(self._tree.offsets.get(node, 0), text))
        return ERROR

    def _undeclared(self, node: int, name: str) -> CelType:
        return self._problem(node, f"undeclared reference to '{name}' (in container '')")

    def _mismatch(self, node: int, wanted: CelType, found: CelType) -> CelType:
        return self._problem(node, f"expected type '{wanted}' but found '{found}'")

    def _accepts(self, one: CelType, two: CelType) -> bool:
        return self._known.accepts(((one, two),))

    def _new_parameter(self) -> CelType:
        self._numbers += 1
        return _parameter(self._numbers - 1)

    # ------------------------------------------------------------ names and fields

    def _lookup(self, name: str) -> CelType | None:
        """Return the type of a variable or of a named type; ``None`` if it is unknown."""
        plain = name.removeprefix(".")
        if plain == name:
            for scope in reversed(self._scopes):
                if plain in scope:
                    return scope[plain]
        kind = self._environment.variable(plain)
        if kind is not None:
            return kind
        named = self._environment.named_type(plain)
        return None if named is None else type_of_type(named)

    def constant(self, node: ConstantNode) -> CelType:
        return kind_of(node.value)

    def name(self, node: NameNode) -> CelType:
        kind = self._lookup(node.name)
        if kind is None:
            return self._undeclared(node.id, node.name)
        self._names[node.id] = node.name.removeprefix(".")
        return kind

    def select(self, node: SelectNode) -> CelType:
        name = qualified_name(node)
        known = self._lookup(name) if name else None
        if known is not None:
            self._names[node.id] = name.removeprefix(".")
            return known
        kind = self._field(node.id, node.operand, node.field, is_optional=False)
        return BOOL if node.tests else self._known.resolved(kind)

    def _field(self, node: int, operand: Node, name: str, *, is_optional: bool) -> CelType:
        """Return the type of a field of a value."""
        kind, was_optional = unwrapped(self._known.resolved(self._check(operand)))
        found = DYN
        if kind.sort is Sort.MAP:
            found = kind.parameters[1]
        elif kind.sort is Sort.STRUCT:
            found = self._declared_field(node, kind.name, name)
        elif kind.sort is Sort.PARAMETER:
            self._accepts(DYN, kind)
        elif not is_dynamic(kind):
            self._problem(node, f"type '{kind}' does not support field selection")
        return optional_of(found) if was_optional or is_optional else found

    def _declared_field(self, node: int, owner: str, name: str) -> CelType:
        fields = self._environment.fields(owner)
        if fields is None:
            return self._problem(node, f"unexpected failed resolution of '{owner}'")
        try:
            return fields[name]
        except KeyError:
            return self._problem(node, f"undefined field '{name}'")

    # ------------------------------------------------------------ calls

    def call(self, node: CallNode) -> CelType:
        if node.function == _SELECT:
            return self._optional_select(node)
        for each in node.arguments:
            self._check(each)
        target, name = node.target, node.function
        if target is not None:
            prefix = qualified_name(target)
            whole = f"{prefix}.{name}".removeprefix(".")
            if prefix and self._environment.functions(whole):
                target, name = None, whole
                self._functions[node.id] = whole
            else:
                self._check(target)
        forms = self._environment.functions(name)
        if not forms:
            return self._undeclared(node.id, name)
        return self._overload(node, name, forms, target)

    def _optional_select(self, node: CallNode) -> CelType:
        operand, field = node.arguments
        assert isinstance(field, ConstantNode)  # the parser accepts only names
        kind = self._field(node.id, operand, field.value, is_optional=True)
        self._types[field.id] = STRING
        self._forms[node.id] = self._environment.functions(_SELECT)
        return self._known.resolved(kind)

    def _overload(
        self, node: CallNode, name: str, forms: Sequence[FunctionForm], target: Node | None
    ) -> CelType:
        """Return the type of a call, after the forms that its arguments fit."""
        parts = node.arguments if target is None else (target, *node.arguments)
        kinds = tuple(self._types[each.id] for each in parts)
        if name in _LOGIC:
            return self._logic(node, forms)
        is_member = target is not None
        found = self._matched(name, kinds, is_member=is_member)
        if found.result is None:
            shown = [str(self._known.resolved(each, final=True)) for each in kinds]
            receiver = f"{shown.pop(0)}." if is_member else ""
            text = f"found no matching overload for '{name}' applied to"
            return self._problem(node.id, f"{text} '{receiver}({', '.join(shown)})'")
        self._forms[node.id] = found.forms
        return found.result

    def _matched(self, name: str, kinds: tuple[CelType, ...], *, is_member: bool) -> "_Match":
        """Return the forms of a function that fit arguments of some types."""
        if all(map(is_closed, kinds)):
            found = _closed_match(name, kinds, is_member=is_member)
            if found.result is None or is_closed(found.result):
                self._numbers += found.parameters
                return found
        found = _match(name, kinds, self._known, self._numbers, is_member=is_member)
        self._numbers += found.parameters
        return found

    def _logic(self, node: CallNode, forms: Sequence[FunctionForm]) -> CelType:
        result = BOOL
        for each in node.arguments:
            if not self._accepts(self._types[each.id], BOOL):
                result = self._mismatch(each.id, BOOL, self._types[each.id])
        self._forms[node.id] = tuple(forms)
        return result

    # ------------------------------------------------------------ literals

    def _joined(self, one: CelType | None, two: CelType) -> CelType:
        """Return the common type of the items of a literal."""
        if one is None:
            return two
        return most_general(one, two) if self._accepts(one, two) else DYN

    def _optional_value(self, node: Node, kind: CelType) -> CelType:
        """Return the type of a value that may be omitted."""
        inner, is_optional = unwrapped(kind)
        if not is_optional and inner != DYN:
            self._mismatch(node.id, optional_of(inner), inner)
        return inner

    def list(self, node: ListNode) -> CelType:
        common: CelType | None = None
        for index, each in enumerate(node.items):
            kind = self._check(each)
            if index in node.optional:
                kind = self._optional_value(each, kind)
            common = self._joined(common, kind)
        return list_of(self._new_parameter() if common is None else common)

    def map(self, node: MapNode) -> CelType:
        keys: CelType | None = None
        values: CelType | None = None
        for entry in node.entries:
            assert not isinstance(entry.key, str)  # maps have expressions as keys
            keys = self._joined(keys, self._check(entry.key))
            values = self._joined(values, self._entry_value(entry))
        if keys is None or values is None:
            return map_of(self._new_parameter(), self._new_parameter())
        return map_of(keys, values)

    def _entry_value(self, entry: Entry) -> CelType:
        kind = self._check(entry.value)
        return self._optional_value(entry.value, kind) if entry.optional else kind

    def struct(self, node: StructNode) -> CelType:
        name = node.name.removeprefix(".")
        if self._environment.fields(name) is None:
            if self._lookup(name) is None:
                return self._undeclared(node.id, node.name)
            return self._problem(node.id, f"'{name}' is not a message type")
        for entry in node.entries:
            kind = self._entry_value(entry)
            wanted = self._declared_field(entry.id, name, str(entry.key))
            if not self._accepts(wanted, kind):
                text = f"expected type of field '{entry.key}' is '{wanted}' but provided type is"
                self._problem(entry.id, f"{text} '{kind}'")
        return struct(name)

    # ------------------------------------------------------------ loops

    def fold(self, node: FoldNode) -> CelType:
        self._check(node.range)
        start = self._check(node.start)
        kinds = self._variables(node)
        self._scopes.append({node.accumulator: start})
        inner = {node.variable: kinds[0]}
        if node.second:
            inner[node.second] = kinds[1]
        self._scopes.append(inner)
        self._require(node.condition, BOOL)
        self._require(node.step, start)
        self._scopes.pop()
        result = self._check(node.result)
        self._scopes.pop()
        return self._known.resolved(result)

    def _variables(self, node: FoldNode) -> tuple[CelType, CelType]:
        """Return the types of the variables of a loop."""
        kind = self._known.resolved(self._types[node.range.id])
        if kind.sort is Sort.LIST:
            return (INT, kind.parameters[0]) if node.second else (kind.parameters[0], DYN)
        if kind.sort is Sort.MAP:
            return kind.parameters[0], kind.parameters[1]
        if is_dynamic(kind) or kind.sort is Sort.PARAMETER:
            self._accepts(DYN, kind)
            return DYN, DYN
        text = "cannot be range of a comprehension (must be list, map, or dynamic)"
        self._problem(node.range.id, f"expression of type '{kind}' {text}")
        return ERROR, ERROR

    def _require(self, node: Node, wanted: CelType) -> None:
        kind = self._check(node)
        if not self._accepts(wanted, kind):
            self._mismatch(node.id, wanted, kind)


def _parameter(number: int) -> CelType:
    return CelType(Sort.PARAMETER, f"_var{number}")


@lru_cache(maxsize=1024)
def _closed_match(name: str, kinds: tuple[CelType, ...], *, is_member: bool) -> _Match:
    """Return the forms that fit arguments whose types have no parameters; then all calls agree."""
    return _match(name, kinds, Substitutions(), 0, is_member=is_member)


def _match(
    name: str, kinds: Sequence[CelType], known: Substitutions, first: int, *, is_member: bool
) -> _Match:
    """Return the forms that fit arguments of some types.

    Args:
        name: name of the function.
        kinds: types of the arguments, that of the receiver first.
        known: types of the parameters; those of fitting forms are added.
        first: number of the first new parameter.
        is_member: whether the function has a receiver.
    """
    matched: list[FunctionForm] = []
    result: CelType | None = None
    number = first
    for form in declared_functions()[name]:
        if form.is_member is not is_member or len(form.arguments) != len(kinds):
            continue
        names = {each: _parameter(at) for at, each in enumerate(sorted(form.parameters), number)}
        number += len(names)
        wanted = [instantiated(each, names) for each in form.arguments]
        if known.accepts(zip(kinds, wanted, strict=True)):
            found = known.resolved(instantiated(form.result, names))
            matched.append(form)
            is_new = result is not None and result not in (DYN, found)
            result = DYN if is_new else result or found
    return _Match(tuple(matched), result, number - first)


_CHECKS: Final[Mapping[type, Any]] = {
    ConstantNode: _Checker.constant,
    NameNode: _Checker.name,
    SelectNode: _Checker.select,
    CallNode: _Checker.call,
    ListNode: _Checker.list,
    MapNode: _Checker.map,
    StructNode: _Checker.struct,
    FoldNode: _Checker.fold,
}
"""Checks by the sort of a node."""
