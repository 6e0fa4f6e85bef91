"""Bodies are JSON, whatever a client calls them."""

import pytest

from tests.fakes.chat_api import ChatApi, events_in


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain;charset=UTF-8"}], ids=["none", "plain text"])
async def test_a_body_that_is_not_called_json_is_read_all_the_same(headers):
    async with ChatApi().client() as http:
        made = await http.post("/threads", content=b"{}", headers=headers)
        body = b'{"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hi"}]}}'
        place = f"/threads/{made.json()['thread_id']}/runs/stream"
        streamed = await http.post(place, content=body, headers=headers)
    assert events_in(streamed.text)[-1].name == "end"
