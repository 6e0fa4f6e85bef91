"""What becomes of messages whose ids a thread knows: nothing that was said is changed by an input."""

import pytest

from tests.fakes.chat_api import ChatApi, events_in
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.images import png
from tests.fakes.runs import USER

PICTURE = {"type": "image", "base64": png(), "mime_type": "image/png"}


class Talk:
    def __init__(self, *answers):
        self.api = ChatApi(ScriptedChatModel(*answers))
        self.client = self.api.client()

    async def begin(self):
        self.thread = (await self.client.post("/threads", json={})).json()["thread_id"]
        return self

    async def send(self, *messages, **options):
        body = {"assistant_id": "agent", "input": {"messages": list(messages)}, **options}
        return await self.client.post(f"/threads/{self.thread}/runs/stream", json=body)

    async def said(self):
        state = (await self.client.get(f"/threads/{self.thread}/state")).json()
        return [message["content"] for message in state["values"]["messages"]]

    async def at_rest(self):
        row = await self.api.runs.threads.get(USER, self.thread)
        return row.status, list(row.pending)


def user(content, ident="h"):
    return {"role": "user", "content": content, "id": ident}


SAME = ["Hello  there", [{"type": "text", "text": "Hello there"}], ["Hello", {"type": "text", "text": "there"}]]


@pytest.mark.parametrize("again", SAME, ids=str)
async def test_the_same_words_in_any_shape_have_the_stored_answer(again):
    talk = await Talk("One.").begin()
    await talk.send(user("Hello there"))

    answer = await talk.send(user(again))

    assert events_in(answer.text)[-1].data["status"] == "success"
    assert await talk.said() == ["Hello there", "One."]
    assert len(talk.api.model.requests) == 1


async def test_a_message_in_less_detail_is_the_same_and_with_another_image_it_is_not():
    talk = await Talk("One.").begin()
    words = {"type": "text", "text": "What is it?"}
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE['base64']}"}}
    await talk.send(user([words, PICTURE]))
    same = [await talk.send(user("What is it?")), await talk.send(user([url, words]))]
    other = await talk.send(user([words, {**PICTURE, "base64": png(2, 2)}]))

    assert [answer.status_code for answer in same] == [200, 200]
    assert other.status_code == 422
    assert (await talk.said())[0] == [words, PICTURE]


@pytest.mark.parametrize("rest", [[], [user("And?", "h2")]], ids=["alone", "before another"])
async def test_other_words_with_an_id_that_is_answered_are_refused(rest):
    talk = await Talk("One.", "Two.").begin()
    await talk.send(user("Cats?"))

    refused = await talk.send(user("Dogs?"), *rest)

    assert refused.status_code == 422
    assert "known with another text" in refused.json()["detail"]
    assert "Dogs" not in refused.text
    assert "checkpoint" in refused.json()["detail"]
    assert (await talk.at_rest(), await talk.said()) == (("idle", []), ["Cats?", "One."])
    assert len(talk.api.model.requests) == 1


async def test_it_is_edited_from_the_checkpoint_before_it():
    talk = await Talk("One.", "Two.").begin()
    await talk.send(user("Cats?"))
    state = (await talk.client.get(f"/threads/{talk.thread}/state")).json()

    await talk.send(user("Dogs?"), checkpoint=state["parent_checkpoint"])

    assert await talk.said() == ["Dogs?", "Two."]


async def test_a_branch_that_has_the_answer_does_not_ask_again():
    talk = await Talk("One.", "Two.").begin()
    await talk.send(user("Cats?"))
    state = (await talk.client.get(f"/threads/{talk.thread}/state")).json()

    refused = await talk.send(user("Cats?"), checkpoint=state["checkpoint"])

    assert refused.status_code == 422


async def test_a_human_message_does_not_take_an_answers_place():
    talk = await Talk("One.").begin()
    await talk.send(user("Cats?"))
    state = (await talk.client.get(f"/threads/{talk.thread}/state")).json()
    answer = state["values"]["messages"][1]["id"]

    refused = await talk.send(user("And?", "h2"), user("Mine now", answer))

    assert (refused.status_code, "an answer's" in refused.text) == (422, True)
    assert (await talk.at_rest(), await talk.said()) == (("idle", []), ["Cats?", "One."])


async def test_a_whole_history_that_comes_again_brings_only_what_is_new():
    talk = await Talk("One.", "Two.").begin()
    await talk.send(user([{"type": "text", "text": "Cats?"}, PICTURE]))

    await talk.send(user("Cats?"), {"role": "assistant", "content": "One."}, user("Dogs?", "h2"))

    assert (await talk.said())[0] == [{"type": "text", "text": "Cats?"}, PICTURE]
    assert (await talk.said())[-1] == "Two."


async def test_a_question_without_an_answer_may_be_put_better():
    talk = await Talk(RuntimeError("x"), "One.").begin()
    await talk.send(user("Cats"))
    await talk.send(user("Cats?"))

    assert await talk.said() == ["Cats?", "One."]


async def test_a_question_of_an_earlier_turn_is_not_answered_out_of_its_place():
    talk = await Talk(RuntimeError("x"), "One.").begin()
    await talk.send(user("Cats?"))
    await talk.send(user("Dogs?", "h2"))

    refused = await talk.send(user("Cats!"))

    assert (refused.status_code, "earlier turn" in refused.text) == (422, True)
    assert await talk.said() == ["Cats?", "Dogs?", "One."]


async def test_a_refused_input_leaves_no_run_behind():
    talk = await Talk("One.").begin()
    await talk.send(user("Cats?"))
    await talk.send(user("Dogs?"))
    runs = (await talk.client.get(f"/threads/{talk.thread}/runs")).json()

    assert [run["status"] for run in runs] == ["success"]


async def test_the_result_of_a_call_is_taken_only_if_there_is_the_call():
    talk = await Talk("Sunny, then.").begin()
    result = {"role": "tool", "content": "sunny", "tool_call_id": "c"}
    call = {"role": "assistant", "tool_calls": [{"name": "weather", "args": {}, "id": "c"}]}
    refused = await talk.send(result)
    taken = await talk.send(user("Weather?"), call, result)

    assert (refused.status_code, taken.status_code) == (422, 200)
    assert (await talk.said())[-1] == "Sunny, then."
