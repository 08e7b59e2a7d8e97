/* Two passes for each row of the result: down the columns of the source into one row of floats (a loop over
 * neighbouring values, which vectorises), then along that row. */
#include "data/resample.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

/* Which source pixels make one result pixel. */
typedef struct span {
    int first, count;
} span;

static double filter_width(int source, int resized) {
    double step = (double)source / resized;
    return step > 1 ? step : 1;
}

static size_t most_taps(int source, int resized) { return (size_t)ceil(filter_width(source, resized)) * 2 + 1; }

/* Of a stretch of `source` pixels that begins at `from`: pixels outside of it do not count. */
static span find_taps(int from, int source, int resized, int index, float *weights) {
    double step = (double)source / resized, width = filter_width(source, resized);
    double centre = (index + 0.5) * step, sum = 0;
    int first = (int)(centre - width + 0.5), last = (int)(centre + width + 0.5);
    if (first < 0) first = 0;
    if (last > source) last = source;
    for (int i = first; i < last; i++) {
        double distance = fabs((i + 0.5 - centre) / width), weight = distance < 1 ? 1 - distance : 0;
        weights[i - first] = (float)weight;
        sum += weight;
    }
    for (int i = first; i < last; i++) weights[i - first] = (float)(weights[i - first] / sum);
    return (span){from + first, last - first};
}

typedef struct layout {  /* of the scratch memory */
    size_t across, down; /* taps of a column, of a row */
    size_t spans, across_weights, down_weights, blended, rows, bytes;
} layout;

static layout lay_out(const plim__rows *rows, const plim__crop *crop) {
    layout l = {.across = most_taps(rows->width, crop->resized_width),
                .down = most_taps(rows->height, crop->resized_height)};
    size_t row = (size_t)rows->width * (size_t)rows->channels;
    l.across_weights = l.spans + (size_t)crop->width * sizeof(span);
    l.down_weights = l.across_weights + (size_t)crop->width * l.across * sizeof(float);
    l.blended = l.down_weights + l.down * sizeof(float);
    l.rows = l.blended + row * sizeof(float);
    l.bytes = l.rows + row * l.down;
    return l;
}

size_t plim__resample_scratch(const plim__rows *rows, const plim__crop *crop) { return lay_out(rows, crop).bytes; }

/* The last rows that were read; row i lies at i modulo their number. */
typedef struct window {
    const plim__rows *source;
    unsigned char *rows;
    size_t size, row_bytes;
    int read;
} window;

static unsigned char *row_at(const window *w, int row) { return w->rows + (size_t)row % w->size * w->row_bytes; }

static plim_status read_until(window *w, int end, plim_error *error) {
    for (; w->read < end; w->read++) PLIM_TRY(w->source->next(w->source->context, row_at(w, w->read), error));
    return PLIM_OK;
}

/* Columns [from, to) of the source, blended down into `blended`. */
static void blend_rows(const window *w, span rows, const float *weights, int from, int to, float *blended) {
    size_t channels = (size_t)w->source->channels, begin = (size_t)from * channels, end = (size_t)to * channels;
    memset(blended + begin, 0, (end - begin) * sizeof *blended);
    for (int i = 0; i < rows.count; i++) {
        const unsigned char *pixels = row_at(w, rows.first + i);
        float weight = weights[i];
        for (size_t x = begin; x < end; x++) blended[x] += weight * (float)pixels[x];
    }
}

static float blend_columns(const float *row, span columns, const float *weights, size_t channels) {
    float sum = 0;
    row += (size_t)columns.first * channels;
    for (int i = 0; i < columns.count; i++, row += channels) sum += weights[i] * *row;
    return sum / 255.0f;
}

plim_status plim__resample(const plim__rows *source, const plim__crop *crop, void *scratch, float *planes,
                           plim_error *error) {
    layout l = lay_out(source, crop);
    char *memory = scratch;
    span *columns = (span *)(void *)(memory + l.spans);
    float *across = (float *)(void *)(memory + l.across_weights), *down = (float *)(void *)(memory + l.down_weights);
    float *blended = (float *)(void *)(memory + l.blended);
    size_t channels = (size_t)source->channels, width = (size_t)crop->width, plane = width * (size_t)crop->height;
    window w = {source, (unsigned char *)memory + l.rows, l.down, (size_t)source->width * channels, 0};
    plim__box box = crop->box.width > 0 ? crop->box : (plim__box){0, 0, source->width, source->height};
    for (int x = 0; x < crop->width; x++)
        columns[x] = find_taps(box.left, box.width, crop->resized_width, crop->left + x, across + (size_t)x * l.across);
    int from = columns[0].first, to = columns[width - 1].first + columns[width - 1].count;
    for (int y = 0; y < crop->height; y++) {
        span rows = find_taps(box.top, box.height, crop->resized_height, crop->top + y, down);
        PLIM_TRY(read_until(&w, rows.first + rows.count, error));
        blend_rows(&w, rows, down, from, to, blended);
        for (size_t c = 0; c < channels; c++)
            for (size_t x = 0; x < width; x++) {
                size_t at = c * plane + (size_t)y * width + (crop->flip ? width - 1 - x : x);
                planes[at] = blend_columns(blended + c, columns[x], across + x * l.across, channels);
            }
    }
    return read_until(&w, source->height, error); /* damage below the crop is damage too */
}
