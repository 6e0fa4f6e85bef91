"""The envelope of a turn: what rides in ``config["configurable"]``, written by the runner, read by every node.

Nothing in it comes from a client: the runner makes it from the verified token and its own reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig

from shared.domain.ids import MessageId, ThreadId, UserId, thread_id_or_none, user_id_or_none
from shared.domain.kb.citations import PassageNumbers
from shared.domain.profile import AccountOverlay
from shared.domain.summary import SummaryEntry
from shared.domain.threads import DEFAULT_POLICY, HISTORY_POLICIES, HistoryPolicy
from shared.domain.turns import human_ids
from shared.services.recall import Recall, Recalled
from shared.services.show_documents import ShownDocuments
from shared.services.turn_memory import TurnMemory

USER_ID: Final = "userId"
THREAD_ID: Final = "thread_id"
ACCOUNT: Final = "account"
THREAD_TITLE: Final = "thread_title"
TURN_MEMORY: Final = "turn_memory"
TURN_MARK: Final = "turn_mark"
CONVERSATION: Final = "conversation"
ASKED: Final = "asked"
HISTORY_POLICY: Final = "history_policy"
PASSAGE_NUMBERS: Final = "passage_numbers"
SHOWN_DOCUMENTS: Final = "shown_documents"


@dataclass(slots=True)
class TurnMark:
    """Where the graph notes that the turn has ended; the runner makes one, looks at it afterwards, and publishes.

    A turn that was interrupted, cancelled or failed has not ended and leaves the mark as it was.

    Parameters
    ----------
    human_message_id : str or None
        The turn that has ended, by its human message; ``None`` while none has.
    human_count : int
        Human messages in the thread when it did.
    """

    human_message_id: MessageId | None = None
    human_count: int = 0

    @property
    def ended(self) -> bool:
        """Whether the turn has ended."""
        return self.human_message_id is not None

    def set(self, messages: Sequence[AnyMessage]) -> None:
        """Note the end of the turn of the last human message; without one there is no turn to end."""
        ids = human_ids(messages)
        if ids:
            self.human_message_id = ids[-1]
            self.human_count = len(ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One turn's envelope.

    Only ids ride as plain strings. Objects in ``configurable`` stay out of checkpoints and of what is streamed.

    Parameters
    ----------
    user, thread : str or None
        Whose turn, where. ``None`` when the graph is run without the API: it then answers without memory.
    account : AccountOverlay
        From the verified token.
    title : str or None
        The thread's title when the run began, if the runner knows it: saves a read.
    memory : TurnMemory or None
        A recall that the runner started; without one each agent starts its own.
    mark : TurnMark or None
        Set when the turn ends.
    policy : {'summaries', 'trim', 'delete', 'running_summary'}
        How the thread is kept within the context window.
    conversation : sequence of message
        The thread when an agent took the turn, for that agent's own graph, whose state holds only what it adds.
    asked : sequence of str
        Ids of the human messages that this run brought.
    numbers : PassageNumbers or None
        Of the passages that the turn's searches find.
    shown : ShownDocuments or None
        The texts of files that the turn has read.
    """

    user: UserId | None = None
    thread: ThreadId | None = None
    account: AccountOverlay = field(default_factory=AccountOverlay)
    title: str | None = None
    memory: TurnMemory | None = None
    mark: TurnMark | None = None
    policy: HistoryPolicy = DEFAULT_POLICY
    conversation: Sequence[AnyMessage] = ()
    asked: Sequence[str] = ()
    numbers: PassageNumbers | None = None
    shown: ShownDocuments | None = None

    @classmethod
    def of(cls, config: RunnableConfig) -> Self:
        """Read the envelope defensively: whatever has another type than it should counts as not there."""
        values = config.get("configurable", {})
        account, title = values.get(ACCOUNT), values.get(THREAD_TITLE)
        memory, mark = values.get(TURN_MEMORY), values.get(TURN_MARK)
        policy, conversation = values.get(HISTORY_POLICY), values.get(CONVERSATION)
        asked = values.get(ASKED)
        numbers, shown = values.get(PASSAGE_NUMBERS), values.get(SHOWN_DOCUMENTS)
        return cls(
            user=user_id_or_none(values.get(USER_ID)),
            thread=thread_id_or_none(values.get(THREAD_ID)),
            account=account if isinstance(account, AccountOverlay) else AccountOverlay(),
            title=title if isinstance(title, str) else None,
            memory=memory if isinstance(memory, TurnMemory) else None,
            mark=mark if isinstance(mark, TurnMark) else None,
            policy=policy if policy in HISTORY_POLICIES else DEFAULT_POLICY,
            conversation=cast("Sequence[AnyMessage]", conversation) if isinstance(conversation, list | tuple) else (),
            asked=cast("Sequence[str]", asked) if isinstance(asked, tuple) else (),
            numbers=numbers if isinstance(numbers, PassageNumbers) else None,
            shown=shown if isinstance(shown, ShownDocuments) else None,
        )

    def configurable(self) -> dict[str, Any]:
        """Give what :meth:`of` reads, without what is not there."""
        values = {
            USER_ID: self.user,
            THREAD_ID: self.thread,
            ACCOUNT: self.account,
            THREAD_TITLE: self.title,
            TURN_MEMORY: self.memory,
            TURN_MARK: self.mark,
            HISTORY_POLICY: None if self.policy == DEFAULT_POLICY else self.policy,
            CONVERSATION: self.conversation or None,
            ASKED: tuple(self.asked) or None,
            PASSAGE_NUMBERS: self.numbers,
            SHOWN_DOCUMENTS: self.shown,
        }
        return {key: value for key, value in values.items() if value is not None}

    def recalling(self, recall: Recall) -> TurnMemory:
        """Give the turn's memory: the runner's, or a new one."""
        return self.memory or TurnMemory(recall, self.user, self.thread, self.account)

    def summaries_in(self, recalled: Recalled) -> Sequence[SummaryEntry]:
        """Give the thread's summaries; of a thread that has another policy there are none to believe (X02)."""
        return recalled.passes if self.policy == "summaries" else ()

    def whole_thread(self, added: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Give the conversation with what the agent has added to it."""
        return [*self.conversation, *added]

    def remembering(self, recall: Recall) -> Self:
        """Give an envelope that has a memory, so that all who get it share one."""
        return replace(self, memory=self.recalling(recall))

    def into(self, config: RunnableConfig) -> RunnableConfig:
        """Give the configuration with this envelope in it."""
        return {**config, "configurable": {**config.get("configurable", {}), **self.configurable()}}
