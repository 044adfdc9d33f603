"""Memory of lowered programs: which tensor has which contents, and who holds a storage now."""

from __future__ import annotations

from dataclasses import dataclass, field

from relaxkit.proof.terms import Open, Term, Terms


class Refuted(Exception):
    """The program reads what it must not read, whatever its inputs are; the message says what."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that the program has allocated.

    Attributes:
        storage: Number of the storage that it lies in, which several tensors may share one after the other.
        viewed: For a view of another tensor, which shares its memory: what lies in the storage while the view is good.
    """

    number: int
    storage: int
    outline: str
    dims: tuple[Term, ...]
    viewed: tuple[int, Term] | None = None


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage that the program has allocated: its number, and the term of its size in bytes."""

    number: int
    size: Term


@dataclass(slots=True)
class State:
    """The memory and the effects of a program so far, on one way through its branches.

    Attributes:
        contents: Terms of the tensors that were written, by number.
        holders: The tensor that was written last into each storage, and its contents; ``None``: not known.
        consumed: Allocations that a call in place has overwritten, and whether it was certainly that one.
        slots: Terms of the slots of shape heaps, by heap and slot.
    """

    effect: Term
    contents: dict[int, Term] = field(default_factory=dict)
    holders: dict[int, tuple[int, Term] | None] = field(default_factory=dict)
    consumed: dict[object, bool] = field(default_factory=dict)
    slots: dict[tuple[int, int], Term] = field(default_factory=dict)

    def copy(self) -> State:
        """Begin a branch."""
        return State(self.effect, dict(self.contents), dict(self.holders), dict(self.consumed), dict(self.slots))

    def read(self, tensor: Tensor) -> Term:
        """Return what a tensor holds.

        Raises:
            Refuted: Nobody has written it, or another tensor was written into its storage since.
            Open: Which one was, depends on a branch.
        """
        held = self.contents.get(tensor.number)
        if held is None:
            raise Refuted("memory is read before it is written")
        holder = self.holders[tensor.storage]
        if holder is None:
            raise Open("a storage that branches share, or that a packed function may have written")
        if holder != (tensor.viewed or (tensor.number, held)):
            raise Refuted("a tensor is read whose storage another one has overwritten")
        return held

    def write(self, tensor: Tensor, contents: Term) -> None:
        """Write a tensor; what else lies in its storage is lost."""
        self.contents[tensor.number] = contents
        self.holders[tensor.storage] = tensor.number, contents

    def view(self, tensor: Tensor, number: int, dims: tuple[Term, ...], contents: Term) -> Tensor:
        """Make a tensor in the memory of another one, good for as long as that is not overwritten."""
        viewed = tensor.viewed or (tensor.number, self.read(tensor))
        self.contents[number] = contents
        return Tensor(number, tensor.storage, f"{tensor.outline.rpartition(' ')[0]} {len(dims)}", dims, viewed)

    def join(self, terms: Terms, condition: Term, one: State, other: State) -> None:
        """Go on behind two branches."""
        self.effect = terms.choice(condition, one.effect, other.effect)
        for number in one.contents.keys() & other.contents.keys():
            self.contents[number] = terms.choice(condition, one.contents[number], other.contents[number])
        for slot in one.slots.keys() & other.slots.keys():
            self.slots[slot] = terms.choice(condition, one.slots[slot], other.slots[slot])
        for storage in one.holders.keys() | other.holders.keys():
            mine, its = one.holders.get(storage), other.holders.get(storage)
            alike = mine is not None and its is not None and mine[0] == its[0]
            self.holders[storage] = (mine[0], self.contents[mine[0]]) if mine and alike else None
        self.consumed = one.consumed | other.consumed
