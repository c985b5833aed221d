"""Draws ``docs/images/quickstart.svg``: a real run of ``waypost quickstart --sample``, 100 columns wide.

    python tools/make_picture.py

The program runs in a terminal of its own with an empty home; what it prints is drawn as it is, colours
included. One thing is changed: the name of the temporary home, which says nothing to a reader, is shown
as ``/home/sam``, which is as long. The picture names no outside font or address. Needs the ``waypost``
beside the running Python.
"""

from __future__ import annotations

import os
import pty
import secrets
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

OUT = Path(__file__).resolve().parent.parent / "docs" / "images" / "quickstart.svg"
COLUMNS = 100
SHOWN_HOME = "/home/sam"
READ_BYTES = 65536

THEME = TerminalTheme(
    (250, 250, 248),
    (40, 42, 46),
    [
        (40, 42, 46), (176, 48, 48), (40, 120, 60), (150, 104, 0),
        (40, 92, 160), (130, 60, 140), (0, 116, 124), (110, 112, 116),
    ],
)  # fmt: skip

SVG = """<svg class="terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img"
 aria-label="waypost quickstart --sample in a terminal">
<style>
.{unique_id}-matrix {{ font-family: "Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run_in_terminal(home: Path) -> str:
    """Return what the command writes to a terminal of ``COLUMNS`` columns."""
    program = Path(sys.executable).parent / "waypost"
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "WAYPOST_HOME": str(home / ".local/share/waypost"),
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LINES": "60",
        "TZ": "UTC",
    }
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [str(program), "quickstart", "--sample"],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            data = os.read(ours, READ_BYTES)
        except OSError:  # Linux: the other end was closed
            break
        if not data:
            break
        parts.append(data)
    os.close(ours)
    _, complaint = child.communicate(timeout=60)
    if child.returncode != 0:
        raise SystemExit(f"quickstart failed: {complaint.decode()}")
    return b"".join(parts).decode("utf-8").replace("\r\n", "\n")


def draw(text: str) -> str:
    """Return terminal output as an SVG picture."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, highlight=False)
    console.print(Text.from_ansi("$ waypost quickstart --sample\n" + text.rstrip("\n")), soft_wrap=True)
    svg = console.export_svg(
        title="waypost quickstart --sample", theme=THEME, code_format=SVG, unique_id="waypost"
    )
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    """Run and draw."""
    home = Path("/tmp") / secrets.token_hex(2)  # as long as what it is shown as, so that lines break alike
    home.mkdir(mode=0o700)
    try:
        text = run_in_terminal(home).replace(str(home), SHOWN_HOME)
    finally:
        shutil.rmtree(home)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(draw(text), "utf-8")
    print(f"{OUT}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
