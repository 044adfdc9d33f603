"""Properties of the SARIF objects that are written, from the specification, 2.1.0 with errata 01.

The whole schema is OASIS's and not kept here; a log of a real campaign was held against it and against Microsoft's
Sarif.Multitool (docs/gate.md).  This finds what a later change would get wrong: a misspelt or misplaced property, a
value of another type, an index that points nowhere.
"""

from __future__ import annotations

from typing import Any

_ANY = object
_MESSAGE = {"text": str}
_ARTIFACT = {"uri": str, "uriBaseId": str, "index": int, "description": "message", "properties": dict}
SHAPES: dict[str, dict[str, Any]] = {
    # name: {property: type, name of a shape, or [either] for an array}; "!" marks what must be there (section)
    "log": {"$schema": str, "version!": str, "runs!": ["run"]},  # 3.13
    "run": {  # 3.14
        "tool!": "tool", "automationDetails": "automation", "invocations": ["invocation"], "results": ["result"],
        "originalUriBaseIds": {"*": "artifact"}, "columnKind": str, "properties": dict,
    },
    "tool": {"driver!": "component"},  # 3.18
    "component": {"name!": str, "version": str, "rules": ["rule"], "informationUri": str},  # 3.19
    "rule": {  # 3.49
        "id!": str, "name": str, "shortDescription": "message", "fullDescription": "message",
        "defaultConfiguration": "configuration", "helpUri": str, "properties": dict,
    },
    "configuration": {"level": str, "enabled": bool},  # 3.50
    "automation": {"id": str},  # 3.17
    "invocation": {  # 3.20
        "executionSuccessful!": bool, "toolExecutionNotifications": ["notification"], "properties": dict,
    },
    "notification": {"level": str, "message!": "message"},  # 3.58
    "result": {  # 3.27
        "ruleId": str, "ruleIndex": int, "level": str, "kind": str, "message!": "message", "locations": ["location"],
        "fingerprints": {"*": str}, "partialFingerprints": {"*": str}, "occurrenceCount": int, "rank": float,
        "attachments": ["attachment"], "suppressions": ["suppression"], "properties": dict,
    },
    "message": {"text": str, "markdown": str, "id": str},  # 3.11
    "location": {"physicalLocation": "physical", "logicalLocations": ["logical"]},  # 3.28
    "physical": {"artifactLocation": "artifact", "region": "region"},  # 3.29
    "artifact": _ARTIFACT,  # 3.4
    "region": {"startLine": int},  # 3.30
    "logical": {"name": str, "kind": str, "fullyQualifiedName": str},  # 3.33
    "attachment": {"description": "message", "artifactLocation!": "artifact"},  # 3.21
    "suppression": {"kind!": str, "status": str, "justification": str},  # 3.35
}  # fmt: skip


def complaints(value: Any, shape: Any = "log", at: str = "$") -> list[str]:
    """What is wrong with a part of a log."""
    if isinstance(shape, type):
        right = isinstance(value, shape) and not (shape is int and isinstance(value, bool))
        return [] if right else [f"{at} is no {shape.__name__}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{at} is no array"]
        return [each for number, part in enumerate(value) for each in complaints(part, shape[0], f"{at}[{number}]")]
    if not isinstance(value, dict):
        return [f"{at} is no object"]
    if isinstance(shape, dict):
        return [each for key, part in value.items() for each in complaints(part, shape["*"], f"{at}.{key}")]
    known = {name.rstrip("!"): part for name, part in SHAPES[shape].items()}
    found = [f"{at} lacks {name[:-1]}" for name in SHAPES[shape] if name.endswith("!") and name[:-1] not in value]
    for key, part in value.items():
        found += complaints(part, known[key], f"{at}.{key}") if key in known else [f"{at} must not have {key}"]
    return found
