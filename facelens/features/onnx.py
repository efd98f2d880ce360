"""Run ONNX models through onnxruntime, which is an extra: `pip install facelens[onnx]`.

Any tensor inside the graph can be tapped as a patch map. Weights that lie in other files are taken from the model's own
folder only; no library of custom operators is ever loaded.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError
from facelens.features import graph as graphs
from facelens.features.graph import External, Graph
from facelens.words import escaped, plural, tr

# Domains whose operators onnxruntime itself brings.
_DOMAINS = frozenset(("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training", "com.microsoft"))
_LARGEST = (1 << 31) - 1  # bytes of one protobuf message


def installed() -> bool:
    """Whether onnxruntime can be used here."""
    from importlib.util import find_spec

    return find_spec("onnxruntime") is not None


def check(path: Path, graph: Graph) -> None:
    """Refuse what a model must not do: weights from outside its folder, operators of others."""
    if foreign := [domain for domain in graph.domains if domain not in _DOMAINS]:
        raise InputError(
            tr(
                "{name} needs operators that FaceLens does not load ({names}).",
                name=escaped(path.name),
                names=", ".join(escaped(domain[:60]) for domain in foreign[:3]),
            ),
            hint=tr("Export it again with standard operators."),
        )
    confine(path, graph.external)


def confine(path: Path, external: Iterable[External]) -> None:
    """Refuse weights that lie anywhere but in plain files of the model's own folder."""
    folder = path.absolute().parent
    sizes: dict[str, int] = {}
    for part in external:
        where = part.location
        if where not in sizes:
            sizes[where] = _size_inside(folder, where, path.name)
        if part.offset < 0 or part.length < 0 or part.offset + part.length > sizes[where]:
            raise InputError(
                tr(
                    "{name} needs bytes that {file} beside it does not have.",
                    name=escaped(path.name),
                    file=escaped(where),
                ),
                hint=tr("Get both files again."),
            )


def _size_inside(folder: Path, where: str, name: str) -> int:
    def refused(reason: str) -> InputError:
        return InputError(
            tr(
                "{name} keeps weights in {file}, {reason}. It was not opened.",
                name=escaped(name),
                file=escaped(where[:200]) or tr("a file without a name"),
                reason=reason,
            ),
            hint=tr("Keep the model and its weights together in one folder, as plain files."),
        )

    parts = where.replace("\\", "/").split("/")
    if not where or "\0" in where or where.startswith(("/", "\\")) or ":" in parts[0] or os.path.isabs(where):
        raise refused(tr("which is not in its folder"))
    if ".." in parts or "\\" in where:
        raise refused(tr("which is not in its folder"))
    place = folder
    for i, part in enumerate(p for p in parts if p not in ("", ".")):
        place = place / part
        try:
            about = os.lstat(place)
        except (OSError, ValueError):
            raise refused(tr("which is missing")) from None
        if stat.S_ISLNK(about.st_mode):
            raise refused(tr("which is a link"))
        last = i == len([p for p in parts if p not in ("", ".")]) - 1
        if last and not stat.S_ISREG(about.st_mode):
            raise refused(tr("which is no plain file"))
        if last and about.st_nlink > 1:
            raise refused(tr("which is a link"))
    if place == folder:
        raise refused(tr("which is no plain file"))
    return about.st_size


