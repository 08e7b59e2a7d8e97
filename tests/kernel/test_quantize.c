/* Quantized numbers: codes survive a round trip, integer products equal their definition. */
#include "graph/graph.h"
#include "kernel/forward/quantize.h"
#include "run_op.h"

static void every_code_of_every_narrow_type_survives_a_round_trip(void **state) {
    (void)state;
    static const plim_dtype types[] = {PLIM_F8E4M3FN, PLIM_F8E4M3FNUZ, PLIM_F8E5M2, PLIM_F8E5M2FNUZ, PLIM_I8, PLIM_U8};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int code = 0; code < 256; code++) {
            uint8_t in = (uint8_t)code, out = 0;
            double value = plim__narrow_get(types[t], &in, 0);
            if (isnan(value)) continue;
            plim__narrow_set(types[t], &out, 0, value, false);
            assert_int_equal(out, in);
        }
    uint8_t nibbles[2] = {0};
    for (int i = 0; i < 4; i++) plim__narrow_set(PLIM_I4, nibbles, i, i - 9, true);
    for (int i = 0; i < 4; i++) assert_true(plim__narrow_get(PLIM_I4, nibbles, i) == (i == 0 ? -8 : i - 9));
}

static void small_floats_round_and_saturate(void **state) {
    (void)state;
    uint8_t code;
    plim__narrow_set(PLIM_F8E4M3FN, &code, 0, 1000, true);
    assert_true(plim__narrow_get(PLIM_F8E4M3FN, &code, 0) == 448);
    plim__narrow_set(PLIM_F8E4M3FN, &code, 0, 1000, false);
    assert_true(isnan(plim__narrow_get(PLIM_F8E4M3FN, &code, 0)));
    plim__narrow_set(PLIM_F8E5M2, &code, 0, 1e6, false);
    assert_true(isinf(plim__narrow_get(PLIM_F8E5M2, &code, 0)));
    plim__narrow_set(PLIM_F8E4M3FN, &code, 0, 1.0625, true); /* halfway between 1 and 1.125: to even */
    assert_true(plim__narrow_get(PLIM_F8E4M3FN, &code, 0) == 1);
    plim__narrow_set(PLIM_F8E4M3FN, &code, 0, -0x1p-10, true); /* half the smallest: to even, zero */
    assert_true(plim__narrow_get(PLIM_F8E4M3FN, &code, 0) == 0);
}

static void blocked_scales_apply_to_their_blocks(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    assert_true(plim__graph_set_opset(g, "", 21));
    plim_value x = plim_graph_input(g, "x", PLIM_I8, 2, (int64_t[]){2, 5});
    plim_value scale = plim_graph_input(g, "scale", PLIM_F32, 2, (int64_t[]){2, 3}),
               zero = plim_graph_input(g, "zero", PLIM_I8, 2, (int64_t[]){2, 3});
    int32_t down = plim_graph_node(g, "DequantizeLinear", NULL, (plim_value[]){x, scale, zero}, 3, 1);
    plim_graph_set_int(g, down, "axis", 1);
    plim_graph_set_int(g, down, "block_size", 2);
    plim_value wide = plim_graph_node_output(g, down, 0);
    plim_graph_output(g, wide, "wide");
    int32_t up = plim_graph_node(g, "QuantizeLinear", NULL, (plim_value[]){wide, scale, zero}, 3, 1);
    plim_graph_set_int(g, up, "axis", 1);
    plim_graph_set_int(g, up, "block_size", 2);
    plim_graph_output(g, plim_graph_node_output(g, up, 0), "back");
    plim_session *s = session_of(g);
    int8_t codes[] = {1, 2, 3, 4, 5, -1, -2, -3, -4, -128};
    feed(s, "x", codes, 10);
    feed(s, "scale", (float[]){1, 2, 4, 0.5f, 0.25f, 8}, 24);
    feed(s, "zero", (int8_t[]){0, 1, 0, 0, -1, 2}, 6);
    run(s);
    expect_floats(s, "wide", (float[]){1, 2, 4, 6, 20, -0.5f, -1, -0.5f, -0.75f, -1040}, 10, 0);
    assert_memory_equal(plim_session_output(s, "back"), codes, 10);
    plim_session_free(s);
}

