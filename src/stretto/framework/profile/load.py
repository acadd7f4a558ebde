"""Rules from outside the package: from a given file, or installed under an entry point.

A file contains classes that subclass ``FilterRule``, ``ScoreRule`` or both; a profile enables each
by its ``NAME``. An installed package offers its rules under the entry point group
``stretto.plugins``, each by the rule's name. A rule that cannot be loaded fails only profiles that
use it.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.base.registry import Registry
from stretto.framework.contract.rule import FilterRule, Rule, Scope, ScoreRule
from stretto.framework.plugins.table import RULES

GROUP: Final = "stretto.plugins"
"""Entry point group of installed rules."""


def known_rules(files: Sequence[Path] = ()) -> Registry[type[Rule]]:
    """Every rule that a profile may name: built-in, installed, and those of some files.

    Raises:
        InputError: a file cannot be loaded or contains no rule, or a name is already used.
    """
    found: dict[str, type[Rule]] = {}
    for entry in entry_points(group=GROUP):
        _add(found, entry.name, _installed(entry), f"entry point {entry.name}")
    for path in files:
        for rule in rules_of_file(path):
            _add(found, rule.NAME, rule, f"--plugin {path}")
    return RULES.merged(found)


def _add(found: dict[str, type[Rule]], name: str, rule: type[Rule], where: str) -> None:
    if name in found or name in RULES:
        raise InputError(where, name, "a rule with a name of its own", "change its NAME")
    found[name] = rule


# ---------------------------------------------------------------- files


def rules_of_file(path: Path) -> list[type[Rule]]:
    """Rules that a Python file defines, in the order of the file.

    Raises:
        InputError: the file cannot be read or run, contains no rule, or contains an incomplete one.
    """
    where = f"--plugin {path}"
    if not path.is_file():
        raise InputError(where, None, "a file of Python", "name the file that holds the rules")
    module = _module(path, where)
    made = [value for value in vars(module).values() if _is_own(value, module)]
    if not made:
        expected = "a class that subclasses FilterRule or ScoreRule"
        raise InputError(where, None, expected, "the built-in ones: stretto rules")
    for rule in made:
        _check(rule, where)
    return made


def _module(path: Path, where: str) -> ModuleType:
    """Run a file as a separate module."""
    digest = hashlib.blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()
    name = f"stretto_rules_{path.stem}_{digest}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(where, path.name, "a file of Python", "its name must end in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise InputError(where, _at(error, path), "a file that can be loaded") from error
    return module


def _at(error: BaseException, path: Path) -> str:
    """Format an error with the line of the file that caused it."""
    line = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    message = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
    return f"{message} (line {line})" if line else message


def _is_own(value: object, module: ModuleType) -> bool:
    """Return whether a value is a rule that this file defines."""
    return (
        isinstance(value, type)
        and issubclass(value, FilterRule | ScoreRule)
        and value.__module__ == module.__name__
        and not value.__name__.startswith("_")
    )


def _check(rule: type[Rule], where: str) -> None:
    """Refuse an incomplete rule."""
    place = f"{where}: class {rule.__name__}"
    name, scope = getattr(rule, "NAME", None), getattr(rule, "SCOPE", None)
    if not isinstance(name, str) or not name:
        raise InputError(f"{place}: NAME", name, "the name that profiles use")
    if not isinstance(scope, Scope):
        expected = "Scope.STATIC, Scope.SLOT or Scope.DOMAIN"
        raise InputError(f"{place}: SCOPE", scope, expected, "declare what its answer depends on")
    if inspect.isabstract(rule):
        missing = ", ".join(sorted(rule.__abstractmethods__))
        raise InputError(place, f"no {missing}", f"the function {missing}", "write it")


# ---------------------------------------------------------------- installed


def _installed(entry: EntryPoint) -> type[Rule]:
    """Return the rule of an entry point.

    A rule that cannot be loaded is refused when it is used.
    """
    where = f"entry point {entry.name} = {entry.value}"
    try:
        rule = entry.load()
        if not (isinstance(rule, type) and issubclass(rule, FilterRule | ScoreRule)):
            expected = "a class that subclasses FilterRule or ScoreRule"
            raise InputError(where, type(rule).__name__, expected)
        _check(rule, where)
        if entry.name != rule.NAME:
            raise InputError(where, rule.NAME, f"a rule of the name {entry.name!r}")
    except (Exception, SystemExit) as error:  # noqa: BLE001
        message = error if isinstance(error, InputError) else None
        return _broken(entry.name, message or InputError(where, _at(error, Path()), "a rule"))
    return rule


def _broken(name: str, error: InputError) -> type[Rule]:
    """Return a stand-in for a rule that cannot be loaded."""

    class Broken(FilterRule, ScoreRule):
        NAME = name
        SCOPE = Scope.STATIC

        def __init__(self, args: Mapping[str, Any]) -> None:
            raise error

        def filter(self, *_: Any) -> Any:
            raise error

        def score(self, *_: Any) -> Any:
            raise error

    return Broken


def unused(files: Sequence[Path], names: Sequence[str]) -> Iterator[str]:
    """Rules of some files that a profile with these rules does not name."""
    for path in files:
        yield from (rule.NAME for rule in rules_of_file(path) if rule.NAME not in names)
