"""An embedder that needs no model: texts with the same words get vectors that point alike."""

import math
from zlib import crc32

from shared.domain.kb.hits import Vector
from shared.domain.kb.words import words_of
from tests.fakes.faults import Faults


class WordEmbedder(Faults):
    """Implements ``Embedder``; ``texts`` holds what was embedded, in order."""

    def __init__(self, dimension: int = 256) -> None:
        super().__init__()
        self._dimension = dimension
        self.texts: list[str] = []

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, text: str) -> Vector:
        self._called("embed")
        self.texts.append(text)
        return self.of(text)

    def of(self, text: str) -> Vector:
        vector = [0.0] * self._dimension
        for word in words_of(text):
            vector[crc32(word.encode()) % self._dimension] += 1.0
        length = math.hypot(*vector) or 1.0
        return [number / length for number in vector]
