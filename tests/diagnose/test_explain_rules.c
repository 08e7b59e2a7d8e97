/* The rules behind an explanation, one row a rule: what is read, what is concluded, what is advised and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/conditions.h"
#include "diagnose/fixes.h"
#include "diagnose/message.h"
#include "diagnose/programs.h"
#include "diagnose/spots.h"
#include "plimsoll/diagnose.h"

#include "explain_rules.h"
#include "explain_rules_class.h"
#include "explain_rules_held.h"
#include "explain_rules_more.h"
#include "explain_rules_own.h"
#include "explain_rules_place.h"
#include "explain_rules_tried.h"

static plim_explanation explain(const char *text) {
    plim_explainer *explainer;
    const plim_explanation *x;
    assert_int_equal(plim_explainer_create(&explainer, NULL), PLIM_OK);
    assert_int_equal(plim_explainer_feed(explainer, text, strlen(text), NULL), PLIM_OK);
    assert_int_equal(plim_explainer_finish(explainer, &x, NULL), PLIM_OK);
    plim_explanation copy = *x;
    plim_explainer_free(explainer);
    return copy;
}

static int advises(const plim_explanation *x, int count, const char *words) {
    for (int i = 0; i < x->fix_count && i < count; i++)
        if (strstr(x->fixes[i].setting, words) || strstr(x->fixes[i].title, words)) return 1;
    return 0;
}

/* What a row finds wrong; 0 for nothing. */
static int is_broken(const rule *r) {
    plim_explanation x = explain(r->text);
    char why[512] = "";
    double asked = (double)x.requested.bytes;
    if (strcmp(x.framework, r->framework) != 0) snprintf(why, sizeof why, "framework %s", x.framework);
    if (strcmp(plim_cause_name(x.cause), r->cause) != 0)
        snprintf(why, sizeof why, "cause %s: %s", plim_cause_name(x.cause), x.headline);
    if (r->requested >= 0 && (!x.requested.known || asked < 0.995 * r->requested || asked > 1.005 * r->requested))
        snprintf(why, sizeof why, "request %.0f", asked);
    if (r->first && !advises(&x, 2, r->first))
        snprintf(why, sizeof why, "first '%s' '%s'", x.fix_count ? x.fixes[0].setting : "",
                 x.fix_count > 1 ? x.fixes[1].setting : "");
    if (r->not &&advises(&x, PLIM_EXPLANATION_FIXES, r->not )) snprintf(why, sizeof why, "it advises '%s'", r->not );
    if (x.found && x.cause != PLIM_CAUSE_WARNING && !x.headline[0]) snprintf(why, sizeof why, "no headline");
    if (x.found && x.fix_count < 1) snprintf(why, sizeof why, "no fix");
    if (why[0]) print_message("%s: %s\n", r->name, why);
    return why[0] != 0;
}

static void every_rule_holds(void **state) {
    (void)state;
    int broken = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) broken += is_broken(&rules[i]);
    for (size_t i = 0; i < sizeof more_rules / sizeof *more_rules; i++) broken += is_broken(&more_rules[i]);
    for (size_t i = 0; i < sizeof class_rules / sizeof *class_rules; i++) broken += is_broken(&class_rules[i]);
    for (size_t i = 0; i < sizeof held_rules / sizeof *held_rules; i++) broken += is_broken(&held_rules[i]);
    for (size_t i = 0; i < sizeof own_rules / sizeof *own_rules; i++) broken += is_broken(&own_rules[i]);
    for (size_t i = 0; i < sizeof tried_rules / sizeof *tried_rules; i++) broken += is_broken(&tried_rules[i]);
    for (size_t i = 0; i < sizeof place_rules / sizeof *place_rules; i++) broken += is_broken(&place_rules[i]);
    assert_int_equal(broken, 0);
}

