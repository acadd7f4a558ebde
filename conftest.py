"""Python examples in the documents are tests: `pytest README.md docs` runs them.

A block that is not meant to run is preceded by `<!--- skip: next -->`.
"""

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["*.md"],
).pytest()
