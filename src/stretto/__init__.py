"""Stretto: one scheduler for services, batch, streaming and machine learning.

The voices of a fugue enter so closely that they overlap, and still every voice
is heard: one pool of machines, packed closely, each workload keeping its
guarantees. The floors, from the ground up, are `base`, `api`, `stores`, `state`,
`framework`, `inputs`, `control`, `explain`, `plane`, `sim`, `lab` and `cli`;
imports only point down.
"""

__version__ = "0.1.0"
