"""Messages of Mesos' v1 API: one table of fields drives JSON and protobuf.

Here: field tables, codecs and framing. Not here: what a message means.
"""
