"""What a release has whoever makes it: the order its records leave in, and the record of how it was made and what it meets."""

from unveil.releases.counting import uniform_count
from unveil.releases.order import drawn_order, marked, repeatable_of
from unveil.releases.record import Record, RecordMismatchError, against_key, read_record, record_place, recorded, write_recorded

__all__ = [
    "Record",
    "RecordMismatchError",
    "against_key",
    "drawn_order",
    "marked",
    "read_record",
    "record_place",
    "recorded",
    "repeatable_of",
    "uniform_count",
    "write_recorded",
]
