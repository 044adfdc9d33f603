"""Run a campaign: set up, hand out shards, record, resume, regress."""
