"""Explanations and hooks: what a program prints when it runs out of memory."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import plimsoll

NO_ASAN = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer's shadow exceeds every limit")
TORCH = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.57 GiB "
         "of which 1.12 GiB is free. Including non-PyTorch memory, this process has 13.44 GiB memory in use. Of the "
         "allocated memory 12.10 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.")


def run(code, *arguments, limit=None, name="program.py", tmp_path=None, **environment):
    """A program of its own, because hooks and limits are of the whole process."""
    file = pathlib.Path(tmp_path) / name
    lines = textwrap.dedent(code)
    if limit:
        lines = "import resource; resource.setrlimit(resource.RLIMIT_AS, (%d, %d))\n" % (limit, limit) + lines
    file.write_text(lines)
    return subprocess.run([sys.executable, *arguments, str(file)], capture_output=True, text=True, timeout=120,
                          cwd=tmp_path, check=False, env=dict(os.environ, **environment))


def test_text_becomes_cause_numbers_and_fixes():
    answer = plimsoll.explain(TORCH)
    assert answer.found and answer.framework == "pytorch"
    assert answer.numbers["requested"] == 2 << 30
    assert answer.numbers["capacity"] == int(14.57 * (1 << 30)) or abs(answer.numbers["capacity"] / (1 << 30) - 14.57) < .01
    assert answer.fixes and answer.fixes[0].title
    assert "2.00 GiB" in str(answer) and "What to try" in str(answer)
    assert "<ol>" in answer._repr_html_()
    json.dumps(answer.to_dict())


@pytest.mark.parametrize("width", [60, 100])
def test_the_text_is_that_of_the_command(width):
    environment = dict(os.environ, LC_ALL="C", COLUMNS=str(width))
    done = subprocess.run([sys.executable, "-m", "plimsoll", "explain"], input=TORCH, capture_output=True, text=True,
                          env=environment, check=True)
    answer = plimsoll.explain(TORCH)
    assert done.stdout.rstrip("\n") == answer.text(width)
    assert "\x1b[1m" in answer.text(width, colour=True) and "\u2591" in answer.text(width, unicode=True)


def test_long_paths_keep_their_end_and_characters_stay_whole():
    from plimsoll import _native
    native = _native.Explanation(TORCH.encode())
    native.complete(code="\u00e9" * 200, requested=5, shape=(2, 3), dtype="float32", line=7, file="train.py")
    text = native.text(100, False, False, "Live\n  one        two\n")
    assert "\u00e9" * 60 in text.replace("\n", "") and "\ufffd" not in text
    assert "5 B (5 bytes): 2 x 3 float32" in text and "train.py line 7" in text and "\nLive\n  one        two\n" in text
    with pytest.raises(TypeError):
        native.complete(nothing=3)
    with pytest.raises(plimsoll.InvalidError):
        native.text(-1, False, False, None)


def test_a_log_without_an_error_has_none():
    answer = plimsoll.explain("epoch 1 loss 0.5\n")
    assert not answer and answer.cause == "none"
    assert "No out-of-memory" in str(answer) and "No out-of-memory" in answer._repr_html_()


def test_a_path_is_read(tmp_path):
    (tmp_path / "error.log").write_text(TORCH)
    assert plimsoll.explain(tmp_path / "error.log").found


@pytest.mark.parametrize("wrong", [3, object(), ["text"]])
def test_other_things_are_refused(wrong):
    with pytest.raises(TypeError):
        plimsoll.explain(wrong)


def test_no_exception_is_a_value_error(monkeypatch):
    monkeypatch.delattr(sys, "last_value", raising=False)
    with pytest.raises(ValueError):
        plimsoll.explain()


def test_html_and_terminals_are_not_steered():
    answer = plimsoll.explain("<script>alert(1)</script>\x1b[2J " + TORCH.replace("GPU 0", "GPU 0 <b>"))
    assert "<script>" not in answer._repr_html_() and "\x1b" not in str(answer)


NUMPY = """
    import numpy as np
    images = np.ones((64, 100, 100), np.float32)
    def pairs(values):
        return values[:, None] - values[None]
    def blocks(values):
        return pairs(np.broadcast_to(values[:, None], (64, 40, 100, 100)))
    blocks(images)