/* Conditions of the table of places are ones that exist, and every row says something. */
static void every_place_is_whole(void **state) {
    (void)state;
    assert_true(plim__spot_count <= PLIM_SPOTS);
    for (size_t i = 0; i < plim__spot_count; i++) {
        const plim__spot *spot = &plim__spots[i];
        assert_true(plim__conditions_known(spot->when));
        assert_non_null(spot->marks[0]);
        assert_non_null(spot->advice[0].title);
        for (size_t k = 0; k < PLIM_SPOT_ADVICE && spot->advice[k].title; k++) assert_non_null(spot->advice[k].setting);
        for (size_t k = 0; k < PLIM_SPOT_MARKS && spot->marks[k]; k++)
            assert_null(strpbrk(spot->marks[k], " ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    }
}

/* The model's name tells how many bytes its weights take, and so what fewer bits give and whether that is enough. */
static void fewer_bits_are_weighed_by_the_name_of_the_model(void **state) {
    (void)state;
    static const char format[] = "Loading checkpoint shards\n  File \"run.py\", line 3, in <module>\n    m = "
                                 "AutoModelForCausalLM.from_pretrained(\"some/%s\")\ntorch.OutOfMemoryError: CUDA out "
                                 "of memory. Tried to allocate "
                                 "100.00 MiB (GPU 0; 16.00 GiB total capacity; 15.90 GiB already allocated; 9.00 MiB "
                                 "free; 15.90 GiB reserved in "
                                 "total by PyTorch)\n";
    char text[1024];
    snprintf(text, sizeof text, format, "llama-13b-hf");
    plim_explanation x = explain(text);
    double weights = 13e9 * (2 - 0.56);
    int at = 0;
    while (at < x.fix_count && !strstr(x.fixes[at].title, "bits")) at++;
    assert_true(at < x.fix_count);
    while (at < x.fix_count && !strstr(x.fixes[at].saving_note, "in 4")) at++;
    assert_true(at < 2);
    assert_true((double)x.fixes[at].saving.bytes > 0.99 * weights && (double)x.fixes[at].saving.bytes < 1.01 * weights);
    assert_int_equal(x.fixes[at].reaches, 1);
    snprintf(text, sizeof text, format, "llama-70b-hf");
    x = explain(text);
    assert_null(strstr(x.fixes[0].saving_note, "in 4")); /* 36.5 GiB do not fit either */
    snprintf(text, sizeof text, format, "mix-8x7b");     /* not seven billion */
    x = explain(text);
    for (int i = 0; i < x.fix_count; i++) assert_null(strstr(x.fixes[i].saving_note, "B parameters"));
}

/* What comes later, what is asked about and what another program holds decide the advice as little as they should. */
static void words_beside_the_failure_are_weighed(void **state) {
    (void)state;
    plim_explanation x = explain("python run_clm.py --model_name_or_path gpt2 --do_train --do_eval --output_dir o\n"
                                 "RuntimeError: CUDA out of memory.");
    assert_true(advises(&x, 2, "batch"));
    assert_false(advises(&x, 2, "evaluation"));
    x = explain("python run_x.py --do_eval --output_dir o\nRuntimeError: CUDA out of memory.");
    assert_true(advises(&x, 2, "evaluation"));
    x = explain("In training: RuntimeError: CUDA out of memory.\nIt may help to change the batch but I am unsure how.");
    assert_true(advises(&x, 2, "batch"));
    x = explain(
        "OOM when allocating tensor with shape[1,500,500,512] and type float on /job:localhost/replica:0/task:0/"
        "device:CPU:0 by allocator cpu");
    assert_false(advises(&x, PLIM_EXPLANATION_FIXES, "batch_size"));
    x = explain("ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node n1 is used (59.62 / 62.75 "
                "GB). The top 10 memory consumers are:\n\nPID MEM COMMAND\n17 50.6GiB ray::ReplayBuffer\n");
    assert_true(advises(&x, 1, "replay buffer"));
}

static void conditions_of_fixes_are_known_words(void **state) {
    (void)state;
    for (size_t i = 0; i < plim__fix_row_count(); i++)
        if (!plim__conditions_known(plim__fix_row_at(i)->when))
            fail_msg("unknown word in '%s'", plim__fix_row_at(i)->when);
}

static void programs_have_settings_for_the_levers_they_order(void **state) {
    (void)state;
    for (size_t i = 0; i < plim__program_count(); i++)
        if (!plim__program_is_valid(plim__program_at(i))) fail_msg("%s", plim__program_at(i)->name);
}

static void every_message_has_a_trigger(void **state) {
    (void)state;
    char trigger[256];
    for (const plim__message *m = plim__messages_device; m->sentence; m++)
        assert_true(plim__message_trigger(m, trigger, sizeof trigger) && strlen(trigger) >= 6);
    for (const plim__message *m = plim__messages_host; m->sentence; m++)
        assert_true(plim__message_trigger(m, trigger, sizeof trigger) && strlen(trigger) >= 6);
}

static void what_is_missing_is_told(void **state) {
    (void)state;
    plim_explanation x =
        explain("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; "
                "8.50 GiB already allocated; 1.06 GiB free; 8.60 GiB reserved in total by PyTorch)");
    assert_true(x.shortfall.known);
    double short_gib = (double)x.shortfall.bytes / (double)GIB;
    assert_true(short_gib > 0.93 && short_gib < 0.95);
}

static void the_users_own_line_is_found(void **state) {
    (void)state;
    plim_explanation x = explain(
        "Epoch 3, step 120/500, loss 0.31\nTraceback (most recent call last):\n  File \"/home/me/train.py\", line 88, "
        "in "
        "main\n    loss.backward()\n  File \"/usr/lib/python3/site-packages/torch/autograd/__init__.py\", line 200, in "
        "backward\n    run()\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total "
        "capacity; "
        "8.50 GiB already allocated; 1.06 GiB free; 8.60 GiB reserved in total by PyTorch)\n");
    assert_string_equal(x.place.file, "/home/me/train.py");
    assert_int_equal(x.place.line, 88);
    assert_string_equal(x.place.code, "loss.backward()");
    assert_int_equal(x.phase, PLIM_PHASE_BACKWARD);
    assert_int_equal(x.place.epoch, 3);
    assert_int_equal(x.place.step, 120);
    assert_int_equal(x.place.step_count, 500);
    assert_true(x.recurrence[0]);
    /* paths that somebody has shortened */
    x = explain(
        "Traceback (most recent call last):\n  File \"train.py\", line 212, in <module>\n    loss.backward()\n  "
        "File \"torch/_tensor.py\", line 525, in backward\n    torch.autograd.backward(\n  File "
        "\".../torch/autograd/__init__.py\", line 90, in backward\n    run()\ntorch.OutOfMemoryError: CUDA out of "
        "memory. Tried to allocate 3.06 GiB.");
    assert_string_equal(x.place.file, "train.py");
    assert_int_equal(x.place.line, 212);
    /* a line of 80 characters is not always wrapped */
    x = explain(
        "Traceback (most recent call last):\n  File \"/fsx/some/dev/Bagel/train/fsdp_utils_00.py\", line 109, in "
        "fsdp_save_ckpt\n    state = model.state_dict()\n            ^^^^^^^^^^^^^^^^^^\ntorch.OutOfMemoryError: CUDA "
        "out "
        "of memory. Tried to allocate 1.22 GiB.");
    assert_string_equal(x.place.code, "state = model.state_dict()");
}

static void figures_that_are_cut_or_garbled_are_not_guessed(void **state) {
    (void)state;
    plim_explanation x = explain("RuntimeError: CUDA out of memory. Tried to allocate 12");
    assert_true(x.found && !x.requested.known);
    assert_true(strstr(x.unread, "cut off") != NULL);
    x = explain("RuntimeError: CUDA out of memory. Tried to allocate l2.O0 GiB (GPU 0; 10.00 GiB total capacity; 9.00 "
                "GiB already "
                "allocated; 0.50 GiB free; 9.10 GiB reserved in total by PyTorch)");
    assert_true(x.found && !x.requested.known && x.unread[0]);
    x = explain("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 7 has a total capacity "
                "of 95.00");
    assert_true(x.found && x.requested.known && !x.capacity.known && strstr(x.unread, "cut off"));
    x = explain("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4194");
    assert_true(x.found && !x.requested.known && x.unread[0]);
    x = explain("ResourceExhaustedError: OOM when allocating tensor with shape[32,64,11");
    assert_true(x.found && !x.requested.known && strstr(x.unread, "[32,64,11\" is cut off"));
}

/* Pages mark figures, and a shell's redirection may lose the mark of UTF-16. */
static void figures_are_read_through_tags_and_without_a_byte_order_mark(void **state) {
    (void)state;
    static const char text[] = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total "
                               "capacity; 6.00 GiB already allocated)\n";
    plim_explanation x =
        explain("<pre>RuntimeError: CUDA out of memory. Tried to allocate <b>2.00&nbsp;GiB</b> (GPU 0; "
                "<span class=\"n\">8.00</span> GiB total capacity; 6.00 GiB already allocated)</pre>");
    assert_true(x.requested.bytes == (uint64_t)2 << 30 && x.capacity.bytes == (uint64_t)8 << 30);
    for (size_t big = 0; big < 2; big++) {
        char wide[2 * sizeof text] = {0};
        for (size_t i = 0; i + 1 < sizeof text; i++) wide[2 * i + big] = text[i];
        plim_explainer *explainer;
        const plim_explanation *found;
        assert_int_equal(plim_explainer_create(&explainer, NULL), PLIM_OK);
        assert_int_equal(plim_explainer_feed(explainer, wide, 2 * (sizeof text - 1), NULL), PLIM_OK);
        assert_int_equal(plim_explainer_finish(explainer, &found, NULL), PLIM_OK);
        assert_true(found->requested.known && found->requested.bytes == (uint64_t)2 << 30);
        plim_explainer_free(explainer);
    }
}

/* At any width: a size needs a unit, dimensions need commas, bytes their word. */
static void numbers_that_a_wrap_cut_are_one_number(void **state) {
    (void)state;
    plim_explanation x = explain("RuntimeError: CUDA out of memory. Tried to allocate 2\n0.00 MiB (GPU 0; 10.\n75 GiB "
                                 "total capacity; 9.50 G\niB already allocated; 16.38 MiB free; 9.6\n2 GiB reserved "
                                 "in total by PyTorch)\n");
    assert_int_equal(x.requested.bytes, 20 << 20);
    assert_int_equal(x.capacity.bytes, (uint64_t)(10.75 * (double)GIB));
    assert_int_equal(x.allocated.bytes, (uint64_t)(9.5 * (double)GIB));
    assert_true(x.reserved.known && x.reserved.bytes > x.allocated.bytes);
    x = explain("OOM when allocating tensor with shape[64,102\n4,512] and type float on "
                "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n");
    assert_int_equal(x.requested.bytes, (uint64_t)64 * 1024 * 512 * 4);
    x = explain("DefaultCPUAllocator: can't allocate memory: you tried to allocate 2097\n1520 bytes. Error code 12\n");
    assert_int_equal(x.requested.bytes, 20971520);
}

static bool has_control(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) return true;
    return false;
}

static void control_characters_do_not_come_through(void **state) {
    (void)state;
    plim_explanation x = explain(
        "Traceback (most recent call last):\n  File \"a\033]0;evil\007b.py\", line 3, in f\n    go(\033[31m1\x08)\n"
        "RuntimeError: CUDA out of memory. Tried to allocate 1\x01.00 GiB (GPU 0; 10.00 GiB total capacity)\n");
    assert_true(x.found);
    assert_false(has_control(x.place.file) || has_control(x.place.code) || has_control(x.message) ||
                 has_control(x.unread));
}

static void a_line_of_megabytes_is_read_to_its_end(void **state) {
    (void)state;
    size_t size = 3u << 20;
    char *text = test_malloc(size + 200);
    memset(text, 'x', size);
    strcpy(text + size,
           " CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; 9.00 GiB already "
           "allocated; 0.50 GiB free; 9.10 GiB reserved in total by PyTorch)\n");
    plim_explanation x = explain(text);
    test_free(text);
    assert_true(x.found && x.requested.bytes == (uint64_t)2 << 30);
}

static void pages_and_mails_are_read(void **state) {
    (void)state;
    plim_explanation x = explain(
        "<p><code>RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; "
        "9.00 GiB already allocated; 0.50 GiB free; 9.10 GiB reserved in total by PyTorch) If reserved memory is "
        "&gt;&gt; allocated</code></p>");
    assert_true(x.found && x.free.known && x.capacity.known);
    x = explain("> > **RuntimeError: CUDA out of memory.** Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total "
                "capacity; 9.00 GiB already\n> > "
                "allocated; 0.50 GiB free; 9.10 GiB reserved in total by PyTorch)\n");
    assert_true(x.found && x.requested.known && x.capacity.known);
}

static void what_xla_planned_for_the_whole_program_is_told(void **state) {
    (void)state;
    plim_explanation x =
        explain("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
                "allocate 4770354232 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
                "             parameter allocation:  372.76MiB\n"
                "              constant allocation:    48.5KiB\n"
                "        maybe_live_out allocation:    9.64GiB\n"
                "     preallocated temp allocation:    4.44GiB\n"
                "                 total allocation:   14.44GiB\n");
    assert_true(x.found && x.requested.bytes == 4770354232);
    assert_string_equal(x.evidence[0], "the compiled program takes 14.44 GiB: 372.76 MiB of arguments, 9.64 GiB of "
                                       "results, 4.44 GiB while it runs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_holds),
        cmocka_unit_test(every_place_is_whole),
        cmocka_unit_test(fewer_bits_are_weighed_by_the_name_of_the_model),
        cmocka_unit_test(words_beside_the_failure_are_weighed),
        cmocka_unit_test(conditions_of_fixes_are_known_words),
        cmocka_unit_test(programs_have_settings_for_the_levers_they_order),
        cmocka_unit_test(every_message_has_a_trigger),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(the_users_own_line_is_found),
        cmocka_unit_test(control_characters_do_not_come_through),
        cmocka_unit_test(a_line_of_megabytes_is_read_to_its_end),
        cmocka_unit_test(pages_and_mails_are_read),
        cmocka_unit_test(numbers_that_a_wrap_cut_are_one_number),
        cmocka_unit_test(figures_that_are_cut_or_garbled_are_not_guessed),
        cmocka_unit_test(figures_are_read_through_tags_and_without_a_byte_order_mark),
        cmocka_unit_test(what_xla_planned_for_the_whole_program_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
