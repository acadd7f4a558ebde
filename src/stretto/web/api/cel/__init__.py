"""CEL expressions on JSON values."""
