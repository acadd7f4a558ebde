"""Messages about plugin rules: rules that the profile does not use, faults and costs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.framework.profile.profile import Profile


def warn_unused(console: Console, files: Sequence[Path], profile: "Profile") -> None:
    """Warn about plugin rules that the profile does not name."""
    from stretto.framework.profile.load import unused

    named = [rule.NAME for rule in profile.outside]
    for name in unused(files, named) if files else ():
        console.warn(
            f"rule {name} is not used: the profile does not name it "
            f"(plugins: {{score: {{enabled: [{{name: {name}}}]}}}}, or filter)"
        )


def report_health(console: Console, profile: "Profile") -> None:
    """Warn about faults of plugin rules; with ``-v`` also write their cost."""
    for rule in profile.outside:
        health = rule.health
        for complaint in health.complaints():
            console.warn(complaint)
        per_slot = 1e6 * health.seconds / max(1, health.slots)
        console.detail(
            f"rule {health.name}: {format_count(health.calls, 'call')}, "
            f"{format_count(health.slots, 'slot')}, "
            f"{health.seconds:,.3f} s, {per_slot:,.2f} µs per slot"
        )
