"""Rules for the fields of each kind, with the messages of kube-apiserver."""
