from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.dynamodb.number_sets import packed, unpacked


@given(st.frozensets(st.integers(0, 5000)))
def test_a_set_comes_back_as_it_was(numbers: frozenset[int]) -> None:
    assert unpacked(packed(numbers)) == numbers


def test_a_set_takes_one_bit_up_to_its_highest_number() -> None:
    assert (packed(()), packed({0}), packed({9}), len(packed(range(4000)))) == (b"", b"\x01", b"\x00\x02", 500)
