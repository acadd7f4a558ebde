"""Compilation checks of the rules in the schemas of CustomResourceDefinitions, and their costs.

The limits and the texts are those of ``apis/apiextensions/validation`` in kube-apiserver.
"""

from collections.abc import Container, Iterator
from typing import Any, Final, NamedTuple
from zlib import crc32

from stretto.api.checks.fields.errors import Errors, FieldError, forbidden, invalid
from stretto.api.checks.kinds.extension.definitions import version_parts
from stretto.api.checks.kinds.extension.internals import internal_rule
from stretto.api.checks.kinds.extension.schemas import compiled_schemas
from stretto.api.schema.structural import EMBEDDED
from stretto.api.wire.values import copied
from stretto.cel.estimates.estimating import estimate
from stretto.cel.estimates.ranges import MOST
from stretto.cel.language.types import BOOL, STRING
from stretto.cel.programs import CelError, Compiler, Program, stated
from stretto.web.api.cel.schemas import SchemaType, SchemaTypes, escaped

Json = dict[str, Any]

_RULES: Final = "x-kubernetes-validations"
_EXPRESSION_LIMIT: Final = 10_000_000
"""Maximum estimated cost of one rule."""
_TOTAL_LIMIT: Final = 100_000_000
"""Maximum estimated cost of all rules of a version."""
_MOST_NAMED: Final = 4
"""Rules that the error about the total names."""
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)
_PARTS: Final = frozenset({"additionalProperties", "items", "properties"})
"""Members that contain schemas of parts of a value."""


class _RulePlace(NamedTuple):
    """A schema, and what its ancestors determine for its rules."""

    #: The schema.
    schema: Json
    #: Its path.
    path: str
    #: Its type; ``None`` if it is built only when rules need it.
    kind: SchemaType | None
    #: Maximum number of values; ``None`` without a limit.
    most: int | None
    #: Path of the outer schema whose parts have no former value; empty without.
    old_at: str
    #: Name of the type, inside of an outer one; empty without a type.
    name: str = ""

    def stated(self, error: CelError) -> str:
        """Return an error of a rule; kube-apiserver gives the type of each rule its own name."""
        text = stated(error)
        return text.replace(self.name, _type_name(self.path)) if self.name else text


def definition_errors(item: Json, old: Json | None, compiler: Compiler) -> Iterator[FieldError]:
    """Yield the errors of the rules in a definition; old schemas may have expensive rules."""
    before = {each["name"]: each.get("schema") for each in _versions(old or {})}
    for path, name, version in version_parts(_versions(item)):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if name == "schema" and schema:
            is_old = before.get(version["name"], {}) == version.get("schema")
            rules = _VersionRules(compiler, is_old=is_old)
            yield from rules.errors(schema, f"{path}.openAPIV3Schema")


def without_refused(item: Json) -> Json:
    """Return a refused definition without the rules that kube-apiserver does not compile."""
    kept: Json = copied(item)
    for path, name, version in version_parts(_versions(kept)):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if name == "schema" and schema:
            where = f"{path}.openAPIV3Schema"
            _drop_rules(_RulePlace(schema, where, None, 1, ""), compiled_schemas(schema, where))
    return kept


def _drop_rules(place: _RulePlace, compiled: Container[str]) -> None:
    if place.path not in compiled:
        place.schema.pop(_RULES, None)
        for inner in _below(place):
            _drop_rules(inner, compiled)


def _versions(item: Json) -> list[Json]:
    return (item.get("spec") or {}).get("versions") or []


