"""From a SchedulingProfile to the plugins of each stage."""

from collections.abc import Iterable, Mapping, Sequence
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
from stretto.federation.scheduling.plugins import (
    BUILT_IN,
    DEFAULT,
    ClusterPlugins,
    ClusterProfile,
)
from stretto.federation.scheduling.scores import (
    CapacityPart,
    ClusterScore,
    allocation,
    free_part,
    used_part,
)

WEBHOOK: Final = "Webhook"
"""Type of a plugin that runs on another server."""
_ALL: Final = "*"
_PARTS: Final[Mapping[str, CapacityPart]] = {
    "ClusterResourcesLeastAllocated": free_part,
    "ClusterResourcesMostAllocated": used_part,
}
"""Scores that take arguments, with the part of the capacity that gives points."""


class ResourceWeight(msgspec.Struct, frozen=True):
    """The weight of one resource."""

    #: Name of the resource.
    name: str
    #: Its weight; 0 leaves the resource out.
    weight: int = 1


class AllocationArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the scores of free and used capacity."""

    #: Weights of resources; others have 1.
    resources: tuple[ResourceWeight, ...] = ()


def webhook_name(configuration: str) -> str:
    """The name in a profile of the plugin of a webhook."""
    return f"webhook/{configuration}"


def webhooks_of(spec: SchedulingProfileSpec) -> set[str]:
    """Names of the webhook configurations that a profile uses."""
    if spec.plugins is None:
        return set()
    plugins = spec.plugins
    stages = plugins.filter, plugins.score, plugins.select, plugins.replicas
    return {each.name for stage in stages for each in stage.enabled if each.type == WEBHOOK}


def profile_of(
    spec: SchedulingProfileSpec | None, plugins: ClusterPlugins = BUILT_IN
) -> ClusterProfile:
    """The plugins of a profile; those of the default without one.

    Args:
        spec: the profile.
        plugins: all plugins by name, with those of its webhooks.

    Raises:
        UnknownNameError: a plugin is unknown, or takes no arguments.
        InputError: the arguments of a plugin are malformed.
    """
    if spec is None:
        return DEFAULT
    plugins = plugins.extended(_configured(spec.plugin_config))
    if spec.plugins is None:
        return replace(DEFAULT, plugins=plugins)
    stages = spec.plugins
    return ClusterProfile(
        _changed(DEFAULT.filters, stages.filter),
        _changed(DEFAULT.scores, stages.score),
        _changed(DEFAULT.selectors, stages.select),
        {_name(each): each.weight for each in stages.score.enabled if each.weight},
        _divider(stages.replicas),
        plugins,
    )


def _divider(changes: PluginSet) -> str:
    """The name of the plugin that divides replicas; empty for the default.

    Raises:
        InputError: several are enabled.
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
