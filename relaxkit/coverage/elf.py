"""A shared library as its file has it: functions in the order of linking, constants, pointers, references in code."""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

_X86_64 = 62
_RELATIVE = 8
_LOADS = re.compile(rb"\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", re.DOTALL)
"""Instructions that load an address, which is given by its distance."""
_CALL, _JUMP = 0xE8, 0xE9
_NEEDED = {".text", ".plt", ".eh_frame", ".rodata", ".init_array", ".note.gnu.build-id", ".rela.dyn", ".dynsym"}


class CoverageError(Exception):
    """Blocks that cannot be told, or not be watched; the message says why."""


class Library:
    """A shared library for x86-64. A function is known by its number in the order of linking.

    Raises:
        CoverageError: when it is no such library.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", self._data, 18)[0] != _X86_64:
            raise CoverageError(f"'{path.name}' is not for Linux on x86-64")
        self._sections = self._read_sections()
        if missing := _NEEDED - self._sections.keys():
            raise CoverageError(f"'{path.name}' has no {min(missing)}")
        self.build = self._bytes(".note.gnu.build-id")[16:].hex()
        self._base = self._sections[".text"][0]

    def _read_sections(self) -> dict[str, tuple[int, int, int]]:
        """Read address, place in the file and size of the sections, by name."""
        data = self._data
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        rows = [struct.unpack_from("<IIQQQQ", data, table + size * each) for each in range(count)]
        texts = rows[names][4]
        return {
            data[texts + row[0] : data.find(b"\0", texts + row[0])].decode(): (row[3], row[4], row[5]) for row in rows
        }

    def _bytes(self, name: str) -> bytes:
        _, place, size = self._sections[name]
        return self._data[place : place + size]

    @cached_property
    def _text(self) -> bytes:
        return self._bytes(".text")

    @property
    def starts(self) -> Any:
        """Address of each function."""
        return self._functions[0]

    @property
    def sizes(self) -> Any:
        """Bytes of each function."""
        return self._functions[1]

    @cached_property
    def _order(self) -> Any:
        return np.argsort(self.starts, kind="stable")

    @cached_property
    def _functions(self) -> tuple[Any, Any]:
        """Read the bounds of all functions from the tables for unwinding."""
        address, _, _ = self._sections[".eh_frame"]
        frames, place = self._bytes(".eh_frame"), 0
        found = []
        while place + 16 <= len(frames):
            length, owner, offset, size = struct.unpack_from("<IIiI", frames, place)
            if length == 0:
                break
            if owner:  # else it is a head that others share
                found.append((address + place + 8 + offset, size))
            place += 4 + length
        starts, sizes = np.array(found, "i8").reshape(-1, 2).T
        inside = (starts >= self._base) & (starts + sizes <= self._base + self._sections[".text"][2])
        return starts[inside], sizes[inside]

    def place(self, address: int) -> int:
        """Return where the code at an address lies in the file."""
        base, place, _ = self._sections[".text"]
        return place + address - base

    def code(self, number: int) -> bytes:
        """Return the code of a function."""
        begin = int(self.starts[number]) - self._base
        return self._text[begin : begin + int(self.sizes[number])]

    def function_at(self, addresses: Any) -> Any:
        """Return the number of the function at each address, -1 where there is none."""
        addresses = np.asarray(addresses, "i8")
        place = np.searchsorted(self.starts[self._order], addresses, side="right") - 1
        number = self._order[place]
        return np.where((place >= 0) & (addresses < self.starts[number] + self.sizes[number]), number, -1)

    def loaded(self, number: int) -> Iterator[int]:
        """Yield the addresses that a function loads."""
        code, start = self.code(number), int(self.starts[number])
        for match in _LOADS.finditer(code):
            if (after := match.end() + 4) <= len(code):
                yield start + after + struct.unpack_from("<i", code, after - 4)[0]

    def target(self, number: int) -> int:
        """Return the function that a function begins by jumping to, -1 where it does not."""
        code = self.code(number)
        if len(code) < 5 or code[0] != _JUMP:
            return -1
        return int(self.function_at([int(self.starts[number]) + 5 + struct.unpack_from("<i", code, 1)[0]])[0])

    def references(self, low: int, high: int) -> tuple[Any, Any, Any]:
        """Find where code refers to addresses from ``low`` up to ``high``: where, to what, and whether it is loaded.

        It does not go by instructions: some of many references are none.
        """
        found = []
        for shift in range(4):
            words = np.frombuffer(self._text, "<i4", (len(self._text) - shift) // 4, shift)
            after = np.arange(len(words), dtype="i4") * 4 + np.int32(self._base + shift + 4)
            target = after + words  # addresses are small: a sum that wraps is out of bounds
            at = np.flatnonzero((target >= low) & (target < high))
            found.append(np.stack([after[at] - 4, target[at]], 1).astype("i8"))
        at, to = np.concatenate(found).T
        text = np.frombuffer(self._text, "u1")
        last, before = (text[np.maximum(at - self._base - back, 0)] for back in (1, 2))
        loads = (before == 0x8D) & (last & 0xC7 == 5)
        goes = (last == _CALL) | (last == _JUMP) | ((before == 0x0F) & (last & 0xF0 == 0x80))
        return at[loads | goes], to[loads | goes], loads[loads | goes]

    def endings(self) -> set[int]:
        """Return addresses that never return when they are called: functions end with such calls."""
        text = np.frombuffer(self._text, "u1")
        ends = (self.starts + self.sizes)[self.sizes > 5]
        calls = ends[text[ends - self._base - 5] == _CALL]
        distances = [struct.unpack_from("<i", self._text, end - self._base - 4)[0] for end in calls.tolist()]
        start, _, size = self._sections[".plt"]
        targets = calls + np.array(distances, "i8")
        known = np.isin(targets, self.starts) | ((targets >= start) & (targets < start + size) & (targets % 16 == 0))
        return set(targets[known].tolist())

    def strings(self, containing: str) -> Iterator[tuple[int, str]]:
        """Yield the constant texts with a text in them, and their addresses."""
        start, place, size = self._sections[".rodata"]
        at = place
        while (at := self._data.find(containing.encode(), at, place + size)) >= 0:
            begin = max(place, self._data.rfind(b"\0", place, at) + 1)
            yield start + begin - place, self.string(start + begin - place)
            at = self._data.find(b"\0", at)

    def string(self, address: int) -> str:
        """Return the constant text at an address; empty where there is none."""
        start, place, size = self._sections[".rodata"]
        if not start <= address < start + size:
            return ""
        begin = place + address - start
        text = self._data[begin : self._data.find(b"\0", begin)].decode("latin-1")
        return text if text.isascii() and text.isprintable() else ""

    def pointers(self) -> Any:
        """Return the pointers in the data to places of the library: where each is, and to what, in order."""
        _, place, size = self._sections[".rela.dyn"]
        rows = np.frombuffer(self._data, "<i8", size // 8, place).reshape(-1, 3)
        rows = rows[rows[:, 1] == _RELATIVE][:, (0, 2)]
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def initialisers(self) -> tuple[Sequence[int], Any]:
        """Return the functions that are called when the library is loaded, and the pointers that are not to them."""
        start, _, size = self._sections[".init_array"]
        pointers = self.pointers()
        among = (pointers[:, 0] >= start) & (pointers[:, 0] < start + size)
        numbers = self.function_at(pointers[among][:, 1])
        return sorted(numbers[numbers >= 0].tolist()), pointers[~among]

    def exported(self) -> dict[int, str]:
        """Return the mangled names of exported functions, by address."""
        symbols, names = self._bytes(".dynsym"), self._bytes(".dynstr")
        rows = (struct.unpack_from("<IBBHQQ", symbols, at) for at in range(0, len(symbols), 24))
        return {row[4]: names[row[0] : names.find(b"\0", row[0])].decode() for row in rows if row[4]}
