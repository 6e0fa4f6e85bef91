"""The process dies after any request of a turn: the next run of the thread takes in what the user typed, once.

Decision 9b: the write that takes the lease carries the human message. What is sent here is everything a turn sends to
AWS: to both tables, to the bus, and to the model.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from langchain_core.messages import HumanMessage

from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.runs import DynamoRuns
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.errors import StoreError
from shared.domain.events import TurnEnded
from shared.domain.ids import ThreadId
from shared.domain.threads import ThreadRow
from shared.graphs.agent import AgentDeps, AgentModels, build
from shared.graphs.agent.topology import TRIGGER_BACKGROUND_AGENT
from shared.graphs.runs.request import ResumeCommand, RunRequest
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.runner import GraphRunner, RunTiming
from shared.services.recall import Recall
from shared.services.remember import Remember
from tests.fakes.agent_turns import chat_settings
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.checkpointers import saver_on
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.metrics import CountingMetrics
from tests.fakes.runs import USER, Outcome, new_run_id, outcome_of
from tests.fakes.small_graph import small_graph

THREAD = ThreadId("0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10")
DAY = timedelta(days=1)


@dataclass
class Process:
    """Sends so many requests and then is dead: none goes out any more. With ``deaf``, the last goes out unanswered."""

    requests: int | None = None
    deaf: bool = False
    sent: list[str] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)

    def send(self, name: str, request: Any) -> Any:
        with self._lock:
            last = self.requests is not None and len(self.sent) + 1 == self.requests
            if self.requests is not None and len(self.sent) >= self.requests:
                raise EndpointConnectionError(endpoint_url="http://loopback")
            self.sent.append(name)
        answer = request()
        if last and self.deaf:
            raise EndpointConnectionError(endpoint_url="http://loopback")
        return answer

    def client(self, client: Any) -> Any:
        return _Client(self, client)


@dataclass
class _Client:
    process: Process
    client: Any

    def __getattr__(self, name: str) -> Any:
        return lambda **request: self.process.send(name, lambda: getattr(self.client, name)(**request))


@dataclass
class Bus:
    """Implements ``TurnEvents`` for one process."""

    process: Process
    published: list[TurnEnded]

    async def publish(self, event: TurnEnded) -> None:
        self.process.send("put_events", lambda: self.published.append(event))


@dataclass
class World:
    """Two tables and a bus, which outlive every process."""

    client: Any
    clock: FixedClock = field(default_factory=FixedClock)
    published: list[TurnEnded] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    """What each call of the model was shown."""
    policy: Any = "summaries"
    knobs: dict[str, Any] = field(default_factory=dict)
    asks_people: bool = False

    def runner(self, process: Process) -> GraphRunner:
        client = process.client(self.client)

        def answer(request: Any) -> str:
            return process.send("converse", lambda: self._answer(request))

        settings = chat_settings(agents=("chat",), **self.knobs)
        model = ScriptedChatModel(*[answer] * 10)
        threads = DynamoThreads(client, "memory", pause=no_pause)
        profiles = DynamoProfiles(client, "memory", pause=no_pause)
        metrics = CountingMetrics()
        recall = Recall(profiles, DynamoSummaries(client, "memory", pause=no_pause), metrics)
        deps = AgentDeps(
            models=AgentModels(chat=model, fast=ScriptedChatModel(*["Title"] * 10)),
            recall=recall,
            remember=Remember(profiles, self.clock, settings.memory_profile_max_bytes),
            knowledge=ChatKnowledge().services(),
            threads=threads,
            metrics=metrics,
            settings=settings,
        )
        return GraphRunner(
            small_graph(model) if self.asks_people else build(deps),
            checkpointers=lambda user: saver_on(client, user),
            recall=recall,
            ports=RunPorts(
                threads=threads,
                runs=DynamoRuns(client, "memory", pause=no_pause, clock=self.clock),
                turn_events=Bus(process, self.published),
                clock=self.clock,
                metrics=metrics,
                turn_end=TRIGGER_BACKGROUND_AGENT,
            ),
            timing=RunTiming(watch_every=DAY, renew_every=DAY, wait=timedelta(0)),
        )

    def _answer(self, request: Any) -> str:
        said = [message.text for message in request.history if message.type == "human"]
        self.asked.append(said)
        return f"answer to {said[-1][:20]}"

    async def begin(self) -> None:
        now = self.clock.now()
        row = ThreadRow(
            user_id=USER,
            thread_id=THREAD,
            created_at=now,
            updated_at=now,
            last_message_at=now,
            title="Named",
            policy=self.policy,
        )
        await DynamoThreads(self.client, "memory").create(row)

    async def run(self, *texts: str, process: Process | None = None, **options: Any) -> Outcome | None:
        """Run a turn to its end, or to the process's; ``None`` when the client was told at once that it failed."""
        messages = [HumanMessage(text, id=f"id of {text[:20]}") for text in texts]
        request = RunRequest(user=USER, thread=THREAD, run=new_run_id(), messages=messages, **options)
        try:
            outcome = await outcome_of(await self.runner(process or Process()).start(request))
        except StoreError:
            outcome = None
        # Whatever lease a dead process had is over.
        self.clock.advance(timedelta(minutes=5))
        return outcome

    async def row(self) -> ThreadRow:
        return await DynamoThreads(self.client, "memory").get(USER, THREAD)

    async def messages(self) -> Sequence[Any]:
        state = await self.runner(Process()).reading(USER).aget_state({"configurable": {"thread_id": THREAD}})
        return state.values.get("messages", ())

    async def questions(self) -> list[str]:
        return [message.text for message in await self.messages() if message.type == "human"]

    async def is_well(self) -> None:
        """Nothing is left over, nothing is there twice, and the last question has its answer."""
        row, messages = await self.row(), await self.messages()
        assert (row.status_at(self.clock.now()), tuple(row.pending)) == ("idle", ())
        ids = Counter(message.id for message in messages)
        assert set(ids.values()) == {1}
        *_, question, answer = messages
        assert (question.type, answer.text) == ("human", f"answer to {question.text[:20]}")


