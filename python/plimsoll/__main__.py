"""python -m plimsoll: the command; `python -m plimsoll run train.py` runs a program whose out-of-memory errors explain
themselves."""

import os
import sys


def program():
    """The path of the command."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "plimsoll")


def command(arguments=None):
    """What the `plimsoll` script does: it becomes the program."""
    path = program()
    if not os.path.exists(path):
        sys.exit("plimsoll: %s is missing; install the package again" % path)
    os.execv(path, ["plimsoll"] + list(sys.argv[1:] if arguments is None else arguments))


def run_program(arguments):
    """Runs a Python file, or a module after -m, in this process, as `python` itself would."""
    import runpy
    from ._watch import watch
    watch()
    module = arguments[0] == "-m"
    if module and len(arguments) < 2:
        sys.exit("python -m plimsoll run -m: which module?")
    name = arguments[1] if module else arguments[0]
    sys.argv = arguments[1:] if module else arguments
    sys.path.insert(0, os.getcwd() if module else os.path.dirname(os.path.abspath(name)))
    try:
        if module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")
    except Exception as error:
        trace = error.__traceback__
        own = (__file__, runpy.__file__)
        while trace is not None and (trace.tb_frame.f_code.co_filename in own or
                                     trace.tb_frame.f_code.co_filename.startswith("<frozen")):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


def main():
    arguments = sys.argv[1:]
    if len(arguments) > 1 and arguments[0] == "run" and (arguments[1].endswith(".py") or arguments[1] == "-m"):
        run_program(arguments[1:])
    else:
        command(arguments)


if __name__ == "__main__":
    main()
