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
        number: Its number in the run.
        storage: Number of the storage that it lies in, which several tensors may share one after the other.
        outline: Its dtype and rank.
        dims: Terms of its dims.
    """

    number: int
    storage: int
    outline: str
    dims: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage that the program has allocated, by its number."""

    number: int


@dataclass(slots=True)
class State:
    """The memory and the effects of a program so far, on one way through its branches.

    Attributes:
        effect: The term of its effects.
        contents: Terms of the tensors that were written, by number.
        holders: The tensor that was written last into each storage; 0 where that depends on a branch.
        consumed: Values that a call in place has overwritten.
        slots: Terms of the slots of shape heaps, by heap and slot.
    """

    effect: Term
    contents: dict[int, Term] = field(default_factory=dict)
    holders: dict[int, int] = field(default_factory=dict)
    consumed: set[Term] = field(default_factory=set)
    slots: dict[tuple[int, int], Term] = field(default_factory=dict)

    def copy(self) -> State:
        """Begin a branch."""
        return State(self.effect, dict(self.contents), dict(self.holders), set(self.consumed), dict(self.slots))

    def read(self, tensor: Tensor) -> Term:
        """Return what a tensor holds.

        Raises:
            Refuted: Nobody has written it, or another tensor was written into its storage since.
            Open: Which one was, depends on a branch.
        """
        held = self.contents.get(tensor.number)
        if held is None:
            raise Refuted("memory is read that nobody has written")
        holder = self.holders[tensor.storage]
        if not holder:
            raise Open("a storage that branches share")
        if holder != tensor.number:
            raise Refuted("a tensor is read whose storage another one has overwritten")
        return held

    def write(self, tensor: Tensor, contents: Term) -> None:
        """Write a tensor; what else lies in its storage is lost."""
        self.contents[tensor.number] = contents
        self.holders[tensor.storage] = tensor.number

    def join(self, terms: Terms, condition: Term, one: State, other: State) -> None:
        """Go on behind two branches."""
        self.effect = terms.choice(condition, one.effect, other.effect)
        for number in one.contents.keys() & other.contents.keys():
            self.contents[number] = terms.choice(condition, one.contents[number], other.contents[number])
        for slot in one.slots.keys() & other.slots.keys():
            self.slots[slot] = terms.choice(condition, one.slots[slot], other.slots[slot])
        for storage in one.holders.keys() | other.holders.keys():
            mine, its = one.holders.get(storage), other.holders.get(storage)
            self.holders[storage] = mine if mine is not None and mine == its else 0
        self.consumed = one.consumed | other.consumed
