"""Authentication of requests: tokens, certificates, impersonation."""
