"""How do names leave a table while their records stay together? Pseudonyms: keyed hashes, or numbers in random order.

Under one key, a value has the same pseudonym everywhere, so records can still be joined, by a data steward and an intruder
alike. The result is pseudonymised, not anonymous.
"""

from __future__ import annotations

import hmac
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_word
from unveil.attributes import Names
from unveil.errors import ArgumentError, UnsupportedDataError, shown
from unveil.mechanisms.columns import choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import KEY_VARIABLE, chance_of, read_key
from unveil.releases import Release
from unveil.run import active_run, watched
from unveil.sources import encode, require_countable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["pseudonymize"]

_SHORTEST, _LONGEST = 16, 64
"""The limits of the number of hexadecimal digits of a pseudonym."""
_LABEL = (
    "The records are pseudonymised, not anonymous: anyone who has the key, or knows a person's other attributes, can find the "
    "person. They are still personal data."
)


@heeds_study
@checked_arguments
def pseudonymize(
    data: Data,
    attributes: Names,
    *,
    method: str = "hmac",
    key_file: str | os.PathLike[str] | None = None,
    key_variable: str = KEY_VARIABLE,
    length: int = 32,
    nulls: str = "error",
    keep_order: bool = False,
    seed: int | None = None,
) -> Release[Treatment]:
    r"""Replace the values of identifying attributes by pseudonyms.

    .. math:: \text{pseudonym}(x) = \text{the first digits of } \mathrm{HMAC}_{key}(x)

    with SHA-256, in hexadecimal digits; or numbers from 1 on, assigned in random order.

    Parameters
    ----------
    data
        The records.
    attributes
        The columns whose values are replaced. A value gets the same hash in every column and table; numbers are assigned per
        column.
    method
        "hmac": keyed hashes. "counter": numbers.
    key_file
        A file that holds the key, at least 16 bytes; a line ending after it is not part of it.
    key_variable
        If no file is named: the environment variable that holds the key.
    length
        The number of hexadecimal digits of a hash, 16 to 64; two values that would have the same hash are refused.
    nulls
        "keep": a null stays a null. "drop": a record with a null is left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed
        For tests: it makes the numbers, and the order of the records, repeatable. For numbers, a key file makes them repeatable
        for anyone who has it.

    Notes
    -----
    The key does not appear in any result, message or log. Without it, a hash cannot be recomputed from a list of likely values.

    References
    ----------
    H. Krawczyk, M. Bellare, R. Canetti (1997), HMAC: keyed-hashing for message authentication, RFC 2104.
    Regulation (EU) 2016/679 (GDPR), article 4(5) and recital 26.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> made = mechanisms.pseudonymize("paper-2", "Disease", method="counter", seed=4)
    >>> sorted(set(made.data["Disease"]))
    [1, 2, 3, 4, 5]
    """
    checked_word("method", method, ("hmac", "counter"))
    digits = checked_count("length", length, least=_SHORTEST)
    if digits > _LONGEST:
        raise ArgumentError(f"length is {digits:,}; a hash has {_LONGEST} hexadecimal digits.")
    chance = chance_of(seed, key_file)
    key = read_key(key_file, key_variable) if method == "hmac" else b""
    chosen = choose(data, attributes, nulls)
    random = chosen.draws(chance, "pseudonyms", {"method": method, "nulls": nulls})
    columns, distinct = {}, {}
    for name in chosen.names:
        column = chosen.column(name)
        require_countable(name, column)
        coded = encode(column)
        active_run().check()
        values = watched(len(coded.values), partial(_present, coded.values))
        names = _hashes(name, values, key, digits) if method == "hmac" else (random.permutation(len(values)) + 1).tolist()
        active_run().check()
        columns[name], distinct[name] = _named(column, names, coded.codes), len(values)
    if method == "hmac":
        settings = {"method": method, "key": "file" if key_file is not None else "environment", "length": digits, "nulls": nulls}
    else:
        settings = {"method": method, "nulls": nulls}
    figures = {"pseudonyms": distinct}
    return treated("pseudonymisation", chosen, columns, settings, figures, chance, keep_order=keep_order, notes=(_LABEL,))


def _present(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _hashes(name: str, values: Sequence[Any], key: bytes, digits: int) -> list[str]:
    hashes, texts = [], set()
    for value in active_run().through("pseudonyms", values):
        text = _text(value)
        texts.add(text)
        hashes.append(hmac.digest(key, text.encode(), "sha256").hex()[:digits])
    if len(set(hashes)) < len(texts):
        raise UnsupportedDataError(f"two values of {shown(name)} share a pseudonym of {digits} digits; use a greater length.")
    return hashes


def _text(value: Any) -> str:
    """Return a value as the text that is hashed: 3 and 3.0 are the same value, because pandas may turn one into the other."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _named(column: Any, names: Sequence[Any], codes: NDArray[Any]) -> Any:
    """Return the pseudonym of every record; null for a null."""
    dictionary = type(column)(column.name, [*names, None])
    return dictionary.gather(np.minimum(codes.astype(np.int64), len(names)).astype(np.uint32))
