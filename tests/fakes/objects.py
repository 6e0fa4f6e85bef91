"""The bucket of the uploads, kept in memory."""

from datetime import datetime, timedelta

from shared.domain.kb.failures import DocumentTooLargeError
from shared.domain.kb.ingestion import ObjectGoneError
from shared.kb_ports import UploadTicket
from tests.fakes.faults import Faults


class InMemoryObjects(Faults):
    """Implements ``ObjectStore``, ``UploadWriter`` and ``UploadOffers``.

    ``kept`` holds every version of each object, the last one last. An empty list is an object that was deleted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, list[tuple[str, bytes]]] = {}

    def put(self, key: str, data: bytes) -> str:
        """Upload, and give the version."""
        versions = self.kept.setdefault(key, [])
        versions.append((f"v{len(versions) + 1}", data))
        return versions[-1][0]

    async def read(self, key: str, version: str | None, *, max_bytes: int) -> bytes:
        self._called("read")
        data = self._data(key, version)
        if data is None:
            raise ObjectGoneError("gone")
        if len(data) > max_bytes:
            raise DocumentTooLargeError("This file is too large.")
        return data

    async def exists(self, key: str, version: str | None) -> bool:
        self._called("exists")
        return self._data(key, version) is not None

    async def delete(self, key: str) -> None:
        self._called("delete")
        self.kept.pop(key, None)

    async def purge(self, prefix: str) -> None:
        self._called("purge")
        self.kept = {key: versions for key, versions in self.kept.items() if not key.startswith(prefix)}

    async def offer(self, key: str, *, size: int, media_type: str, now: datetime) -> UploadTicket:
        self._called("offer")
        headers = {"Content-Type": media_type, "Content-Length": str(size)}
        return UploadTicket(url=f"https://uploads/{key}", headers=headers, expires_at=now + timedelta(minutes=15))

    async def write(self, key: str, data: bytes, *, media_type: str, over: bool = False) -> bool:
        self._called("write_over" if over else "write")
        if not over and self._data(key, None) is not None:
            return False
        self.put(key, data)
        return True

    def _data(self, key: str, version: str | None) -> bytes | None:
        versions = self.kept.get(key, [])
        return next((data for name, data in reversed(versions) if version in (None, name)), None)
