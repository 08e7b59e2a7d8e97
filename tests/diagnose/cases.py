"""Unpacks tests/diagnose/cases.txt into a folder as score.py wants it: one file a case, and labels.jsonl.

usage: cases.py CASES FOLDER
"""
import json
import os
import re
import sys

UNITS = {'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}


def size(value):
    if not isinstance(value, str):
        return value
    number, unit = value.split()
    return round(float(number) * UNITS[unit])


def main(path, folder):
    with open(path) as file:
        cases = re.split(r'^=== ', file.read(), flags=re.M)[1:]
    with open(os.path.join(folder, 'labels.jsonl'), 'w') as labels:
        for case in cases:
            head, text = case.split('\n', 1)
            name, said = head.split(' ', 1)
            said = json.loads(said)
            cause = said.get('cause', 'none')
            label = {'file': name + '.txt', 'found': not name.startswith('quiet'), 'cause': cause, 'acceptable_causes': [cause],
                     'rounded_fields': [k for k, v in said.items() if isinstance(v, str) and k.endswith('_bytes')]}
            label.update({k: size(v) if k.endswith('_bytes') else v for k, v in said.items()})
            with open(os.path.join(folder, label['file']), 'w') as out:
                out.write(text)
            labels.write(json.dumps(label) + '\n')


main(*sys.argv[1:3])
