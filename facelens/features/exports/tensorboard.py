"""Files for TensorBoard: vectors.tsv, metadata.tsv, sprite.png, and projector_config.pbtxt, which names them.

The first line of the metadata has the names of the columns, of which there are always two or more: a file of one column
would have no such line. The sprite holds a thumbnail for each vector, row by row from the top left. It is at most 8192
pixels a side, and square: the projector counts rows by the number of columns. That number is a power of two, so that
its division in the graphics card is exact; with others some faces get the picture of a neighbour. A map is a second
tensor, of three dimensions, the last one 0: what has two is not drawn.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError
from facelens.features.exports import Outgoing, free_names
from facelens.files import atomic_write
from facelens.images import decode
from facelens.images.builder import guarded
from facelens.images.faceset import Labels
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

SPRITE = 8192  # pixels that the projector takes
THUMB, LEAST = 64, 8  # pixels of a thumbnail, at most and at least
LIMIT = 100_000  # vectors that the projector asks its server for; of more it shows the first
BLOCK = 1024


def write(folder: Path, out: Outgoing, *, sprite: bool = True, tick: Tick = silent) -> list[Path]:
    """Write the files into a folder that is there; the config comes last, so it names nothing that is not there.

    The sprite is left out above a million faces (2^20), where a thumbnail would have fewer than eight pixels.
    """
    folder = Path(folder)
    side = 1
    while side * side < len(out):
        side *= 2
    thumb = min(THUMB, SPRITE // side)
    with_sprite = sprite and thumb >= LEAST and len(out) > 0
    total = len(out) * (3 if with_sprite else 2)

    def part(number: int, note: str) -> Tick:
        return lambda done, of, note=note: tick(number * len(out) + done, total, note)

    written = [folder / "vectors.tsv", folder / "metadata.tsv"]
    _write_numbers(written[0], out.vectors, out, tick=part(0, tr("Writing vectors")))
    _write_names(written[1], out, tick=part(1, tr("Writing names")))
    image = None
    if with_sprite:
        image = thumb
        written.append(folder / "sprite.png")
        _write_sprite(written[-1], out, thumb=thumb, side=side, tick=part(2, tr("Drawing thumbnails")))
    tensors = [(escaped(out.features.provenance.model) or "vectors", "vectors.tsv")]
    if out.points is not None and np.isfinite(out.points).all():
        points = np.column_stack([out.points, np.zeros(len(out), np.float32)])
        tensors.append((tr("{name}, map", name=tensors[0][0]), "map.tsv"))  # behind it, also by the alphabet
        written.append(folder / "map.tsv")
        _write_numbers(written[-1], lambda some: points[some], out, tick=silent)
    else:
        (folder / "map.tsv").unlink(missing_ok=True)  # of an earlier export; the config no longer names it
    if image is None:
        (folder / "sprite.png").unlink(missing_ok=True)
    config = "".join(_tensor(name, file, image) for name, file in tensors)
    with atomic_write(folder / "projector_config.pbtxt") as stream:
        stream.write(config.encode())
    return [*written, folder / "projector_config.pbtxt"]


def _tensor(name: str, file: str, image: int | None) -> str:
    """One tensor of the config, in protobuf's text form."""
    sprite = ""
    if image is not None:
        size = f"    single_image_dim: {image}\n"
        sprite = f'  sprite {{\n    image_path: "sprite.png"\n{size}{size}  }}\n'
    quoted = json.dumps(name)  # ASCII, quotes and backslashes escaped; the two forms agree but for \u
    quoted = quoted if "\\u" not in quoted else '"' + "".join(f"\\{b:03o}" for b in name.encode()) + '"'
    lines = f'  tensor_name: {quoted}\n  tensor_path: "{file}"\n  metadata_path: "metadata.tsv"\n'
    return f"embeddings {{\n{lines}{sprite}}}\n"


def _write_numbers(path: Path, rows: Any, out: Outgoing, *, tick: Tick) -> None:
    with atomic_write(path) as stream:
        for some in out.blocks(BLOCK):
            tick(some.start, len(out))
            block: NDArray[np.float64] = rows(some).astype(np.float64)
            stream.write("".join("\t".join(f"{v:.9g}" for v in row) + "\n" for row in block.tolist()).encode())


def _write_names(path: Path, out: Outgoing, *, tick: Tick) -> None:
    columns = out.faces.columns
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
        heads = free_names([escaped(name) for name in columns], {"path", "identity"})
        text.write("\t".join(_cell(name) for name in ("path", "identity", *heads)) + "\n")
        for n in range(len(out)):
            if n % BLOCK == 0:
                tick(n, len(out))
            row = int(out.rows[n])
            cells = [_cell(out.name(n)), _cell(out.identity(n))]
            for column in columns.values():
                cells.append(_cell(column.name(row)) if isinstance(column, Labels) else _value(column[row]))
            text.write("\t".join(cells) + "\n")
        text.flush()
        text.detach()


def _cell(text: str) -> str:
    # Tabs and line ends would break the table; escapes keep them visible.
    return guarded(escaped(text))


def _value(value: Any) -> str:
    return "" if value != value else repr(value.item())


def _write_sprite(path: Path, out: Outgoing, *, thumb: int, side: int, tick: Tick) -> None:
    """Thumbnails row by row, left to right; a picture that cannot be read stays grey."""
    from PIL import Image

    sheet = np.full((side * thumb, side * thumb, 3), 128, np.uint8)
    for n, row in enumerate(out.rows.tolist()):
        tick(n, len(out))
        try:
            picture = Image.fromarray(decode.thumbnail_face(out.faces, row, thumb))
        except (FaceLensError, OSError):
            continue
        picture.thumbnail((thumb, thumb))
        top, left = n // side * thumb, n % side * thumb
        top, left = top + (thumb - picture.height) // 2, left + (thumb - picture.width) // 2
        sheet[top : top + picture.height, left : left + picture.width] = np.asarray(picture)
    with atomic_write(path) as stream:
        Image.fromarray(sheet).save(stream, "PNG")
