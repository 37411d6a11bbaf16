/* An adapter for sampler-parity in C99, with nothing but the standard library.
 *
 *     cc -O2 -o adapter adapter.c -lm
 *     sampler-parity adapter check -- ./adapter
 *     sampler-parity run parity/temp -b mine=./adapter
 *
 * greedy is complete; implement temp. Samplers that you add to SAMPLERS, under llama.cpp's name and
 * with its parameters, are tested, too.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct json json;
struct json { /* an array's items, or an object's values with their keys, from first on by next */
    const char *key, *text; /* text: of a string, else "" */
    double number;          /* of a number; 0 of null */
    int is_null;
    json *first, *next;
};

static const json *get(const json *object, const char *key);
static double number(const json *value); /* of a parameter: infinities come as "inf" and "-inf" */

typedef struct { /* selected: an index, or -1 */
    int32_t n, *ids, selected;
    float *logits, *p;
} candidates;

typedef struct sampler sampler;
struct sampler { /* cloned by assignment: it remembers in fields, not pointers */
    void (*apply)(sampler *, candidates *);
    void (*accept)(sampler *, int32_t token); /* NULL of those that remember nothing */
    void (*reset)(sampler *);
    float temp;
};

/* Selects the first largest logit. */
static void apply_greedy(sampler *s, candidates *c) {
    (void)s;
    c->selected = 0;
    for (int32_t i = 1; i < c->n; i++)
        if (c->logits[i] > c->logits[c->selected]) c->selected = i;
}

static void make_greedy(sampler *s, const json *given) {
    (void)given;
    s->apply = apply_greedy;
}

/* Divides every logit by the temperature. */
static void apply_temp(sampler *s, candidates *c) {
    /* Fill in: at temp <= 0 the first largest logit stays, and every other becomes -INFINITY. */
    if (s->temp != 0)
        for (int32_t i = 0; i < c->n; i++) c->logits[i] /= s->temp;
}

static void make_temp(sampler *s, const json *given) {
    s->apply = apply_temp;
    s->temp = (float)number(get(given, "temp"));
}

static const struct {
    const char *name;
    void (*make)(sampler *, const json *given);
} SAMPLERS[] = {{"greedy", make_greedy}, {"temp", make_temp}};

#define N_SAMPLERS (sizeof SAMPLERS / sizeof *SAMPLERS)

/* What follows is the protocol: docs/reference/protocol.md of sampler-parity. First JSON, of which what a
 * request holds is read. All memory of a request is given back when it was answered. */

static void **blocks;
static size_t n_blocks;

static void *there(void *block) {
    if (block) return block;
    fputs("out of memory\n", stderr);
    _Exit(1); /* a half answer is not written */
}

static void *room(size_t size) {
    void *block = there(calloc(1, size ? size : 1));
    blocks = there(realloc(blocks, (n_blocks + 1) * sizeof *blocks));
    return blocks[n_blocks++] = block;
}

static void skip(char **at) {
    while (**at && strchr(" \t\r\n,:", **at)) ++*at;
}

static unsigned escaped(char **at) { /* the four digits of \uXXXX */
    char digits[5] = {0};
    strncpy(digits, *at, 4);
    *at += strlen(digits);
    return (unsigned)strtoul(digits, NULL, 16);
}

static char *utf8(char *to, unsigned code) {
    if (code < 0x80) return *to = (char)code, to + 1;
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *to++ = (char)((0xF0 << (3 - more)) | (code >> 6 * more));
    while (more--) *to++ = (char)(0x80 | ((code >> 6 * more) & 0x3F));
    return to;
}

static const char *read_string(char **at) { /* into its own place: it does not become longer */
    char *start = ++*at, *to = start;
    while (**at && **at != '"') {
        char c = *(*at)++;
        if (c != '\\') {
            *to++ = c;
        } else if (!**at) {
            break; /* cut short */
        } else if (*(*at)++ == 'u') {
            unsigned code = escaped(at);
            if (code >> 10 == 0x36 && (*at)[0] == '\\') { /* half of a pair */
                *at += 2;
                code = 0x10000 + ((code & 0x3FF) << 10) + (escaped(at) & 0x3FF);
            }
            to = utf8(to, code);
        } else {
            const char *place = strchr("b\bf\fn\nr\rt\t", (*at)[-1]);
            *to++ = place ? place[1] : (*at)[-1];
        }
    }
    if (**at) ++*at;
    *to = 0;
    return start;
}

