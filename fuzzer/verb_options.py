"""Arguments that several verbs take, so that they are called and explained alike."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_campaign(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The directory of a campaign, as ``directory``; ``more`` is added to its help."""
    parser.add_argument("directory", type=Path, metavar="DIR", help=f"the campaign's directory{more}")


def add_triage(parser: argparse.ArgumentParser) -> None:
    """The file of decisions on families, as ``triage``: ``None`` for that of the working directory."""
    parser.add_argument(
        "--triage",
        type=Path,
        metavar="FILE",
        help="decisions on families (default: triage.toml, where there is one; `relaxfuzz triage` writes it)",
    )
