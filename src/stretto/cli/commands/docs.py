"""``stretto docs``: the pages of the documentation that come with the package."""

from dataclasses import dataclass

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.output import formats


@dataclass(frozen=True)
class DocsOptions:
    """Options of ``docs``."""

    #: The page to print; empty lists all.
    page: str
    #: Output format of the list.
    output: str


@options.command(
    "docs",
    DocsOptions,
    example="""
        stretto docs
        stretto docs traces
        stretto docs docs/appendix/omega.md
        stretto docs -o name
    """,
)
@click.argument("page", required=False, default="", shell_complete=options.completes("pages"))
@formats.OUTPUT
def docs(common: CommandContext, opts: DocsOptions) -> None:
    """List the pages of the documentation, or print one.

    Help texts and messages name a page as docs/PAGE.md; PAGE or its last part is enough. The pages
    are Markdown.
    """
    import msgspec

    from stretto.cli.bundled.pages import page_names, page_text, title_of
    from stretto.cli.output.documents import DocsDocument, DocsEntry, DocsListDocument

    formats.check_format(opts.output)
    if opts.page:
        name, text = page_text(opts.page)
        common.console.data(text.rstrip("\n"))
        common.console.json("stretto.docs/v1", msgspec.to_builtins(DocsDocument(name, text)))
        return
    entries = tuple(DocsEntry(name, title_of(name)) for name in page_names())
    names = [each.name for each in entries]
    columns = [
        formats.ListColumn("page", names),
        formats.ListColumn("title", [each.title for each in entries]),
    ]
    fields = msgspec.to_builtins(DocsListDocument(entries))
    rows = formats.ListedRows(columns, names, "stretto.docs/v1", fields)
    formats.write_list(common.console, opts.output, rows)
    common.console.note("try: stretto docs first-hour")
