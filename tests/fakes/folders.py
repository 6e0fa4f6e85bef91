"""Folders, kept in memory."""

from shared.domain.errors import VersionConflictError
from shared.domain.ids import UserId
from shared.domain.kb.folders import Folders
from tests.fakes.faults import Faults


class InMemoryFolders(Faults):
    """Implements ``FolderStore``; ``kept`` holds each user's."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[UserId, Folders] = {}

    async def of_user(self, user: UserId) -> Folders:
        self._called("of_user")
        return self.kept.get(user, Folders(user=user))

    async def save(self, folders: Folders) -> None:
        self._called("save")
        stored = self.kept.get(folders.user, Folders(user=folders.user))
        if stored == folders:
            return
        if stored.version != folders.version - 1:
            raise VersionConflictError(f"Version {folders.version - 1} of the folders is not the stored one.")
        self.kept[folders.user] = folders

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self.kept.pop(user, None)
