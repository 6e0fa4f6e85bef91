"""Sets of small numbers as bytes, one bit a number: which chunks of a document are embedded, in a few hundred bytes."""

from collections.abc import Iterable


def packed(numbers: Iterable[int]) -> bytes:
    """Give the set's bits, the lowest number first; empty for an empty set."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def unpacked(data: bytes) -> frozenset[int]:
    """Give back the set."""
    return frozenset(8 * place + bit for place, byte in enumerate(data) for bit in range(8) if byte >> bit & 1)
