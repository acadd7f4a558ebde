"""``stretto examples``: the scenarios that come with the package."""

from dataclasses import dataclass

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.output import formats


@dataclass(frozen=True)
class ExamplesOptions:
    """Options of ``examples``."""

    #: The example to print; empty lists all.
    name: str
    #: Output format of the list.
    output: str


@options.command(
    "examples",
    ExamplesOptions,
    example="""
        stretto examples
        stretto examples quickstart
        stretto examples -o json
        stretto run quickstart
    """,
)
@click.argument("name", required=False, default="", shell_complete=options.completes("examples"))
@formats.OUTPUT
def examples(common: CommandContext, opts: ExamplesOptions) -> None:
    """List the bundled example scenarios, or print one.

    `stretto run NAME` runs an example.
    """
    import msgspec

    from stretto.cli.bundled.examples import example_names, example_path, examples_folder, summary
    from stretto.cli.output.documents import (
        ExampleDocument,
        ExampleEntry,
        ExampleListDocument,
    )

    formats.check_format(opts.output)
    if opts.name:
        text = example_path(opts.name).read_text(encoding="utf-8")
        common.console.data(text.rstrip("\n"))
        example = ExampleDocument(opts.name, text)
        common.console.json("stretto.examples/v1", msgspec.to_builtins(example))
        return
    entries = tuple(ExampleEntry(name, summary(example_path(name))) for name in example_names())
    columns = [
        formats.ListColumn("example", [each.name for each in entries]),
        formats.ListColumn("what it shows", [each.summary for each in entries]),
    ]
    document = ExampleListDocument(str(examples_folder()), entries)
    rows = formats.ListedRows(
        columns,
        [each.name for each in entries],
        "stretto.examples/v1",
        msgspec.to_builtins(document),
    )
    formats.write_list(common.console, opts.output, rows)
    common.console.note("try: stretto run quickstart")
