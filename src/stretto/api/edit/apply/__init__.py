"""Server-side apply: field sets, field managers, and merges by the types of a schema."""
