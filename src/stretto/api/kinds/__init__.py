"""The table of kinds: one entry per kind; more kinds can be registered at run time."""
