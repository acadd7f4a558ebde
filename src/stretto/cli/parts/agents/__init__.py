"""The two forms of ``stretto agent``: tasks of frameworks, and measurement of a machine."""