"""


@pytest.mark.parametrize("how", ["module", "hook", "watch", "sitecustomize"])
def test_numpy_out_of_memory_names_shape_shortfall_line_and_fix(how, tmp_path):
    code = {"hook": "import plimsoll.hook\n", "watch": "import plimsoll; plimsoll.watch()\n"}.get(how, "")
    environment = dict(os.environ)
    if how == "sitecustomize":
        (tmp_path / "sitecustomize.py").write_text("import plimsoll.hook\n")
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])
    file = tmp_path / "program.py"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        limit = "resource = None\n"
        pytest.skip("the sanitizer's own address space is larger than any limit")
    file.write_text(code + limit + textwrap.dedent(NUMPY))
    arguments = ["-m", "plimsoll", "run"] if how == "module" else []
    done = subprocess.run([sys.executable, *arguments, str(file)], capture_output=True, text=True, timeout=120,
                          env=environment, check=False)
    assert done.returncode == 1
    text = done.stderr
    assert "Traceback (most recent call last)" in text and text.index("Traceback") < text.index("Plimsoll")
    assert "64 x 64 x 40 x 100 x 100 float32" in text
    assert "missing" in text and "GiB" in text and "ulimit -v" in text
    line = 1 + file.read_text().split("\n").index("    return values[:, None] - values[None]")
    assert "program.py line %d" % line in text and "return values[:, None] - values[None]" in text
    assert "images" in text and "What to try" in text
    assert "runpy" not in text


def test_other_errors_are_left_alone(tmp_path):
    done = run("import plimsoll.hook\nraise KeyError('out of memory')", tmp_path=tmp_path)
    assert "KeyError" in done.stderr and "Plimsoll" not in done.stderr
    done = run("import plimsoll.hook\nraise SystemExit(3)", tmp_path=tmp_path)
    assert done.returncode == 3 and not done.stderr


THREAD = """
    def work():
        raise MemoryError
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize("first", ["import threading, plimsoll.hook", "import plimsoll.hook, threading"])
def test_memory_errors_of_threads_and_of_python_itself_are_explained(first, tmp_path):
    done = run(first + textwrap.dedent(THREAD), tmp_path=tmp_path)
    assert "MemoryError" in done.stderr and done.stderr.count("-- Plimsoll") == 1 and "resident" in done.stderr


@pytest.mark.parametrize("first", ["import threading, plimsoll.hook", "import plimsoll.hook, threading"])
def test_threads_are_not_watched_any_more_when_that_is_undone(first, tmp_path):
    done = run(first + "; plimsoll.unwatch()" + textwrap.dedent(THREAD), tmp_path=tmp_path)
    assert "MemoryError" in done.stderr and "Plimsoll" not in done.stderr


