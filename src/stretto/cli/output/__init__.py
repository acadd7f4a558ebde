"""Forms of a result: tables for people, and the output formats of lists."""
