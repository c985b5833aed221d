"""Readable output: calm, aligned tables that fit the terminal and stay readable without colour.

Text from transcripts is neutralised here, at the last moment before it reaches a terminal. Colour
carries no meaning of its own; ``NO_COLOR`` and ``TERM=dumb`` switch it off. Widths below 40 columns are
treated as 40.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waypost.rules.display import display_width, neutralise, one_line

WIDTH_MIN = 40
WIDTH_MAX = 160


@dataclass(frozen=True)
class Column:
    """A column: heading, alignment, and how it gives way on a narrow terminal.

    ``flexible``: takes what is left and is cut with an ellipsis. ``drop_below``: the width of the
    terminal under which the column is left out.
    """

    heading: str
    right: bool = False
    flexible: bool = False
    style: str = ""
    drop_below: int = 0


class Screen:
    """A place to write for a person."""

    def __init__(self) -> None:
        width = shutil.get_terminal_size((100, 24)).columns
        self.width = max(WIDTH_MIN, min(width, WIDTH_MAX))
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self.console = Console(
            file=sys.stdout,
            width=self.width,
            highlight=False,
            markup=False,
            emoji=False,
            no_color=not colour,
            color_system="auto" if colour else None,
            force_terminal=colour,
            soft_wrap=False,
        )

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line, wrapped where it does not fit."""
        self.console.print(Text(neutralise(text), style=style), overflow="fold")

    def heading(self, text: str) -> None:
        """Write a heading with space above it."""
        self.console.print()
        self.console.print(Text(neutralise(text), style="bold"))

    def note(self, text: str) -> None:
        """Write a quiet remark."""
        self.line(text, style="dim")

    def block(self, text: str, *, indent: int = 4, lines_max: int = 0, style: str = "") -> None:
        """Write text as it is, indented; ``lines_max`` leaves the middle out."""
        lines = neutralise(text).replace("\t", "    ").splitlines()
        if lines_max and len(lines) > lines_max:
            head, tail = lines_max * 2 // 3, lines_max - lines_max * 2 // 3
            left = len(lines) - head - tail
            lines = [*lines[:head], f"… {left} more lines …", *(lines[-tail:] if tail else [])]
        for one in lines:
            self.console.print(Text(" " * indent + one, style=style), overflow="fold")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        """Write aligned columns; the flexible one gives way."""
        kept = [index for index, column in enumerate(columns) if self.width >= column.drop_below]
        clean = [[neutralise(row[index]).replace("\n", " ") for index in kept] for row in rows]
        chosen = [columns[index] for index in kept]
        widths = [
            max([display_width(column.heading), *(display_width(row[place]) for row in clean)])
            for place, column in enumerate(chosen)
        ]
        gaps = 2 * (len(chosen) - 1)
        flexible = [place for place, column in enumerate(chosen) if column.flexible]
        fixed = sum(width for place, width in enumerate(widths) if place not in flexible)
        if flexible:
            room = max(self.width - fixed - gaps, 8 * len(flexible))
            share = room // len(flexible)
            for place in flexible:
                widths[place] = min(widths[place], share)
        table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for place, column in enumerate(chosen):
            table.add_column(
                column.heading,
                justify="right" if column.right else "left",
                no_wrap=True,
                style=column.style,
                width=widths[place],
                overflow="ellipsis",
            )
        for row in clean:
            cells = [
                one_line(cell, widths[place]) if chosen[place].flexible else cell
                for place, cell in enumerate(row)
            ]
            table.add_row(*[Text(cell) for cell in cells])
        self.console.print(table)
