"""Rolling updates over all clusters: Deployments of members, and the next step of each."""
