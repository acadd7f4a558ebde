"""Field errors with the texts of kube-apiserver, and checks that several kinds use."""
