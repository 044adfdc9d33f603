"""Judge a campaign by a policy and a baseline."""
