"""The source of random numbers: the operating system, unless a seed or a key file is named.

The draws of a release protect only if nobody can repeat them: otherwise anyone who has the release, the software and the settings
could subtract the same noise, or swap the same records back. So every draw comes from a cryptographic generator, ChaCha20 under a
key of 256 bits: nobody who sees some of its numbers can compute the others. The key is

- drawn from the operating system, and forgotten (the default: the draws cannot be repeated; here AES-128 in counter mode takes
  the place of ChaCha20 if the processor has instructions for it, at a third of the time);
- derived from a secret key file with the purpose, the settings and a fingerprint of the data, so that only the data steward can
  repeat a release, while changed data has fresh draws (the same draws on changed data would show their difference);
- derived from a seed, for tests and studies: everybody can repeat the draws, so their results are not for publication.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from unveil.arguments import checked_seed
from unveil.errors import ArgumentError, DataNotFoundError, reason_of, shown
from unveil.fitting import kind_of

if TYPE_CHECKING:
    import numpy as np

__all__ = ["KEY_VARIABLE", "NOT_FOR_PUBLICATION", "Chance", "Repeatable", "chance_of", "fresh_key", "read_key", "weakest"]

Repeatable: TypeAlias = Literal[False, "key", "seed"]
"""Who can repeat the draws of a release: nobody, a holder of the key file, or everybody who has the software."""

NOT_FOR_PUBLICATION = (
    "Repeatable: not for publication. The draws come from a seed, so anyone who tries seeds can repeat them "
    "and undo the protection."
)
KEY_VARIABLE = "UNVEIL_KEY"
"""The default environment variable for the key of pseudonyms."""

_SHORTEST_KEY = 16
_KEY_BYTES = 32
_QUICK_KEY_BITS = 128


@dataclass(frozen=True, slots=True)
class Chance:
    """The source of the draws of one call.

    Attributes
    ----------
    repeatable
        Who can repeat the draws.
    """

    repeatable: Repeatable = False
    _seed: int | None = field(default=None, repr=False)
    _key: bytes | None = field(default=None, repr=False)

    def draws(self, purpose: str, settings: Mapping[str, Any] | None = None, fingerprint: bytes = b"") -> np.random.Generator:
        """Return random numbers for one purpose.

        Parameters
        ----------
        purpose
            The purpose of the draws, such as the name of a mechanism; each has numbers of its own.
        settings, fingerprint
            The request, and a fingerprint of the data: with a key file, other settings or other data lead to other draws.
        """
        if self._key is not None:
            message = b"\0".join([purpose.encode(), _written(settings or {}), fingerprint])
            return _generator(hmac.digest(self._key, message, "sha512"))  # not SHA-256, from which pseudonyms are made
        if self._seed is not None:
            return _generator(hashlib.sha256(f"{purpose}\0{self._seed}".encode()).digest())
        return _fresh()

    def held(self) -> Chance:
        """Return a `Chance` whose draws can be repeated only while it exists, even without a seed or key file."""
        return self if self.repeatable else Chance(_key=fresh_key())

    @property
    def keyed(self) -> bool:
        """Whether the draws come from a key file, so that they depend on the data and need a fingerprint of it."""
        return self.repeatable == "key"


def chance_of(seed: int | None = None, key_file: str | os.PathLike[str] | None = None) -> Chance:
    """Return the source of draws: a seed, a key file, or, with neither, the operating system.

    Examples
    --------
    >>> chance_of().draws("noise").random() == chance_of().draws("noise").random()
    False
    >>> chance_of(seed=1).draws("noise").random() == chance_of(seed=1).draws("noise").random()
    True
    >>> chance_of(seed=1).repeatable
    'seed'
    """
    if seed is not None and key_file is not None:
        raise ArgumentError("a seed and a key file are both given; a key file is for releases, a seed for tests: give one.")
    if seed is not None:
        return Chance("seed", _seed=checked_seed(seed))
    if key_file is not None:
        return Chance("key", _key=read_key(key_file))
    return Chance()


def weakest(marks: Iterable[Repeatable]) -> Repeatable:
    """Return who can repeat at least one of the steps by which a release was made.

    Examples
    --------
    >>> weakest([False, "key", False])
    'key'
    """
    known = set(marks)
    return "seed" if "seed" in known else "key" if "key" in known else False


def fresh_key() -> bytes:
    """Return a key of 256 bits from the operating system."""
    return secrets.token_bytes(_KEY_BYTES)


def read_key(path: str | os.PathLike[str] | None, variable: str = KEY_VARIABLE) -> bytes:
    """Read a secret key from a file or, if none is named, from an environment variable; messages never repeat its content."""
    if path is not None:
        if not isinstance(path, str | os.PathLike):
            raise ArgumentError(f"key_file must be a path, not {kind_of(path)}.")
        try:
            key, place = Path(path).read_bytes().rstrip(b"\r\n"), f"the key file {shown(path)}"
        except (OSError, ValueError) as error:
            raise DataNotFoundError(f"the key file {shown(path)} cannot be read: {reason_of(error)}.") from None
    else:
        key, place = os.environ.get(variable, "").encode(errors="surrogateescape"), f"the environment variable {shown(variable)}"
        if not key:
            raise ArgumentError(f"{place} holds no key; put one there, or name a key file.")
    if len(key) < _SHORTEST_KEY:
        raise ArgumentError(f"{place} holds {len(key):,} bytes; a key has at least {_SHORTEST_KEY}, chosen at random.")
    return key


def _written(settings: Mapping[str, Any]) -> bytes:
    """Return settings as bytes, which are equal for equal settings."""
    try:
        return json.dumps(settings, sort_keys=True, default=_in_full).encode(errors="surrogatepass")
    except ValueError:  # by default Python writes no integer of more than 4,300 digits
        raise ArgumentError(
            "a setting holds a number of thousands of digits; it must be one that the data can come near."
        ) from None


def _in_full(value: Any) -> Any:
    """Return a setting in a unique form; the text of a large array would omit numbers and digits."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _fresh() -> np.random.Generator:
    """Return a generator of numbers that nobody can repeat."""
    import numpy as np
    from randomgen import AESCounter

    quick = AESCounter(key=secrets.randbits(_QUICK_KEY_BITS))
    return np.random.Generator(quick) if quick.use_aesni else _generator(fresh_key())


def _generator(key: bytes) -> np.random.Generator:
    """Return a generator of the numbers of ChaCha20 under the first 256 bits of a key."""
    import numpy as np
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=int.from_bytes(key[:_KEY_BYTES], "little"), rounds=20))
