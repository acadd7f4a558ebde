"""``stretto profiles``, ``policies`` and ``rules``: the names that a configuration can use."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from stretto.base.errors import UnknownNameError
from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.output import formats
from stretto.cli.output.formats import ListColumn

if TYPE_CHECKING:
    from stretto.explain.inventory.catalog import PolicyRow, ProfileRow, RuleRow

    Row = TypeVar("Row", ProfileRow, PolicyRow, RuleRow)

SHOW: Final = "show"
"""Optional word before a name."""
_NAME: Final = click.argument(
    "words", nargs=-1, metavar="[show NAME]", shell_complete=options.completes("profiles")
)
_RULE: Final = click.argument(
    "words", nargs=-1, metavar="[show NAME]", shell_complete=options.completes("rules")
)


@dataclass(frozen=True)
class CatalogOptions:
    """Options of ``profiles`` and ``policies``."""

    #: ``show`` and a name, a name, or nothing.
    words: tuple[str, ...]
    #: Output format.
    output: str

    @property
    def name(self) -> str:
        """Name to show; empty lists all.

        Raises:
            UsageError: there are too many words.
        """
        words = self.words[1:] if self.words[:1] == (SHOW,) else self.words
        if len(words) > 1 or (self.words and not words):
            raise click.UsageError("Expected `show NAME`.", click.get_current_context())
        return words[0] if words else ""


@dataclass(frozen=True)
class RulesOptions(CatalogOptions):
    """Options of ``rules``."""

    #: Files with additional rules to list.
    plugin: tuple[Path, ...]


@options.command(
    "profiles",
    CatalogOptions,
    example="""
        stretto profiles
        stretto profiles show packing
    """,
)
@_NAME
@formats.OUTPUT
def profiles(common: CommandContext, opts: CatalogOptions) -> None:
    """List the built-in profiles, or show the rules and the configuration of one."""
    import msgspec

    from stretto.explain.inventory.catalog import ProfileList, profile_rows

    rows = profile_rows().items
    if opts.name:
        rows = (_found("profile", opts.name, rows),)
    columns = [
        ListColumn("profile", [each.name for each in rows]),
        ListColumn("what it does", [each.sentence for each in rows]),
    ]
    fields = msgspec.to_builtins(ProfileList(rows))
    if opts.name and opts.output == "table":
        _show_profile(common.console, rows[0])
        common.console.json("stretto.profiles/v1", fields)
        return
    _write(common.console, opts, columns, ("stretto.profiles/v1", fields))
    if not opts.name:
        common.console.note("stretto profiles show NAME lists the rules of one")


@options.command(
    "policies",
    CatalogOptions,
    example="""
        stretto policies
        stretto policies show fgd
    """,
)
@_NAME
@formats.OUTPUT
def policies(common: CommandContext, opts: CatalogOptions) -> None:
    """List the policies: of scoring (--policy), queues, dispatch to shards, and forecasts."""
    import msgspec

    from stretto.explain.inventory.catalog import PolicyList, policy_rows

    rows = policy_rows().items
    if opts.name:
        first = _found("policy", opts.name, rows)
        rows = tuple(each for each in rows if each.name == first.name)
    columns = [
        ListColumn("policy", [each.name for each in rows]),
        ListColumn("named in", [each.where for each in rows]),
        ListColumn("what it does", [each.sentence for each in rows]),
    ]
    fields = msgspec.to_builtins(PolicyList(rows))
    _write(common.console, opts, columns, ("stretto.policies/v1", fields))


@options.command(
    "rules",
    RulesOptions,
    example="""
        stretto rules
        stretto rules show TaintToleration
        stretto rules --plugin examples/plugins/rack_power.py
    """,
)
@_RULE
@options.PLUGIN
@formats.OUTPUT
def rules(common: CommandContext, opts: RulesOptions) -> None:
    """List the rules that a profile may name: filters and scores, with their weights.

    Rules of plugin files (--plugin) and of installed packages are listed too.
    """
    import msgspec

    from stretto.explain.inventory.catalog import RuleList, rule_rows
    from stretto.framework.profile.load import known_rules

    known = known_rules(opts.plugin)
    rows = rule_rows(known.get(name) for name in known).items
    if opts.name:
        rows = (_found("rule", opts.name, rows),)
    columns = [
        ListColumn("rule", [each.name for each in rows]),
        ListColumn("kind", [each.kind for each in rows], 1),
        ListColumn("default", ["yes" if each.default else "no" for each in rows], 2),
        ListColumn("weight", [each.weight or None for each in rows], 3),
        ListColumn("what it does", [each.sentence for each in rows]),
    ]
    _write(common.console, opts, columns, ("stretto.rules/v1", msgspec.to_builtins(RuleList(rows))))


def _write(
    console: Console,
    opts: CatalogOptions,
    columns: Sequence[ListColumn],
    document: tuple[str, dict[str, object]],
) -> None:
    """Write a list whose first column is the name; ``document`` is the schema and the fields."""
    formats.check_format(opts.output)
    names = [str(cell) for cell in columns[0].cells]
    formats.write_list(console, opts.output, formats.ListedRows(columns, names, *document))


def _found(kind: str, name: str, rows: "Sequence[Row]") -> "Row":
    """Return the row with a name.

    Raises:
        UnknownNameError: no row has the name.
    """
    for each in rows:
        if each.name == name:
            return each
    raise UnknownNameError(kind, name, [each.name for each in rows])


def _show_profile(console: Console, row: "ProfileRow") -> None:
    """Write the rules, the settings and the configuration of a profile."""
    import yaml

    console.data(f"{row.name}: {row.sentence}")
    console.data(f"ties: {row.ties}; devices: {row.devices}")
    if row.filters:
        console.table(["filter"], [(name,) for name in row.filters])
        console.table(["score", "weight"], [(each.rule, each.weight) for each in row.scores])
    console.data("\nAs a file:")
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    body = row.configuration or {"profiles": [{}]}
    console.data(yaml.safe_dump({**head, **body}, sort_keys=False).rstrip("\n"))
