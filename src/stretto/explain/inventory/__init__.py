"""Lists of the pods, nodes, units and runs of a state, for ``stretto get``."""
