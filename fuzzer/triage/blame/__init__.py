"""Who is at fault: the pass that was judged, one inside of it or behind it, or a part of TVM that is no pass.

``rules`` is the entry: which questions are asked of which failure, in their order.  The other modules have a question
each.  All of them run in a worker.
"""
