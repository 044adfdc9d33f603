"""The plugin for pytest: ``check`` in a process of its own, and a small module where it fails.

pytest loads :mod:`relaxfuzz.pytest_plugin.plugin` in every run on a machine where relaxfuzz is installed, so that file
imports nothing of the other rooms: what it needs of them it imports when a test is met that judges passes.
"""
