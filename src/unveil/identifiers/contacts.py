"""Which columns reach a person or a person's device? E-mail, web, IP and MAC addresses.

These forms are distinctive: if nearly all values have the form, the column's name does not matter, and even one in ten is worth
a remark, because people type all kinds of things into one field.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unveil.identifiers.column import FEW, MOST
from unveil.run import in_blocks

if TYPE_CHECKING:
    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Confidence, Finding

__all__ = ["EMAIL_WITHIN", "emails", "ip_addresses", "mac_addresses", "urls"]

_EMAIL = re.compile(r"(?:mailto:)?[^\s@<>,;:\"()\[\]]{1,64}@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,24}", re.IGNORECASE)
EMAIL_WITHIN = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,24}\b")
"""An e-mail address anywhere in a text."""
_LONGEST_EMAIL = 320
_URL = re.compile(r"(?:(?:https?|ftp)://|www\.)[^\s/?#]+\.[^\s]+", re.IGNORECASE)
_MAC = re.compile(r"(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)
_BARE_MAC = re.compile(r"[0-9a-f]{12}", re.IGNORECASE)
_IP_SIGNS = re.compile(r"[0-9a-f:.]{2,45}(?:/\d{1,3})?", re.IGNORECASE)

_HALF = 0.5
_OWN_PAGES = 0.5
"""The number of distinct web addresses per record from which they look like people's own, not like those of a few sites."""
_VERSION_PART = 31
"""IPv4 addresses with no part above this may be version numbers."""


def emails(column: LookedColumn) -> Finding | None:
    """Find e-mail addresses."""
    share = column.share(is_email)
    if column.kind != "text" or not share >= FEW:
        return None
    evidence = (column.seen(share, "read as e-mail addresses"), column.name_says("e-mail", "email"))
    return column.finding("email", _by_share(share), share, *evidence)


def urls(column: LookedColumn) -> Finding | None:
    """Find web addresses; a finding is never certain, because a page need not be a person's."""
    share = column.share(_URL.fullmatch)
    if column.kind != "text" or share < _HALF:
        return None
    named = column.says("url", "account-name")
    own = column.uniqueness >= _OWN_PAGES
    spread = f"{column.distinct:,} different ones in {column.records:,} records"
    evidence = (column.seen(share, "read as web addresses"), spread, column.name_says("web address", "url", "account-name"))
    return column.finding("url", "likely" if share >= MOST and own and (named or _many(column)) else "possible", share, *evidence)


def ip_addresses(column: LookedColumn) -> Finding | None:
    """Find IPv4 and IPv6 addresses, with or without the prefix length of a network."""
    share = column.share(is_ip_address)
    if column.kind != "text" or share < FEW or (column.says("about") and not column.says("ip-address")):
        return None
    confidence = _by_share(share)
    remark = ""
    if not column.says("ip-address") and _like_versions(column):
        confidence, remark = "possible", "all their parts are small numbers, as in version numbers"
    seen = column.seen(share, "read as IP addresses")
    return column.finding("ip-address", confidence, share, seen, column.name_says("IP address", "ip-address"), remark)


def mac_addresses(column: LookedColumn) -> Finding | None:
    """Find the hardware addresses of network devices; twelve bare hexadecimal digits count only if the name suggests them."""
    share = column.share(_MAC.fullmatch)
    if column.kind != "text":
        return None
    if share < FEW and column.says("mac-address"):
        share = column.share(_BARE_MAC.fullmatch)
    if share < FEW:
        return None
    seen = column.seen(share, "read as MAC addresses")
    return column.finding("mac-address", _by_share(share), share, seen, column.name_says("MAC address", "mac-address"))


def is_email(text: str) -> bool:
    """Whether a whole text is an e-mail address."""
    return "@" in text and len(text) <= _LONGEST_EMAIL and _EMAIL.fullmatch(text) is not None


def is_ip_address(text: str) -> bool:
    """Whether a whole text is an IP address, with or without the prefix length of its network."""
    import ipaddress

    if (text.count(".") != 3 and text.count(":") < 2) or not _IP_SIGNS.fullmatch(text):  # noqa: PLR2004 - the least of v4 and v6
        return False
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _like_versions(column: LookedColumn) -> bool:
    parts = [
        part for block in in_blocks(column.texts) for text in block if is_ip_address(text) for part in re.split(r"[./]", text)
    ]
    return all(part.isdecimal() and int(part) <= _VERSION_PART for part in parts)


def _by_share(share: float) -> Confidence:
    if share >= MOST:
        return "certain"
    return "likely" if share >= _HALF else "possible"


def _many(column: LookedColumn) -> bool:
    return column.distinct >= 20  # noqa: PLR2004 - fewer may be unique by chance
