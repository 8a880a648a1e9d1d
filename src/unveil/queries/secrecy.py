"""Random draws that follow from the ledger's secret: the same whenever the gate is opened, but unknown without the key."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from unveil.randomness import Chance

if TYPE_CHECKING:
    import numpy as np

__all__ = ["draws_of", "share_of"]


def draws_of(secret: bytes) -> np.random.Generator:
    """Return a random generator that follows from a secret."""
    return Chance("key", _key=secret).draws("gate")


def share_of(secret: bytes, content: bytes) -> float:
    """Return a number from 0 to 1 (exclusive) that follows from a secret and some content, and looks random without it."""
    digest = hmac.digest(secret, hashlib.sha256(content).digest(), "sha256")
    return int.from_bytes(digest[:8], "big") / 2.0**64
