"""The functions, and what each is told."""

from collections.abc import Mapping
from typing import Final

from shared.settings import (
    ChatSettings,
    FunctionSettings,
    KbIngestSettings,
    MemoryApiSettings,
    PurgeSettings,
    SummarizeSettings,
)

FUNCTIONS: Final[Mapping[str, type[FunctionSettings]]] = {
    "chat": ChatSettings,
    "summarize": SummarizeSettings,
    "memory_api": MemoryApiSettings,
    "purge": PurgeSettings,
    "kb_ingest": KbIngestSettings,
}
"""Package under ``functions/`` to the model of its settings."""
