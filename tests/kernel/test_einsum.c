/* Einsum in float32 agrees with the sum over all labels, whatever path it takes. */
#include "run_op.h"

#include <ctype.h>

#define LABELS 26
#define MOST   4

/* Straight from the definition: letters only. */
static void reference(const char *equation, int64_t const sizes[LABELS], float *const inputs[MOST], float *out) {
    char terms[MOST + 1][16];
    int count = 0, length = 0;
    for (const char *c = equation; *c; c++) {
        if (*c == ',' || *c == '-') {
            terms[count++][length] = 0;
            length = 0;
            if (*c == '-') c++;
        } else {
            terms[count][length++] = *c;
        }
    }
    terms[count][length] = 0;
    int64_t total = 1, index[LABELS] = {0};
    bool used[LABELS] = {false};
    for (int t = 0; t <= count; t++)
        for (char *c = terms[t]; *c; c++) used[*c - 'a'] = true;
    for (int i = 0; i < LABELS; i++) total *= used[i] ? sizes[i] : 1;
    for (int64_t step = 0; step < total; step++) {
        int64_t rest = step, at[MOST + 1];
        for (int i = 0; i < LABELS; i++)
            if (used[i]) index[i] = rest % sizes[i], rest /= sizes[i];
        double product = 1;
        for (int t = 0; t <= count; t++) {
            at[t] = 0;
            for (char *c = terms[t]; *c; c++) at[t] = at[t] * sizes[*c - 'a'] + index[*c - 'a'];
            if (t < count) product *= (double)inputs[t][at[t]];
        }
        out[at[count]] += (float)product;
    }
}

static void check(const char *equation) {
    int64_t sizes[LABELS];
    for (int i = 0; i < LABELS; i++) sizes[i] = 1 + random_below(5);
    plim_graph *g = plim_graph_create();
    plim_value values[MOST];
    float *data[MOST] = {0};
    int64_t counts[MOST], out_count = 1;
    static const char *const names[MOST] = {"a", "b", "c", "d"};
    size_t inputs = 0;
    const char *c = equation;
    while (*c && *c != '-') {
        int64_t dims[8];
        int rank = 0;
        counts[inputs] = 1;
        for (; isalpha((unsigned char)*c); c++) counts[inputs] *= dims[rank++] = sizes[*c - 'a'];
        values[inputs] = plim_graph_input(g, names[inputs], PLIM_F32, rank, dims);
        data[inputs] = random_floats(counts[inputs]);
        inputs++;
        if (*c == ',') c++;
    }
    for (c = strstr(equation, "->") + 2; *c; c++) out_count *= sizes[*c - 'a'];
    int32_t node = plim_graph_node(g, "Einsum", NULL, values, inputs, 1);
    plim_graph_set_string(g, node, "equation", equation);
    plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
    plim_session *s = session_of(g);
    for (size_t i = 0; i < inputs; i++) feed(s, names[i], data[i], (size_t)counts[i] * sizeof(float));
    run(s);
    float *right = calloc((size_t)out_count, sizeof *right);
    reference(equation, sizes, data, right);
    expect_floats(s, "y", right, out_count, 1e-4f);
    free(right);
    for (size_t i = 0; i < inputs; i++) free(data[i]);
    plim_session_free(s);
}

static void every_kind_of_equation_agrees_with_the_definition(void **state) {
    (void)state;
    static const char *const equations[] = {
        "ij,jk->ik",
        "ij,kj->ik",
        "ij,jk->ki",
        "bij,bjk->bik",
        "bhqd,bhkd->bhqk",
        "bqhd,bkhd->bhqk",
        "bhqk,bkhd->bqhd",
        "ij->ji",
        "ij->",
        "ij->i",
        "ii->i",
        "bii->b",
        "ii->",
        "i,i->",
        "i,j->ij",
        "ij,ij->ij",
        "ij,ij->",
        "ij,jk,kl->il",
        "a,b,c,d->dbca",
        "ijk,jil->kl",
        "ijk,lkj->il",
        "abcd,cdef->abef",
        "abcd,efcd->feab",
        "ij,jkk->i",
        "ijj,jk->ik",
        "ab,bc,cd,da->",
        "bi,bj->bij",
        "ijkl,klmn->mnij",
        "nhwpqc->nchpwq",
        "i,ij,j->",
    };
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++)
        for (int round = 0; round < 4; round++) check(equations[i]);
}

static void ellipses_broadcast_and_implicit_outputs_are_sorted(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value a = plim_graph_input(g, "a", PLIM_F32, 4, (int64_t[]){2, 1, 2, 3});
    plim_value b = plim_graph_input(g, "b", PLIM_F32, 3, (int64_t[]){2, 3, 2});
    int32_t dots = plim_graph_node(g, "Einsum", NULL, (plim_value[]){a, b}, 2, 1);
    plim_graph_set_string(g, dots, "equation", "...ij,...jk->...ik");
    plim_graph_output(g, plim_graph_node_output(g, dots, 0), "y");
    plim_value m = plim_graph_input(g, "m", PLIM_F32, 2, (int64_t[]){2, 3});
    int32_t implicit = plim_graph_node(g, "Einsum", NULL, &m, 1, 1);
    plim_graph_set_string(g, implicit, "equation", "ba");
    plim_graph_output(g, plim_graph_node_output(g, implicit, 0), "t");
    plim_session *s = session_of(g);
    float *x = random_floats(12), *w = random_floats(12), right[16] = {0};
    feed(s, "a", x, 48);
    feed(s, "b", w, 48);
    feed(s, "m", x, 24);
    run(s);
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++)
            for (int i = 0; i < 2; i++)
                for (int k = 0; k < 2; k++)
                    for (int j = 0; j < 3; j++)
                        right[((p * 2 + q) * 2 + i) * 2 + k] += x[(p * 2 + i) * 3 + j] * w[(q * 3 + j) * 2 + k];
    expect_floats(s, "y", right, 16, 1e-5f);
    expect_floats(s, "t", (float[]){x[0], x[3], x[1], x[4], x[2], x[5]}, 6, 0);
    free(x), free(w);
    plim_session_free(s);
}

static void bad_equations_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"ij,jk->iz",  "ij->ij",    "ij,jk,kl->il",  "i?,jk->ik",
                                      "ij,jk->iik", "ijk,jk->i", "....ij,jk->ik", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plim_graph *g = plim_graph_create();
        plim_value in[2] = {plim_graph_input(g, "a", PLIM_F32, 2, (int64_t[]){2, 3}),
                            plim_graph_input(g, "b", PLIM_F32, 2, (int64_t[]){3, 4})};
        int32_t node = plim_graph_node(g, "Einsum", NULL, in, 2, 1);
        plim_graph_set_string(g, node, "equation", bad[i]);
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
        plim_error error = {0};
        plim_session *s = NULL;
        assert_int_not_equal(plim_session_create(g, NULL, &s, &error), PLIM_OK);
        assert_non_null(strstr(error.message, "Einsum"));
        plim_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_equation_agrees_with_the_definition),
        cmocka_unit_test(ellipses_broadcast_and_implicit_outputs_are_sorted),
        cmocka_unit_test(bad_equations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
