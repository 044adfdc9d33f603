"""Virtual environments with one release of TVM each, made once and kept; and builds of TVM that the user has.

An environment is made in its final place, since one that is moved is broken, and under a lock: of two processes that
need it, one waits for the other. Its last file is a mark, without which it was left half-made and is made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzzer.core.installed import FFI, TVM, EnvironmentFault
from fuzzer.core.text import first_line
from relaxkit.compat.known import RELEASES, Release, known, numbers

MARK = "relaxfuzz-complete.json"
_PROBE_SECONDS = 120.0
_VENV_SECONDS = 300.0
_PIP_SECONDS = 1800.0
_PROBE = """
import json, tvm, tvm_ffi
print("\\n" + json.dumps([tvm.__version__, tvm_ffi.__version__]))
"""
# What would lead an interpreter to other packages than its own.
_LEADING_AWAY = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "TVM_HOME", "TVM_LIBRARY_PATH")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Build:
    """An interpreter with TVM.

    Attributes:
        label: What it is called: the release, or a user's build with its path.
        tvm: Version of TVM, as it says itself.
        ffi: Version of the ffi.
        python: The interpreter.
        environment: Variables to run it with.
    """

    label: str
    tvm: str
    ffi: str
    python: Path
    environment: Mapping[str, str]


def default_cache() -> Path:
    """Return the place of environments: beside the cache of kernels, whose sweeper takes every file that it finds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaxfuzz-releases"


def releases_of(text: str) -> tuple[Release, ...]:
    """Return the releases of a list such as ``0.25.0,0.26.0``, from the oldest; raises ``EnvironmentFault``."""
    chosen = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        release = known(name)
        if release is None:
            raise EnvironmentFault(
                f"cannot create an environment for TVM '{name}': a matching ffi is known for "
                f"{', '.join(each.tvm for each in reversed(RELEASES))}; name your own build with --python"
            )
        chosen.append(release)
    if not chosen:
        raise EnvironmentFault("--versions names no release")
    return tuple(release for release in reversed(RELEASES) if release in chosen)


def release_build(release: Release, cache: Path, say: Say) -> Build:
    """Return the environment of a release in ``cache``, made when it is not there.

    Args:
        release: The release.
        cache: Directory of the environments, an absolute path.
        say: Told in one line what takes long.

    Raises:
        EnvironmentFault: It cannot be made: no network, a pip that fails, a directory that cannot be written.
    """
    wanted = (f"{TVM}=={release.tvm}", f"{FFI}{release.pin}", "numpy")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(repr(wanted).encode()).hexdigest()[:8]
    place = cache / f"tvm-{release.tvm}-python{version}-{digest}"
    try:
        found = _kept(place, release)
        if found is None:
            cache.mkdir(parents=True, exist_ok=True)
            with _locked(cache / f"{place.name}.lock", release, say):
                found = _kept(place, release) or _made(place, release, wanted, say)
    except OSError as error:
        raise EnvironmentFault(f"cannot use '{cache}' for environments: {error.strerror or error}") from error
    return found


def own_build(python: Path) -> Build:
    """Return a build of the user's; raises ``EnvironmentFault`` when the interpreter or its TVM does not work."""
    if (program := shutil.which(python)) is None:
        raise EnvironmentFault(f"'{python}' is not a working Python interpreter")
    # As given: what a virtual environment's interpreter links to knows nothing of the environment.
    interpreter = Path(os.path.abspath(program))
    found = _probe(interpreter, os.environ)
    if isinstance(found, str):
        raise EnvironmentFault(f"'{python}' has no working TVM: {found}")
    return Build(f"{found[0]} ({python})", found[0], found[1], interpreter, os.environ)


def in_order(builds: list[Build]) -> list[Build]:
    """From the oldest release to the newest; a user's build comes behind the release of its number."""
    return sorted(builds, key=lambda build: numbers(build.tvm))


@contextlib.contextmanager
def _locked(path: Path, release: Release, say: Say) -> Iterator[None]:
    flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"TVM {release.tvm}: waiting for another process that uses '{path.parent}'")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield  # the lock ends with the file


