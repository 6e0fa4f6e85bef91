"""What runs through the ingestion graph."""

from typing import TypedDict

from shared.services.ingestion import Ingestion


class KnowledgeState(TypedDict):
    """One document on its way.

    Parameters
    ----------
    ingestion : Ingestion
        How far it has come in this step.
    """

    ingestion: Ingestion
