"""Python sources as Markdown: signatures, docstrings and field comments, without an import.

A docstring of Stretto is prose with code in backticks, which is Markdown already; only sections of
Google's style and doctests are converted.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sphinx.pycode import ModuleAnalyzer

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Example|Examples):$")
_ITEM = re.compile(r"^(\*{0,2}[\w.]+)(?: \([^)]*\))?: (.*)$")


@cache
def path_of(module: str) -> Path:
    """The file of a module."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"the documentation names module {module}, which does not exist")
    return Path(spec.origin)


@cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


@cache
def comments_of(module: str) -> dict[tuple[str, str], str]:
    """The ``#:`` comment of each field, by class and name."""
    analyzer = ModuleAnalyzer.for_file(path_of(module), module)
    analyzer.analyze()
    return {key: " ".join(lines).strip() for key, lines in analyzer.attr_docs.items()}


def first_sentence(text: str | None) -> str:
    """The first paragraph of a docstring in one line."""
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


def signature(function: Function, *, bound: bool) -> str:
    """Parameters and result as source text; ``bound`` drops the first parameter."""
    given = ast.parse(ast.unparse(function.args) and f"def f({ast.unparse(function.args)}): ...")
    arguments = given.body[0].args  # type: ignore[attr-defined]
    if bound and arguments.args:
        defaults = len(arguments.defaults)
        arguments.args = arguments.args[1:]
        arguments.defaults = arguments.defaults[-defaults:] if defaults else []
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({ast.unparse(arguments)}){returns}"


def markdown(docstring: str | None) -> list[str]:
    """A docstring as Markdown lines."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    return list(_blocks(lines))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if _SECTION.match(line):
            at += 1
            yield from ["", f"**{line[:-1]}**", ""]
            while at < len(lines) and (not lines[at] or lines[at].startswith(" ")):
                yield _item(lines[at])
                at += 1
            yield ""
        elif line.startswith(">>>"):
            yield "```pycon"
            while at < len(lines) and lines[at].strip():
                yield lines[at]
                at += 1
            yield "```"
        elif line.startswith("    "):
            yield from ["", "```text"]
            block = []
            while at < len(lines) and (not lines[at] or lines[at].startswith("    ")):
                block.append(lines[at][4:])
                at += 1
            yield from "\n".join(block).rstrip().splitlines()
            yield from ["```", ""]
        else:
            yield f"\\{line}" if line.startswith("#") else line
            at += 1


def _item(line: str) -> str:
    """A line of a section: an entry becomes an item of a list."""
    text = line[4:] if line.startswith("    ") else line.strip()
    match = _ITEM.match(text)
    if match:
        return f"- `{match[1]}`: {match[2]}"
    return f"  {text.strip()}" if text.strip() else ""
