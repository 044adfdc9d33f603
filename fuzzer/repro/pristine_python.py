"""Run scripts as a new Python would, without loading TVM for each of them.

Nobody imports this file: ``fuzzer.repro.pristine`` starts a Python with it, which loads NumPy and TVM and nothing else.
A request is a line of JSON: the path of a script, which runs in a copy of that process, and the files for its output
and errors.  The answers are two lines: the number of the copy, and its exit code, negative for a signal.
"""

import gc
import inspect
import json
import os
import runpy
import sys
from types import TracebackType


def next_request() -> list[str]:
    """Return a request to the copy of this process that is to fulfil it; the process itself ends here."""
    answers = os.dup(1)
    with os.fdopen(os.dup(0), encoding="utf-8") as requests:
        for line in iter(requests.readline, ""):
            if not (number := os.fork()):
                os.close(answers)
                return list(json.loads(line))
            os.write(answers, b"%d\n" % number)
            _, status = os.waitpid(number, 0)
            os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(status))
    raise SystemExit


def main() -> None:
    """Load TVM, wait for a script, and run it."""
    sys.path[:] = [place for place in sys.path if place != os.path.dirname(__file__)]  # holds modules of this program
    import numpy  # noqa: F401  # scripts find it loaded
    from tvm.script import ir, relax, tirx  # noqa: F401  # as above

    inspect.stack()  # finds the files of all modules once, as TVMScript's decorators would in each copy
    gc.freeze()  # a copy ends sooner when it need not look through what it did not make
    path, *files = next_request()
    os.setsid()
    os.chdir(os.path.dirname(path))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    tell = sys.excepthook  # TVM has one of its own

    def tell_of_script(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Begin the traceback in the script, as Python does."""
        while trace is not None and trace.tb_frame.f_code.co_filename != path:
            trace = trace.tb_next
        tell(kind, error.with_traceback(trace), trace)

    sys.argv, sys.excepthook = [path], tell_of_script
    sys.path.insert(0, os.path.dirname(path))
    runpy.run_path(path, run_name="__main__")


main()
