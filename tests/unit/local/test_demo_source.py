"""What the demo source does with memory, seen from the wire."""

import json

import pytest

from local.model.demo.source import DemoSource
from tests.unit.local.conversation import CRYPTO, LOOKUP, SAVE, WEATHER, answer, called, request

DEMO = DemoSource(pause=0)


async def text_for(*said, **more) -> str:
    text, calls, stop = await answer(DEMO, request(*said, **more))
    assert (calls, stop) == ([], "end_turn")
    return text


async def call_for(*said, **more):
    text, calls, stop = await answer(DEMO, request(*said, **more))
    assert (text, stop, len(calls)) == ("", "tool_use", 1)
    return calls[0]


@pytest.mark.parametrize(
    ("said", "patches"),
    [
        ("Hi, my name is Ada.", [("add", "name", "Ada")]),
        ("My name is Ada and I live in Lisbon.", [("add", "name", "Ada"), ("add", "location", "Lisbon")]),
        ("I work as a marine biologist", [("add", "job", "marine biologist")]),
        ("I like tea. I love long walks!", [("add", "likes", ["tea", "long walks"])]),
        ("I prefer trains over planes", [("add", "preferences", ["trains over planes"])]),
        ("Please remember that the shed key is under the pot.", [("add", "notes", ["the shed key is under the pot"])]),
        ("My favourite colour is green", [("add", "favourite_colour", "green")]),
        ("I\N{RIGHT SINGLE QUOTATION MARK}m 42 years old", [("add", "age", "42")]),
    ],
)
async def test_something_lasting_is_saved(said, patches):
    name, arguments = await call_for(said)
    assert name == "save_memory"
    assert arguments == {"patches": [{"op": op, "path": f"/{key}", "value": value} for op, key, value in patches]}


async def test_key_that_is_known_is_replaced_and_a_list_grows():
    profile = {"location": "Lisbon", "likes": ["tea"]}
    _, arguments = await call_for("I moved to Porto. I like coffee.", profile=profile)
    assert arguments["patches"] == [
        {"op": "replace", "path": "/location", "value": "Porto"},
        {"op": "replace", "path": "/likes", "value": ["tea", "coffee"]},
    ]


async def test_what_is_known_already_is_not_saved_again():
    assert await text_for("My name is Ada", profile={"name": "Ada"}) == "I already know: name: Ada."


@pytest.mark.parametrize("said", ["What is my name?", "Do you think I like tea?", "My question is hard."])
async def test_questions_and_passing_remarks_are_not_saved(said):
    await text_for(said)


async def test_forget_removes_the_key_that_is_meant():
    profile = {"location": "Lisbon", "favourite_colour": "green"}
    assert (await call_for("Please forget where I live", profile=profile))[1] == {
        "patches": [{"op": "remove", "path": "/location"}]
    }
    assert (await call_for("forget my favourite colour", profile=profile))[1] == {
        "patches": [{"op": "remove", "path": "/favourite_colour"}]
    }


async def test_forgetting_what_is_not_known_says_so():
    assert await text_for("forget my shoe size") == "There is nothing in memory about my shoe size."


async def test_save_is_confirmed_from_the_tools_result():
    result = {
        "ok": True,
        "patches": [
            {"op": "add", "path": "/name", "key": "name", "value": "Ada"},
            {"op": "replace", "path": "/location", "key": "location", "value": "Porto", "oldValue": "Lisbon"},
            {"op": "remove", "path": "/job", "key": "job", "oldValue": "baker"},
        ],
    }
    text = await text_for("My name is Ada", *called("save_memory", {"patches": []}, result))
    assert text == (
        "Noted: your name is Ada. Noted: your location is now Porto, no longer Lisbon. Forgotten: your job."
    )


async def test_refused_save_is_not_called_a_success():
    result = {"ok": False, "code": "PATCH_FAILED", "error": "no such key"}
    text = await text_for("My name is Ada", *called("save_memory", {"patches": []}, result))
    assert "did not work" in text
    assert "no such key" in text


@pytest.mark.parametrize(
    ("said", "refs"),
    [("What did I say in #3?", ["#3"]), ("Compare #2-#4 and #7", ["#2-#4", "#7"]), ("What did I ask first?", ["#1"])],
)
async def test_old_turns_are_looked_up(said, refs):
    assert await call_for(said) == ("lookup_thread_messages", {"refs": refs})


async def test_looked_up_turns_are_quoted():
    turns = [{"ref": "#3", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}]
    result = {"ok": True, "turns": turns}
    text = await text_for("What was #3?", *called("lookup_thread_messages", {"refs": ["#3"]}, result))
    assert text == "In #3 you said: “Hi”\nIn #3 I answered: “Ho”"


async def test_weather_and_crypto_tools_are_called_with_the_input_their_schema_asks_for():
    assert await call_for("How is the weather in New York?", tools=[WEATHER]) == ("get_weather", {"city": "New York"})
    assert await call_for("What is BTC worth?", tools=[CRYPTO]) == ("get_crypto_price", {"coins": ["bitcoin"]})


async def test_tool_result_is_put_into_words():
    text = await text_for(
        "Weather in Rome?", *called("get_weather", {}, {"ok": True, "city": "Rome", "now": {"c": 31}}), tools=[WEATHER]
    )
    assert text == "The tool get_weather answers: city: Rome, c: 31."


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("What is my name?", "Your name: Ada."),
        ("Where do I live?", "Your location: Lisbon."),
        ("what's my favourite colour?", "Your favourite colour: green."),
        ("How old am I?", "You have not told me your age."),
        ("What do you know about me?", "This is what I know about you: name: Ada; location: Lisbon; "),
    ],
)
async def test_questions_are_answered_from_the_profile(asked, answered):
    profile = {"name": "Ada", "location": "Lisbon", "favourite_colour": "green"}
    assert (await text_for(asked, profile=profile)).startswith(answered)


