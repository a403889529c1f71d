"""Records a command in a terminal as an animated SVG, such as the picture of the demo in the README.

Run it as `python tools/record.py docs/images/demo.svg -- .venv/bin/seasoned demo`; it needs pyte and no network. A long
run is shown fast: its different frames are spread over some seconds. A long last screen is shown page by page.
"""

from __future__ import annotations

import html
import os
import pty
import select
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

COLUMNS, ROWS, SHOWN = 100, 56, 28
FRAMES, SECONDS, LAST = 30, 18.0, 8.0
WIDTH, HEIGHT, PAD = 8.4, 19, 16  # of a character, and the margin, in pixels
COLOURS = {
    "default": "#d8dee9",
    "black": "#4c566a",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#eceff4",
}

Frame = tuple[str, ...]
"""The rows of a screen as SVG text."""


def record(command: list[str]) -> list[Frame]:
    """Run a command, and return every screen that differs from the one before; about ten per second are compared."""
    import pyte

    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    frames: list[Frame] = []
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, close_fds=True) as process:
        os.close(theirs)
        seen, ended = 0.0, False
        while not ended:
            ready, _, _ = select.select([ours], [], [], 0.1)
            if ready:
                try:
                    stream.feed(os.read(ours, 65536))
                except OSError:  # the other side of the terminal is closed
                    ended = True
            ended = ended or (not ready and process.poll() is not None)
            if ended or time.monotonic() - seen > 0.1:
                seen, frame = time.monotonic(), shown(screen)
                if not frames or frame != frames[-1]:
                    frames.append(frame)
    os.close(ours)
    return frames


def shown(screen: Any) -> Frame:
    """The rows of a screen, each a run of coloured pieces."""
    rows = []
    for number in range(ROWS):
        pieces: list[tuple[str, bool, str]] = []
        for column in range(COLUMNS):
            cell = screen.buffer[number][column]
            style = (COLOURS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else COLOURS["default"]), cell.bold)
            if pieces and pieces[-1][:2] == style:
                pieces[-1] = (*style, pieces[-1][2] + cell.data)
            else:
                pieces.append((*style, cell.data))
        while pieces and not pieces[-1][2].strip():
            pieces.pop()
        rows.append("".join(_piece(*piece) for piece in pieces if piece[2]))
    return tuple(rows)


def _piece(colour: str, bold: bool, text: str) -> str:
    weight = ' font-weight="700"' if bold else ""
    return f'<tspan fill="{colour}"{weight}>{html.escape(text)}</tspan>'


def picture(frames: list[Frame]) -> str:
    """The animated SVG; without animation, such as in print, it shows the first page of the last screen."""
    step = max(1, len(frames) // FRAMES)
    last = [row for row, text in enumerate(frames[-1]) if text]
    pages = [frames[-1][top : top + SHOWN] for top in range(0, last[-1] + 1 if last else 1, SHOWN)]
    kept = [*(frame[:SHOWN] for frame in frames[:-1:step]), *pages]
    each = SECONDS / max(len(kept) - len(pages), 1)
    begins = [each * number for number in range(len(kept) - len(pages) + 1)]
    begins += [begins[-1] + LAST * (number + 1) for number in range(len(pages))]
    rules, groups, whole = [], [], begins[-1]
    for number, frame in enumerate(kept):
        last_one, still = number == len(kept) - 1, number == len(kept) - len(pages)
        begin, end = 100 * begins[number] / whole, 100 * begins[number + 1] / whole
        rules.append(
            f"@keyframes f{number}{{0%,{max(begin - 0.001, 0):.3f}%{{opacity:{int(number == 0)}}}"
            f"{begin:.3f}%,{end - 0.001:.3f}%{{opacity:1}}{end:.3f}%,100%{{opacity:{int(last_one)}}}}}"
            f"#f{number}{{opacity:{int(still)};animation:f{number} {whole:.2f}s infinite step-end}}"
        )
        lines = [
            f'<text x="{PAD}" y="{PAD + HEIGHT * (row + 1) - 5}" xml:space="preserve">{text}</text>'
            for row, text in enumerate(frame)
            if text
        ]
        groups.append(f'<g id="f{number}">{"".join(lines)}</g>')
    width, height = round(2 * PAD + WIDTH * COLUMNS), round(2 * PAD + HEIGHT * SHOWN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><style>text{{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}}{"".join(rules)}'
        f'</style><rect width="100%" height="100%" rx="8" fill="#22272e"/>{"".join(groups)}</svg>\n'
    )


def main() -> int:
    """Record the command behind `--` into the file before it."""
    if "--" not in sys.argv[2:]:
        print("usage: python tools/record.py FILE.svg -- COMMAND ..", file=sys.stderr)
        return 2
    place = sys.argv.index("--")
    frames = record(sys.argv[place + 1 :])
    Path(sys.argv[1]).write_text(picture(frames), encoding="utf-8")
    print(f"{len(frames)} frames in {sys.argv[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