static json *read_json(char **at) {
    json *value = room(sizeof *value), **last = &value->first;
    value->text = value->key = "";
    skip(at);
    if (**at == '"') {
        value->text = read_string(at);
    } else if (**at == '[' || **at == '{') {
        int object = *(*at)++ == '{';
        for (skip(at); **at && !strchr("]}", **at); skip(at), last = &(*last)->next) {
            const char *key = object ? read_string(at) : "";
            *last = read_json(at);
            (*last)->key = key;
        }
        if (**at) ++*at;
    } else if (strchr("tfn", **at)) { /* true, false, null */
        value->is_null = **at == 'n';
        value->number = **at == 't';
        while (**at >= 'a' && **at <= 'z') ++*at;
    } else {
        char *end;
        value->number = strtod(*at, &end);
        if (end == *at) exit(1);
        *at = end;
    }
    return value;
}

static const json *get(const json *object, const char *key) {
    static const json nothing = {"", "", 0, 1, NULL, NULL};
    for (const json *value = object->first; value; value = value->next)
        if (!strcmp(value->key, key)) return value;
    return &nothing;
}

static const json *item(const json *array, long index) {
    const json *value = array->first;
    while (index-- > 0 && value) value = value->next;
    return value;
}

static double number(const json *value) {
    return *value->text ? strtod(value->text, NULL) : value->number;
}

/* A chain is a list of samplers; a request has so many as instances and clones. */

typedef struct {
    size_t n;
    sampler *samplers;
} chain;

static FILE *scratch;

/* The name of a sampler that is not in SAMPLERS, or NULL. */
static const char *build(chain *made, const json *stages) {
    for (const json *stage = stages->first; stage; stage = stage->next) made->n++;
    made->samplers = room(made->n * sizeof *made->samplers);
    sampler *next = made->samplers;
    for (const json *stage = stages->first; stage; stage = stage->next, next++) {
        size_t i = 0;
        while (i < N_SAMPLERS && strcmp(SAMPLERS[i].name, stage->first->key)) i++;
        if (i == N_SAMPLERS) return stage->first->key;
        SAMPLERS[i].make(next, stage->first);
    }
    return NULL;
}

static chain cloned(chain of) {
    chain copy = {of.n, room(of.n * sizeof *of.samplers)};
    memcpy(copy.samplers, of.samplers, of.n * sizeof *of.samplers);
    return copy;
}

static void accept(chain of, int32_t token) {
    for (size_t i = 0; i < of.n; i++)
        if (of.samplers[i].accept) of.samplers[i].accept(&of.samplers[i], token);
}

static void reset(chain of) {
    for (size_t i = 0; i < of.n; i++)
        if (of.samplers[i].reset) of.samplers[i].reset(&of.samplers[i]);
}

static candidates read_row(const json *rows, long index) {
    int32_t n = (int32_t)get(rows, "n")->number;
    size_t bytes = (size_t)n * 4;
    candidates c = {n, room(bytes), -1, room(bytes), room(bytes)};
    for (int32_t i = 0; i < n; i++) c.ids[i] = i;
    fseek(scratch, (long)get(rows, "at")->number + index * (long)bytes, SEEK_SET);
    if (fread(c.logits, 4, (size_t)n, scratch) != (size_t)n) exit(1);
    return c;
}

static long write_stage(long at, const candidates *c) { /* the byte behind it */
    size_t n = (size_t)c->n;
    fseek(scratch, at, SEEK_SET);
    if (fwrite(c->ids, 4, n, scratch) + fwrite(c->logits, 4, n, scratch) +
            fwrite(c->p, 4, n, scratch) != 3 * n) exit(1);
    return at + 12 * (long)n;
}

static void refuse(const char *what, const char *name) {
    printf("{\"ok\": false, \"kind\": \"unsupported\", \"message\": \"no %s ", what);
    for (; *name; name++)
        if (*name >= ' ' && !strchr("\"\\", *name)) putchar(*name);
    printf("\"}\n");
}

