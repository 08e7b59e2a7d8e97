#!/usr/bin/env python3
"""Writes data/events.tfevents with TensorBoard's own writer: what test_event_file.c compares our writer with, byte by byte.

    pip install tensorboard && python3 make_events.py
"""
import os

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

TIME = 1700000000.25  # as test_event_file.c has it
ROWS = [(1, {"train/loss": 2.25, "train/accuracy": 0.1}),
        (300, {"train/loss": -1e-30, "validation/a long name, with more than a byte of it: \u00e9": 3.4028235e38}),
        (1 << 40, {f"tag/{i}": i / 7 for i in range(32)})]

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "events.tfevents"), "wb") as out:
    records = RecordWriter(out)
    records.write(event_pb2.Event(wall_time=TIME, file_version="brain.Event:2").SerializeToString())
    for step, scalars in ROWS:
        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=t, simple_value=v) for t, v in scalars.items()])
        records.write(event_pb2.Event(wall_time=TIME, step=step, summary=summary).SerializeToString())
    start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    records.write(event_pb2.Event(wall_time=TIME, step=301, session_log=start).SerializeToString())
    records.flush()
