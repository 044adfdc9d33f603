"""The nearest module that passes, shown beside the one that fails."""
