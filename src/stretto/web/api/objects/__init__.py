"""Objects between the wire and the store: decoding, rendering, and preparation by kind."""
