"""Credentials for an API server: kubeconfig, in-cluster account, exec plugins, OIDC, TLS trust."""
