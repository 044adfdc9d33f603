"""The differences between releases of TVM, and nothing else: the lowest room, which knows of no other.

The code of the other rooms is written in the names of the newest release. On an older one, the names that it lacks are
added to it, as further names of what it has (:mod:`relaxkit.compat.tables`), as soon as TVM is imported; so nobody else
asks which release is installed. What a name cannot express is a small function here (:mod:`relaxkit.compat.jit`), and
what a release does not have at all is skipped by name (:mod:`relaxkit.compat.known`).

Importing this package does not import TVM: :func:`relaxkit.compat.hook.install` waits for whoever does.
"""

from relaxkit.compat.hook import install

__all__ = ["install"]

install()
