"""The table of blocks: which basic blocks a library has of some sources, in which functions, files and passes.

The library has no symbols.  Its tables for unwinding tell the bounds of its functions in the order of linking: each
source file is one run of them, which ends with the function that initialises its static variables.  Checks name the
file that they stand in, and the names of passes stand in the file that registers them.
"""

from __future__ import annotations

import ctypes
import io
import json
import os.path
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from relaxkit.coverage.blocks import blocks_of, disassembler
from relaxkit.coverage.elf import CoverageError, Library

SOURCES = "src/relax/"
"""The sources whose blocks count."""
FORMAT = 1
_FILE = re.compile(rf"(?:.*/)?{SOURCES}(.*\.cc)")
_PASS = re.compile(r"relax(?:\.\w+)*\.transform\.(\w+)")
_REGISTERED = re.compile(r"relax\.[\w.]+")
_SIGNATURE = re.compile(r"(?!.*\[with )[\w:<>*&,~ ]*\btvm::relax::[\w:<>~, {}]+\(.*\).*")
_HEADERS = ("[with ", "tvm::ffi::", '{"type":')
"""What texts have that are in every file."""
_GUARD = re.compile(rb"\x80\x3d....\0", re.DOTALL)
"""A test whether a variable of a header is initialised already: of a file only the last function has such tests."""
_APART = 1 << 18
"""The hot, the cold and the start-up functions of the sources lie so many bytes apart, or more."""
_LEAST_FILES = 20
_MOST_NAME = 160
_LEAST_TEXT, _RARE = 8, 3
"""A text of so many characters or more, in so many functions or fewer, tells which function it is."""


@dataclass(frozen=True)
class BlockTable:
    """The blocks of a library.

    Attributes:
        build: Build id of the library.
        files: Names of the source files, in the order of linking; of one that never names itself the directory is
            known, and something that it registers, in brackets.
        passes: Number of the file of each pass, by the pass's name.
        functions: Address of each function that has blocks, ascending.
        owners: Number of the file of each of them.
        names: Name of each of them, or a text in it; empty where neither is known.
        blocks: Address of each block, ascending.
    """

    build: str
    files: tuple[str, ...]
    passes: Mapping[str, int]
    functions: Any
    owners: Any
    names: tuple[str, ...]
    blocks: Any

    def to_bytes(self) -> bytes:
        """Pack the table."""
        words = {"build": self.build, "files": self.files, "passes": self.passes, "names": self.names}
        packed = io.BytesIO()
        functions, blocks = (np.diff(each, prepend=0).astype("u4") for each in (self.functions, self.blocks))
        text = np.frombuffer(json.dumps(words).encode(), "u1")
        np.savez_compressed(packed, words=text, owners=self.owners.astype("u2"), functions=functions, blocks=blocks)
        return packed.getvalue()

    @classmethod
    def from_bytes(cls, packed: bytes) -> BlockTable:
        """Read what :meth:`to_bytes` wrote."""
        with np.load(io.BytesIO(packed), allow_pickle=False) as found:
            words = json.loads(found["words"].tobytes())
            functions, blocks = (np.cumsum(found[name], dtype="i8") for name in ("functions", "blocks"))
            return cls(
                words["build"], tuple(words["files"]), words["passes"], functions, found["owners"].astype("i8"),
                tuple(words["names"]), blocks,
            )  # fmt: skip

    @cached_property
    def function_of(self) -> Any:
        """Number of the function of each block."""
        return np.searchsorted(self.functions, self.blocks, side="right") - 1