async def world(client: Any, **options: Any) -> World:
    made = World(client, **options)
    await made.begin()
    return made


async def before_the_turn(client: Any, turns: int) -> World:
    thread = await world(client)
    for number in range(turns):
        await thread.run(f"earlier {number}")
    return thread


async def sent_by(turns: int, text: str) -> list[str]:
    with mocked_dynamodb() as client:
        thread = await before_the_turn(client, turns)
        process = Process()
        await thread.run(text, process=process)
        return process.sent


# A turn that writes a chunk and the one that refers to it are among the saver's own crash tests.
QUESTIONS = {"small": "question", "beside the lease": "b" * 100_000, "too large for it": "c" * 450_000}


@pytest.mark.parametrize("deaf", [False, True], ids=["", "deaf"])
@pytest.mark.parametrize("turns", [0, 2], ids=["first turn", "third turn"])
async def test_the_next_run_takes_in_what_a_dead_one_left(turns, deaf):
    sent = await sent_by(turns, "question")
    assert {"update_item", "converse", "put_events", "query"} <= set(sent)
    earlier = [f"earlier {number}" for number in range(turns)]
    left = Counter[str]()
    for requests in range(1, len(sent)):
        with mocked_dynamodb() as client:
            thread = await before_the_turn(client, turns)
            process = Process(requests, deaf)
            told = await thread.run("question", process=process)
            row = await thread.row()
            stored = await thread.questions()
            taken = bool(row.pending)

            await thread.run("next")

            questions = await thread.questions()
            if taken or "question" in stored:
                assert questions == [*earlier, "question", "next"]
                left["pending" if "question" not in stored else "stored"] += 1
            else:
                # The lease was never asked for, and whoever asked was told.
                assert (told, questions) == (None, [*earlier, "next"])
                left["nothing"] += 1
            assert thread.asked[-1] == questions
            await thread.is_well()
    assert left["pending"] >= 3
    assert left["stored"] >= 2


@pytest.mark.parametrize(("size", "deaf"), [*((size, False) for size in QUESTIONS), ("small", True)])
async def test_a_client_that_asks_again_is_answered_once(size, deaf):
    text = QUESTIONS[size]
    for requests in range(1, len(await sent_by(1, text))):
        with mocked_dynamodb() as client:
            thread = await before_the_turn(client, 1)
            await thread.run(text, process=Process(requests, deaf))

            again = await thread.run(text)

            assert again is not None
            assert again.status == "success"
            assert await thread.questions() == ["earlier 0", text]
            await thread.is_well()
            # Its end is heard of, if not from the run that died then from this one.
            assert thread.published[-1].human_message_id == f"id of {text[:20]}"
            assert len(thread.asked) <= 3


