"""Which basic blocks of the released TVM a process reaches: the table of its blocks, and breakpoints in them."""
