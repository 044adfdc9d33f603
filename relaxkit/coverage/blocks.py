"""Basic blocks of a function: where they begin, as far as they can end in anything but an error."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

_STOPS = frozenset({"ud2", "hlt", "int3"})


def disassembler() -> Any:
    """Return a disassembler for x86-64; raises ``ImportError``."""
    import capstone

    return capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)


def blocks_of(machine: Any, code: bytes, start: int, endless: Container[int]) -> list[int]:
    """Return the addresses of the blocks of a function, ascending; blocks that can only end in an error are left out.

    A block begins where the function does, where it jumps to, and behind a jump. What only a table of jumps leads to is
    a block where it stands behind a jump.

    Args:
        endless: Functions that do not return.
    """
    end, starts = start + len(code), {start}
    leaves: dict[int, tuple[int, ...] | None] = {}  # by instruction, where it goes in the function; None: out of it
    instructions = []
    behind = False  # an instruction that goes nowhere else
    for address, size, name, operand in machine.disasm_lite(code, start):
        instructions.append(address)
        if behind and name != "nop":
            starts.add(address)
            behind = False
        to = int(operand, 16) if operand[:2] == "0x" else -1
        if name[0] == "j":
            if inside := start <= to < end:
                starts.add(to)
            if name == "jmp":
                leaves[address], behind = (to,) if inside else None, True
            else:
                starts.add(address + size)
                leaves[address] = (to, address + size) if inside else (address + size,)
        elif name == "ret":
            leaves[address], behind = None, True
        elif name in _STOPS or (name == "call" and to in endless):
            leaves[address], behind = (), True
    starts.intersection_update(instructions)
    return sorted(_alive(instructions, starts, leaves))


def _alive(instructions: Iterable[int], starts: set[int], leaves: dict[int, tuple[int, ...] | None]) -> set[int]:
    """Return the blocks from which a way leads out of the function."""
    before: dict[int, list[int]] = {}
    out = []
    block, open_ended = -1, False
    for address in instructions:
        if address in starts:
            if open_ended:
                before.setdefault(address, []).append(block)
            block, open_ended = address, True
        if open_ended and address in leaves:
            where, open_ended = leaves[address], False
            if where is None:
                out.append(block)
            else:
                for to in where:
                    before.setdefault(to, []).append(block)
    alive = set(out)
    while out:
        new = set(before.get(out.pop(), ())) - alive
        alive |= new
        out.extend(new)
    return alive
