"""Changes of raw objects: YAML manifests, JSON patch, merge patch and strategic merge patch."""
