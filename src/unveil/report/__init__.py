"""Reports: a page to read, or a file to keep.

A file is written whole or not at all.
"""

from __future__ import annotations

from unveil.report.files import FORMATS, checked_path, write, write_view
from unveil.report.page import page

__all__ = ["FORMATS", "checked_path", "page", "write", "write_view"]
