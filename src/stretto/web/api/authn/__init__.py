"""Who sends a request: tokens, certificates, impersonation."""
