"""Reference of public modules: every public class, function and constant with its docstring."""

import ast
from collections.abc import Iterator

from site_source import Function, comments_of, first_sentence, markdown, signature, tree_of

#: Longest value of a constant that the reference shows.
VALUE_CHARS = 60


def module(name: str, *only: str) -> list[str]:
    """Markdown of one module; ``only`` limits it to some of its names."""
    tree = tree_of(name)
    lines = [f"## {name}", "", f":::{{py:module}} {name}", ":::", ""]
    lines += markdown(ast.get_docstring(tree, clean=False))
    for node in tree.body:
        if _is_public(node, only):
            lines += ["", *_entry(node, name)]
    return [*lines, ""]


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | Function):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _is_public(node: ast.stmt, only: tuple[str, ...]) -> bool:
    name = _name(node)
    return bool(name) and not name.startswith("_") and (not only or name in only)


def _entry(node: ast.stmt, module_name: str) -> Iterator[str]:
    where = _name(node)
    if isinstance(node, ast.ClassDef):
        yield from _class(node, where, module_name)
    elif isinstance(node, Function):
        yield f":::{{py:function}} {where}{signature(node, bound=False)}"
        yield from markdown(ast.get_docstring(node, clean=False))
        yield ":::"
    elif isinstance(node, ast.AnnAssign):
        value = ast.unparse(node.value) if node.value else ""
        yield f":::{{py:data}} {where}"
        if value and len(value) <= VALUE_CHARS:
            yield f":value: {value}"
        yield ""
        text = comments_of(module_name).get(("", _name(node)), "")
        yield first_sentence(text)
        yield ":::"


def _class(node: ast.ClassDef, where: str, module_name: str) -> Iterator[str]:
    maker = next((f for f in _functions(node) if f.name == "__init__"), None)
    given = signature(maker, bound=True).partition(" -> ")[0] if maker else ""
    kind = "exception" if node.name.endswith("Error") else "class"
    yield f"::::{{py:{kind}}} {where}{given}"
    yield from markdown(ast.get_docstring(node, clean=False))
    yield ""
    comments = comments_of(module_name)
    for field in node.body:
        yield from _field(field, comments, node.name)
    for function in _functions(node):
        if function.name.startswith("_"):
            continue
        marks = {ast.unparse(each) for each in function.decorator_list}
        is_property = bool(marks & {"property", "cached_property"})
        static = "staticmethod" in marks
        sign = "" if is_property else signature(function, bound=not static)
        yield ""
        yield f":::{{py:{'property' if is_property else 'method'}}} {function.name}{sign}"
        if is_property and function.returns:
            yield f":type: {ast.unparse(function.returns)}"
        if static or "classmethod" in marks:
            yield ":staticmethod:" if static else ":classmethod:"
        yield ""
        yield from markdown(ast.get_docstring(function, clean=False))
        yield ":::"
    yield "::::"


def _functions(node: ast.ClassDef) -> list[Function]:
    return [each for each in node.body if isinstance(each, Function)]


def _field(field: ast.stmt, comments: dict[tuple[str, str], str], owner: str) -> Iterator[str]:
    """An annotated field or an enum's member, with its comment."""
    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
        name, kind = field.target.id, ast.unparse(field.annotation)
    elif isinstance(field, ast.Assign) and isinstance(field.targets[0], ast.Name):
        name, kind = field.targets[0].id, ""
    else:
        return
    if name.startswith("_"):
        return
    value = ast.unparse(field.value) if field.value is not None else ""
    yield ""
    yield f":::{{py:attribute}} {name}"
    if kind:
        yield f":type: {kind}"
    if value and len(value) <= VALUE_CHARS:
        yield f":value: {value}"
    yield ""
    yield comments.get((owner, name), "")
    yield ":::"
