import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from shared.adapters.langgraph_api.event_pages import LINE_BYTES, PAGE_BYTES, EventReader, EventText, pack
from shared.adapters.langgraph_api.event_texts import EventTexts, filled
from shared.adapters.langgraph_api.json_encoding import encode, message_text
from shared.domain.errors import CorruptItemError
from shared.domain.runs import PAGE_MAX_BYTES

BASE = [HumanMessage("Hi", id="h1"), AIMessage("Hello", id="a1")]
TEXTS = st.text() | st.sampled_from(["\n", "\x01n0\x01", "\x1f", "e", "m0\x1f", "\u2028", "{}"])
DATA = st.recursive(
    st.none() | st.integers(-5, 5) | TEXTS | st.sampled_from(BASE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
)
NAMES = st.sampled_from(["messages", "values", "updates|a:1", "custom"])


def events_of(texts, *named):
    return [EventText(number, name, texts.text(data)) for number, (name, data) in enumerate(named, 1)]


def read(pages):
    reader = EventReader()
    events = [event for page in pages for event in reader.read(page.body, page.first)]
    return events, reader


def whole(event, reader):
    return filled(event.text, lambda number: message_text(BASE[number]), reader.messages.__getitem__)


@given(st.lists(st.tuples(NAMES, DATA), min_size=1, max_size=12), st.integers(1, 12))
def test_events_come_back_as_they_were(named, cut):
    """However they are parted into pages, and whatever anybody said."""
    texts = EventTexts()
    texts.begin(BASE)
    events = events_of(texts, *named)
    told: set[int] = set()
    pages = [*pack(events[:cut], texts, told), *(pack(events[cut:], texts, told) if events[cut:] else [])]
    back, reader = read(pages)

    assert [(event.number, event.name) for event in back] == [(event.number, event.name) for event in events]
    assert [whole(event, reader) for event in back] == [encode(data) for _, data in named]


def test_a_state_that_is_sent_again_and_again_is_kept_once():
    past = [HumanMessage(f"{number} " + "past " * 200, id=str(number)) for number in range(500)]
    answer = AIMessage("said " * 100, id="new")
    texts = EventTexts()
    texts.begin(past)
    events = events_of(texts, *[("values", {"messages": [*past, answer]})] * 5)
    (page,) = pack(events, texts, set())

    assert len(page.body) < 4_000


def test_a_token_takes_a_few_bytes():
    texts = EventTexts()
    words = [f"word{number % 97} " for number in range(200)]
    metadata = {"langgraph_node": "model", "langgraph_checkpoint_ns": "chat_agent:0b7a2d0e|model:5c1d"}
    named = [("messages", [AIMessageChunk(word, id="lc_run--1"), metadata]) for word in words]
    (page,) = pack(events_of(texts, *named), texts, set())

    assert len(page.body) < 1_500


def test_a_copy_of_a_message_is_the_same_message():
    texts = EventTexts()
    texts.begin(BASE)
    message = AIMessage("New", id="a2")
    first = texts.text([message, BASE[0]])
    second = texts.text([message.model_copy(deep=True), BASE[0].model_copy(deep=True)])
    changed = texts.text([message.model_copy(update={"content": "Other"})])

    assert first == second
    assert changed != texts.text([message])
    assert [each.text for each in texts.new] == ["New", "Other"]


def test_texts_are_filled_for_the_client_that_reads_along():
    texts = EventTexts()
    texts.begin(BASE)
    data = {"messages": [*BASE, AIMessage("New", id="a2"), AIMessageChunk("par", id="a3")]}

    assert texts.whole(texts.text(data)) == encode(data)


def test_pages_fit_the_database_whatever_they_hold():
    texts = EventTexts()
    noise = [os.urandom(40_000).hex() for _ in range(10)]
    events = events_of(texts, *[("custom", each) for each in noise])
    pages = pack(events, texts, set())
    back, reader = read(pages)

    assert len(pages) > 1
    assert all(len(page.body) <= PAGE_MAX_BYTES for page in pages)
    assert pages[0].first == 1
    assert [page.first for page in pages[1:]] == [page.last + 1 for page in pages[:-1]]
    assert [whole(event, reader) for event in back] == [encode(each) for each in noise]
    assert PAGE_BYTES < PAGE_MAX_BYTES


def test_what_is_too_large_for_a_page_is_left_out_or_found_in_the_thread():
    texts = EventTexts()
    large = HumanMessage("x" * LINE_BYTES, id="large")
    named = [("custom", "y" * LINE_BYTES), ("updates", {"n": {"messages": [large]}}), ("custom", "z")]
    back, reader = read(pack(events_of(texts, *named), texts, set()))

    assert [event.number for event in back] == [2, 3]
    assert reader.elsewhere == {0: "large"}


def test_a_page_that_has_grown_may_be_read_again():
    texts = EventTexts()
    named = [("updates", [AIMessage(str(number), id=str(number))]) for number in range(6)]
    events = events_of(texts, *named)
    (short,), (long,) = pack(events[:3], texts, set()), pack(events, texts, set())
    reader = EventReader()
    list(reader.read(short.body, 1))
    back = list(reader.read(long.body, 1))

    assert [whole(event, reader) for event in back] == [encode(data) for _, data in named]


@pytest.mark.parametrize("body", [b"", b"not packed", b"x\x9c"])
def test_a_page_that_cannot_be_understood_is_an_error(body):
    with pytest.raises(CorruptItemError):
        list(EventReader().read(body, 1))
