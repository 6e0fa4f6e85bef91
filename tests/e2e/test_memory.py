"""What the user says once is known in every thread, until they have it forgotten."""

from uuid import uuid4

from local.model.script import Reply, ScriptedCall
from tests.e2e.model import system_text


def save(**values: str) -> ScriptedCall:
    patches = [{"op": "add", "path": f"/{key}", "value": value} for key, value in values.items()]
    return ScriptedCall(name="save_memory", arguments={"patches": patches})


async def test_saved_fact_is_before_the_model_in_a_new_thread(people, model, word):
    person = people.someone(name="Ada L.")
    await model.script(Reply(tool_calls=[save(home_city="Lisbon")]), Reply(text="Noted."), contains=word, kind="answer")
    await person.say(str(uuid4()), f"I live in Lisbon, {word}")
    assert (await person.profile())["store"] == {"home_city": "Lisbon"}
    first, second = await model.answers(word)
    assert '"home_city"' not in system_text(first)
    # Already in the same turn (P21).
    assert '"home_city": "Lisbon"' in system_text(second)

    await person.say(str(uuid4()), f"Where do I live? new-{word}")
    (asked,) = await model.answers(f"new-{word}")
    assert '"home_city": "Lisbon"' in system_text(asked)
    assert '"name": "Ada L."' in system_text(asked)
    assert "<earlier_conversation>" not in system_text(asked)


async def test_deleted_key_is_not_before_the_model_in_the_next_turn(people, model, thread, word):
    person = people.someone()
    calls = [save(home_city="Lisbon", tea="green")]
    await model.script(Reply(tool_calls=calls), Reply(text="Noted."), contains=word, kind="answer")
    await person.say(thread, f"I live in Lisbon, {word}")
    deleted = await person.http.delete("/api/memory/profile/home_city")
    assert deleted.json() == {"ok": True, "deletedKey": "home_city"}
    await person.say(thread, f"after-{word}")
    asked = (await model.answers(f"after-{word}"))[-1]
    assert '"tea": "green"' in system_text(asked)
    assert "home_city" not in system_text(asked)
    assert (await person.http.delete("/api/memory/profile/home_city")).status_code == 404


async def test_two_people_know_nothing_of_each_other(people, model, word):
    ada, bob = people.someone(), people.someone()
    await model.script(Reply(tool_calls=[save(secret=word)]), Reply(text="Noted."), contains=word, kind="answer")
    await ada.say(str(uuid4()), f"Remember {word}")
    await bob.say(str(uuid4()), f"Hello from bob-{word}")
    (asked,) = await model.answers(f"bob-{word}")
    assert word not in system_text(asked)
    assert (await bob.profile())["store"] == {}
