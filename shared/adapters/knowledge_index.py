"""The index that a deployment's settings name."""

from collections.abc import Callable
from typing import Any

from shared.adapters import aws
from shared.adapters.s3vectors.index import S3VectorsIndex
from shared.kb_ports import Index
from shared.settings import KnowledgeIndexKnobs


def knowledge_index(
    knobs: KnowledgeIndexKnobs, memory_table: str, *, client_of: Callable[[str], Any] = aws.client
) -> Index:
    """Make the index.

    Parameters
    ----------
    knobs : KnowledgeIndexKnobs
        Name an index on S3 Vectors, or none for the exact one.
    memory_table : str
        Where the exact index keeps its vectors.
    client_of : callable
        Gives the client of a service by boto3's name for it.
    """
    if knobs.vector_index_arn:
        return S3VectorsIndex(client_of("s3vectors"), knobs.vector_index_arn, dimension=knobs.embedding_dimension)
    # Not at the top: it needs numpy, which functions that search elsewhere do not carry.
    from shared.adapters.dynamodb.exact_index import DynamoExactIndex

    return DynamoExactIndex(client_of("dynamodb"), memory_table, dimension=knobs.embedding_dimension)
