"""The protected table, whoever made it: its records, what was done to them, their order, and the record that stands beside it."""

from unveil.releases.counting import uniform_count
from unveil.releases.order import drawn_order, marked, repeatable_of
from unveil.releases.protection import Protection
from unveil.releases.record import Record, RecordMismatchError, against_key, read_record, record_place, recorded, write_recorded
from unveil.releases.records import ReleaseRecords, Unwritten, WrittenFile, WrittenTable
from unveil.releases.release import Release, checked_place, in_hand

__all__ = [
    "Protection",
    "Record",
    "RecordMismatchError",
    "Release",
    "ReleaseRecords",
    "Unwritten",
    "WrittenFile",
    "WrittenTable",
    "against_key",
    "checked_place",
    "drawn_order",
    "in_hand",
    "marked",
    "read_record",
    "record_place",
    "recorded",
    "repeatable_of",
    "uniform_count",
    "write_recorded",
]
