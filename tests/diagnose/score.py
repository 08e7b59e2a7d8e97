"""Compares what `explain --json` says about labelled logs with their labels; fails below the shares that are asked for.

usage: score.py PLIMSOLL FOLDER FOUND CAUSE FIELDS      the least shares that must be right, 0 to 1
FOLDER has labels.jsonl: one object a log, with `file`, `found`, `acceptable_causes`, the fields, `rounded_fields` (within 1 %)
and `unscored`. A value that was invented is as wrong as one that is missing. No log that is harmless may be called a failure.
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FIELDS = ('framework', 'requested_bytes', 'shape', 'capacity_bytes', 'allocated_bytes', 'reserved_bytes', 'free_bytes')


def explain(program, path):
    done = subprocess.run([program, 'explain', '--json', path], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if done.returncode < 0 or done.returncode >= 128:
        sys.exit(f'FAILED: {path}: it ended with {done.returncode}')
    return json.loads(done.stdout)


def is_right(label, field, answer):
    want, got = label.get(field), answer.get(field)
    if field == 'framework':
        return got in (label.get('acceptable_frameworks') or [want])
    if field in (label.get('rounded_fields') or []) and want is not None and got is not None:
        return abs(got - want) <= 0.01 * abs(want)
    return got == want


def main():
    program, folder = sys.argv[1:3]
    least = dict(zip(('found', 'cause', 'fields'), map(float, sys.argv[3:6])))
    labels = [json.loads(line) for line in open(os.path.join(folder, 'labels.jsonl'))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda label: explain(program, os.path.join(folder, label['file'])), labels))
    scores, wrong, false_alarms = {}, [], 0

    def note(label, field, right, got):
        good, of = scores.get(field, (0, 0))
        scores[field] = (good + right, of + 1)
        if not right:
            wrong.append(f'{label["file"]}: {field} is {got}, not {label.get(field)}')

    for label, answer in zip(labels, answers):
        found, cause = answer.get('found'), answer.get('cause')
        # a warning may be reported either way, as long as it is called one
        right = found is label['found'] or label['cause'] == cause == 'warning'
        note(label, 'found', right, found)
        false_alarms += found is True and not label['found'] and not right
        note(label, 'cause', (cause or 'none') in label['acceptable_causes'] or cause in label['acceptable_causes'], cause)
        for field in FIELDS if label['found'] else ():
            if field not in (label.get('unscored') or []) and (label.get(field) is not None or answer.get(field) is not None):
                note(label, field, is_right(label, field, answer), answer.get(field))
    failed = false_alarms > 0
    for field, (good, of) in scores.items():
        low = good < of * least.get(field, least['fields'])
        failed = failed or low
        print(f'{field}: {good} of {of}{", too few" if low else ""}')
    if failed or not labels:
        print(f'{false_alarms} harmless logs were called failures', *wrong[:40], sep='\n')
        sys.exit(1)


main()
