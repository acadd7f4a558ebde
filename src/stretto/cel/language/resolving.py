"""Resolution of names and functions in an expression that was checked before, without its types.

The evaluation of a rule does not depend on the types of its schema. Therefore one program serves
all schemas with the same rule: the forms of its calls follow from the values of the arguments.
"""

from collections.abc import Iterable

from stretto.cel.language.checking import Checked
from stretto.cel.language.environment import Environment
from stretto.cel.language.nodes import (
    CallNode,
    FoldNode,
    NameNode,
    Node,
    SelectNode,
    Tree,
    children,
    qualified_name,
)
from stretto.cel.language.problems import Problem
from stretto.cel.language.signatures import FunctionForm
from stretto.cel.language.types import DYN, CelType, type_of_type


def resolve(tree: Tree, environment: Environment) -> Checked:
    """Return an expression with its names and functions; all values have unknown types."""
    return _Resolver(tree, environment).resolved()


class _Resolver:
    """Resolver of one expression."""

    def __init__(self, tree: Tree, environment: Environment) -> None:
        self._tree = tree
        self._environment = environment
        self._types: dict[int, CelType] = {}
        self._forms: dict[int, tuple[FunctionForm, ...]] = {}
        self._names: dict[int, str] = {}
        self._functions: dict[int, str] = {}
        self._problems: list[Problem] = []

    def resolved(self) -> Checked:
        """Return the resolved expression."""
        self._resolve(self._tree.root, frozenset())
        parts = self._types, self._forms, self._names, self._functions
        return Checked(self._tree, *parts, tuple(self._problems))

    def _resolve(self, node: Node, local: frozenset[str]) -> None:
        """Resolve a node and those below it.

        Args:
            node: the node.
            local: variables of the loops around.
        """
        self._types[node.id] = DYN
        if isinstance(node, NameNode):
            self._name(node.id, node.name, local)
            return
        if isinstance(node, SelectNode) and self._environment.variable(qualified_name(node)):
            self._names[node.id] = qualified_name(node)
            return
        below: Iterable[Node] = children(node)
        if isinstance(node, FoldNode):
            self._resolve(node.range, local)
            self._resolve(node.start, local)
            local |= {node.accumulator}
            self._resolve(node.result, local)
            local |= {node.variable, node.second}
            below = (node.condition, node.step)
        elif isinstance(node, CallNode):
            below = self._call(node)
        for each in below:
            self._resolve(each, local)

    def _name(self, node: int, name: str, local: frozenset[str]) -> None:
        plain = name.removeprefix(".")
        named = self._environment.named_type(plain)
        if name not in local and not self._environment.variable(plain):
            if named is None:
                text = f"undeclared reference to '{name}' (in container '')"
                self._problems.append(Problem(self._tree.offsets.get(node, 0), text))
                return
            self._types[node] = type_of_type(named)
        self._names[node] = plain

    def _call(self, node: CallNode) -> Iterable[Node]:
        """Note the forms of a call, and return the nodes that remain to be resolved."""
        name, target = node.function, node.target
        if target is not None:
            whole = f"{qualified_name(target)}.{name}".removeprefix(".")
            if qualified_name(target) and self._environment.functions(whole):
                name, target = whole, None
                self._functions[node.id] = whole
        count = len(node.arguments) + (target is not None)
        self._forms[node.id] = tuple(
            form
            for form in self._environment.functions(name)
            if form.is_member is (target is not None) and len(form.arguments) == count
        )
        return node.arguments if target is None else (target, *node.arguments)
