"""Known modules with expected verdicts: TVM's defects, live and repaired, that an oracle must catch."""
