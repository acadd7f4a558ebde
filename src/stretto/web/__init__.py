"""HTTP servers for users: the Kubernetes API over any store, and the dashboard of a plane."""
