"""Static facts of nodes: names, labels, taints, images, reports of node agents, eligibility."""
