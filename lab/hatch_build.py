"""Build hook: the wheel takes the package from ``../src``; an editable install points there."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LabHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the laboratory's package to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include ``src/stretto_lab`` in a standard wheel."""
        if version == "standard":
            build_data["force_include"]["../src/stretto_lab"] = "stretto_lab"
