/* Decisions of torch.amp.GradScaler('cpu'), PyTorch 2.13.0. Written by make_scaling_numbers.py. */
enum { UPDATES = 13000, OPTIMIZER_STEPS = 12983, GROWTH_TRACKER = 1498 };
static const int overflows_at[] = {0,    1,    2,    3,    1500, 2003, 3502,  3503, 3504,
                                   9000, 9001, 9002, 9003, 9004, 9005, 11500, 11501};
/* After which update the scale became another one. */
static const struct {
    int update;
    double scale;
} changes[] = {
    {0, 32768},  {1, 16384},  {2, 8192},   {3, 4096},   {1500, 2048}, {2003, 1024}, {3502, 512},
    {3503, 256}, {3504, 128}, {5504, 256}, {7504, 512}, {9000, 256},  {9001, 128},  {9002, 64},
    {9003, 32},  {9004, 16},  {9005, 8},   {11005, 16}, {11500, 8},   {11501, 4},
};
