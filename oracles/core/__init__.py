"""The records that oracles share: subject, verdict, evidence, blame."""
