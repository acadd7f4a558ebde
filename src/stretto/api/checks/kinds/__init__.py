"""Rules about the fields of single kinds, with the messages of kube-apiserver."""
