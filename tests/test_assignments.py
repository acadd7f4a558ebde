"""No part assigns an attribute of another object after its construction.

Mutable records that a folder owns (units, queues, branches of the tree, pods of a view) are named
exceptions: only the folder that owns such a record may change it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_structure import functions

SOURCE = Path(__file__).resolve().parents[1] / "src" / "stretto"

#: Folder to the records, as its code names them, that it changes.
OWNED_RECORDS: dict[str, set[str]] = {
    "api/schema": {"context"},
    "cli": {"warnings"},  # showwarning is the library's hook for a program
    "cli/sources": {"scene"},
    "control/binder": {"self._cluster.changes"},
    "control/controllers": {
        "place",
        "reservations",
        "self._cluster.changes",
        "self._cluster.reservations",
    },
    "control/dispatcher": {
        "after",
        "before",
        "facts",
        "places",
        "queue",
        "self._places",
        "unit",
        "units",
    },
    "control/dispatcher/states": {"after", "before", "self.states", "unit"},
    "control/dispatcher/waiting": {"group", "turns", "unit", "unschedulable"},
    "control/eviction": {"nomination", "why"},
    "control/queues": {
        "above",
        "branch",
        "each",
        "position",
        "position.queue",
        "queue",
        "self._sibling_position(position.branch.parent)",
        "unit",
    },
    "control/scheduler": {"loop.runtime", "self.default.runtime"},
    "daemons/roles": {"known", "member", "unit"},
    "explain/why/sources": {"self.scene"},
    "framework/engine": {"self.ties"},
    "framework/kernels": {"array"},
    "framework/model": {"facts", "group", "tally"},
    "framework/preemption": {"self._others"},
    "framework/profile": {"array.flags", "made", "slots.flags"},
    "offers/allocator/cycle": {"visitor"},
    "offers/allocator/pool": {"pool"},
    "offers/allocator/sorting": {"leaf", "node"},
    "offers/messages": {"entry", "target"},
    "plane": {"unit", "work"},
    "sim/comparison": {"_Worker", "runtime.ties"},
    "sim/history": {"pod"},
    "state/queues": {"branch", "branch.own", "leaf", "self.leaf(name)", "self.root"},
    "stores/embedded": {"tally"},
    "stores/faulty": {"self._chance"},
    "stores/kube/login": {"context"},
    "stores/kube/transport": {"batch", "self._session"},
    "web/api/objects": {"call", "found"},
    "web/api/objects/recurring": {"call"},
    "web/api/subresources": {"call"},
    "web/api/verbs": {"call"},
    "web/dashboard": {"self._environment"},
    "web/local": {"each"},
    "web/views": {"scene"},
}
MOST = 290
"""Assignments to these records; the number may only fall."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
MAKERS = {"__new__", "copy", "new", "replace", "_replace"}


def made_in(function: Function) -> set[str]:
    """Names bound to objects that the function constructs."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            name = getattr(called, "id", None) or getattr(called, "attr", "")
            if name[:1].isupper() or name in MAKERS:
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def targets_of(node: ast.AST) -> Iterator[ast.expr]:
    """Return the targets of an assignment."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        yield node.target


def foreign_assignments(path: Path) -> set[tuple[int, str]]:
    """Line and target of each assignment to an attribute of an object made elsewhere."""
    found = set()
    for function in functions(path):
        outer = [
            (node.lineno, target)
            for node in ast.walk(function)
            for target in targets_of(node)
            if isinstance(target, ast.Attribute) and _root(target) not in ("self", "cls")
        ]
        made = made_in(function) if outer else set()
        found |= {(line, ast.unparse(each)) for line, each in outer if _root(each) not in made}
    return found


def _root(target: ast.Attribute) -> str:
    """The variable whose attribute a target is; empty for an attribute of an attribute."""
    return target.value.id if isinstance(target.value, ast.Name) else ""


@cache
def all_foreign() -> list[tuple[str, str, str]]:
    """Folder, place and record of every such assignment."""
    return [
        (
            path.parent.relative_to(SOURCE).as_posix(),
            f"{path.relative_to(SOURCE)}:{line}",
            target.rpartition(".")[0],
        )
        for path in sorted(SOURCE.rglob("*.py"))
        for line, target in foreign_assignments(path)
    ]


def test_only_the_owner_of_a_record_assigns_its_attributes() -> None:
    foreign = [
        f"{place} {record}"
        for folder, place, record in all_foreign()
        if record not in OWNED_RECORDS.get(folder, set())
    ]
    assert foreign == []


def test_assignments_to_records_do_not_grow() -> None:
    assert len(all_foreign()) <= MOST


def test_a_foreign_assignment_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(other):\n    other.parts.size = 1\n")
    assert foreign_assignments(tmp_path / "a.py") == {(2, "other.parts.size")}
