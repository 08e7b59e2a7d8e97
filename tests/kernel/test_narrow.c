/* 16 bits in place of float32: every instruction set rounds as PyTorch does, and what comes back is the same number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/random.h"
#include "kernel/simd/narrow.h"
#include "plim_test.h"

/* The bits of a float32, and what PyTorch 2.13 makes of it: .to(torch.bfloat16), .to(torch.float16). */
static const struct {
    uint32_t bits;
    uint16_t bfloat, half;
} rounded[] = {{0x00000000u, 0x0000, 0x0000}, {0x80000000u, 0x8000, 0x8000}, {0x3f800000u, 0x3f80, 0x3c00},
               {0x3f808000u, 0x3f80, 0x3c04}, {0x3f818000u, 0x3f82, 0x3c0c}, {0x3f807fffu, 0x3f80, 0x3c04},
               {0x3f808001u, 0x3f81, 0x3c04}, {0x7f7fffffu, 0x7f80, 0x7c00}, {0xff7fffffu, 0xff80, 0xfc00},
               {0x7f7f7fffu, 0x7f7f, 0x7c00}, {0x7f7f8000u, 0x7f80, 0x7c00}, {0x7f800000u, 0x7f80, 0x7c00},
               {0xff800000u, 0xff80, 0xfc00}, {0x00000001u, 0x0000, 0x0000}, {0x00008000u, 0x0000, 0x0000},
               {0x00018000u, 0x0002, 0x0000}, {0x007fffffu, 0x0080, 0x0000}, {0x38800000u, 0x3880, 0x0400},
               {0x387fffffu, 0x3880, 0x0400}, {0x387fe000u, 0x3880, 0x0400}, {0x33000000u, 0x3300, 0x0000},
               {0x33000001u, 0x3300, 0x0001}, {0x32ffffffu, 0x3300, 0x0000}, {0x33800000u, 0x3380, 0x0001},
               {0x477fefffu, 0x4780, 0x7bff}, {0x477ff000u, 0x4780, 0x7c00}, {0x477fe000u, 0x4780, 0x7bff},
               {0x38801000u, 0x3880, 0x0400}, {0x38803000u, 0x3880, 0x0402}, {0x9f767c45u, 0x9f76, 0x8000},
               {0x4164d839u, 0x4165, 0x4b27}, {0xbde5c099u, 0xbde6, 0xaf2e}, {0x5bc8fbbcu, 0x5bc9, 0x7c00},
               {0xcb91ce37u, 0xcb92, 0xfc00}, {0xb0c11fdeu, 0xb0c1, 0x8000}, {0xf1446beau, 0xf144, 0xfc00},
               {0xd76d4330u, 0xd76d, 0xfc00}, {0xbd69fe29u, 0xbd6a, 0xab50}, {0xa6eb8c9eu, 0xa6ec, 0x8000},
               {0xec1d7da0u, 0xec1d, 0xfc00}, {0x87b0b125u, 0x87b1, 0x8000}, {0x076ce2efu, 0x076d, 0x0000},
               {0xd7210dffu, 0xd721, 0xfc00}, {0x77330bdbu, 0x7733, 0x7c00}, {0xc6a53877u, 0xc6a5, 0xf52a},
               {0xf17fd374u, 0xf180, 0xfc00}, {0x3fc1ea36u, 0x3fc2, 0x3e0f}, {0xa6233255u, 0xa623, 0x8000},
               {0x0d464138u, 0x0d46, 0x0000}, {0xe6a16a3bu, 0xe6a1, 0xfc00}, {0x2827688du, 0x2827, 0x0000},
               {0x1cfb10f6u, 0x1cfb, 0x0000}, {0x5f2dd97fu, 0x5f2e, 0x7c00}, {0x7814e8a2u, 0x7815, 0x7c00},
               {0xde527100u, 0xde52, 0xfc00}, {0x3f1f65a8u, 0x3f1f, 0x38fb}, {0x617959ceu, 0x6179, 0x7c00},
               {0x8b33e968u, 0x8b34, 0x8000}, {0x1a1afe87u, 0x1a1b, 0x0000}, {0x92edcf45u, 0x92ee, 0x8000},
               {0x3fd42359u, 0x3fd4, 0x3ea1}, {0x035b7399u, 0x035b, 0x0000}, {0xbb2edb20u, 0xbb2f, 0x9977},
               {0x377b9aa2u, 0x377c, 0x00fc}};

#define ROUNDED (sizeof rounded / sizeof *rounded)

static size_t tables(const plim__simd_narrow *list[3]) {
    size_t count = 0;
    list[count++] = &plim__narrows_baseline;
#if defined(__x86_64__)
    if (plim__isa_best() >= PLIM__ISA_AVX2) list[count++] = &plim__narrows_avx2;
    if (plim__isa_best() >= PLIM__ISA_AVX512) list[count++] = &plim__narrows_avx512;
#endif
    return count;
}

static void numbers_are_rounded_as_pytorch_does(void **state) {
    (void)state;
    const plim__simd_narrow *list[3];
    for (size_t k = tables(list); k-- > 0;) {
        float from[ROUNDED];
        uint16_t bfloat[ROUNDED], half[ROUNDED];
        for (size_t i = 0; i < ROUNDED; i++) from[i] = plim__bits_to_float(rounded[i].bits);
        list[k]->to_bfloat(ROUNDED, from, bfloat);
        list[k]->to_half(ROUNDED, from, half);
        for (size_t i = 0; i < ROUNDED; i++)
            if (bfloat[i] != rounded[i].bfloat || half[i] != rounded[i].half)
                fail_msg("%08x is %04x and %04x, not %04x and %04x", rounded[i].bits, bfloat[i], half[i],
                         rounded[i].bfloat, rounded[i].half);
    }
}

/* One number at a time, as core/half.h has it, against the loops: lengths that are no whole vectors too. */
static void loops_do_as_single_numbers_do(void **state) {
    (void)state;
    enum { COUNT = 65536 + 7 };
    float *from = malloc(COUNT * sizeof *from), *back = malloc(COUNT * sizeof *back);
    uint16_t *to = malloc(COUNT * sizeof *to);
    assert_true(from && back && to);
    const plim__simd_narrow *list[3];
    for (size_t k = tables(list); k-- > 0;) {
        for (int64_t i = 0; i < COUNT; i++) from[i] = plim__bits_to_float((uint32_t)plim__random_mix((uint64_t)i));
        list[k]->to_bfloat(COUNT, from, to);
        for (int64_t i = 0; i < COUNT; i++) assert_int_equal(to[i], plim__float_to_bfloat(from[i]));
        list[k]->to_half(COUNT, from, to);
        for (int64_t i = 0; i < COUNT; i++) assert_int_equal(to[i], plim__float_to_half(from[i]));
        for (int64_t i = 0; i < COUNT; i++) to[i] = (uint16_t)i; /* every one there is */
        list[k]->from_bfloat(COUNT, to, back);
        for (int64_t i = 0; i < COUNT; i++)
            assert_int_equal(plim__float_to_bits(back[i]), plim__float_to_bits(plim__bfloat_to_float(to[i])));
        list[k]->from_half(COUNT, to, back);
        for (int64_t i = 0; i < COUNT; i++)
            assert_int_equal(plim__float_to_bits(back[i]), plim__float_to_bits(plim__half_to_float(to[i])));
    }
    free(from);
    free(back);
    free(to);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_rounded_as_pytorch_does),
                                       cmocka_unit_test(loops_do_as_single_numbers_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
