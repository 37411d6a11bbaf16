// What the files of the recorder share. Nothing here may throw into, print for, or end a program.
#pragma once
#include <pthread.h>
#include <cerrno>
#include <new>
#include <string>
#include <vector>
#include "llama.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

enum class Detail { tokens, survivors, stages };

// Plain, so that it needs no construction: libraries may call us while they are loaded.
struct Settings {
    bool on = false;
    bool text = true;
    Detail detail = Detail::survivors;
    const char *folder = "", *release = "";
    uint64_t limit = UINT64_MAX;  // bytes of this process
    uint64_t keep_ms = 0;         // of a ring: a segment takes at most an eighth of it
};
extern Settings settings;

// An object that is never destructed, for libllama's own destructors may call us. It has no memory of
// the heap: a program without memory starts all the same. One of each type.
template <class T> T &kept() {
    alignas(T) static char place[sizeof(T)];
    return *new (place) T;
}

// Of a mutex, also when there is no memory for what is done under it.
struct Guard {
    explicit Guard(pthread_mutex_t &m) : mutex(m) { pthread_mutex_lock(&mutex); }
    ~Guard() { pthread_mutex_unlock(&mutex); }
    Guard(const Guard &) = delete;
    pthread_mutex_t &mutex;
};

// Where the bytes of candidates are: in the buffer of an apply, until they have a place in a file.
struct Reference {
    size_t n = 0;
    bool sorted = false;
    int64_t selected = -1;
    const char *form = "none";
    size_t listed = 0;  // of the form "some"
    size_t at = 0;
    uint64_t sum = 0;
    unsigned stride = 1, offset = 0;
    bool summed = false;
};

struct Stage { const void *sampler; Reference left; };

// Bytes that are written as soon as there is room for them: a vector would set them to zero first.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    ~Buffer();
    char *resized(size_t n);  // throws std::bad_alloc
    void swap(Buffer &other);
    char *data = nullptr;
    size_t size = 0;

  private:
    size_t room = 0;
};

// What is known of a thread. Plain, so that it can be used until the thread has ended.
struct Thread {
    int number = 0;
    int depth = 0;     // of recorded calls
    int creating = 0;  // inside llama_sampler_init_NAME: its llama_sampler_init is not a custom one
    const void *ctx = nullptr;  // of the row of logits that was asked for last
    int32_t row = 0;
    bool has_row = false;
    const void *sampler = nullptr;  // that samples, is applied or accepts
    // the apply that is being recorded
    int applies = 0;
    uint64_t number_of_apply = 0, outside_ns = 0;
    bool begun = false;  // `before` is there
    Reference before;
    std::vector<Stage> stages;
    Buffer bytes;
};
Thread *this_thread();  // null where there is no memory

// Count a call, also when libllama throws through it.
struct Call {
    Thread *thread;
    explicit Call(Thread *t) : thread(t) { if (thread) thread->depth++; }
    ~Call() { if (thread) thread->depth--; }
};

// Remember the outermost sampler of a call, for the text of an abort in it.
struct Using {
    Thread *thread;
    const void *before;
    Using(Thread *t, const void *sampler) : thread(t), before(t ? t->sampler : nullptr) {
        if (thread && !before) thread->sampler = sampler;
    }
    ~Using() { if (thread) thread->sampler = before; }
};

// lookup.cpp
void *next_symbol(const char *name);
void *next_symbol(const char *name, const void *caller);
unsigned long long loads();  // of libraries, and unloads, so far
void lock_lookup(bool lock);
// The function of libllama that stands behind ours; null where it has none. It is looked up again when
// the program has loaded or unloaded a library.
#define NEXT(name)                                                                      \
    ([caller = __builtin_return_address(0)]() -> decltype(&name) {                      \
        static Found found;                                                             \
        return reinterpret_cast<decltype(&name)>(found.now(#name, caller));             \
    }())
struct Found {
    void *now(const char *name, const void *caller);
    template <class F> F *as(const char *name, const void *caller) {
        return reinterpret_cast<F *>(now(name, caller));
    }
    void *function = nullptr;
    unsigned long long at = 0;
};
// A function of libllama that is called, not recorded.
template <class F> F *other(const char *name) { return reinterpret_cast<F *>(next_symbol(name)); }

// The number of its release in the b series: 0 where it is not told, `newest` with llama_version().
const int newest = 1 << 30;
int release_number();
std::string library_path();
std::string library_version();

// line.cpp
class Line {
  public:
    Line(const char *event, const Thread *thread);
    Line &whole(const char *key, int64_t value);
    Line &real(const char *key, double value);
    Line &word(const char *key, const std::string &value);
    Line &address(const char *key, const void *value);
    Line &raw(const char *key, const std::string &json);
    Line &begin(const char *key) { name(key); text += '{'; return *this; }
    Line &end() { text += '}'; return *this; }
    std::string text;

  private:
    void name(const char *key);
};
std::string json_real(double value);
std::string json_text(const char *value, size_t length);
std::string json_address(const void *value);
std::string base64(const std::string &bytes);
uint32_t crc32(uint32_t state, const char *bytes, size_t length);

// files.cpp
uint64_t now_ns();
bool recording();
void stop(const char *why) noexcept;
extern const char *const no_memory;  // a reason
void write_line(Line &line);
void write_at_once(bool end, std::string *last_line = nullptr);
void write_apply(Thread *thread, const void *sampler, const Reference &after, int32_t token, float p,
                 uint64_t ns, uint64_t start_ns);
bool write_whole_file(const std::string &suffix, std::string text, std::string &name);
uint64_t next_apply();

// initializers.cpp
bool is_of_libllama(const void *sampler);

// samplers.cpp
void lock_samplers(bool lock);
void draws_own_seed(const void *sampler);

// candidates.cpp
// Logits, where ids are 0, 1, 2, ...; else pairs. Or those of a stage, by the detail.
enum class Listed { all, stage };
void watch_accepted(int32_t token);
void watch_biased(int32_t token);
Reference taken(Thread *thread, const Candidates *candidates, Listed listed);

// models.cpp
void lock_models(bool lock);
std::string model_address(const void *model_or_vocab);
void know_context(const void *ctx, const Thread *thread);

// Do what records, and let nothing out of it.
template <class F> void recorded(F work) noexcept {
    if (!recording()) return;
    int kept = errno, cancelled;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);  // it would unwind through us
    try {
        work();
    } catch (...) {
        stop(no_memory);
    }
    pthread_setcancelstate(cancelled, nullptr);
    errno = kept;
}
