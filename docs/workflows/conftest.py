"""Replay the failing examples of the nightly property tests in every checkout: copy this file to tests/conftest.py.

Hypothesis replays a failing example before it generates new ones.  The nightly workflow uploads its failing examples as
an artifact.  Reading it needs a GitHub token in GITHUB_TOKEN (``actions: read``), even for a public repository.
"""

import os

from hypothesis import settings
from hypothesis.database import (
    DirectoryBasedExampleDatabase,
    GitHubArtifactDatabase,
    MultiplexedDatabase,
    ReadOnlyDatabase,
)

OWNER, REPOSITORY = "OWNER", "REPOSITORY"

local = DirectoryBasedExampleDatabase(".hypothesis/examples")
if os.environ.get("GITHUB_TOKEN"):
    # Examples that still fail are saved to the local database again, so the next artifact contains them, too.
    database = MultiplexedDatabase(local, ReadOnlyDatabase(GitHubArtifactDatabase(OWNER, REPOSITORY)))
else:
    database = local

for name in ("default", "relaxfuzz-quick", "relaxfuzz-nightly"):  # pytest --hypothesis-profile NAME
    settings.register_profile(name, settings.get_profile(name), database=database, deadline=None)
settings.load_profile("default")
