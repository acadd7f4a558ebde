"""Messages of Mesos' v1 API: one table of fields defines JSON and protobuf.

This package contains field tables, codecs and framing. It does not contain the meaning of messages.
"""
