"""Messages of Mesos' v1 API: one table of fields drives JSON and protobuf.

Here: field tables, codecs and framing. Not here: the meaning of messages.
"""