@pytest.mark.parametrize("size", QUESTIONS)
async def test_what_the_model_was_asked_is_kept_and_the_thread_is_never_worse_than_before(size):
    """A question too large for the lease may be lost while it is stored, before anybody hears a word of an answer."""
    text = QUESTIONS[size]
    kept = Counter[bool]()
    for requests in range(1, len(await sent_by(1, text))):
        with mocked_dynamodb() as client:
            thread = await before_the_turn(client, 1)
            process = Process(requests)
            started = await thread.run(text, process=process) is not None

            await thread.run("next")

            questions = await thread.questions()
            assert questions in (["earlier 0", text, "next"], ["earlier 0", "next"])
            kept[text in questions] += 1
            if "converse" in process.sent or (started and size != "too large for it"):
                assert text in questions
            await thread.is_well()
    assert kept[True] > kept[False]


async def test_the_run_that_takes_it_in_may_die_as_well():
    with mocked_dynamodb() as client:
        thread = await world(client)
        await thread.run("one", process=_after_the_lease())
        process = Process()
        await thread.run("two", process=process)
    for requests in range(1, len(process.sent)):
        with mocked_dynamodb() as client:
            thread = await world(client)
            await thread.run("one", process=_after_the_lease())
            started = await thread.run("two", process=Process(requests)) is not None

            await thread.run("three")

            assert await thread.questions() == ["one", *(["two"] if started else []), "three"]
            await thread.is_well()


async def test_many_runs_may_die_one_after_the_other():
    with mocked_dynamodb() as client:
        thread = await world(client)
        for number in range(5):
            await thread.run(f"lost {number}", process=_after_the_lease())

        await thread.run("last")

        assert await thread.questions() == [*(f"lost {number}" for number in range(5)), "last"]
        await thread.is_well()


async def test_an_answer_to_an_open_question_leaves_a_dead_runs_message_for_the_next():
    """A run that resumes takes in no messages, so it must not drop them either."""
    with mocked_dynamodb() as client:
        thread = await world(client, asks_people=True)
        await thread.run("please confirm")
        await thread.run("lost", process=_after_the_lease())
        await thread.run(command=ResumeCommand(resume="yes", has_resume=True))
        assert await thread.questions() == ["please confirm"]

        await thread.run("next")

        assert await thread.questions() == ["please confirm", "lost", "next"]
        await thread.is_well()


async def test_a_message_that_was_answered_already_leaves_a_dead_runs_message_for_the_next():
    with mocked_dynamodb() as client:
        thread = await before_the_turn(client, 1)
        await thread.run("lost", process=_after_the_lease())
        await thread.run("earlier 0")
        assert await thread.questions() == ["earlier 0"]

        await thread.run("next")

        assert await thread.questions() == ["earlier 0", "lost", "next"]
        await thread.is_well()


async def test_a_branch_leaves_a_dead_runs_message_to_the_thread():
    with mocked_dynamodb() as client:
        thread = await before_the_turn(client, 2)
        await thread.run("lost", process=_after_the_lease())
        graph = thread.runner(Process()).reading(USER)
        history = [each async for each in graph.aget_state_history({"configurable": {"thread_id": THREAD}})]
        first = next(each for each in history if len(each.values["messages"]) == 2)
        await thread.run("instead", checkpoint_id=first.config["configurable"]["checkpoint_id"])
        assert await thread.questions() == ["earlier 0", "instead"]

        await thread.run("next")

        assert await thread.questions() == ["earlier 0", "instead", "lost", "next"]
        await thread.is_well()


async def test_what_was_taken_in_and_then_removed_does_not_come_back():
    """A thread that keeps one turn loses the message in the very run that takes it in."""
    knobs = {"memory_thread_summary_keep_recent": 1, "memory_thread_messages_buffer_recent_turns": 0}
    with mocked_dynamodb() as client:
        thread = await world(client, policy="delete", knobs=knobs)
        await thread.run("lost", process=_after_the_lease())
        await thread.run("two")
        await thread.run("three")
        await thread.run("four")

        assert thread.asked == [["lost", "two"], ["two", "three"], ["three", "four"]]
        await thread.is_well()


def _after_the_lease() -> Process:
    """A process that dies as soon as it has its thread."""

    class AfterTheLease(Process):
        def send(self, name: str, request: Any) -> Any:
            if "update_item" in self.sent:
                raise EndpointConnectionError(endpoint_url="http://loopback")
            return super().send(name, request)

    return AfterTheLease()
