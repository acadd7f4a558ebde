"""JSONPath templates as in ``kubectl -o jsonpath``; RFC 9535 has no text templates and no range."""
