"""Coverage: the released records that cover a true one are those that the definition names."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unveil.measures.coverage import covering

ROWS = st.integers(1, 12)


@given(data=st.data(), columns=st.integers(1, 4))
def test_it_counts_what_the_definition_names(data: st.DataObject, columns: int) -> None:
    released, true = (data.draw(arrays(np.int64, (data.draw(ROWS), columns), elements=st.integers(-1, 2))) for _ in range(2))
    amounts = data.draw(arrays(np.int64, len(released), elements=st.integers(1, 3)))
    expected = [
        sum(int(n) for row, n in zip(released, amounts, strict=True) if all(a in (-1, b) for a, b in zip(row, one, strict=True)))
        for one in true
    ]
    assert covering(released, true, amounts).tolist() == expected
    assert covering(true, true).min() >= 1
