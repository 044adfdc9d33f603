"""Confirm, minimize and script one finding."""
