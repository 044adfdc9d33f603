"""The SQLite store of a campaign."""
