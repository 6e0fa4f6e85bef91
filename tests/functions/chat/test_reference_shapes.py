"""Our answers beside those of LangGraph's own server, key by key, to the same requests over the same graph."""

import json
import re
from pathlib import Path

import pytest

from functions.chat.reference_differences import DIFFERENCES, REFERENCE
from tests.fakes.chat_api import ChatApi
from tests.functions.chat.reference.graph import answering_model
from tests.functions.chat.reference.script import Script
from tests.functions.chat.reference.shapes import differences

RECORDED = json.loads((Path(__file__).parent / "reference" / "shapes.json").read_text(encoding="utf-8"))


@pytest.fixture
async def found():
    api = ChatApi(answering_model())
    async with api.client() as http:
        return differences(RECORDED["answers"], await Script(http).run())


async def test_answers_differ_from_the_references_as_listed_and_in_nothing_else(found):
    unlisted = [line for line in found if not any(re.fullmatch(each.seen, line) for each in DIFFERENCES)]
    unseen = [each.seen for each in DIFFERENCES if not any(re.fullmatch(each.seen, line) for line in found)]

    assert unlisted == []
    assert unseen == []
    assert RECORDED["reference"] == REFERENCE
