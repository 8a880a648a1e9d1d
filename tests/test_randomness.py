"""The generators behind a release: cryptographic ones, fresh unless a seed or a key file repeats them."""

from __future__ import annotations

import numpy as np
import pytest
import randomgen

from unveil.randomness import chance_of


def test_the_counter_generator_is_aes() -> None:
    # FIPS 197, appendix C.1: the block and the key of the standard give this cipher text
    key, block = bytes(range(16)), bytes.fromhex("00112233445566778899aabbccddeeff")
    generator = randomgen.AESCounter(key=int.from_bytes(key, "little"), counter=int.from_bytes(block, "little"))
    assert generator.random_raw(2).astype("<u8").tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@pytest.mark.parametrize("instructions", [True, False])
def test_fresh_draws_are_cryptographic_and_never_the_same(monkeypatch: pytest.MonkeyPatch, *, instructions: bool) -> None:
    class Processor(randomgen.AESCounter):  # type: ignore[misc]
        use_aesni = instructions

    monkeypatch.setattr(randomgen, "AESCounter", Processor)
    first, second = (chance_of().draws("noise") for _ in range(2))
    assert isinstance(first.bit_generator, Processor if instructions else randomgen.ChaCha)
    assert not np.array_equal(first.integers(0, 2**63, 4), second.integers(0, 2**63, 4))


def test_what_a_seed_repeats_is_the_same_on_every_machine() -> None:
    draws = chance_of(seed=1).draws("noise")
    assert isinstance(draws.bit_generator, randomgen.ChaCha)
    assert draws.integers(0, 1000, 5).tolist() == chance_of(seed=1).draws("noise").integers(0, 1000, 5).tolist()
