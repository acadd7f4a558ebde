"""The form of a profile: KubeSchedulerConfiguration v1, strictly read into names and settings.

Keys of kube-scheduler that Stretto does not need (leader election, client connection and the like
belong to the process) are accepted with a note. Unknown keys are refused with their path and the
nearest name. Stretto's own settings are under ``stretto`` in a profile.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError, UnknownNameError
from stretto.base.registry import Registry
from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import FilterRule, Rule, Scope, ScoreRule
from stretto.framework.plugins.table import DEFAULT_FILTERS, DEFAULT_SCORES
from stretto.state.cluster.config import SCHEDULER_NAME

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
WEIGHT_LIMIT: Final = 319
"""Largest sum of weights: score rows are int16, which can represent 100 × 319 and a sign."""
_PASSIVE: Final = (
    "clientConnection",
    "delayCacheUntilActive",
    "enableContentionProfiling",
    "enableProfiling",
    "leaderElection",
    "parallelism",
)
"""Keys of kube-scheduler that have no effect here: they belong to the process."""
PERCENTAGE: Final = "percentageOfNodesToScore"
"""Key for all profiles or one: the percentage of nodes to evaluate per pod."""
_BACKOFF: Final[Mapping[str, str]] = {
    "podInitialBackoffSeconds": "initialSeconds",
    "podMaxBackoffSeconds": "maxSeconds",
}
"""kube-scheduler's back-off keys, and their names under ``stretto: backoff``."""
_TOP: Final = ("apiVersion", "kind", "profiles", "extenders", PERCENTAGE, *_BACKOFF, *_PASSIVE)
_PROFILE: Final = (
    "schedulerName",
    PERCENTAGE,
    "plugins",
    "pluginConfig",
    "stretto",
)
_OURS: Final[Mapping[str, str]] = {
    "preFilter": "filter",
    "filter": "filter",
    "preScore": "score",
    "score": "score",
}
"""Extension points of rules. A rule is prepared when it is used, so two points count as one."""
_OTHERS: Final = (
    "preEnqueue",
    "queueSort",
    "postFilter",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
"""Extension points of kube-scheduler that rules cannot extend: Stretto implements them itself."""


class ProfileForm(msgspec.Struct, frozen=True):
    """One profile, by names."""

    #: The scheduler's name in pods.
    scheduler_name: str = SCHEDULER_NAME
    #: Names of the filters, in order.
    filters: tuple[str, ...] = ()
    #: Names of the scores with their weights.
    scores: tuple[tuple[str, int], ...] = ()
    #: Arguments by rule, with their path for messages.
    arguments: Mapping[str, tuple[str, Any]] = {}
    #: Stretto's own settings, as written.
    own: Any = None
    #: Path of these settings.
    where: str = ""
    #: kube-scheduler's back-off delays, if given: defaults of Stretto's.
    backoff: Mapping[str, Any] = {}
    #: Percentage of nodes to evaluate, as written; ``None`` for none.
    percentage: Any = None
    #: Path of the percentage.
    percentage_at: str = ""
    #: Keys that were read and have no effect here.
    notes: tuple[str, ...] = ()
    #: True if the profile gives rules or their arguments.
    names_rules: bool = False


def read_forms(value: Any, where: str, rules: Registry[type[Rule]]) -> list[ProfileForm]:
    """Read the profiles of a configuration; an empty configuration is the default profile.

    Raises:
        InputError: a value has the wrong form or is not supported; the message contains its path.
        UnknownNameError: a key or a plugin is unknown; the message contains the nearest name.
    """
    top = read.mapping(value, _TOP, where)
    for key, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if top.get(key, expected) != expected:
            raise InputError(f"{where}: {key}", top[key], expected)
    if top.get("extenders"):
        hint = "write the extender as a plugin"
        raise InputError(f"{where}: extenders", top["extenders"], "no extender", hint)
    notes = tuple(f"{key} has no effect" for key in _PASSIVE if key in top)
    backoff = {ours: top[key] for key, ours in _BACKOFF.items() if key in top}
    items = read.sequence(top.get("profiles"), f"{where}: profiles") or ({},)
    forms = [
        _ProfileReader(rules, f"{where}: profiles[{i}]").read(item, backoff, notes)
        for i, item in enumerate(items)
    ]
    if PERCENTAGE not in top:
        return forms
    of_all = {"percentage": top[PERCENTAGE], "percentage_at": f"{where}: {PERCENTAGE}"}
    return [
        msgspec.structs.replace(form, **of_all) if form.percentage is None else form
        for form in forms
    ]


class _ProfileReader:
    """Reads one profile."""

    def __init__(self, rules: Registry[type[Rule]], where: str) -> None:
        self._rules = rules
        self._where = where
        self._filters = {name: 0 for name in DEFAULT_FILTERS if name in rules}
        self._scores = {name: w for name, w in DEFAULT_SCORES.items() if name in rules}
        self._disabled_at: dict[str, str] = {}
        self._notes: list[str] = []

    def read(self, value: Any, backoff: Mapping[str, Any], notes: tuple[str, ...]) -> ProfileForm:
        """Read the form of the profile."""
        profile = read.mapping(value, _PROFILE, self._where)
        name = profile.get("schedulerName", SCHEDULER_NAME)
        self._read_plugins(profile.get("plugins"))
        self._check_needed()
        self._check_weights()
        notes = (*notes, *dict.fromkeys(self._notes))
        return ProfileForm(
            scheduler_name=read.text(name, f"{self._where}.schedulerName"),
            filters=tuple(self._filters),
            scores=tuple(self._scores.items()),
            arguments=self._read_arguments(profile.get("pluginConfig")),
            own=profile.get("stretto"),
            where=f"{self._where}.stretto",
            backoff=backoff,
            percentage=profile.get(PERCENTAGE),
            percentage_at=f"{self._where}.{PERCENTAGE}",
            notes=notes,
            names_rules=bool(profile.get("plugins") or profile.get("pluginConfig")),
        )

    def _read_plugins(self, value: Any) -> None:
        where = f"{self._where}.plugins"
        points = read.mapping(value, ("multiPoint", *_OURS, *_OTHERS), where)
        for point in ("multiPoint", *_OURS):
            if point in points:
                self._read_point(point, points[point], f"{where}.{point}")
        for point in _OTHERS:
            entry = read.mapping(points.get(point), ("enabled", "disabled"), f"{where}.{point}")
            if entry.get("enabled"):
                hint = f"rules extend {', '.join(_OURS)}"
                expected = "no plugin: Stretto does this step itself"
                raise InputError(f"{where}.{point}.enabled", entry["enabled"], expected, hint)

    def _read_point(self, point: str, value: Any, where: str) -> None:
        entry = read.mapping(value, ("enabled", "disabled"), where)
        sides = ("filter", "score") if point == "multiPoint" else (_OURS[point],)
        for name, _, place in self._entries(entry.get("disabled"), f"{where}.disabled"):
            for side in sides:
                table = self._filters if side == "filter" else self._scores
                gone = [name] if name != "*" else list(table)
                if name != "*" and self._rules.get(name).PERMANENT:
                    self._notes.append(f"{place} has no effect: {name} stays")
                for each in gone:
                    if self._rules.get(each).PERMANENT:
                        continue
                    table.pop(each, None)
                    if side == "filter":
                        self._disabled_at[each] = place
        for name, weight, place in self._entries(entry.get("enabled"), f"{where}.enabled"):
            self._enable(name, weight, sides, place)

    def _enable(self, name: str, weight: int, sides: Sequence[str], place: str) -> None:
        if name == "*":
            raise InputError(place, name, "the name of a plugin")
        rule = self._rules.get(name)
        extends = [s for s in sides if issubclass(rule, FilterRule if s == "filter" else ScoreRule)]
        if not extends:
            raise InputError(place, name, f"a plugin that extends {sides[0]}")
        if "filter" in extends:
            self._filters.setdefault(name, 0)
        if "score" in extends:
            self._scores[name] = weight or self._scores.get(name) or rule.WEIGHT

    def _entries(self, value: Any, where: str) -> list[tuple[str, int, str]]:
        """(name, weight, path) of a list of plugins; the weight is 0 if none is given."""
        found = []
        for i, item in enumerate(read.sequence(value, where)):
            place = f"{where}[{i}]"
            entry = read.mapping(item, ("name", "weight"), place)
            name = read.text(entry.get("name"), f"{place}.name")
            if name != "*" and name not in self._rules:
                raise UnknownNameError(f"plugin at {place}.name", name, self._rules)
            weight = read.whole(entry.get("weight", 0), 0, WEIGHT_LIMIT, f"{place}.weight")
            found.append((name, weight, f"{place}.name"))
        return found

    def _check_needed(self) -> None:
        """Refuse profiles that disable a filter which prevents over-commitment."""
        for name, rule in self._rules.items():
            needed = issubclass(rule, FilterRule) and rule.FUSED and rule.SCOPE is Scope.SLOT
            if needed and name not in self._filters:
                expected = f"the filter {name} to stay: without it nodes would be over-committed"
                place = self._disabled_at.get(name, f"{self._where}.plugins")
                raise InputError(place, name, expected, "to drop its score, disable it at score")

    def _check_weights(self) -> None:
        total = sum(self._scores.values())
        if total > WEIGHT_LIMIT:
            place = f"{self._where}.plugins.score"
            raise InputError(
                place,
                f"weights that add to {total}",
                f"at most {WEIGHT_LIMIT} in all (scores are kept in 16 bits)",
                "divide all weights by the same number",
            )

    def _read_arguments(self, value: Any) -> dict[str, tuple[str, Any]]:
        where = f"{self._where}.pluginConfig"
        found: dict[str, tuple[str, Any]] = {}
        for i, item in enumerate(read.sequence(value, where)):
            place = f"{where}[{i}]"
            entry = read.mapping(item, ("name", "args"), place)
            name = read.text(entry.get("name"), f"{place}.name")
            if name not in self._rules:
                raise UnknownNameError(f"plugin at {place}.name", name, self._rules)
            if name in found:
                raise InputError(f"{place}.name", name, "each plugin once")
            found[name] = (f"{place}.args", entry.get("args") or {})
        return found
