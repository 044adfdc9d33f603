"""The part of a script that checks for the defect, by oracle."""
