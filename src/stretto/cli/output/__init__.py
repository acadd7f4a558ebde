"""Forms of results: tables, and the output formats of lists."""
