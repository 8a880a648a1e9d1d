"""The protected table: its records, their treatment and order, and the record beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily

__all__ = [
    "ColumnScreen",
    "Passphrase",
    "Protection",
    "Record",
    "RecordMismatchError",
    "Release",
    "ReleaseRecords",
    "Signature",
    "Unwritten",
    "WrittenFile",
    "WrittenTable",
    "checked_place",
    "drawn_order",
    "in_hand",
    "marked",
    "read_record",
    "record_place",
    "recorded",
    "repeatable_of",
    "screen",
    "screened",
    "sign",
    "signature_place",
    "signing_key",
    "uniform_count",
    "verify",
    "write_recorded",
    "write_signature",
]

if TYPE_CHECKING:
    from unveil.releases.counting import uniform_count
    from unveil.releases.record import Record, RecordMismatchError, read_record, record_place, recorded, write_recorded
    from unveil.releases.records import ReleaseRecords, Unwritten, WrittenFile, WrittenTable
    from unveil.releases.release import (
        ColumnScreen,
        Protection,
        Release,
        checked_place,
        drawn_order,
        in_hand,
        marked,
        repeatable_of,
        screen,
        screened,
    )
    from unveil.releases.signature import Passphrase, Signature, sign, signature_place, signing_key, verify, write_signature
else:
    __getattr__ = lazily(
        __name__,
        {
            "counting": ("uniform_count",),
            "record": ("Record", "RecordMismatchError", "read_record", "record_place", "recorded", "write_recorded"),
            "records": ("ReleaseRecords", "Unwritten", "WrittenFile", "WrittenTable"),
            "release": (
                "ColumnScreen",
                "Protection",
                "Release",
                "checked_place",
                "drawn_order",
                "in_hand",
                "marked",
                "repeatable_of",
                "screen",
                "screened",
            ),
            "signature": (
                "Passphrase",
                "Signature",
                "sign",
                "signature_place",
                "signing_key",
                "verify",
                "write_signature",
            ),
        },
    )