def make_table(library: Library) -> BlockTable:
    """Find the blocks of a library; takes some 20 s.

    Raises:
        CoverageError: when it is not made as TVM's compiler is, by GCC and a linker that keeps the order of files.
        ImportError: when there is no disassembler.
    """
    machine = disassembler()
    runs = _runs(library)
    if len(runs) < _LEAST_FILES:
        raise CoverageError(f"{len(runs)} of its source files can be distinguished, too few")
    numbers = range(runs[0].start, runs[-1].stop)
    words = {each: [text for text in map(library.string, library.loaded(each)) if text] for each in numbers}
    parts = _Parts(library, numbers)
    owner = {each: place for place, run in enumerate(runs) for each in run}
    chosen = sorted(parts.running(), key=lambda each: int(library.starts[each]))
    whole = {each: [word for part in parts.groups[each] for word in words[part]] for each in chosen}
    endless = library.endings()
    found = [blocks_of(machine, library.code(each), int(library.starts[each]), endless) for each in chosen]
    return BlockTable(
        library.build,
        _file_names(runs, words),
        {match[1]: owner[each] for each in parts.startup for word in words[each] if (match := _PASS.fullmatch(word))},
        library.starts[chosen],
        np.array([owner[each] for each in chosen]),
        _function_names(library, chosen, whole),
        np.array(list(chain.from_iterable(found)), "i8"),
    )


def _runs(library: Library) -> list[range]:
    """Return the functions of each source file, in the order of linking."""
    texts = [address for address, text in library.strings(SOURCES) if _FILE.fullmatch(text)]
    at, to, loads = library.references(min(texts, default=0), max(texts, default=0) + 1)
    named = library.function_at(at[loads & np.isin(to, texts)])
    if not len(named):
        return []
    initialisers, _ = library.initialisers()
    ends = [-1, *(each for each in initialisers if _is_last(library, each))]
    first = max(each for each in ends if each < named.min())
    last = min((each for each in ends if each >= named.max()), default=-1)
    cuts = [each for each in ends if first <= each <= last]
    return [range(one + 1, other + 1) for one, other in pairwise(cuts)]


def _is_last(library: Library, number: int) -> bool:
    """Say whether an initialiser is that of a file's static variables, or jumps to it."""
    target = library.target(number)
    return _GUARD.search(library.code(number if target < 0 else target)) is not None


class _Parts:
    """The functions of the sources by what they are for.

    Attributes:
        startup: Those that lie where only initialisers lie.
        groups: By hot function, it and its cold parts.
    """

    def __init__(self, library: Library, numbers: range) -> None:
        self._library, self._numbers = library, numbers
        starts, sizes = library.starts[numbers.start : numbers.stop], library.sizes[numbers.start : numbers.stop]
        order = np.argsort(starts)
        regions = np.empty(len(starts), int)
        regions[order] = np.concatenate([[0], np.cumsum(np.diff(starts[order]) > _APART)])
        self._hot = regions == np.argmax(np.bincount(regions, sizes))
        initialisers, self._pointers = library.initialisers()
        mine = [each - numbers.start for each in initialisers if each in numbers]
        begun = regions == np.argmax(np.bincount(regions[mine]))
        self.startup = [number for number, each in zip(numbers, begun, strict=True) if each]
        self._at, self._to, self._loads = library.references(int(starts.min()), int((starts + sizes).max()))
        called = set(self._to.tolist())
        self._whole: dict[int, int] = {}  # by function or cold part, the function
        self.groups: dict[int, list[int]] = {}
        for place, number in enumerate(numbers):
            apart = self._hot[place] or begun[place] or int(starts[place]) in called
            whole = self._whole[number] = number if apart or place == 0 else self._whole[number - 1]
            self.groups.setdefault(whole, []).append(number)

    def running(self) -> list[int]:
        """Return the hot functions that something else than loading the library may call."""
        library, numbers = self._library, self._numbers
        target = library.function_at(self._to)
        exact = (target >= numbers.start) & (target < numbers.stop) & (self._to == library.starts[target])
        source = library.function_at(self._at)[exact].tolist()
        calls: dict[int, set[int]] = {}
        roots = set(library.function_at(self._pointers[:, 1]).tolist())
        roots |= set(library.function_at(list(library.exported())).tolist())
        begun, used = set(self.startup), set()
        for caller, called, loads in zip(source, target[exact].tolist(), self._loads[exact].tolist(), strict=True):
            used.add(called)
            if loads or caller not in numbers:
                roots.add(called)  # somebody else may call it
            else:
                calls.setdefault(self._whole[caller], set()).add(called)
        roots |= {each for each in numbers if each not in used and each not in begun}
        waiting = [each for each in roots if each in numbers and each not in begun]
        seen = set(waiting)
        while waiting:
            new = calls.get(waiting.pop(), set()) - seen
            seen |= new
            waiting.extend(new)
        return [number for number, hot in zip(numbers, self._hot, strict=True) if hot and number in seen]


