"""The words in which passes are written down: the names that the text of a pass may use.

Passes are drawn by one room and judged by another, which do not know each other; both build them from the same text.
Importing this package does not import TVM.
"""
