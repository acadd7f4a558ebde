"""Names for profiles, from the code: named profiles, plugins, default filters and scores."""

from site_source import first_sentence

from stretto.framework.contract.rule import FilterRule, ScoreRule
from stretto.framework.plugins.table import DEFAULT_FILTERS, DEFAULT_SCORES, RULES
from stretto.framework.profile.profile import PROFILES, load_profile


def plugins() -> list[str]:
    """Every plugin: what it extends, its place in the default profile, its sentence."""
    lines = [
        "| plugin | filter | score | default weight | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, rule in RULES.items():
        filters = "default" if name in DEFAULT_FILTERS else "yes"
        cells = (
            f"`{name}`",
            filters if issubclass(rule, FilterRule) else "",
            ("default" if name in DEFAULT_SCORES else "yes") if issubclass(rule, ScoreRule) else "",
            str(DEFAULT_SCORES.get(name, "")),
            first_sentence(rule.__doc__).replace("|", "\\|"),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def profiles() -> list[str]:
    """Every named profile with its scores, tie rule and choice of devices."""
    lines = ["| profile | scores | ties | devices |", "| --- | --- | --- | --- |"]
    for name in PROFILES:
        found = load_profile(name)
        scores = ", ".join(f"`{rule.NAME}` ×{weight}" for rule, weight in found.scores)
        if found.exact:
            scores = "kube-scheduler's default plugins and weights"
        lines.append(
            f"| `{name}` | {scores} | `{found.ties.value}` | `{found.device_pick.name.lower()}` |"
        )
    return lines
