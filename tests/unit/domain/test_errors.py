from shared.domain import errors
from shared.domain.errors import EverthreadError

ALL = [thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, EverthreadError)]


def test_each_error_has_a_code_of_its_own_or_that_of_its_kind() -> None:
    # A client that switches on a code must not meet two unrelated things under it.
    for error in ALL:
        first = next(other for other in ALL if other.code == error.code)
        assert issubclass(error, first), error


def test_the_codes_of_the_tool_are_the_seed_s() -> None:
    # SM09, SM13, SM20, AMB-11
    assert errors.MemoryPatchError.code == "PATCH_FAILED"
    assert errors.MemorySizeError.code == "MEMORY_SIZE_EXCEEDED"
    assert errors.MissingUserIdError.code == "MISSING_USER_ID"


def test_the_size_error_carries_both_numbers() -> None:
    # SM23: the model can retry with less.
    error = errors.MemorySizeError(attempted_bytes=9000, max_bytes=8192)
    assert (error.attempted_bytes, error.max_bytes) == (9000, 8192)
    assert "9000" in str(error)
    assert "8192" in str(error)


def test_errors_of_size_and_place_say_which() -> None:
    too_large = errors.ItemTooLargeError("The item", size=500_000, limit=409_600)
    assert (too_large.size, too_large.limit) == (500_000, 409_600)
    assert "500000" in str(too_large)
    missing = errors.ThreadNotFoundError("t-1")
    assert (missing.thread_id, missing.code) == ("t-1", "NOT_FOUND")
