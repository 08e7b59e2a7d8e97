/* Surveying a schedule: which versions of buffers there are, where each is made and used last, which of them share
 * memory, and how many bytes are alive at each place: the same as plim__meter_run finds, held so that trials can be
 * computed from it. */
#include <string.h>

#include "plan/search.h"

/* Where a step is done again a hundred times, so is what it makes: versions have pointers that make it a matter of some ten
 * jumps to find one of them. Two jumps of the same length make one, as numbers carry. */
static int32_t far_of(const plim__search *s, int32_t older) {
    if (older < 0) return -1;
    const plim__version *v = &s->versions[older], *near = v->far >= 0 ? &s->versions[v->far] : NULL;
    if (!near || near->far < 0) return older;
    return v->number - near->number == near->number - s->versions[near->far].number ? near->far : older;
}

static int32_t add_version(plim__search *s, int32_t buffer, int32_t place) {
    int32_t v = s->version_count++, older = s->newest[buffer];
    s->versions[v] = (plim__version){.buffer = buffer,
                                     .born = place,
                                     .end = place,
                                     .older = older,
                                     .far = far_of(s, older),
                                     .number = older < 0 ? 0 : s->versions[older].number + 1,
                                     .reading = -1,
                                     .block = -1,
                                     .heir = -1};
    return s->newest[buffer] = v;
}

static void find_versions(plim__search *s) {
    const plim__depend *d = s->depend;
    int32_t readings = 0, count = (int32_t)s->now.count;
    s->version_count = 0;
    memset(s->newest, -1, d->buffer_count * sizeof *s->newest);
    memset(s->runs, 0, d->step_count * sizeof *s->runs);
    for (size_t i = 0; i < d->input_count; i++) add_version(s, d->inputs[i], -1);
    for (int32_t i = 0; i < count; i++) {
        int32_t step = s->now.steps[i];
        if (s->runs[step]++ == 0) s->first[step] = i;
        s->read[i] = readings;
        for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) {
            int32_t v = s->newest[d->reads.items[k]];
            s->readings[readings++] = (plim__reading){i, v < 0 ? -1 : s->versions[v].reading, v};
            if (v < 0) continue; /* there is no such program */
            s->versions[v].reading = readings - 1;
            s->versions[v].end = i;
        }
        s->made[i] = s->version_count;
        for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) add_version(s, d->makes.items[k], i);
    }
    for (size_t i = 0; i < d->output_count; i++)
        if (s->newest[d->outputs[i]] >= 0) s->versions[s->newest[d->outputs[i]]].end = count;
}

/* The version that is written over `v`, when the memory it lies in began as `root`. */
static int32_t find_heir(const plim__search *s, const plim__version *v, int32_t root) {
    const plim__depend *d = s->depend;
    if (v->end == v->born || v->end >= (int32_t)s->now.count) return -1;
    int32_t step = s->now.steps[v->end], heir = s->made[v->end];
    if (d->over[step] != v->buffer || !plim__meter_may_share(d, step, root)) return -1;
    for (int32_t k = d->makes.start[step]; d->makes.items[k] != d->onto[step]; k++) heir++;
    return heir;
}

/* Blocks of memory, and what they add to live bytes where they begin; what they take away behind their end. */
static void find_blocks(plim__search *s) {
    memset(s->live, 0, (s->now.count + 1) * sizeof *s->live);
    memset(s->cut, 0, (s->now.count + 2) * sizeof *s->cut);
    for (int32_t i = 0; i < s->version_count; i++) {
        plim__version *v = &s->versions[i];
        if (v->block < 0) v->block = i;
        plim__version *root = &s->versions[v->block];
        v->heir = find_heir(s, v, root->buffer);
        if (v->heir >= 0) {
            s->versions[v->heir].block = v->block;
            continue;
        }
        int32_t from = root->born < 0 ? 0 : root->born, end = v->end < 0 ? 0 : v->end;
        root->block_end = end;
        s->live[from] += s->depend->bytes[root->buffer];
        s->cut[end + 1] -= s->depend->bytes[root->buffer];
    }
}

static void measure(plim__search *s, int64_t target) {
    int64_t live = 0;
    s->area[0] = s->above[0] = 0;
    s->spent[0] = 0;
    for (size_t i = 0; i < s->now.count; i++) {
        s->cut[i] = live += s->cut[i];
        live += s->live[i];
        int64_t bytes = s->live[i] = live + s->depend->scratch[s->now.steps[i]];
        bool above = bytes > target;
        s->spent[i + 1] = s->spent[i] + s->seconds[s->now.steps[i]];
        s->area[i + 1] = s->area[i] + (above ? bytes - target : 0);
        s->above[i + 1] = s->above[i] + above;
        if (i % PLIM__PLACES == 0 || bytes > s->block[i / PLIM__PLACES]) s->block[i / PLIM__PLACES] = bytes;
    }
}

void plim__search_survey(plim__search *s, int64_t target) {
    s->work -= 4 * (int64_t)s->now.count;
    find_versions(s);
    find_blocks(s);
    measure(s, target);
    memset(s->since, -1, s->depend->buffer_count * sizeof *s->since);
    memset(s->until, -1, s->depend->buffer_count * sizeof *s->until);
    for (size_t i = 0; i < s->depend->input_count; i++) s->until[s->versions[i].buffer] = s->versions[i].end;
}

void plim__search_pass(plim__search *s, int32_t place) {
    const plim__depend *d = s->depend;
    int32_t step = s->now.steps[place];
    const plim__version *made = s->versions + s->made[place];
    for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) s->since[d->reads.items[k]] = place;
    for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) {
        s->since[d->makes.items[k]] = place;
        s->until[d->makes.items[k]] = made++->end;
    }
}

bool plim__search_below(const plim__search *s, int32_t from, int32_t to, int64_t bytes) {
    while (from <= to) {
        bool whole = from % PLIM__PLACES == 0 && from + PLIM__PLACES - 1 <= to;
        if ((whole ? s->block[from / PLIM__PLACES] : s->live[from]) > bytes) return false;
        from += whole ? PLIM__PLACES : 1;
    }
    return true;
}

int32_t plim__search_version(const plim__search *s, int32_t buffer, int32_t place) {
    int32_t v = s->newest[buffer];
    while (v >= 0 && s->versions[v].born >= place) {
        int32_t far = s->versions[v].far;
        v = far >= 0 && s->versions[far].born >= place ? far : s->versions[v].older;
    }
    return v;
}
