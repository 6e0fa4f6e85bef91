"""What every implementation of ``FolderStore`` keeps: the fake and the one on DynamoDB."""

from datetime import UTC, datetime

import pytest

from shared.adapters.dynamodb.folders import DynamoFolders
from shared.domain.errors import VersionConflictError
from shared.domain.ids import UserId
from shared.domain.kb.folders import MAX_FOLDER_NAME_CHARS, MAX_FOLDERS, FolderId, Folders
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.folders import InMemoryFolders

ANNA, BEN = UserId("anna"), UserId("ben")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["fake", "dynamodb"])
def folders(request):
    if request.param == "fake":
        yield InMemoryFolders()
        return
    with mocked_dynamodb() as client:
        yield DynamoFolders(client, "memory", pause=no_pause)


def folder_id(number):
    return FolderId(f"f-00000000-0000-4000-8000-{number:012}")


def made(*names, user=ANNA):
    folders = Folders(user=user)
    for number, name in enumerate(names):
        folders = folders.with_new(folder_id(number), name, AT)
    return folders


async def test_who_made_none_has_the_default_folder(folders):
    found = await folders.of_user(ANNA)
    assert found == Folders(user=ANNA)
    assert [folder.name for folder in found.all] == ["Attachments"]


async def test_folders_come_back_as_they_were(folders):
    first = made("Über uns / 100%")
    await folders.save(first)
    await folders.save(first.with_new(folder_id(7), "a", AT))
    found = await folders.of_user(ANNA)
    assert [(each.id, each.name, each.created_at) for each in found.made] == [
        (folder_id(0), "Über uns / 100%", AT),
        (folder_id(7), "a", AT),
    ]
    assert found.version == 2
    assert await folders.of_user(BEN) == Folders(user=BEN)


async def test_of_two_changes_of_one_version_the_first_counts(folders):
    first = made("a")
    await folders.save(first)
    with pytest.raises(VersionConflictError):
        await folders.save(made("b"))
    await folders.save(first.with_new(folder_id(2), "c", AT))
    with pytest.raises(VersionConflictError):
        await folders.save(first.without(folder_id(0)))
    assert [each.name for each in (await folders.of_user(ANNA)).made] == ["a", "c"]


async def test_a_write_whose_answer_was_lost_may_be_repeated(folders):
    await folders.save(made("a"))
    await folders.save(made("a"))
    assert (await folders.of_user(ANNA)).version == 1


async def test_as_many_folders_as_there_may_be_with_the_longest_names_fit(folders):
    every = Folders(user=ANNA)
    for number in range(MAX_FOLDERS):
        every = every.with_new(folder_id(number), f"{number:03}" + "😀" * (MAX_FOLDER_NAME_CHARS - 3), AT)
    await folders.save(Folders(user=ANNA, made=every.made, version=1))
    assert len((await folders.of_user(ANNA)).made) == MAX_FOLDERS


async def test_a_purge_removes_the_folders_of_one_user(folders):
    await folders.save(made("a"))
    await folders.save(made("a", user=BEN))
    await folders.purge(ANNA)
    await folders.purge(ANNA)
    assert (await folders.of_user(ANNA), (await folders.of_user(BEN)).version) == (Folders(user=ANNA), 1)
