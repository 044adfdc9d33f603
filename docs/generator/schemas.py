"""Write docs/schema: JSON schemas of a campaign's configuration and of a gate's policy.

python docs/generator/schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from fuzzer.core.verb import OPTIONS
from fuzzer.findings.file import KnownFinding
from fuzzer.gate.policy import EVERY, Comparing, KnownEntries, Limit, OracleLimit, Weight
from relaxkit.passes.contract import OracleName

TARGET = Path(__file__).resolve().parents[1] / "schema"
KINDS = {str: {"type": "string"}, int: {"type": "integer"}, float: {"type": "number"}}


def config() -> dict[str, Any]:
    """Return the schema of a campaign's configuration: the options of ``relaxfuzz run``."""
    properties = {
        option.name: {
            "description": option.help,
            "anyOf": [
                {"type": "array", "items": {"type": "string"}} if kind is list else KINDS[kind] for kind in option.kinds
            ],
        }
        for option in OPTIONS
    }
    return _schema("Configuration of a campaign of relaxfuzz", properties)


def policy() -> dict[str, Any]:
    """Return the schema of a gate's policy."""
    kinds = (Limit, OracleLimit, Comparing, KnownEntries, KnownFinding, Weight)
    found, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    limit, oracle_limit, comparing, entries, known, weight = found
    for definition in definitions.values():
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    names = [str(name) for name in OracleName]
    per_pass = {**definitions["Limit"]["properties"], **dict.fromkeys(names, oracle_limit)}
    definitions["PassLimit"] = {"type": "object", "properties": per_pass, "additionalProperties": False}
    properties = {
        "known": {"anyOf": [{"type": "string"}, {"type": "array", "items": known}]},
        "baseline": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0.5, "maximum": 0.9999},
        "suspects": weight,
        "notes": weight,
        "questions": weight,
        "regression": comparing,
        "known_entries": entries,
        "campaign": limit,
        "oracles": {
            "type": "object", "additionalProperties": False, "properties": dict.fromkeys([EVERY, *names], oracle_limit),
        },
        "passes": {"type": "object", "additionalProperties": {"$ref": "#/$defs/PassLimit"}},
    }  # fmt: skip
    return _schema("Policy of relaxfuzz's gate", properties) | {"$defs": definitions}


def _schema(title: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def texts() -> dict[str, str]:
    """Return the files by name."""
    both = {"config.schema.json": config(), "policy.schema.json": policy()}
    # The end of a text is "$" in a schema, whose patterns are those of JavaScript, and "\Z" in Python's.
    return {name: json.dumps(schema, indent=2).replace(r"\\Z", "$") + "\n" for name, schema in both.items()}


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for name, text in texts().items():
        (TARGET / name).write_text(text)
