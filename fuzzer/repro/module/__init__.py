"""The module in a script: TVMScript, builder calls or JSON."""