class OnnxEncoder:
    """A model file as a function: (B, channels, height, width) float32 in, (B, D) and the patch map or None out.

    graph        what `open_model` found, to be sure that it is still the same file
    embedding    name of the output that is the embedding, "" for the first
    patches      name of any tensor of the graph that is the patch map (B, C, rows, columns), "" for none
    threads      processor cores, None for all

    `batch` is the batch size the model insists on, None when it takes any. Other sizes are cut and filled up to it.
    """

    def __init__(
        self,
        path: Path,
        graph: Graph | None = None,
        *,
        embedding: str = "",
        patches: str = "",
        threads: int | None = None,
    ) -> None:
        path = Path(path)
        shown = self._shown = escaped(path.name)
        try:
            size = path.stat().st_size
            if size > _LARGEST:
                raise InputError(tr("{name} is larger than an ONNX file can be.", name=shown))
            data = path.read_bytes()
        except OSError as error:
            raise InputError(
                tr("{name} cannot be read: {reason}.", name=shown, reason=error.strerror or type(error).__name__)
            ) from None
        import io

        # The graph is read again from the very bytes that are run: the file may have changed since it was looked at.
        self.graph = graphs.inspect(io.BytesIO(data), len(data), shown=shown)
        if graph is not None and graph != self.graph:
            raise InputError(tr("{name} has changed since it was opened.", name=shown), hint=tr("Open it again."))
        check(path, self.graph)
        names = {port.name for port in self.graph.outputs}
        self.embedding = embedding or self.graph.outputs[0].name
        self.patches = patches
        wanted = [name for name in dict.fromkeys((self.embedding, patches)) if name]
        between = {port.name for port in self.graph.between}
        for name in wanted:
            if name not in names | between:
                raise InputError(
                    tr("{name} has no tensor {tensor}.", name=shown, tensor=escaped(name)),
                    hint=tr("Choose one of its {n} tensors as the patch layer.", n=len(between)),
                )
        if len(self.graph.inputs) != 1:
            raise InputError(
                tr(
                    "{name} takes {inputs}, and an encoder takes one picture.",
                    name=shown,
                    inputs=plural(len(self.graph.inputs), "{n} input", "{n} inputs"),
                )
            )
        self._wanted = wanted
        data = graphs.tapped(data, [name for name in wanted if name not in names])
        self._session = _session(data, path, self.graph, threads=threads)
        port = self.graph.inputs[0]
        self._input, self._kind = port.name, np.dtype("float16" if port.kind == "float16" else "float32")
        shape = port.shape if port.shape is not None and len(port.shape) == 4 else (None, 3, None, None)
        if port.kind not in ("float32", "float16", "") or (port.shape is not None and len(port.shape) != 4):
            raise InputError(tr("{name} does not take pictures (input {port}).", name=shown, port=escaped(port.name)))
        self.channels = shape[1] if isinstance(shape[1], int) else 3
        self.size = (shape[2], shape[3]) if isinstance(shape[2], int) and isinstance(shape[3], int) else None
        self.batch: int | None = shape[0] if isinstance(shape[0], int) else None
        self._tried = self.batch is not None

    def __call__(self, batch: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Embeddings (B, D) and patch maps (B, C, rows, columns) of the pictures."""
        if not self._tried and len(batch) > 1:
            self._try(batch[:2])
        if not len(batch):
            batch = np.zeros((0, *batch.shape[1:]), np.float32)
        if self.batch is None and len(batch):
            return self._run(batch)
        step = self.batch or 1
        parts = []
        for start in range(0, len(batch), step):
            piece = batch[start : start + step]
            n = len(piece)
            if n < step:
                piece = np.concatenate([piece, np.repeat(piece[-1:], step - n, axis=0)])
            vectors, maps = self._run(piece)
            parts.append((vectors[:n], None if maps is None else maps[:n]))
        if not parts:
            raise InputError(tr("There are no pictures to embed."))
        joined = [np.concatenate([maps for _, maps in parts if maps is not None])] if self.patches else [None]
        return np.concatenate([vectors for vectors, _ in parts]), joined[0]

    def _try(self, pair: NDArray[np.float32]) -> None:
        """Find out whether the model takes two pictures at once: some say so, and fail or mix them up."""
        self._tried = True
        singles = np.concatenate([self._run(pair[i : i + 1])[0] for i in range(2)])
        try:
            together, _ = self._run(pair)
        except FaceLensError:
            self.batch = 1
            return
        spread = float(np.abs(singles).max()) or 1.0
        if together.shape != singles.shape or float(np.abs(together - singles).max()) > 1e-2 * spread:
            self.batch = 1

    def _run(self, batch: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        given = {self._input: np.ascontiguousarray(batch, self._kind)}
        try:
            found = self._session.run(self._wanted, given)
        except Exception as error:
            raise InputError(
                tr("{name} does not run on pictures of {size}.", name=self._shown, size=_size_words(batch)),
                hint=tr("Check the input size and channels of its card."),
                details=str(error)[:2000],
            ) from None
        made = dict(zip(self._wanted, found))
        n = len(batch)
        vectors = np.asarray(made[self.embedding], np.float32)
        if vectors.size % n or vectors.shape[:1] != (n,):
            raise InputError(tr("{name} gives one answer for several pictures.", name=self._shown))
        maps = np.asarray(made[self.patches], np.float32) if self.patches else None
        if maps is not None and (maps.ndim != 4 or len(maps) != n):
            raise InputError(
                tr(
                    "{tensor} of {name} is no patch map: its shape is {shape}.",
                    tensor=escaped(self.patches),
                    name=self._shown,
                    shape=" × ".join(map(str, maps.shape)),
                ),
                hint=tr("Choose a tensor of shape pictures × channels × rows × columns."),
            )
        return vectors.reshape(n, -1), maps


def _size_words(batch: NDArray[Any]) -> str:
    return " × ".join(str(n) for n in batch.shape)


def _session(data: bytes, path: Path, graph: Graph, *, threads: int | None) -> Any:
    shown = escaped(path.name)
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError(
            tr("{name} is an ONNX model, and onnxruntime is not installed.", name=shown),
            hint=tr("Install it with: pip install onnxruntime"),
            details=str(error),
        ) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # its warnings go to the terminal, where nobody looks
    if threads:
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
    if graph.external:
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", os.fspath(path.absolute().parent)
        )
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(
            tr("{name} cannot be run: onnxruntime refuses it.", name=shown),
            hint=tr("Export it again with standard operators."),
            details=str(error)[:2000],
        ) from None
