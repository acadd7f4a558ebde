"""Field errors with the texts of kube-apiserver, and checks that many kinds share."""
