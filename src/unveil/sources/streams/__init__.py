"""Streams of records: standard input, growing files, folders, Kafka topics and Redis streams.

A stream source yields batches, each with the position after it: a reader that stores the position together with its results
can continue exactly there. Records that cannot be read are reported separately and do not stop the stream. `None` in place of a
batch means that nothing new has arrived.
"""

from __future__ import annotations

from unveil.sources.streams.base import RecordStream, StreamBatch, StreamOptions
from unveil.sources.streams.opening import open_records

__all__ = ["RecordStream", "StreamBatch", "StreamOptions", "open_records"]
