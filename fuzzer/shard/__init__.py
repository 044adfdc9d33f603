"""Draw and judge one shard, a pure function of seed, number and configuration."""
