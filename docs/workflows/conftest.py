"""Failing examples of the nightly property tests, shared with every checkout: copy this to tests/conftest.py.

Hypothesis replays a failing example before it draws new ones.  Those of the night are in an artifact of the workflow;
reading it needs a token of GitHub in GITHUB_TOKEN (``actions: read``), also for a public repository.
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
    # What still fails of the night before is saved in the local one again, and so kept for the next.
    database = MultiplexedDatabase(local, ReadOnlyDatabase(GitHubArtifactDatabase(OWNER, REPOSITORY)))
else:
    database = local

for name in ("default", "relaxfuzz-quick", "relaxfuzz-nightly"):  # pytest --hypothesis-profile NAME
    settings.register_profile(name, settings.get_profile(name), database=database, deadline=None)
settings.load_profile("default")
