"""Tree of queues: validation, usage and shares. Orders and turns are in ``control.queues``."""
