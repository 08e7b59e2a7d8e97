/* Changes of pictures, as torchvision.transforms.functional computes them on float tensors. */
#include <math.h>
#include <string.h>

#include "data/augment.h"

static float clamp(float value, float most) { return value < 0 ? 0 : value > most ? most : value; }

static int64_t plane_size(const plim__picture *p) { return p->height * p->width; }

void plim__picture_flip(const plim__picture *p, bool across, bool down) {
    int64_t w = p->width, h = p->height;
    for (int64_t c = 0; c < p->channels; c++) {
        float *plane = p->planes + c * plane_size(p);
        for (int64_t y = 0; y < (down ? h / 2 : 0); y++)
            for (int64_t x = 0; x < w; x++) {
                float keep = plane[y * w + x];
                plane[y * w + x] = plane[(h - 1 - y) * w + x];
                plane[(h - 1 - y) * w + x] = keep;
            }
        for (int64_t y = 0; across && y < h; y++)
            for (int64_t x = 0; x < w / 2; x++) {
                float keep = plane[y * w + x];
                plane[y * w + x] = plane[y * w + w - 1 - x];
                plane[y * w + w - 1 - x] = keep;
            }
    }
}

void plim__picture_move(const plim__picture *p, int64_t right, int64_t down, float *scratch) {
    int64_t w = p->width, h = p->height, size = plane_size(p);
    int64_t from = right > 0 ? right : 0, to = right < 0 ? w + right : w;
    if (right == 0 && down == 0) return;
    for (int64_t c = 0; c < p->channels; c++) {
        float *plane = p->planes + c * size;
        memcpy(scratch, plane, (size_t)size * sizeof *plane);
        memset(plane, 0, (size_t)size * sizeof *plane);
        for (int64_t y = 0; y < h && from < to; y++) {
            int64_t source = y - down;
            if (source < 0 || source >= h) continue;
            memcpy(plane + y * w + from, scratch + source * w + from - right, (size_t)(to - from) * sizeof *plane);
        }
    }
}

static float pixel_at(const float *plane, const plim__picture *p, int64_t x, int64_t y) {
    return x < 0 || y < 0 || x >= p->width || y >= p->height ? 0 : plane[y * p->width + x];
}

static float blend_four(const float *plane, const plim__picture *p, double x, double y) {
    double left = floor(x), top = floor(y);
    float u = (float)(x - left), v = (float)(y - top);
    int64_t i = (int64_t)left, k = (int64_t)top;
    return pixel_at(plane, p, i, k) * (1 - u) * (1 - v) + pixel_at(plane, p, i + 1, k) * u * (1 - v) +
           pixel_at(plane, p, i, k + 1) * (1 - u) * v + pixel_at(plane, p, i + 1, k + 1) * u * v;
}

void plim__picture_rotate(const plim__picture *p, double degrees, float *scratch) {
    double angle = degrees * 0.017453292519943295, cosine = cos(angle), sine = sin(angle);
    double across = (double)(p->width - 1) / 2, down = (double)(p->height - 1) / 2;
    for (int64_t c = 0; c < p->channels; c++) {
        float *plane = p->planes + c * plane_size(p);
        memcpy(scratch, plane, (size_t)plane_size(p) * sizeof *plane);
        for (int64_t y = 0; y < p->height; y++)
            for (int64_t x = 0; x < p->width; x++) {
                double dx = (double)x - across, dy = (double)y - down;
                plane[y * p->width + x] =
                    blend_four(scratch, p, cosine * dx - sine * dy + across, sine * dx + cosine * dy + down);
            }
    }
}

void plim__picture_brightness(const plim__picture *p, float factor) {
    for (int64_t i = 0; i < p->channels * plane_size(p); i++) p->planes[i] = clamp(p->planes[i] * factor, p->most);
}

static float grey_at(const plim__picture *p, int64_t i) {
    int64_t size = plane_size(p);
    const float *x = p->planes + i;
    return p->channels == 3 ? 0.2989f * x[0] + 0.587f * x[size] + 0.114f * x[2 * size] : x[0];
}

/* Pictures of two or more than three channels have the mean of the first. */
void plim__picture_contrast(const plim__picture *p, float factor) {
    double sum = 0;
    for (int64_t i = 0; i < plane_size(p); i++) sum += (double)grey_at(p, i);
    float mean = (float)(sum / (double)plane_size(p));
    for (int64_t i = 0; i < p->channels * plane_size(p); i++)
        p->planes[i] = clamp(factor * p->planes[i] + (1 - factor) * mean, p->most);
}

void plim__picture_saturation(const plim__picture *p, float factor) {
    int64_t size = plane_size(p);
    for (int64_t i = 0; i < size; i++) {
        float grey = grey_at(p, i);
        for (int64_t c = 0; c < p->channels; c++)
            p->planes[c * size + i] = clamp(factor * p->planes[c * size + i] + (1 - factor) * grey, p->most);
    }
}
