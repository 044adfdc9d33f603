"""Reports of a finished or running campaign: terminal tables, Markdown, JUnit XML, HTML; the store is only read."""
