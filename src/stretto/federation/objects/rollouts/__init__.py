"""Rolling updates over clusters as fields of objects: policies, progress, members' Deployments."""
