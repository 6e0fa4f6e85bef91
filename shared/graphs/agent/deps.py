"""What the agent graph is built from; the function's handler fills it."""

from dataclasses import dataclass, field

import httpx
from langchain_core.language_models import BaseChatModel

from shared.adapters.bedrock.model_input import Arrange, plain
from shared.kb_ports import FolderContents
from shared.ports import Metrics, Threads
from shared.services.await_documents import AwaitDocuments
from shared.services.browse_documents import BrowseDocuments
from shared.services.lookup_turns import LookupTurns
from shared.services.recall import Recall
from shared.services.remember import Remember
from shared.services.search_knowledge import SearchKnowledge
from shared.services.show_documents import ShowDocuments
from shared.services.take_in_files import TakeInFiles
from shared.settings import ChatSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentModels:
    """The language models.

    Parameters
    ----------
    chat : BaseChatModel
        What the agents speak with.
    fast : BaseChatModel
        A small one for the router and for naming threads.
    arrange : callable
        How the input of ``chat`` is laid out, for example with cache points.
    """

    chat: BaseChatModel
    fast: BaseChatModel
    arrange: Arrange = plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The knowledge base.

    Parameters
    ----------
    search : SearchKnowledge
        Finds passages.
    documents : BrowseDocuments
        Says which documents there are.
    folders : FolderContents
        Says what is in folders.
    files : TakeInFiles
        Stores files that come with messages.
    wait : AwaitDocuments
        Waits until they can be read.
    show : ShowDocuments
        Shows them to the model.
    """

    search: SearchKnowledge
    documents: BrowseDocuments
    folders: FolderContents
    files: TakeInFiles
    wait: AwaitDocuments
    show: ShowDocuments


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDeps:
    """Everything the agent graph needs.

    Parameters
    ----------
    models : AgentModels
        The language models.
    recall, remember, lookup_turns
        The services behind memory.
    knowledge : Knowledge
        The services behind the user's documents.
    threads : Threads
        Where titles are.
    metrics : Metrics
        Counts what went wrong without failing the turn.
    settings : ChatSettings
        Which agents are enabled, and the limits.
    transport : httpx.AsyncBaseTransport or None
        What carries the requests of tools; the network when ``None``.
    """

    models: AgentModels
    recall: Recall
    remember: Remember
    knowledge: Knowledge
    threads: Threads
    metrics: Metrics
    settings: ChatSettings
    lookup_turns: LookupTurns = field(default_factory=LookupTurns)
    transport: httpx.AsyncBaseTransport | None = None