PROCESSES = """
    import concurrent.futures, multiprocessing, sys
    import plimsoll.hook
    def work(_):
        raise MemoryError("Unable to allocate 8.00 GiB for an array with shape (32768, 32768) and data type float64")
    if __name__ == "__main__":
        context = multiprocessing.get_context("%s")
        if "%s" == "process":
            process = context.Process(target=work, args=(0,))
            process.start()
            process.join()
        elif "%s" == "pool":
            with context.Pool(1) as pool:
                pool.map(work, [0])
        else:
            with concurrent.futures.ProcessPoolExecutor(1, context) as executor:
                executor.submit(work, 0).result()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("kind", ["process", "pool", "executor"])
def test_errors_of_other_processes_name_the_line_there(method, kind, tmp_path):
    done = run(PROCESSES % (method, kind, kind), tmp_path=tmp_path)
    assert done.stderr.count("-- Plimsoll") == 1, done.stderr
    answer = done.stderr[done.stderr.index("-- Plimsoll"):]
    assert "program.py line 5" in answer and "32768 x 32768 float64" in answer
    assert ("another process" in answer) == (kind != "process")


def test_a_cause_behind_another_exception_is_found(tmp_path):
    done = run("""
        import plimsoll.hook
        try:
            raise MemoryError("Unable to allocate 8.00 GiB for an array with shape (32768, 32768) and data type float64")
        except MemoryError as error:
            raise RuntimeError("the batch could not be made") from error
    """, tmp_path=tmp_path)
    assert "the batch could not be made" in done.stderr and "32768 x 32768 float64" in done.stderr


@NO_ASAN
def test_a_process_without_room_for_the_answer_has_one(tmp_path):
    """The limit leaves less than the extension itself takes."""
    done = run("""
        import plimsoll.hook
        import mmap, resource
        used = int(open("/proc/self/statm").read().split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
        rows, size = [], 1 << 20
        def grow():
            global size
            while True:
                try:
                    rows.append(bytearray(size))
                except MemoryError:
                    if size < 4096:
                        raise
                    size //= 2
        grow()
    """, tmp_path=tmp_path)
    answer = done.stderr[done.stderr.index("-- Plimsoll"):]
    assert "rows" in answer and "program.py line 11" in answer and "1. " in answer


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups of exceptions are of Python 3.11")
@NO_ASAN
def test_an_error_in_a_group_of_tasks_is_found(tmp_path):
    done = run("""
        import plimsoll.hook
        import asyncio
        import numpy as np
        async def one(n):
            return np.zeros((n, 1000, 1000))
        async def both():
            async with asyncio.TaskGroup() as group:
                group.create_task(one(1))
                group.create_task(one(1000))
        asyncio.run(both())
    """, limit=2 << 30, tmp_path=tmp_path)
    answer = done.stderr[done.stderr.index("-- Plimsoll"):]
    assert "1000 x 1000 x 1000 float64" in answer and "return np.zeros((n, 1000, 1000))" in answer


@pytest.mark.skipif(sys.version_info < (3, 11), reason="columns of a line are of Python 3.11")
def test_only_the_statement_that_failed_tells_the_phase():
    class Model:
        def __call__(self):
            raise MemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

        backward = step = lambda self: None
    model = Model()
    try:
        loss = model(); loss.backward(); model.step()  # noqa: E702
    except MemoryError as error:
        assert "backward" not in plimsoll.explain(error).phase and "update" not in plimsoll.explain(error).phase
    try:
        sum([model(), 1]).backward()  # nothing went back
    except MemoryError as error:
        assert "backward" not in plimsoll.explain(error).phase and "update" not in plimsoll.explain(error).phase
    model.backward = model
    try:
        model.backward()
    except MemoryError as error:
        assert plimsoll.explain(error).phase == "the backward pass"


def test_watching_can_be_undone():
    before = sys.excepthook
    plimsoll.watch()
    plimsoll.watch()
    assert sys.excepthook is not before
    plimsoll.unwatch()
    assert sys.excepthook is before
    plimsoll.unwatch()


def test_importing_takes_nothing(tmp_path):
    """Without site, which imports some of these itself where packages are installed."""
    done = run("import os, sys; before = set(sys.modules); import plimsoll.hook\nprint(sorted(set(sys.modules) - before))",
               "-S", tmp_path=tmp_path, PYTHONPATH=str(pathlib.Path(plimsoll.__file__).parents[1]))
    assert done.stdout.strip() == "['mmap', 'plimsoll', 'plimsoll._watch', 'plimsoll.hook']", done.stderr


def test_the_command_is_inside():
    done = subprocess.run([sys.executable, "-m", "plimsoll", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["plimsoll", plimsoll.__version__]


def test_running_nothing_is_a_message(tmp_path):
    done = subprocess.run([sys.executable, "-m", "plimsoll", "run", "-m"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "which module" in done.stderr
    done = subprocess.run([sys.executable, "-m", "plimsoll", "run", str(tmp_path / "none.py")], capture_output=True,
                          text=True, check=False)
    assert done.returncode != 0 and "none.py" in done.stderr


def test_a_module_runs_as_python_would(tmp_path):
    (tmp_path / "train.py").write_text("import sys\nprint(__name__, sys.argv[1:])\nsys.exit(4)\n")
    done = subprocess.run([sys.executable, "-m", "plimsoll", "run", "-m", "train", "a", "-b"], capture_output=True,
                          text=True, cwd=tmp_path, check=False)
    assert done.returncode == 4 and done.stdout.strip() == "__main__ ['a', '-b']"


@pytest.mark.parametrize("home,name,base,text", [
    ("jaxlib.xla_extension", "XlaRuntimeError", RuntimeError,
     "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."),
    ("cupy.cuda.memory", "OutOfMemoryError", MemoryError,
     "Out of memory allocating 8,000,000,000 bytes (allocated so far: 0 bytes)."),
    ("torch", "OutOfMemoryError", RuntimeError, TORCH.split(": ", 1)[1])])
def test_exceptions_of_other_frameworks_are_known(home, name, base, text):
    """Their classes are not installed here: their names, bases and real messages are."""
    error = type(name, (base,), {"__module__": home})(text)
    try:
        raise error
    except base as caught:
        answer = plimsoll.explain(caught)
    assert answer.found and answer.numbers["requested"] > 1 << 30, str(answer)
    assert answer.place["file"].endswith("test_explain.py") and answer.live.limits
