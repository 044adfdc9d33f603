"""The page: what it shows as plain values, the files that it is made of, and how they are written."""
