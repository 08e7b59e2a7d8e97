"""What scikit-learn says of the predictions that test_measures.c makes, as tests/run/data/measures.txt: a case, a measure, its value.

usage: make_measures.py      (needs numpy and scikit-learn)
"""
import os, warnings
import numpy as np
from sklearn import metrics
warnings.simplefilter("ignore")
out = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "measures.txt"), "w")
def say(case, **values):
    for name, value in values.items(): print(case, name, repr(float(value)), file=out)
def numbers(count, a, b, mod): # as in test_measures.c
    i = np.arange(count, dtype=np.uint64)
    return ((i * np.uint64(a) + (i * i % np.uint64(7919)) * np.uint64(b)) % np.uint64(mod)).astype(np.int64)

for case, n, classes in (("seven", 500, 7), ("two", 300, 2), ("rare", 120, 9)):
    labels = numbers(n, 31, 17, classes)
    scores = (numbers(n * classes, 37, 101, 1009).reshape(n, classes) / 256).astype(np.float32)
    scores[np.arange(n), labels] += np.float32(1.5)
    if case == "rare": # two classes never occur, one of them is predicted
        labels[labels >= 7] = 0
        scores[:, 8] -= 9
    p = np.exp(scores.astype(np.float64)); p /= p.sum(1, keepdims=True); p = p.astype(np.float32)
    guess = scores.argmax(1)
    q, r, f, _ = metrics.precision_recall_fscore_support(labels, guess, average="macro", zero_division=0)
    say(case, accuracy=metrics.accuracy_score(labels, guess), precision=q, recall=r, f1=f,
        iou=metrics.jaccard_score(labels, guess, average="macro", zero_division=0))
    if classes > 5: say(case, top5=metrics.top_k_accuracy_score(labels, scores, k=5, labels=range(classes)))
    if case != "rare":
        areas = [metrics.roc_auc_score(labels == k, p[:, k]) for k in range(classes)][1 if classes == 2 else 0:]
        say(case, auc=np.mean(areas))
    matrix = metrics.confusion_matrix(labels, guess, labels=range(classes))
    say(case, confusion01=matrix[0, 1], confusion10=matrix[1, 0], support1=matrix[1].sum())
    q, r, f, _ = metrics.precision_recall_fscore_support(labels, guess, average=None, labels=range(classes), zero_division=0)
    say(case, precision1=q[1], recall1=r[1], f11=f[1])

labels = (numbers(400 * 3, 29, 5, 10).reshape(400, 3) < 4).astype(int)
scores = ((numbers(400 * 3, 37, 101, 1009).reshape(400, 3) - 500) / 128 + labels * 2).astype(np.float32)
q, r, f, _ = metrics.precision_recall_fscore_support(labels, scores > 0, average="macro", zero_division=0)
say("labels", accuracy=(labels == (scores > 0)).mean(), precision=q, recall=r, f1=f, auc=metrics.roc_auc_score(labels, scores))

truth = (numbers(200 * 2, 43, 11, 997).reshape(200, 2) / 100).astype(np.float32)
guess = (truth + numbers(200 * 2, 37, 101, 1009).reshape(200, 2) / 400 - 1).astype(np.float32)
a, b = truth.astype(np.float64), guess.astype(np.float64)
say("numbers", mean_absolute=metrics.mean_absolute_error(a, b), root_mean_square=metrics.root_mean_squared_error(a, b), r2=metrics.r2_score(a, b))

labels = numbers(10 * 64, 31, 17, 4).reshape(10, 64)
scores = (numbers(10 * 4 * 64, 37, 101, 1009).reshape(10, 4, 64) / 256).astype(np.float32)
scores += (np.arange(4)[None, :, None] == labels[:, None]) * np.float32(1.5)
labels[:, :8] = -100
guess = scores.argmax(1)
say("pixels", iou=metrics.jaccard_score(labels[:, 8:].ravel(), guess[:, 8:].ravel(), average="macro"), accuracy=(labels == guess)[:, 8:].mean())
