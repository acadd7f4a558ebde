"""StatefulSets: their pods in order, and their PVCs."""
