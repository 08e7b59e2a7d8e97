/* A text about a message is not a failure; somebody who tells of theirs is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plimsoll/diagnose.h"

/* Articles, descriptions of changes, diffs. */
static const char *const talk[] = {
    "# FAQ entry needed: out of memory\nI think the page should mention seff for jobs that ran out of memory.\n",
    "The docs should say what an out of memory job looks like. I was confused.\n",
    "I look for exit code 137 in the logs, or grep for oom-killed. That is too hard: the state should be surfaced.\n",
    "I simulated an OOM to see which event is sent. I propose that we send one when we notice OOMKilled: true.\n",
    "How to fix 'CUDA out of memory'\n\nThis error occurs when the model and its activations do not fit.\nCommon "
    "causes\n- a batch that is too large\n- tensors that are kept\n",
    "The RuntimeError: CUDA out of memory occurs when the card is full. Here's how to resolve it:\n- a smaller batch\n",
    "RuntimeError: CUDA out of memory errors are the most common trouble of beginners. In this guide we go through "
    "them.\n",
    "Introduction\nA data frame takes more than its file.\n\nSymptoms\nMemoryError: Unable to allocate 14.2 GiB for an "
    "array with shape (50000000, 38) and data type object\n\nCommon causes\nStep-by-step fix\nBest practices\n",
    "The dreaded OOMKilled\nstatus appears and the work is gone.\nWhat causes OOMKilled\nWhen a pod takes more than "
    "its "
    "limit it is ended.\n",
    "More hints on what to do with CUDA out of memory errors\\npull request, merged\\n",
    "Some models meet CUDA out of memory problems on small cards.\\n",
    "Hello! Thanks for asking. Keep the batch small, otherwise you will see a CUDA Out Of Memory (OOM) Error and the "
    "training will crash.\nIf you encounter it, the steps you can take are these.\n",
    "For a smaller batch: wrap the step, catch RuntimeError with 'CUDA out of memory' in the message, then try "
    "again.\n",
    "Frequently asked questions\nMy model reports \"cuda runtime error(2): out of memory\"\nAs the error message "
    "suggests, "
    "you have run out of memory. Here are common things to check.\n",
    "More hints on what to do with CUDA out of memory errors\npull request, merged\n",
    "Some models meet CUDA out of memory problems on small cards.\n",
    "Understanding the ResourceExhaustedError: OOM when allocating a tensor\nOne such common error comes from large "
    "batches. This article tells what to do.\n",
    "Stuck with the error? Here is the solution\nIn this blog post one of the most common exceptions is met.\n\n"
    "java.lang.OutOfMemoryError: Java heap space\n",
    "Symptom: the task fails with java.lang.OutOfMemoryError: Java heap space. Often appears in joins.\n",
    "An exit code of 137 indicates that the process was ended by SIGKILL. In most cases memory is the reason.\nProcess "
    "finished with exit code 137\n",
    "# Wrap more OutOfMemoryErrors\n",
    "Adds a list of OOM-killed jobs to the report.\n",
    "Memory error: large tables\nWhy this matters\nTables grow.\n",
    "# Retry OOM killed jobs with more memory\n### Description\nThe second try asks for twice as much.\n",
    "@@ -1,4 +1,9 @@\n-    id << worker;\n+    static std::string title =\n+        \"Task was killed due to the node "
    "running low on memory. \";\n+    log(title);\n+    return;\n",
    "+# Exit code 137\n+\n+Exit code 137 means that the kernel's out of memory killer ended the process.\n+It is "
    "SIGKILL.\n",
    "Understanding the error\nRuntimeError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total "
    "capacity "
    "of 11.00 GiB of which 100.00 MiB is free.\nThis means PyTorch found no room. It is the most common error there "
    "is; "
    "this guide covers it.\n",
    "OOMKilled (exit code 137) means that a container took more than its limit. Look for the last state:\nReason: "
    "OOMKilled\nExit Code: 137\nYour container, your heap and your limits decide, and you set them all.\n",
    "Exit code 137 is a signal.\nReason: OOMKilled\nExit Code: 137\n- Reduce the heap\n- Use smaller batches\n- "
    "Increase the limit\nYou can set it for your pod, and your service restarts.\n",
    "# Clarify out of memory error on the grid\nFor a large grid it throws a "
    "`numpy.core._exceptions._ArrayMemoryError`, "
    "which users misread.\n",
    "# fix: catch OOM in the launcher\nThe wrapper is killed by the out of memory killer and my job hangs.\n",
    "# [X-12] show a warning if the builder is OOMKilled.\n",
    "- fix OOM to throw std::bad_alloc properly\n- a pool for messages after a bad_alloc\n",
    "Will I get \"CUDA out of memory\" error if the images are large?\nNo.\n",
    "the largest batch that I can set without running into out of memory error is 16\n",
    "RuntimeError: CUDA error: an illegal memory access was encountered\nI thought it is due to out of memory, but a "
    "smaller batch gives the same.\n",
    "README.md\n@@ -10,3 +10,5 @@\n  > `failed (exitcode: -9)`\n+\n  It usually means that the host's memory ran "
    "out.\n",
    "To verify that the killer did it, search the kernel's log:\n# Output example:\n# [Tue Mar 24 14:32:11 2026] Out "
    "of "
    "memory: Killed process 14592 (python3) total-vm:1980996kB...\nStep-by-step\n",
    "Dealing with memory\n\nIf you got this error while running a script\n\nOutOfMemoryError: CUDA out of memory. "
    "Tried to "
    "allocate 2.22 GiB. GPU 0 has a total capacity of 79.15 GiB of which 228.38 MiB is free.\n\nHere's a few things "
    "you "
    "can try:\n",
    "Tell the driver of kills.\nExample new message\n\n> (raylet) node_manager.cc:77: 6 Workers (tasks / actors) "
    "killed "
    "due to memory pressure (OOM), 0 Workers crashed\n",
    "The error java.lang.OutOfMemoryError can also be thrown by native code. It does not necessarily imply a leak.\n",
};

