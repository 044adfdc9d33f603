"""Do the findings of a campaign live in another release, too?  ``python tests/releases/across.py DIR PYTHON``.

Runs each repro script of a finished campaign with the interpreter of another virtual environment, and says what it
answers there. Names that the other release spells otherwise are renamed in the script's module, where the script holds
TVMScript; a module given as JSON, which only its own release loads, is not moved.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tvm

from corpus.spellings import renamed

_MODULE = re.compile(r"^MODULE = (?P<text>r?\"\"\".*?\"\"\"|r?'''.*?''')$", re.DOTALL | re.MULTILINE)
_METADATA = re.compile(r'^metadata = tvm\.ir\.load_json\("""(?P<json>.*?)"""\)$', re.DOTALL | re.MULTILINE)
_GONE = re.compile(r", (axis_separators|input_axis_separators)=\[\]")
_ANSWER = re.compile(r"^(BUG|OK|DIFFERENT|ENVIRONMENT): .*", re.MULTILINE)
_SECONDS = 180


def moved(script: str) -> str:
    """The script with its module in the names of the newest release."""
    found = _MODULE.search(script)
    if found is None:
        return script
    source = ast.literal_eval(found["text"])
    try:
        again = renamed(spelled_out(source))
    except SyntaxError:  # JSON
        return script
    return script[: found.start()] + f"MODULE = {again!r}" + script[found.end() :]


def spelled_out(source: str) -> str:
    """The TVMScript with its constants written in it, and without what its printer says of defaults that are gone."""
    found = _METADATA.search(source)
    if found is not None:
        constants = tvm.ir.load_json(ast.literal_eval(f'"""{found["json"]}"""'))
        source = _METADATA.sub("", source, count=1)
        for kind, values in constants.items():
            for index, value in enumerate(values):
                array = value.value.numpy()
                source = source.replace(
                    f'metadata["{kind}"][{index}]', f'R.const({array.tolist()!r}, "{value.value.dtype}")'
                )
    return _GONE.sub("", source)


def answer(python: str, script: str) -> str:
    """The line that a script ends with under an interpreter, in a directory of its own and without our packages."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "repro.py"
        path.write_text(script, encoding="utf-8")
        try:
            done = subprocess.run(
                [python, "-I", str(path)], capture_output=True, text=True, timeout=_SECONDS, cwd=place, check=False
            )
        except subprocess.TimeoutExpired:
            return f"HANG: more than {_SECONDS} s"
    lines = [line.group() for line in _ANSWER.finditer(done.stdout)]
    return lines[-1] if lines else f"DIED: exit code {done.returncode}"


def main() -> int:
    """Print one line a script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("python")
    options = parser.parse_args()
    scripts = sorted((options.directory / "repros").glob("*.py"))
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[1].strip('"')
        here, there = answer(sys.executable, text), answer(options.python, moved(text))
        print(f"{path.stem}  {title}\n    here:  {here[:150]}\n    there: {there[:150]}", flush=True)
    return 0 if scripts else 2


if __name__ == "__main__":
    sys.exit(main())
