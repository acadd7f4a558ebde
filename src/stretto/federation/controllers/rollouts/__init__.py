"""Rolling updates over all clusters: the Deployments of members, and the next step of each."""