/* The stages of a step, as JSON; the token that it selects, or -1. */
static int32_t take_step(const json *request, const json *step, chain of, long *at) {
    int stages = !strcmp(get(request, "detail")->text, "stages");
    candidates c = read_row(get(request, "rows"), (long)get(step, "row")->number);
    for (size_t i = 0; i < of.n; i++) {
        of.samplers[i].apply(&of.samplers[i], &c);
        if (!stages) continue;
        printf("%s{\"at\": %ld, \"n\": %d, \"sorted\": null, \"selected\": %d}", i ? ", " : "", *at,
               (int)c.n, (int)c.selected);
        *at = write_stage(*at, &c);
    }
    return c.selected < 0 ? -1 : c.ids[c.selected];
}

static void run(const json *request) {
    const json *steps = get(request, "steps"), *history = get(request, "history");
    size_t n = (size_t)get(request, "instances")->number, most = n, n_steps = 0;
    for (const json *step = steps->first; step; step = step->next, n_steps++)
        for (const json *before = get(step, "before")->first; before; before = before->next) most++;
    chain *chains = room(most * sizeof *chains);
    int32_t *tokens = room(n_steps * sizeof *tokens), *token = tokens;
    for (size_t i = 0; i < n; i++) {
        const char *unknown = build(&chains[i], get(request, "chain"));
        if (unknown) {
            refuse("sampler", unknown);
            return;
        }
        for (const json *t = history->first; t; t = t->next) accept(chains[i], (int32_t)t->number);
    }
    long at = (long)get(request, "out")->number;
    printf("{\"ok\": true, \"ns\": 0, \"stages\": [");
    for (const json *step = steps->first; step; step = step->next, token++) {
        for (const json *before = get(step, "before")->first; before; before = before->next) {
            size_t of = (size_t)item(before, 1)->number;
            if (!strcmp(before->first->text, "clone")) chains[n++] = cloned(chains[of]);
            else reset(chains[of]);
        }
        chain of = chains[(size_t)get(step, "instance")->number];
        printf(step == steps->first ? "[" : ", [");
        *token = take_step(request, step, of, &at);
        printf("]");
        const json *after = get(step, "accept");
        if (!strcmp(after->text, "selected")) {
            if (*token >= 0) accept(of, *token);
        } else if (!after->is_null) {
            accept(of, (int32_t)after->number);
        }
    }
    printf("], \"tokens\": [");
    for (size_t i = 0; i < n_steps; i++)
        tokens[i] < 0 ? printf(i ? ", null" : "null") : printf(i ? ", %d" : "%d", (int)tokens[i]);
    printf("]}\n");
}

static void hello(const json *request) {
    scratch = fopen(get(request, "scratch")->text, "r+b");
    if (!scratch) perror("scratch file"), exit(1);
    setvbuf(scratch, NULL, _IONBF, 0); /* it is shared: neither side may keep bytes of it back */
    printf("{\"ok\": true, \"protocol\": 1, \"name\": \"mine\", \"version\": \"1\", ");
    printf("\"capabilities\": [\"run\"], \"samplers\": [");
    for (size_t i = 0; i < N_SAMPLERS; i++) printf("%s\"%s\"", i ? ", " : "", SAMPLERS[i].name);
    printf("], \"arithmetic\": {\"logits\": \"float32\", \"sums\": \"float32\"}, \"random\": \"mt19937\"}\n");
}

static char *read_line(void) { /* NULL at the end */
    size_t n = 0, size = 1 << 16;
    char *line = there(malloc(size));
    while (fgets(line + n, (int)(size - n), stdin)) {
        n += strlen(line + n);
        if (n && line[n - 1] == '\n') return line;
        if (n + 1 == size) line = there(realloc(line, size *= 2));
    }
    free(line);
    return NULL;
}

int main(void) {
    for (char *line, *at; (at = line = read_line()); free(line)) {
        const json *request = read_json(&at);
        const char *what = get(request, "do")->text;
        if (!strcmp(what, "bye")) return 0;
        if (!strcmp(what, "hello") && get(request, "protocol")->number == 1) hello(request);
        else if (!strcmp(what, "run") && scratch) run(request);
        else refuse("request", what);
        fflush(stdout);
        while (n_blocks) free(blocks[--n_blocks]);
    }
    return 0;
}
