"""Encoders: a network or an ONNX file as one function from fed pictures to vectors.

Computes    vectors f(x), with `flip` f(x) + f(mirror of x); confidence and patch maps as the network gives them
Shapes      pictures (B, height, width, 3) uint8 RGB, as `feed` makes them
            vectors (B, D), confidence (B, S) or None, patches (B, C, rows, columns) or None; all float32
Reference   none
Departs     with `flip`, confidence is the mean of both sides, and the patch map is that of the picture itself
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.models import Output
from facelens.features.onnx import OnnxEncoder
from facelens.words import tr

PIECE = 8  # pictures a core takes at a time: what a layer leaves of them is still near when the next one wants it
GREY = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R 601, as Pillow and OpenCV weigh it


class Encoded(NamedTuple):
    """What a model says about a batch."""

    vectors: NDArray[np.float32]
    confidence: NDArray[np.float32] | None = None
    patches: NDArray[np.float32] | None = None


class Encoder(Protocol):
    """A model ready to be used: how it is fed, how long its vectors are, how many parts have a confidence."""

    card: Card
    dimensions: int
    parts: int

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded: ...


def prepared(pictures: NDArray[np.uint8], card: Card) -> NDArray[np.float32]:
    """(B, channels, height, width) numbers as the network wants them: order of channels, mean, std."""
    if card.order == "GREY":
        values = (pictures.astype(np.float32) @ GREY)[..., None]
    else:
        values = (pictures[..., ::-1] if card.order == "BGR" else pictures).astype(np.float32)
    values -= np.asarray(card.mean, np.float32)
    values /= np.asarray(card.std, np.float32)
    return np.ascontiguousarray(values.transpose(0, 3, 1, 2))


def _mirrored(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return pictures[:, :, ::-1]


def _with_flip(once: Callable[[NDArray[np.uint8]], Encoded], pictures: NDArray[np.uint8], card: Card) -> Encoded:
    first = once(pictures)
    if not card.flip:
        return first
    second = once(_mirrored(pictures))
    sure = None
    if first.confidence is not None and second.confidence is not None:
        sure = (first.confidence + second.confidence) / np.float32(2)
    return Encoded(first.vectors + second.vectors, sure, first.patches)


def _in_pieces(once: Callable[[NDArray[np.uint8]], Encoded], pictures: NDArray[np.uint8], streams: int) -> Encoded:
    """Encode a batch in pieces, `streams` of them at the same time, each on one processor core.

    All cores together on one piece wait for the slowest of them at every layer: as fast on an idle machine, several
    times slower on one that has anything else to do.
    """
    if min(streams, len(pictures)) < 2:
        return once(pictures)
    pieces = np.array_split(pictures, min(len(pictures), max(streams, -(-len(pictures) // PIECE))))
    parts = list(pool(streams).map(once, pieces))
    sure = [part.confidence for part in parts if part.confidence is not None]
    maps = [part.patches for part in parts if part.patches is not None]
    return Encoded(
        np.concatenate([part.vectors for part in parts]),
        np.concatenate(sure) if sure else None,
        np.concatenate(maps) if maps else None,
    )


@cache
def pool(streams: int) -> ThreadPoolExecutor:
    """Threads with a processor core each."""
    # The number of threads is a property of the thread that asks for them.
    return ThreadPoolExecutor(streams, "encode", initializer=torch.set_num_threads, initargs=(1,))


class TorchEncoder:
    """A network of ours. On the processor it is traced and fused once, and checked against the plain network."""

    def __init__(self, network: nn.Module, card: Card, *, device: str = "", fast: bool = True) -> None:
        self.card = card
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.network = network.eval().requires_grad_(False).to(self.device)
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._fast = fast and self.device.type == "cpu"
        self.streams = torch.get_num_threads() if self._fast else 1
        self._traced: dict[bool, Any] = {}
        self._tracing = Lock()
        blank = torch.zeros((2, card.channels, *card.size), device=self.device)
        with torch.inference_mode():
            try:
                out: Output = self.network(blank)
            except RuntimeError as error:
                raise InputError(
                    tr("The network does not run on pictures of {size}.", size=f"{card.size[0]} × {card.size[1]}"),
                    hint=tr("Correct the input size or the channel order in the model card."),
                    details=str(error)[:2000],
                ) from None
        self.dimensions = int(out.embedding.shape[1])
        self.parts = 0 if out.confidence is None else int(out.confidence.shape[1])

    def use_processor(self) -> None:
        """Leave the graphics card."""
        self.device = torch.device("cpu")
        self.network.to(self.device)
        self._traced = {}

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        """Encode a batch."""
        if not len(pictures):
            return self._once(pictures, patches)
        if patches not in self._traced:  # not with every batch: cores that help with so little go on spinning after it
            self._function(patches, self._batch(pictures[:2]))
        once = lambda some: _in_pieces(lambda piece: self._once(piece, patches), some, self.streams)  # noqa: E731
        return _with_flip(once, pictures, self.card)

    def _batch(self, pictures: NDArray[np.uint8]) -> torch.Tensor:
        """`prepared`, without leaving the order in memory that the network works in."""
        card = self.card
        if card.order == "GREY":
            whole = torch.from_numpy(prepared(pictures, card)).to(self.device)
            return whole.contiguous(memory_format=torch.channels_last)
        n, height, width, _ = pictures.shape
        if card.order == "BGR":
            turned = np.empty(pictures.shape, np.uint8)
            for channel in range(3):  # a plane at a time is ten times as fast as a flip of the last axis
                turned[..., channel] = pictures[..., 2 - channel]
            pictures = turned
        bytes_ = torch.from_numpy(np.ascontiguousarray(pictures)).to(self.device)
        # Whole lines at once, x * (1 / std) - mean / std, in place: fresh memory costs more than the sum.
        std, mean = (torch.tensor(part, dtype=torch.float64) for part in (card.std, card.mean))
        scale, shift = ((part.float().repeat(width)).to(self.device) for part in (1 / std, -mean / std))
        values = bytes_.view(n * height, width * 3).to(torch.float32)
        torch.addcmul(shift, values, scale, out=values)
        return values.view(n, height, width, 3).permute(0, 3, 1, 2)

    def _once(self, pictures: NDArray[np.uint8], patches: bool) -> Encoded:
        batch = self._batch(pictures)
        with torch.inference_mode():
            vectors, sure, maps = self._function(patches, batch)(batch)
        found = [
            None if part is None or part.numel() == 0 else part.float().cpu().numpy() for part in (vectors, sure, maps)
        ]
        assert found[0] is not None
        return Encoded(found[0], found[1], found[2])

    def _function(self, patches: bool, batch: torch.Tensor) -> Any:
        with self._tracing:
            if patches not in self._traced:
                plain = _Plain(self.network, patches=patches).eval()
                self._traced[patches] = _fused(plain, batch) if self._fast else plain
            return self._traced[patches]


class _Plain(nn.Module):
    """The network with a fixed number of tensors as its answer, which is what tracing can follow."""

    def __init__(self, network: nn.Module, *, patches: bool) -> None:
        super().__init__()
        self.network, self.patches = network, patches

    def forward(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        out: Output = self.network(batch)
        nothing = batch.new_zeros(0)
        maps = out.patches if self.patches and out.patches is not None else nothing
        return out.embedding, nothing if out.confidence is None else out.confidence, maps


def _fused(plain: _Plain, batch: torch.Tensor) -> Any:
    """The network traced, frozen and fused, half as fast again; where that fails or differs, the plain one."""
    example = batch[:2].contiguous(memory_format=torch.channels_last)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")  # tracing is deprecated, and there is nothing else that needs no compiler
            traced: Any = torch.jit.trace(plain, example, check_trace=False)  # type: ignore[no-untyped-call]
            traced = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
            traced(example)  # the first runs specialise
            for ours, theirs in zip(traced(example), plain(example), strict=True):
                if ours.shape != theirs.shape or not torch.allclose(ours, theirs, rtol=1e-3, atol=1e-4):
                    return plain
        return traced
    except (RuntimeError, ValueError):
        return plain


class Program(nn.Module):
    """A TorchScript program the user has consented to; its first tensor is the embedding, a 4-d one the patch map."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program

    def forward(self, batch: torch.Tensor) -> Output:
        found = self.program(batch)
        tensors = (
            [found] if isinstance(found, torch.Tensor) else [one for one in found if isinstance(one, torch.Tensor)]
        )
        flat = next((one for one in tensors if one.ndim == 2), None)
        maps = next((one for one in tensors if one.ndim == 4 and one.shape[2] > 1), None)
        if flat is None:
            raise InputError(tr("The program gives no vector for a picture."), hint=tr("Export the encoder alone."))
        return Output(flat, maps)


