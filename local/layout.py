"""Where the local product keeps what."""

from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one local product.

    Parameters
    ----------
    state : Path
        Everything that a restart needs; ``.local`` in the repository unless told otherwise.
    """

    state: Path = REPOSITORY / ".local"

    @property
    def emulator_environment(self) -> Path:
        """The emulator's own Python environment; made by the build, so that it outlives a reset."""
        return REPOSITORY / "build" / "emulator"

    @property
    def bundles(self) -> Path:
        """The functions' code as the local cloud gets it."""
        return REPOSITORY / "build" / "local"

    @property
    def cloud(self) -> Path:
        """The local cloud's state."""
        return self.state / "cloud"

    @property
    def cloud_state(self) -> Path:
        """One file for each service of the local cloud."""
        return self.cloud / "state"

    @property
    def scratch(self) -> Path:
        """What may be thrown away at every start."""
        return self.state / "tmp"

    @property
    def trash(self) -> Path:
        """Scratch of earlier starts, on its way out."""
        return self.state / "trash"

    @property
    def logs(self) -> Path:
        """One log per process."""
        return self.state / "log"

    @property
    def assembly(self) -> Path:
        """The synthesised templates."""
        return self.state / "cdk.out"

    @property
    def outputs(self) -> Path:
        """The deployed stacks' outputs."""
        return self.state / "outputs.json"

    @property
    def deployed(self) -> Path:
        """The digest of what was deployed last."""
        return self.state / "deployed"

    @property
    def user(self) -> Path:
        """The local user's name and password."""
        return self.state / "user.json"

    @property
    def lock(self) -> Path:
        """Held by whoever runs on this state."""
        return self.state / "lock"

    def prepare(self) -> None:
        """Make the folders."""
        for folder in (self.cloud, self.scratch, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