static void integer_products_equal_their_definition(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        int64_t m = 1 + random_below(9), k = 1 + random_below(40), n = 1 + random_below(9);
        plim_graph *g = plim_graph_create();
        plim_value in[] = {plim_graph_input(g, "a", PLIM_U8, 3, (int64_t[]){2, m, k}),
                           plim_graph_input(g, "b", PLIM_I8, 2, (int64_t[]){k, n}),
                           plim_graph_input(g, "za", PLIM_U8, 0, NULL), plim_graph_input(g, "zb", PLIM_I8, 1, &n)};
        plim_graph_output(g, plim_graph_apply(g, "MatMulInteger", in, 4), "y");
        plim_session *s = session_of(g);
        uint8_t a[2 * 9 * 40], za = (uint8_t)random_below(256);
        int8_t b[40 * 9], zb[9];
        for (int64_t i = 0; i < 2 * m * k; i++) a[i] = (uint8_t)random_below(256);
        for (int64_t i = 0; i < k * n; i++) b[i] = (int8_t)(random_below(256) - 128);
        for (int64_t i = 0; i < n; i++) zb[i] = (int8_t)(random_below(256) - 128);
        feed(s, "a", a, (size_t)(2 * m * k));
        feed(s, "b", b, (size_t)(k * n));
        feed(s, "za", &za, 1);
        feed(s, "zb", zb, (size_t)n);
        run(s);
        const int32_t *y = plim_session_output(s, "y");
        for (int64_t i = 0; i < 2 * m; i++)
            for (int64_t j = 0; j < n; j++) {
                int32_t sum = 0;
                for (int64_t t = 0; t < k; t++) sum += (a[i * k + t] - za) * (b[t * n + j] - zb[j]);
                assert_int_equal(y[i * n + j], sum);
            }
        plim_session_free(s);
    }
}

static void integer_convolutions_equal_their_definition(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        int64_t groups = 1 + random_below(2), c = groups * (1 + random_below(2)), o = groups * (1 + random_below(3));
        int64_t h = 4 + random_below(5), w = 4 + random_below(5), stride = 1 + random_below(2),
                dilation = 1 + random_below(2);
        int64_t oh = (h + 2 - dilation - 1) / stride + 1, ow = (w + 1 - dilation - 1) / stride + 1;
        plim_graph *g = plim_graph_create();
        plim_value in[] = {plim_graph_input(g, "x", PLIM_U8, 4, (int64_t[]){1, c, h, w}),
                           plim_graph_input(g, "w", PLIM_U8, 4, (int64_t[]){o, c / groups, 2, 2}),
                           plim_graph_input(g, "zx", PLIM_U8, 0, NULL)};
        int32_t node = plim_graph_node(g, "ConvInteger", NULL, in, 3, 1);
        plim_graph_set_ints(g, node, "strides", (int64_t[]){stride, stride}, 2);
        plim_graph_set_ints(g, node, "dilations", (int64_t[]){dilation, dilation}, 2);
        plim_graph_set_ints(g, node, "pads", (int64_t[]){1, 0, 1, 1}, 4);
        plim_graph_set_int(g, node, "group", groups);
        plim_graph_output(g, plim_graph_node_output(g, node, 0), "y");
        plim_session *s = session_of(g);
        uint8_t x[4 * 64], k[6 * 2 * 4], zx = (uint8_t)random_below(256);
        for (int64_t i = 0; i < c * h * w; i++) x[i] = (uint8_t)random_below(256);
        for (int64_t i = 0; i < o * c / groups * 4; i++) k[i] = (uint8_t)random_below(256);
        feed(s, "x", x, (size_t)(c * h * w));
        feed(s, "w", k, (size_t)(o * c / groups * 4));
        feed(s, "zx", &zx, 1);
        run(s);
        const int32_t *y = plim_session_output(s, "y");
        for (int64_t p = 0; p < o * oh * ow; p++) {
            int64_t oc = p / ow / oh, first = oc / (o / groups) * (c / groups);
            int32_t sum = 0;
            for (int64_t t = 0; t < c / groups * 4; t++) {
                int64_t iy = p / ow % oh * stride + t / 2 % 2 * dilation - 1, ix = p % ow * stride + t % 2 * dilation;
                if (iy >= 0 && iy < h && ix < w)
                    sum += (x[((first + t / 4) * h + iy) * w + ix] - zx) * k[oc * (c / groups) * 4 + t];
            }
            assert_int_equal(y[p], sum);
        }
        plim_session_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_of_every_narrow_type_survives_a_round_trip),
        cmocka_unit_test(small_floats_round_and_saturate),
        cmocka_unit_test(blocked_scales_apply_to_their_blocks),
        cmocka_unit_test(integer_products_equal_their_definition),
        cmocka_unit_test(integer_convolutions_equal_their_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
