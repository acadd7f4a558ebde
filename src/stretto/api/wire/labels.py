"""Names of labels and annotations that several parts of Stretto read."""

from typing import Final

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
"""Label of a node: its own name."""
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
"""Label of a node: its zone."""
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
"""Label of a node: the name of its shape, such as ``4cpu-16gib``."""
QUEUE_NAME: Final = "stretto.dev/queue"
"""Annotation of a pod: its queue."""
ESTIMATE: Final = "stretto.dev/estimate"
"""Annotation of a pod: the user's estimate of its run time in seconds."""
GROUP_SIZE: Final = "stretto.dev/group-size"
"""Annotation of a pod: number of pods of its owner that must fit together."""