/* Questions and reports with the real message inside, as people paste them. */
static const char *const told[] = {
    "I started it, and 3 hours later I found it show errors with cuda_out_of_memory. Any ideas?\n",
    "I run a 32b model with ollama and my two cards, it ends with a CUDA malloc error\n",
    "# hbm OOM\nI move my model to a TPU; with a batch of 8 it failed with hbm oom.\n",
    "Hi, I get an error that CUDA is out of memory. is there a solution\n",
    "I fine-tuned it with LoRA on 48G, but failed due to an Out Of Memory  error. Which card do I need?\n",
    "I changed the batch from 4 to 1 and I am still getting the error Out of memory on 24G.\n",
    "With QLoRA I get the CUDA Error of Out of Memory. The command is below.\n",
    "I train with batch_size 1, error occured:\nCUDA out of memeory,\n",
    "When my model loads the process will be killed; the memory was completely used by then.\n",
    "All my jobs are automatically killed because of a slurm out-of-memory error, after an hour.\n",
    "Hi, thanks for your code! While it runs, it shows that cUDA is out of memory. Is there any way to reduce it.\n",
    "# CUDA out of memory | 4 cards\nTraceback (most recent call last):\n  File \"/home/me/run.py\", line 3, in go\n   "
    " "
    "launch()\n",
    "with a batch of 8 I see that the project is out of GPU memory\n",
    "after an hour my job gets OOM killed on the cluster\n",
    "swap fills, then the process is killed (OOM) and my log ends\n",
    "I keep meeting fatal out of memory errors with this model\n",
    "model.fit gives me `OOM Error` even with batch_size=1\n",
    "22/11/10 13:59:15 | INFO | root | Failed (CUDA out of memory) on sequence A of length 918.\n",
    "{\"level\": \"error\", \"msg\": \"CUDA out of memory\"}\n",
    "I consistently obtained a `CUDA out of memory` error when running the inference on 24 GB.\n",
    "\xE4\xB8\xBA\xE4\xBB\x80\xE4\xB9\x88 CUDA out of memory with a batch of 1\n",
    "How to fix RuntimeError: CUDA out of memory?\n",
    "I got 'torch.OutOfMemoryError: CUDA out of memory' when I ran the evaluation, how to solve it?\n",
    "Hi, this error occurs when my model trains: RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n",
    "- **Node Type:** KSampler\n- **Exception Type:** torch.OutOfMemoryError\n- **Exception Message:** Allocation on "
    "device\n",
    "# RuntimeError: CUDA error: out of memory\nAny idea? Thanks\n",
    "2024-05-06 07:08:09 ERROR worker failed\njava.lang.OutOfMemoryError: Java heap space\n",
    "+ python train.py\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n",
    "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x = load()  # this error occurs "
    "when "
    "the file is large, see the common causes\nMemoryError\n",
};

static bool is_found(const char *text) {
    plim_explainer *explainer;
    const plim_explanation *x;
    assert_int_equal(plim_explainer_create(&explainer, NULL), PLIM_OK);
    assert_int_equal(plim_explainer_feed(explainer, text, strlen(text), NULL), PLIM_OK);
    assert_int_equal(plim_explainer_finish(explainer, &x, NULL), PLIM_OK);
    bool found = x->found;
    plim_explainer_free(explainer);
    return found;
}

static void texts_about_a_message_raise_no_alarm(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof talk / sizeof *talk; i++)
        if (is_found(talk[i])) fail_msg("an alarm: %.60s", talk[i]);
}

static void reports_of_people_are_answered(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (!is_found(told[i])) fail_msg("not recognised: %.60s", told[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_about_a_message_raise_no_alarm),
        cmocka_unit_test(reports_of_people_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
