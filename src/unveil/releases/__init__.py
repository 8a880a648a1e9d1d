"""What accompanies a release: the record of how it was made and what it meets."""

from unveil.releases.record import Record, RecordMismatchError, against_key, read_record, record_place, recorded, write_recorded

__all__ = ["Record", "RecordMismatchError", "against_key", "read_record", "record_place", "recorded", "write_recorded"]
