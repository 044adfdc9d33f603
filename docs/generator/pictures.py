"""Take the pictures of README from a real campaign: the report's page, and a finding in the terminal.

    python docs/generator/pictures.py CAMPAIGN ID

Needs Chromium (or its path in CHROMIUM) and playwright.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).resolve().parents[1] / "pictures"
STYLE = (
    "margin:0;padding:18px 22px;background:#1e1f24;color:#e6e6e6;font:14px/1.45 'DejaVu Sans Mono',monospace;"
    "white-space:pre-wrap;width:1010px"
)


def said(command: list[str]) -> str:
    """Return what a command prints, below its line."""
    done = subprocess.run(
        [sys.executable, "-m", "relaxfuzz", *command], capture_output=True, text=True, check=True, timeout=300
    )
    return f"$ relaxfuzz {' '.join(command)}\n{done.stdout.rstrip()}\n"


def terminal(page: Page, text: str) -> None:
    """Take the picture of a terminal."""
    page.set_content(f'<body style="margin:0"><pre style="{STYLE}">{html.escape(text)}</pre></body>')
    page.locator("pre").screenshot(path=PICTURES / "terminal.png")


def main(campaign: str, finding: str) -> None:
    """Take both pictures."""
    PICTURES.mkdir(exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        said(["report", campaign, "--html", folder])
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=chromium, args=sandbox)
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(Path(folder, "index.html").as_uri())
        page.wait_for_selector("main > *")
        page.screenshot(path=PICTURES / "page.png")
        script = said(["repro", campaign, finding]).partition("\ndef given_module")[0]
        terminal(page, script)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