class FileEncoder:
    """An ONNX file as an encoder."""

    def __init__(self, session: OnnxEncoder, card: Card, *, streams: int = 1) -> None:
        self.session, self.card, self.streams = session, card, streams
        if session.size is not None and session.size != card.size:
            given, wanted = (f"{a} × {b}" for a, b in (card.size, session.size))
            raise InputError(
                tr("The model takes pictures of {wanted}, its card says {given}.", wanted=wanted, given=given),
                hint=tr("Correct the input size in the model card."),
            )
        # Two different pictures: that shows whether the model takes several at once, before threads want to know.
        noise = np.random.default_rng(0).standard_normal((2, card.channels, *card.size), np.float32)
        self.dimensions = int(session(noise)[0].shape[1])
        self.parts = 0

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        """Encode a batch."""

        def once(some: NDArray[np.uint8]) -> Encoded:
            vectors, maps = self.session(prepared(some, self.card))
            return Encoded(vectors, None, maps if patches else None)

        return _with_flip(lambda some: _in_pieces(once, some, self.streams), pictures, self.card)


def use_cores(n: int | None = None) -> int:
    """Let torch use `n` processor cores, all of them by default; returns how many."""
    cores = n or os.cpu_count() or 1
    torch.set_num_threads(cores)
    return cores
