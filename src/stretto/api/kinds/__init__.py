"""The table of kinds: one entry per kind, open to kinds that are registered at run time."""
