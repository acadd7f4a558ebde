"""HTTP servers for users: the Kubernetes API over any store, and the pages over a plane."""
