import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from shared.adapters.langgraph_api.messages import messages_of
from shared.domain.errors import InvalidInputError
from tests.fakes.images import png

PNG = png()


def read(*given):
    return messages_of(list(given), new_id=lambda: "new")


@pytest.mark.parametrize("kind", [{"type": "human"}, {"role": "user"}, {"type": "human", "role": "user"}])
def test_a_users_message_is_known_by_type_or_role_and_has_an_id(kind):
    assert read({**kind, "content": "Hi"}) == [HumanMessage("Hi", id="new")]
    assert read({**kind, "content": "Hi", "id": "mine"})[0].id == "mine"


def test_parts_keep_what_a_model_reads_and_nothing_else():
    parts = [
        "Look: ",
        {"type": "text", "text": "this", "index": 0, "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "high"}},
        {"type": "image", "base64": PNG, "mime_type": "image/png", "metadata": {"name": "a.png"}},
    ]
    (message,) = read({"role": "user", "content": parts})

    assert message.content == [
        "Look: ",
        {"type": "text", "text": "this"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
    ]


@pytest.mark.parametrize(
    "picture",
    [
        {"base64": PNG, "mime_type": "image/png"},
        {"mimeType": "image/png", "data": PNG, "metadata": {"name": "a.png"}},
        {"source_type": "base64", "mime_type": "image/png", "data": PNG},
        {"url": f"data:image/png;base64,{PNG}"},
    ],
    ids=["LangChain", "LangChain.js, agent-chat-ui", "LangChain before version 1", "an address that is the data"],
)
def test_a_picture_alone_is_something_in_whichever_shape(picture):
    read_as = {"type": "image", "base64": PNG, "mime_type": "image/png"}

    assert read({"role": "user", "content": [{"type": "image", **picture}]})[0].content == [read_as]


def test_earlier_answers_come_back_as_clients_were_given_them():
    sent = AIMessage(
        [{"type": "text", "text": "Let me see.", "index": 0}, {"type": "tool_use", "id": "c", "name": "look"}],
        id="a1",
        tool_calls=[{"name": "look", "args": {"at": "it"}, "id": "c"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    )
    (answer,) = read(sent.model_dump())

    assert (answer.type, answer.id, answer.content) == ("ai", "a1", "Let me see.")
    assert answer.tool_calls == sent.tool_calls
    assert answer.usage_metadata is None


def test_a_tools_result_names_its_call():
    assert read({"role": "tool", "content": None, "tool_call_id": "c", "status": "error"}) == [
        ToolMessage("", tool_call_id="c", status="error")
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({}, "m.0: A message has a 'type' or a 'role'"),
        ({"type": ["human"], "content": "x"}, "m.0: A message has"),
        ({"role": "system", "content": "x"}, "m.0: A message has"),
        ({"role": "user", "content": [{"type": "text"}]}, "m.0.content.1.text.text"),
        ({"role": "assistant", "content": "x", "tool_calls": [{"name": "a"}]}, "m.0.tool_calls.0"),
        ({"role": "tool", "content": "x"}, "m.0.tool_call_id"),
        ({"role": "user", "content": "x", "id": "x" * 300}, "m.0.id"),
    ],
)
def test_what_does_not_fit_is_told_by_its_place(message, said):
    if message.get("content") == [{"type": "text"}]:
        message["content"].insert(0, "first")
    with pytest.raises(InvalidInputError) as refused:
        messages_of([message], new_id=str, where="m")

    assert said in str(refused.value)


def test_a_refusal_does_not_repeat_what_was_said():
    with pytest.raises(InvalidInputError) as refused:
        read({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://secret.example/a.png"}}]})

    assert "secret" not in str(refused.value)
