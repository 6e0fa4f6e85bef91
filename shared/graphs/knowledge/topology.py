"""The ingestion graph: prepare, OCR, page to Markdown, chunk and embed, rewrite messages, in the seed's order."""

from itertools import pairwise
from typing import Any, Final

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from shared.graphs.agent.state import Node
from shared.graphs.ids import KB_AGENT
from shared.graphs.knowledge.nodes import Pipeline, StepNode, rewrite_nothing
from shared.graphs.knowledge.state import KnowledgeState

PREPARE: Final = "prepareKBDataNode"
OCR: Final = "ocrNode"
PAGE_TO_MARKDOWN: Final = "pageToMarkdownNode"
CHUNK_AND_EMBED: Final = "generateChunkEmbedNode"
REWRITE_MESSAGES: Final = "rewriteMessagesNode"


def build(pipeline: Pipeline) -> CompiledStateGraph[KnowledgeState, None, KnowledgeState, KnowledgeState]:
    """Build the ingestion graph (rows G22 to G26).

    It has no checkpointer: how far a document has come stands in its record, where another process finds it. It has
    no store either, because it neither reads nor writes anything remembered.

    Parameters
    ----------
    pipeline : Pipeline
        What the nodes do.

    Returns
    -------
    CompiledStateGraph
        Takes a ``KnowledgeState`` and the envelope (``userId``) in ``configurable``. Each node passes on what it has
        nothing to do for.
    """
    nodes: dict[str, Node[KnowledgeState]] = {
        PREPARE: StepNode(PREPARE, pipeline.prepare.run),
        OCR: StepNode(OCR, pipeline.ocr.run),
        PAGE_TO_MARKDOWN: StepNode(PAGE_TO_MARKDOWN, pipeline.markdown.run),
        CHUNK_AND_EMBED: StepNode(CHUNK_AND_EMBED, pipeline.embed.run),
        REWRITE_MESSAGES: rewrite_nothing,
    }
    graph: StateGraph[Any, None, Any, Any] = StateGraph(KnowledgeState)
    for name, node in nodes.items():
        graph.add_node(name, node)  # pyright: ignore[reportUnknownMemberType]
    for before, after in pairwise((START, *nodes, END)):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=False, name=KB_AGENT)  # pyright: ignore[reportUnknownMemberType]
