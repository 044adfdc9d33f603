"""TVM's passes: how each is named, constructed and ordered, and what its contract promises."""
