"""Static facts of nodes: names, labels, taints, images, node-agent reports, eligibility."""
