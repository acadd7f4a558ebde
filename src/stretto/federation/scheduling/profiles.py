"""Conversion of a SchedulingProfile to the plugins of each stage."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from stretto.api.types.federation.objects import (
    PluginConfig,
    PluginSet,
    SchedulingPlugin,
    SchedulingProfileSpec,
)
from stretto.base.errors import InputError, UnknownNameError
from stretto.federation.scheduling.filters import FILTERS
from stretto.federation.scheduling.plugins import (
    BUILT_IN,
    DEFAULT,
    ClusterPlugins,
    ClusterProfile,
)
from stretto.federation.scheduling.replicas.kubeadmiral import DIVIDERS
from stretto.federation.scheduling.scores import (
    SCORES,
    CapacityPart,
    ClusterScore,
    allocation,
    free_part,
    used_part,
)
from stretto.federation.scheduling.selectors import SELECTORS

WEBHOOK: Final = "Webhook"
"""Type of a plugin that runs on another server."""
_ALL: Final = "*"
_PARTS: Final[Mapping[str, CapacityPart]] = {
    "ClusterResourcesLeastAllocated": free_part,
    "ClusterResourcesMostAllocated": used_part,
}
"""Scores with arguments, and the part of the capacity that each one scores."""


class ResourceWeight(msgspec.Struct, frozen=True):
    """The weight of one resource."""

    #: Name of the resource.
    name: str
    #: Its weight; 0 excludes the resource.
    weight: int = 1


class AllocationArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the scores for free and used capacity."""

    #: Weights of resources; other resources have weight 1.
    resources: tuple[ResourceWeight, ...] = ()


def webhook_name(configuration: str) -> str:
    """The name of a webhook's plugin in a profile."""
    return f"webhook/{configuration}"


def webhooks_of(spec: SchedulingProfileSpec) -> dict[str, list[str]]:
    """The stages for which a profile uses each webhook configuration, by its name."""
    found: dict[str, list[str]] = {}
    for stage, changes in _stages(spec):
        for each in changes.enabled:
            if each.type == WEBHOOK:
                found.setdefault(each.name, []).append(stage)
    return found


def _stages(spec: SchedulingProfileSpec) -> Iterator[tuple[str, PluginSet]]:
    """The changes of each stage, by its name in the profile."""
    plugins = spec.plugins
    if plugins is not None:
        yield "filter", plugins.filter
        yield "score", plugins.score
        yield "select", plugins.select
        yield "replicas", plugins.replicas


def disabled_in_vain(spec: SchedulingProfileSpec) -> Iterator[str]:
    """Unknown plugins that a profile disables, each with a remedy."""
    known = {
        "filter": FILTERS,
        "score": SCORES,
        "select": SELECTORS,
        "replicas": DIVIDERS,
    }
    for stage, changes in _stages(spec):
        for each in changes.disabled:
            if each.name not in (_ALL, *known[stage]) and each.type != WEBHOOK:
                error = UnknownNameError(f"{stage} plugin", each.name, sorted(known[stage]))
                yield f"plugins.{stage}.disabled: {error}"


def profile_of(
    spec: SchedulingProfileSpec | None, plugins: ClusterPlugins = BUILT_IN
) -> ClusterProfile:
    """The plugins of a profile; the default plugins without a profile.

    Args:
        spec: the profile.
        plugins: all plugins by name, with those of its webhooks.

    Raises:
        UnknownNameError: a plugin is unknown, or has no arguments.
        InputError: the arguments of a plugin are malformed.
    """
    if spec is None:
        return DEFAULT
    plugins = plugins.extended(_configured(spec.plugin_config))
    if spec.plugins is None:
        return replace(DEFAULT, plugins=plugins)
    stages = spec.plugins
    for stage, changes in _stages(spec):
        for each in changes.enabled:
            _check(stage, each)
    return ClusterProfile(
        _changed(DEFAULT.filters, stages.filter),
        _changed(DEFAULT.scores, stages.score),
        _changed(DEFAULT.selectors, stages.select),
        {_name(each): each.weight for each in stages.score.enabled if each.weight},
        _divider(stages.replicas),
        plugins,
    )


def _check(stage: str, plugin: SchedulingPlugin) -> None:
    """Refuse a plugin with an unknown type or a negative weight."""
    where = f"plugins.{stage}.enabled: {plugin.name}"
    if plugin.type not in ("", WEBHOOK):
        raise InputError(f"{where}: type", plugin.type, f"{WEBHOOK}, or nothing if it is built in")
    if plugin.weight < 0:
        raise InputError(f"{where}: wait", plugin.weight, "a weight of 0 or more")


def _divider(changes: PluginSet) -> str:
    """The name of the plugin that divides replicas; empty for the default.

    Raises:
        InputError: several plugins are enabled.
    """
    enabled = [_name(each) for each in changes.enabled]
    if len(enabled) > 1:
        raise InputError("plugins.replicas.enabled", ", ".join(enabled), "at most one plugin")
    return enabled[0] if enabled else ""


def _changed(names: Sequence[str], changes: PluginSet) -> tuple[str, ...]:
    """Default plugins without the disabled ones, then the enabled ones."""
    disabled = {each.name for each in changes.disabled}
    kept = () if _ALL in disabled else tuple(name for name in names if name not in disabled)
    return kept + tuple(name for each in changes.enabled if (name := _name(each)) not in kept)


def _name(plugin: SchedulingPlugin) -> str:
    return webhook_name(plugin.name) if plugin.type == WEBHOOK else plugin.name


def _configured(configs: Iterable[PluginConfig]) -> ClusterPlugins:
    """The plugins that have arguments."""
    scores = {each.name: _score(each) for each in configs}
    return ClusterPlugins({}, scores, {}, {})


def _score(config: PluginConfig) -> ClusterScore:
    """A score with its arguments."""
    part = _PARTS.get(config.name)
    if part is None:
        raise UnknownNameError("plugin with arguments", config.name, _PARTS, "pluginConfig")
    where = f"pluginConfig of {config.name}"
    text = config.args if isinstance(config.args, msgspec.Raw) else b"{}"
    try:
        found = msgspec.json.decode(text, type=AllocationArgs)
    except msgspec.DecodeError as error:
        raise InputError(
            where, bytes(text).decode(), f"resources with weights ({error})"
        ) from error
    for each in found.resources:
        if each.weight < 0:
            raise InputError(f"{where}: weight of {each.name}", each.weight, "0 or more")
    return ClusterScore(allocation(part, {each.name: each.weight for each in found.resources}))
