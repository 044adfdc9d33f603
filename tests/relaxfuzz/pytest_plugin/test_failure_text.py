"""The parts of a failure's text that are made short."""

from __future__ import annotations

from relaxfuzz.pytest_plugin.failure_text import _changed, _shortened


def test_only_changed_lines_are_shown_and_at_most_so_many() -> None:
    assert _changed("", 9) == []
    change = "@@ -1,2 +1,3 @@\n def main():\n-    a\n+    b\n+    c"
    assert _changed(change, 5) == ["", "what the pass changes:", "-    a", "+    b", "+    c"]
    assert _changed(change, 4) == ["", "what the pass changes:", "-    a", "... 2 more lines"]


def test_a_module_is_shown_without_what_stands_above_it() -> None:
    module = "# from tvm.script import ir as I\n\n" + "\n".join(f"line {n}" for n in range(8))
    assert _shortened(module) == [f"line {n}" for n in range(8)]
    assert _shortened(module, ", in the script", 7) == [
        *(f"line {n}" for n in range(6)),
        "# ... and 2 more lines, in the script",
    ]
    assert len(_shortened(module, most=1)) == 6


def test_large_constants_are_not_shown_instead_of_the_module() -> None:
    module = 'metadata = tvm.ir.load_json("""{\n  "nodes": []\n}""")\n\n@I.ir_module\nclass Module:\n    pass'
    assert _shortened(module) == ["@I.ir_module", "class Module:", "    pass"]