async def test_earlier_conversation_is_told_from_summaries_and_messages():
    earlier = "#1, #2\nQ: Which tea is mild?\nA: White tea.\n\n#3\nQ: And strong?\nA: Assam."
    text = await text_for("I drink it.", "Good.", "What did we talk about?", earlier=earlier)
    assert text.splitlines()[1:] == ["- Which tea is mild?", "- And strong?", "- I drink it."]


async def test_first_answer_says_that_it_is_no_language_model():
    assert "no language model" in await text_for("Tell me a story")


async def test_summary_has_one_entry_a_turn_with_the_turns_own_ref():
    lines = [
        {"id": "#11", "messages": [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}]},
        {
            "id": "#12",
            "messages": [
                {"role": "user", "content": "Weather in Rome?"},
                {"role": "assistant", "content": "", "tool_calls": [{"name": "get_weather", "args": {}}]},
                {"role": "tool", "content": "31"},
                {"role": "assistant", "content": "31 degrees."},
            ],
        },
        {"id": "#13", "messages": [{"role": "user", "content": "Thanks"}]},
    ]
    schema = {"type": "object", "properties": {"entries": {"type": "array"}}}
    asked = request(
        "Summarise:\n" + "\n".join(json.dumps(line) for line in lines),
        tools=[{"name": "SummaryOutput", "schema": schema}],
        toolConfig={"toolChoice": {"tool": {"name": "SummaryOutput"}}},
    )
    _, calls, stop = await answer(DEMO, asked)
    assert stop == "tool_use"
    assert calls == [
        (
            "SummaryOutput",
            {
                "entries": [
                    {
                        "question": "Weather in Rome?",
                        "answer": "31 degrees. (tools used: get_weather)",
                        "refs": ["#11", "#12", "#13"],
                    }
                ]
            },
        )
    ]


@pytest.mark.parametrize(
    ("said", "agent"), [("Is it going to rain?", "weather"), ("price of BTC", "crypto"), ("Tell me a story", "chat")]
)
async def test_router_decides_by_words(said, agent):
    schema = {
        "type": "object",
        "properties": {
            "agent": {"$ref": "#/$defs/Agent"},
            "reason": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "$defs": {"Agent": {"enum": ["chat", "weather", "crypto", "code"], "type": "string"}},
    }
    text_format = {"type": "json_schema", "structure": {"jsonSchema": {"schema": json.dumps(schema)}}}
    text, _, stop = await answer(DEMO, request(said, tools=(), outputConfig={"textFormat": text_format}))
    assert json.loads(text)["agent"] == agent
    assert stop == "end_turn"


async def test_title_is_short_and_made_of_the_users_words():
    title = await text_for(
        "Which kinds of tea are mild enough for a five year old child?", system="Give a title.", tools=()
    )
    assert title == "Which kinds of tea are mild"


async def test_text_streams_word_by_word():
    parts = [part async for part in DEMO.reply(request("What is my name?", profile={"name": "Ada"}))]
    assert [part.text for part in parts[:-1]] == ["Your ", "name: ", "Ada."]


SEARCH = {"name": "search_knowledge_base", "schema": {"type": "object", "properties": {"query": {"type": "string"}}}}
LIST = {"name": "list_documents", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
DOCUMENTS = (SAVE, LOOKUP, SEARCH, LIST)
FOUND = {
    "ok": True,
    "passages": [
        {"number": 3, "document": "tea.md", "text": "# Tea\nGreen tea is steeped at seventy degrees."},
        {"number": 4, "document": "herons.pdf", "text": "# Herons\nThey stand in rivers. The heron nests in March."},
    ],
}


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("What do my documents say about herons?", ("search_knowledge_base", "What do my documents say about herons?")),
        ("See :kb-document[herons.pdf]{documentId=d-1}", ("search_knowledge_base", "See herons.pdf")),
        ("When does the heron nest?", ("search_knowledge_base", "When does the heron nest?")),
    ],
)
async def test_documents_are_searched_for_what_is_asked_of_them(said, call):
    name, arguments = await call_for(said, tools=DOCUMENTS)
    assert (name, arguments["query"]) == call


@pytest.mark.parametrize("said", ["Which documents do I have?", "List my files"])
async def test_documents_are_listed_when_asked_which_there_are(said):
    assert await call_for(said, tools=DOCUMENTS) == ("list_documents", {})


@pytest.mark.parametrize("said", ["What is my name?", "Hello!", "The weather is fine today."])
async def test_what_is_not_about_documents_does_not_search_them(said):
    await text_for(said, tools=DOCUMENTS)


async def test_the_answer_quotes_the_passage_that_fits_and_cites_it():
    question = "When does the heron nest?"
    said = await text_for(question, *called("search_knowledge_base", {"query": question}, FOUND), tools=DOCUMENTS)
    assert said == "“herons.pdf” says: “The heron nests in March.” [4]"


async def test_passages_without_a_word_of_the_question_are_no_answer():
    question = "How high is the volcano?"
    said = await text_for(question, *called("search_knowledge_base", {"query": question}, FOUND), tools=DOCUMENTS)
    assert said == "I found nothing about that in your documents."


async def test_a_document_that_came_with_the_message_is_read_there():
    head = '{"documentId": "d-1", "name": "a.md"}'
    block = f"<kb_document>\n{head}\nMy name is Eve. The heron nests in March.\n</kb_document>"
    said = await text_for(f"When does the heron nest?\n{block}", tools=DOCUMENTS)
    assert said == "“a.md” says: “The heron nests in March.”"
