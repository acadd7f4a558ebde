"""What a command says of rules from outside: which take no part, what went wrong, what it cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli.console import Console

if TYPE_CHECKING:
    from stretto.framework.profile.profile import Profile


def warn_unused(console: Console, files: Sequence[Path], profile: "Profile") -> None:
    """Warn of rules that were given and that the profile does not name."""
    from stretto.framework.profile.load import unused

    named = [rule.NAME for rule in profile.outside]
    for name in unused(files, named) if files else ():
        console.warn(
            f"rule {name} takes no part: the profile does not name it "
            f"(plugins: {{score: {{enabled: [{{name: {name}}}]}}}}, or filter)"
        )


def tell(console: Console, profile: "Profile") -> None:
    """Warn of what rules did wrong; with ``-v`` say what each cost."""
    for rule in profile.outside:
        health = rule.health
        for complaint in health.complaints():
            console.warn(complaint)
        per_slot = 1e6 * health.seconds / max(1, health.slots)
        console.detail(
            f"rule {health.name}: {health.calls:,} calls, {health.slots:,} slots, "
            f"{health.seconds:,.3f} s, {per_slot:,.2f} µs a slot"
        )
