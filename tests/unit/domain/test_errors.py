from shared.domain import errors
from shared.domain.errors import EverthreadError


def _all(error: type[EverthreadError]) -> list[type[EverthreadError]]:
    return [error, *(below for child in error.__subclasses__() for below in _all(child))]


def test_each_error_has_a_code_of_its_own_or_that_of_its_kind() -> None:
    for error in _all(EverthreadError):
        shared_by = [other for other in _all(EverthreadError) if other.code == error.code]
        assert all(issubclass(other, shared_by[0]) for other in shared_by), error


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