# Names.


def _file_names(runs: Sequence[range], words: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of files, by the checks that name them or by what they register."""
    texts = [[word for number in run for word in words[number]] for run in runs]
    found = [Counter(match[1] for word in each if (match := _FILE.fullmatch(word))) for each in texts]
    names = [each.most_common(1)[0][0] if each else "" for each in found]
    folders = [os.path.dirname(each) for each in names]
    known = [place for place, name in enumerate(names) if name]
    for place, name in enumerate(names):
        if not name:
            before = max((each for each in known if each < place), default=known[0])
            after = min((each for each in known if each > place), default=known[-1])
            folder = os.path.commonpath([folders[before], folders[after]])
            passes = [match[1] for word in texts[place] if (match := _PASS.fullmatch(word))]
            others = [word for word in texts[place] if _REGISTERED.fullmatch(word)]
            names[place] = os.path.join(folder, f"[{(passes or others or [str(place)])[0]}]")
    return tuple(SOURCES + each for each in names)


def _function_names(library: Library, chosen: Iterable[int], words: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    """Name functions by their symbols, by what their checks say, by the class of a method, or by a rare text."""
    exported, methods, demangled = library.exported(), _methods(library), _demangler()
    known = Counter(word for each in words.values() for word in set(each) if _tells(word))
    names = []
    for number in chosen:
        start = int(library.starts[number])
        own = any(_FILE.fullmatch(word) for word in words[number])
        said = next((word for word in words[number] if own and _SIGNATURE.fullmatch(word)), "")
        kind, slot = methods.get(start, ("", 0))
        name = demangled(exported[start]) if start in exported else said
        if kind and not name:
            name = f"{demangled(kind)}, virtual function {slot}"
        rare = min((word for word in words[number] if word in known), key=lambda word: known[word], default="")
        if not name and rare and known[rare] <= _RARE:
            name = f'with "{rare}"'
        names.append(name[:_MOST_NAME])
    return tuple(names)


def _tells(word: str) -> bool:
    """Say whether a text may tell which function it is in."""
    return len(word) >= _LEAST_TEXT and not any(each in word for each in _HEADERS)


def _methods(library: Library) -> dict[int, tuple[str, int]]:
    """Return the smallest class that has a virtual function, and its number there, by address."""
    tables: list[tuple[str, list[int]]] = []
    pointers = library.pointers().tolist()
    kinds = {
        place - 8: library.string(to) for place, to in pointers if library.string(to)[:1] in ("N", *"123456789")
    }  # of types, the pointer behind the first is to their name
    last = 0
    for place, to in pointers:
        if to in kinds:
            tables.append((kinds[to], []))
        elif tables and place == last + 8:
            tables[-1][1].append(to)
        last = place
    found: dict[int, tuple[str, int]] = {}
    for name, slots in sorted(tables, key=lambda each: -len(each[1])):
        found |= {to: (name, slot) for slot, to in enumerate(slots)}
    return found


def _demangler() -> Callable[[str], str]:
    """Return what gives a name as C++ writes it; the name as it is where that cannot be had."""
    try:
        library, system = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
    except OSError:
        return lambda name: name
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()

    def demangle(name: str) -> str:
        text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
        if not text:
            return name
        try:
            return ctypes.string_at(text).decode()
        finally:
            system.free(ctypes.c_void_p(text))

    return demangle
