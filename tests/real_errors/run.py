#!/usr/bin/env python3
"""Makes real programs run out of memory, and compares what `plimsoll explain` says with what the job is known to have done.

    run.py PLIMSOLL CACHE [--keep FOLDER] [--only WORD] [--list]

CACHE holds the virtual environments (install.sh) and gets the logs. --keep writes each log and its expectation as a case
that `make test` can check without installing anything.
"""
import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys

from cases import CASES

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS = os.path.join(HERE, "jobs")


def command_of(case, cache):
    venv = os.path.join(cache, "venvs", case.get("env", ""))
    python = os.path.join(venv, "bin", "python")
    words = []
    for word in case["command"]:
        word = word.replace("{python}", python).replace("{build}", os.path.join(cache, "programs"))
        words.append(os.path.join(JOBS, word) if os.path.exists(os.path.join(JOBS, word)) else word)
    return words


def environment_of(case, cache):
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1", **case.get("set", {}))
    stubs = os.path.join(cache, "stubs", case.get("env", ""))
    if os.path.exists(os.path.join(stubs, "symbols.so")):
        environment.update(LD_PRELOAD=os.path.join(stubs, "symbols.so"), LD_LIBRARY_PATH=stubs)
    for name, value in list(environment.items()):
        if callable(value):
            environment[name] = value()
    return environment


def memory_group(limit):
    """A cgroup with that limit and the words that enter it; None where none can be made."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(root, f"plimsoll-real-{os.getpid()}")
        try:
            os.mkdir(group)
            with open(os.path.join(group, name), "w") as f:
                f.write(str(limit))
            return group, ["sh", "-c", 'echo $$ > "$0/cgroup.procs"; "$@"; echo "exit status $?"', group]
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    return None, None


def run(case, cache):
    """What the program printed, with this machine's paths taken out; None where it cannot run here."""
    words, group = command_of(case, cache), None
    if case.get("group"):
        group, enter = memory_group(case["group"])
        if not group:
            return None
        words = enter + words
    if case.get("shm"):
        inner = " ".join(words)
        words = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size={case['shm']} none /dev/shm && exec {inner}"]
    before = None
    if case.get("address_space"):
        def before():
            resource.setrlimit(resource.RLIMIT_AS, (case["address_space"], case["address_space"]))
    try:
        made = subprocess.run(words, env=environment_of(case, cache), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              preexec_fn=before, timeout=case.get("timeout", 240), cwd=os.path.join(cache, "work"))
        text = made.stdout
        if not case["expect"]["found"] and made.returncode:
            print(f"{case['name']}: a healthy run left with {made.returncode}: {text[-300:]!r}")
            return None
    except subprocess.TimeoutExpired as e:
        text = e.stdout or b""
    except OSError as e:
        print(f"{case['name']}: not run: {e.strerror}")
        return None
    finally:
        if group:
            os.rmdir(group)
    text = text.decode("utf-8", "replace")
    text = text.replace(JOBS + "/", "/home/user/").replace(cache, "/opt/env")
    # Ray lists the largest processes of the machine, whoever runs them
    text = re.sub(r"^(\d+\t[\d.]+\t).*$", r"\1python3 job.py", text, flags=re.M)
    return text.replace(sys.base_prefix, "/usr")


def differences(answer, expect):
    """Sentences about what is not as expected."""
    wrong = []
    for key, want in expect.items():
        if key == "fix":
            fixes = answer["fixes"]
            first = fixes[0]["title"] + " " + fixes[0]["setting"] if fixes else ""
            if not re.search(want, first, re.I):
                wrong.append(f"first fix {first!r}, not {want!r}")
            continue
        got = answer["device"]["kind"] if key == "kind" else answer.get(key)
        allowed = want if isinstance(want, list) and key != "shape" else [want]
        near = key.endswith("_bytes") and got is not None and any(
            isinstance(w, int) and abs(got - w) <= max(512, 0.011 * w) for w in allowed)
        if got not in allowed and not near:
            wrong.append(f"{key} {got!r}, not {want!r}")
    return wrong


def explain(plimsoll, path):
    return json.loads(subprocess.run([plimsoll, "explain", "--json", path], stdout=subprocess.PIPE, check=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("cache")
    parser.add_argument("--keep")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--again", action="store_true", help="read the logs that are there, run nothing")
    args = parser.parse_args()
    cache = os.path.abspath(args.cache)
    for folder in ("logs", "work", "programs"):
        os.makedirs(os.path.join(cache, folder), exist_ok=True)
    programs, versions, failures, healthy, skipped, bad = set(), set(), 0, 0, [], []
    for case in CASES:
        if args.only and not re.search(args.only, case["name"]):
            continue
        if args.list:
            print(case["name"])
            continue
        path = os.path.join(cache, "logs", case["name"] + ".txt")
        if not args.again:
            text = run(case, cache)
            if text is None:
                skipped.append(case["name"])
                continue
            with open(path, "w") as f:
                f.write(text)
        elif not os.path.exists(path):
            skipped.append(case["name"])
            continue
        wrong = differences(explain(args.plimsoll, path), case["expect"])
        programs.add(case["program"])
        versions.add((case["program"], case["version"]))
        failures += case["expect"]["found"]
        healthy += not case["expect"]["found"]
        print(("wrong  " if wrong else "right  ") + case["name"] + (": " + "; ".join(wrong) if wrong else ""), flush=True)
        if wrong:
            bad.append(case["name"])
        elif args.keep and os.path.getsize(path) < 100000:
            shutil.copy(path, os.path.join(args.keep, case["name"] + ".txt"))
            with open(os.path.join(args.keep, case["name"] + ".json"), "w") as f:
                json.dump({"program": case["program"], "version": case["version"], "expect": case["expect"]}, f, indent=1)
                f.write("\n")
    if args.list:
        return 0
    print(f"{failures} failures and {healthy} healthy runs of {len(versions)} versions of {len(programs)} programs; "
          f"{len(bad)} wrong, {len(skipped)} not run{': ' + ' '.join(skipped) if skipped else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