def _kept(place: Path, release: Release) -> Build | None:
    """Return the environment that is there, if it was finished and still works."""
    return _working(place, release) if (place / MARK).is_file() else None


def _made(place: Path, release: Release, wanted: tuple[str, ...], say: Say) -> Build:
    say(f"TVM {release.tvm}: creating an environment in '{place}' (once; pip downloads it)")
    failed = f"cannot create the environment of TVM {release.tvm}"
    if place.exists():
        (place / MARK).unlink(missing_ok=True)  # first: others look for it without the lock
        shutil.rmtree(place)
    problem = _done([sys.executable, "-m", "venv", str(place)], _VENV_SECONDS)
    if not problem:
        pip = [str(_python(place)), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--quiet"]
        problem = _done([*pip, *wanted], _PIP_SECONDS)
    if problem:
        raise EnvironmentFault(f"{failed}: {problem}")
    found = _working(place, release)
    if found is None:
        seen = _probe(_python(place), _undisturbed())
        raise EnvironmentFault(f"{failed}: {seen if isinstance(seen, str) else f'pip installed TVM {seen[0]}'}")
    (place / MARK).write_text(json.dumps({"requirements": wanted, "tvm": found.tvm, "ffi": found.ffi}) + "\n")
    return found


def _working(place: Path, release: Release) -> Build | None:
    """Return the environment, when its TVM can be imported and is of the release."""
    found = _probe(_python(place), _undisturbed())
    if isinstance(found, str) or found[0] != release.tvm:
        return None
    return Build(release.tvm, found[0], found[1], _python(place), _undisturbed())


def _python(place: Path) -> Path:
    return place / "bin" / "python"


def _undisturbed() -> dict[str, str]:
    """Return the variables of this process without those that lead an interpreter to packages of somewhere else."""
    kept = {name: value for name, value in os.environ.items() if name not in _LEADING_AWAY}
    return {**kept, "PYTHONNOUSERSITE": "1"}


def _probe(python: Path, environment: Mapping[str, str]) -> tuple[str, str] | str:
    """Return versions of TVM and of its ffi, or one line on why there are none."""
    done = _ran([str(python), "-c", _PROBE], "importing it", _PROBE_SECONDS, environment)
    if isinstance(done, str):
        return done.removeprefix("importing it: ")
    if done.returncode < 0:
        return f"importing it was killed by {signal.Signals(-done.returncode).name}: TVM and ffi do not match"
    try:
        tvm, ffi = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError, TypeError):
        return _reason(done.stderr) or f"it exited with {done.returncode}"
    return str(tvm), str(ffi)


def _done(command: list[str], seconds: float) -> str:
    """Run a command; empty when it succeeds, else one line on why not."""
    name = "pip" if "pip" in command else "venv"
    done = _ran(command, name, seconds, _undisturbed())
    if isinstance(done, str):
        return done
    if done.returncode == 0:
        return ""
    text = done.stderr + done.stdout
    if "ensurepip is not" in text:
        return f"{name}: this Python has no ensurepip (Debian and Ubuntu: install python3-venv)"
    offline = any(word in text for word in ("Failed to establish", "NewConnectionError", "Name or service not known"))
    return f"{name}: {_reason(text) or f'exit code {done.returncode}'}{' (no network?)' if offline else ''}"


def _ran(
    command: list[str], name: str, seconds: float, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str] | str:
    """Run a command to its end, or return one line on why it did not come to one.

    It runs in an empty directory: an interpreter imports what lies in its working directory, which may be somebody's.
    """
    try:
        with tempfile.TemporaryDirectory() as empty:
            return subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=seconds, env=environment,
                check=False, cwd=empty,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{name} took more than {seconds:g} s"
    except OSError as error:
        return f"{name}: {error.strerror or error}"


def _reason(text: str) -> str:
    """Return the line of an output that says most: the first error of pip's, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith(("ERROR:", "Error:"))]
    return first_line((errors or lines[-1:] or [""])[0])[:300]