class _VersionRules:
    """The rules of the schema of one version."""

    def __init__(self, compiler: Compiler, *, is_old: bool) -> None:
        """Check the rules of a version.

        Args:
            compiler: compiler of the definition's expressions.
            is_old: whether the schema is unchanged; then single rules may exceed their limit.
        """
        self._compiler = compiler
        self._is_old = is_old
        self._types = SchemaTypes()
        self._total = 0
        self._costs: list[tuple[int, str]] = []
        self._estimates: dict[tuple[Program, SchemaType], int] = {}

    def errors(self, schema: Json, path: str) -> Iterator[FieldError]:
        """Yield the errors of all rules, and of their total cost."""
        yield from self._walk(_RulePlace({**schema, EMBEDDED: True}, path, None, 1, ""))
        if self._total > _TOTAL_LIMIT:
            for _, where in self._costs:
                text = "contributed to estimated rule cost total exceeding cost limit for entire"
                yield forbidden(where, f"{text} OpenAPIv3 schema")
            name = f"{_RULES} estimated rule cost total for entire OpenAPIv3 schema"
            yield forbidden(path, _excess(name, self._total, _TOTAL_LIMIT))

    def _walk(self, place: _RulePlace) -> Iterator[FieldError]:
        rules = place.schema.get(_RULES) or ()
        if rules and place.kind is None:
            is_root = bool(place.schema.get(EMBEDDED))
            name = _type_name(place.path)
            kind = self._types.of(place.schema, name, is_root=is_root)
            place = place._replace(kind=kind, name=name)
        for inner in _below(place):
            yield from self._walk(inner)
        for index, rule in enumerate(rules):
            if place.kind is not None:
                where = f"{place.path}.{_RULES}[{index}]"
                yield from self._rule(rule, where, place, place.kind)

    def _rule(
        self, rule: Json, path: str, place: _RulePlace, kind: SchemaType
    ) -> Iterator[FieldError]:
        text = rule.get("rule", "")
        if not text.strip():
            return
        optional = bool(rule.get("optionalOldSelf"))
        environment = self._types.environment(kind.kind, has_optional_old=optional)
        try:
            program = self._compiler.compiled(text, environment)
        except CelError as error:
            yield invalid(f"{path}.rule", internal_rule(rule), place.stated(error))
            yield from _former(rule, path, place, uses_old=False)
            return
        if program.kind != BOOL:
            detail = "cel expression must evaluate to a bool"
            yield invalid(f"{path}.rule", internal_rule(rule), detail)
            yield from _former(rule, path, place, uses_old=False)
            return
        count = kind.cardinality if place.most is None else place.most
        cost = min(self._cost(program, kind) * count, MOST)
        yield from self._expense(cost, f"{path}.rule", "estimated rule cost")
        if rule.get("messageExpression"):
            yield from self._message(rule, path, place, environment)
        yield from _former(rule, path, place, uses_old=program.reads("oldSelf"))

    def _message(
        self, rule: Json, path: str, place: _RulePlace, environment: Any
    ) -> Iterator[FieldError]:
        where = f"{path}.messageExpression"
        try:
            program = self._compiler.compiled(rule["messageExpression"], environment)
        except CelError as error:
            yield invalid(where, internal_rule(rule), f"messageExpression {place.stated(error)}")
            return
        if program.kind != STRING:
            detail = "messageExpression must evaluate to a string"
            yield invalid(where, internal_rule(rule), detail)
            return
        name = "estimated messageExpression cost"
        if place.kind is not None:
            yield from self._expense(self._cost(program, place.kind), where, name)

    def _cost(self, program: Program, kind: SchemaType) -> int:
        """Return the estimated cost of a program, once for each type of values."""
        found = self._estimates.get((program, kind))
        if found is None:
            found = estimate(program.checked, kind.limit)
            self._estimates[program, kind] = found
        return found

    def _expense(self, cost: int, path: str, name: str) -> Errors:
        """Count a cost, and return the error if it exceeds the limit of one expression."""
        self._total = min(self._total + cost, MOST)
        if cost >= _TOTAL_LIMIT // 100:
            self._costs = sorted([*self._costs, (cost, path)], key=lambda each: -each[0])
            del self._costs[_MOST_NAMED:]
        if self._is_old or cost <= _EXPRESSION_LIMIT:
            return []
        return [forbidden(path, _excess(name, cost, _EXPRESSION_LIMIT))]


def _excess(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    shown = "more than 100x" if factor > 100 else shown
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"


def _former(rule: Json, path: str, place: _RulePlace, *, uses_old: bool) -> Errors:
    """Return the error of a rule that may not read the former value, or does not."""
    if uses_old and place.old_at:
        text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        return [invalid(f"{path}.rule", rule["rule"], f"{text} {place.old_at}")]
    optional = rule.get("optionalOldSelf")
    if not uses_old and optional is not None:
        detail = "may not be set if oldSelf is not used in rule"
        return [invalid(f"{path}.optionalOldSelf", optional, detail)]
    return []


def _type_name(path: str) -> str:
    """Return the name of the type of a schema; kube-apiserver numbers types by the time."""
    return f"selfType{crc32(path.encode())}"


def _below(place: _RulePlace) -> Iterator[_RulePlace]:
    """Yield the schemas directly below a schema."""
    if _PARTS.isdisjoint(place.schema):
        return
    schema, path, kind = place.schema, place.path, place.kind
    count = _multiplied(place.most, schema)
    extra, items = schema.get("additionalProperties"), schema.get("items")
    inner = None if kind is None else kind.item
    if isinstance(extra, dict):
        where, name = f"{path}.additionalProperties", f"{place.name}.@elem"
        yield _RulePlace(extra, where, inner, count, place.old_at, name if inner else "")
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    old_at = place.old_at or (path if is_atomic else "")
    for name, each in sorted((schema.get("properties") or {}).items()):
        known = None if kind is None else kind.fields.get(escaped(name))
        where, shown = f"{path}.properties[{name}]", f"{place.name}.{escaped(name) or name}"
        yield _RulePlace(each, where, known, count, old_at, shown if known else "")
    if isinstance(items, dict):
        is_keyed = schema.get("x-kubernetes-list-type") == "map"
        old_at = place.old_at or ("" if is_keyed else path)
        where, name = f"{path}.items", f"{place.name}.@idx"
        yield _RulePlace(items, where, inner, count, old_at, name if inner else "")


def _multiplied(count: int | None, schema: Json) -> int | None:
    """Return the maximum number of values of the parts of a schema."""
    words = {"array": "maxItems"}
    if isinstance(schema.get("additionalProperties"), dict):
        words["object"] = "maxProperties"
    word = words.get(schema.get("type") or "")
    if count is None or word is None:
        return count
    most = schema.get(word)
    return None if most is None else min(count * max(int(most), 0), MOST)
