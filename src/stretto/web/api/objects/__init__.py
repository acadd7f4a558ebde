"""Objects between the wire and the store: decoding, rendering, and what each kind prepares."""
