"""Server-side apply: sets of fields, their owners, and merging by the types of a schema."""
