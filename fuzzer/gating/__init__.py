"""The parts of the gate: what a campaign measured, what a policy demands of it, what a baseline says."""
