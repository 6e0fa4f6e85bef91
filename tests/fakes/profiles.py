"""Profiles, kept in memory."""

import copy

from shared.domain.errors import VersionConflictError
from shared.domain.ids import UserId
from shared.domain.profile import ProfileChange, StoredProfile
from tests.fakes.faults import Faults


class InMemoryProfiles(Faults):
    """Implements ``Profiles``."""

    def __init__(self) -> None:
        super().__init__()
        self._profiles: dict[UserId, StoredProfile] = {}
        self._logs: dict[UserId, dict[int, ProfileChange]] = {}

    async def load(self, user: UserId) -> StoredProfile:
        self._called("load")
        return copy.deepcopy(self._profiles.get(user, StoredProfile()))

    async def save(self, user: UserId, profile: StoredProfile, change: ProfileChange) -> None:
        self._called("save")
        stored = self._profiles.get(user, StoredProfile())
        if profile.version != stored.version + 1:
            raise VersionConflictError(f"Version {profile.version - 1} of the profile is not the stored one.")
        self._profiles[user] = copy.deepcopy(profile)
        self._logs.setdefault(user, {})[profile.version] = copy.deepcopy(change)

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self._profiles.pop(user, None)
        self._logs.pop(user, None)

    def log(self, user: UserId) -> dict[int, ProfileChange]:
        """Give what changed the profile, by the version it made."""
        return copy.deepcopy(self._logs.get(user, {}))


class OvertakenProfiles(InMemoryProfiles):
    """Profiles into which somebody else writes between each read and the write that follows, ``times`` times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def save(self, user: UserId, profile: StoredProfile, change: ProfileChange) -> None:
        if self.times:
            self.times -= 1
            stored = await self.load(user)
            theirs = StoredProfile(doc={**stored.doc, "theirs": self.times}, version=profile.version)
            await super().save(user, theirs, change)
        await super().save(user, profile, change)
