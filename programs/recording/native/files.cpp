// The files of a process: PID.events, and the segments of arrays beside it.
//
// Whatever fails ends the recording, and nothing else. A thread of ours writes: what an event needs is
// queued by the thread that it happened in. To wake ours at each event would cost a program more than
// the event, so it looks once in a millisecond: a process that is killed loses what that had. A line
// follows its arrays, each by one write(), so that it leaves whole events. At an exit and before a fork
// all is written.
//
// A program may close and replace its descriptors at any time, ours with them. So only the writer opens
// files, and it has a table of descriptors of its own.
//
// A slow disk costs a program at most a tenth of its time. Then candidates are dropped, and the line of
// their apply tells so. Lines are never dropped: states of samplers depend on them.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include "recorder.h"

Settings settings;
const char *const no_memory = "the recorder ran out of memory";

namespace {

const uint64_t segment_size = 64 << 20;
const uint64_t most_queued = 32 << 20;  // bytes; then candidates wait for the disk, or are dropped
const uint64_t first_wait = 1000000000;  // ns that a program may wait for the disk at any time
const size_t most_spare = 8;            // buffers that are kept for the next applies
const size_t most_seal = 40;            // bytes
const unsigned pause_ms = 1;            // of the writer
const int most_pauses = 100;            // without an event; then the next one wakes the writer
const uint64_t latest = 20000000;       // ns; then who queues waits: the writer got no processor
const unsigned late_ms = 20;            // that it waits without progress

// A file that only we write. In a table that we share with the program, its descriptor may be another
// file's by now: look before each write, and open it again.
struct File {
    std::string path;
    int fd = -1;
    dev_t device = 0;
    ino_t inode = 0;
    uint64_t size = 0;
};

// event: write a line behind its arrays. open: open the file of events. whole: write `line` as a file.
// no_memory: end with a line that takes no memory.
enum class Kind { event, open, whole, no_memory };

struct Job {
    Kind kind = Kind::event;
    std::string line;
    std::string suffix;  // of a whole file
    Buffer bytes;
    int segment = 0;
    uint64_t size = 0;  // what it counts in the queue: writing it makes its line longer
    uint64_t ns = 0;    // when it was queued
    bool last = false;
    Job *next = nullptr;
};

// Events that wait, and those that are kept for the next ones: nothing here takes memory.
class Queue {
  public:
    bool empty() const { return !first; }
    Job *front() const { return first; }
    void push(Job *job) {
        job->next = nullptr;
        (first ? last->next : first) = job;
        last = job;
        n++;
    }
    Job *pop() {
        Job *job = first;
        if (job) first = job->next, n--;
        return job;
    }
    size_t n = 0;

  private:
    Job *first = nullptr, *last = nullptr;
};

struct State {
    bool opened = false;
    pid_t pid = 0;
    std::string name;  // FOLDER/PID
    uint64_t largest = UINT64_MAX;
    // of those who queue
    int segment = 0;
    uint64_t offset = 0, segment_ns = 0, promised = 0;
    uint64_t applies = 0, spent_ns = 0, begun_ns = 0, waited_ns = 0;
    long parent = 0;
    uint64_t parent_size = 0;
    Queue queue, spare;
    uint64_t queued = 0;
    bool writing = false, started = false, waiting = false, hurried = false, ending = false;
    // of the writer; without one, of the thread that holds the lock
    File events, arrays;
    int open_segment = 0;
    uint32_t chain = 0;
    bool closed = false;  // nothing more is written
};

State &state = kept<State>();
Job &no_memory_job = kept<Job>();  // of the end without memory, so it is there before
std::atomic<bool> stopped{false};
uint64_t applies_begun = 0;
int threads = 0;
pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;   // who has it may queue
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // of the state; taken after the gate
pthread_cond_t work, done;
pthread_t writer;
pthread_key_t thread_key;
__thread Thread *thread_of_this = nullptr;

// While somebody waits for the disk, nobody else queues.
struct Lock {
    Lock() { pthread_mutex_lock(&gate), pthread_mutex_lock(&mutex); }
    ~Lock() { pthread_mutex_unlock(&mutex), pthread_mutex_unlock(&gate); }
};

int created(const std::string &path, bool append) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | (append ? O_APPEND : 0);
    return open(path.c_str(), flags, 0600);
}

// Programs like to close the low ones, and libraries print to the lowest.
int high(int fd) {
    for (int least : {512, 3}) {
        int other = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, least);
        if (other >= 0) return close(fd), other;
    }
    return fd;
}

// Give this thread an empty table of descriptors. Those of the program stay as they are, and we keep
// none of them open. Linux before 5.9 refuses; then we share the program's table.
void own_descriptors() {
#ifdef SYS_close_range
    syscall(SYS_close_range, 0u, ~0u, 2u);  // CLOSE_RANGE_UNSHARE
#endif
}

bool open_file(File &file, const std::string &path) {
    file = File();
    int fd = high(created(path, true));
    if (fd < 0) return false;
    struct stat about;
    if (fstat(fd, &about)) return close(fd), false;
    file.path = path;
    file.fd = fd;
    file.device = about.st_dev;
    file.inode = about.st_ino;
    return true;
}

bool ours(const File &file) {
    struct stat about;
    return file.fd >= 0 && fstat(file.fd, &about) == 0 && about.st_dev == file.device &&
           about.st_ino == file.inode;
}

bool opened_again(File &file) {
    if (file.path.empty()) return false;
    file.fd = high(open(file.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
    if (ours(file)) return true;
    if (file.fd >= 0) close(file.fd);
    file.fd = -1;
    return false;
}

void close_file(File &file) {
    if (ours(file)) close(file.fd);
    file = File();
}

// Write all or nothing. Returns 0 or the error. A file that keeps a part is closed: nothing may follow.
int append(File &file, const char *bytes, size_t length) {
    if (!ours(file) && !opened_again(file)) return EBADF;
    if (file.size + length > state.largest) return EFBIG;  // the system would send SIGXFSZ
    size_t done = 0;
    while (done < length) {
        ssize_t n = write(file.fd, bytes + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int error = n < 0 ? errno : ENOSPC;
            if (ftruncate(file.fd, static_cast<off_t>(file.size))) close_file(file);
            return error;
        }
        done += static_cast<size_t>(n);
    }
    file.size += length;
    return 0;
}

// Seal a line and write it. Returns 0 or the error.
int append_line(std::string &text) {
    uint32_t chain = crc32(state.chain, text.data(), text.size());
    char seal[most_seal];
    snprintf(seal, sizeof seal, ",\"#\":\"%08x\"}\n", chain);
    text += seal;
    int error = append(state.events, text.data(), text.size());
    if (!error) state.chain = chain;
    return error;
}

// Wait at most some milliseconds; return whether it was signalled. Called with the lock.
bool waited(pthread_cond_t &signal, unsigned ms) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) until.tv_nsec -= 1000000000L, until.tv_sec++;
    return pthread_cond_timedwait(&signal, &mutex, &until) != ETIMEDOUT;
}

// Wait until something is written; at most some milliseconds. Called with the lock.
bool written(unsigned ms) {
    state.hurried = true;
    pthread_cond_signal(&work);
    bool is = waited(done, ms);
    state.hurried = false;
    return is;
}

// Wait until all that is queued is written, while the disk takes some of it. Called with the lock.
void drain(unsigned ms) {
    while (state.started && (state.writing || !state.queue.empty()))
        if (!written(ms)) return;
}

void close_files() {
    state.closed = true;
    close_file(state.arrays);
    close_file(state.events);
}

std::string reason(int error) {
    return std::string("cannot write: ") +
           (error == EFBIG ? "the largest size of a file here" : strerror(error));
}

// The last line without memory. The program's end is told by it, and nothing else follows.
void append_no_memory() {
    char line[120];
    int n = snprintf(line, sizeof line, "{\"e\":\"stopped\",\"t\":0,\"why\":\"%s\"", no_memory);
    uint32_t chain = crc32(state.chain, line, static_cast<size_t>(n));
    n += snprintf(line + n, sizeof line - static_cast<size_t>(n), ",\"#\":\"%08x\"}\n", chain);
    append(state.events, line, static_cast<size_t>(n));
}

// End the recording at an error. Called by who writes.
void fail(const std::string &why) {
    stopped = true;
    if (state.closed) return;
    Line line("stopped", nullptr);
    line.word("why", why);
    append_line(line.text);
    close_files();
}

int open_events() {
    std::string pid = std::string(settings.folder) + "/" + std::to_string(state.pid);
    for (int again = 1; again < 100; again++) {  // exec keeps the PID
        state.name = again == 1 ? pid : pid + "-" + std::to_string(again);
        if (open_file(state.events, state.name + ".events")) return 0;
        if (errno != EEXIST) break;
    }
    return errno;
}

int write_whole(const Job &job) {
    File file;
    if (!open_file(file, state.name + job.suffix)) return errno;
    int error = append(file, job.line.data(), job.line.size());
    close_file(file);
    return error;
}

// Write an event. Returns 0 or the error.
int perform_event(Job &job) {
    if (job.bytes.size) {
        if (job.segment != state.open_segment) {
            char suffix[32];
            snprintf(suffix, sizeof suffix, ".%04d.arrays", job.segment);
            close_file(state.arrays);
            if (!open_file(state.arrays, state.name + suffix)) return errno;
            state.open_segment = job.segment;
        }
        if (int error = append(state.arrays, job.bytes.data, job.bytes.size)) return error;
    }
    return append_line(job.line);
}

int perform(Job &job) {
    if (job.kind == Kind::open) return open_events();
    return job.kind == Kind::whole ? write_whole(job) : perform_event(job);
}

void close_without_memory() noexcept {
    stopped = true;
    try {  // so that the line has a file
        if (!state.closed && state.events.path.empty()) open_events();
    } catch (...) {
    }
    if (!state.closed) append_no_memory();
    close_files();
}

// Do a job, unless the recording has ended.
void performed(Job &job) noexcept {
    if (job.kind == Kind::no_memory) return close_without_memory();
    try {
        if (state.closed) return;
        int error = perform(job);
        if (error) fail(reason(error));
        if (job.last) close_files();
    } catch (...) {
        close_without_memory();
    }
}

void recycle(Job *job) {
    if (job == &no_memory_job) return;
    if (state.spare.n >= most_spare) return delete job;
    job->bytes.size = 0;
    job->last = false;
    state.spare.push(job);
}

// Do the first job of the queue. Called with the lock.
void write_first() {
    Job *job = state.queue.pop();
    state.writing = true;
    pthread_mutex_unlock(&mutex);
    performed(*job);
    pthread_mutex_lock(&mutex);
    state.writing = false;
    state.queued -= job->size;
    recycle(job);
    pthread_cond_broadcast(&done);
}

void *write_queue(void *) {
    own_descriptors();
    pthread_mutex_lock(&mutex);
    for (int pauses = 0;; pauses++) {
        if (state.queue.empty() && pauses > most_pauses) {
            state.waiting = true;
            pthread_cond_wait(&work, &mutex);
            state.waiting = false;
            pauses = 0;
        }
        if (!state.hurried) waited(work, pause_ms);
        while (!state.queue.empty()) {
            write_first();
            pauses = 0;
        }
    }
}

// Start the writer, without the program's signals. Returns whether it runs.
bool started() {
    if (state.started) return true;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 256 << 10);
    state.started = pthread_create(&writer, &detached, write_queue, nullptr) == 0;
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return state.started;
}

// Queue a job. Called with the lock.
void post(Kind kind, std::string &line, Buffer *bytes, bool last, std::string suffix = "") {
    line.reserve(line.size() + most_seal);  // so that to write it takes no memory
    Job *job = state.spare.pop();
    if (!job) job = new Job;
    job->kind = kind;
    job->line = std::move(line);
    job->suffix = std::move(suffix);
    if (bytes) job->bytes.swap(*bytes);
    job->segment = state.segment;
    job->last = last;
    if (!started()) {
        performed(*job);
        return recycle(job);
    }
    job->size = job->bytes.size + job->line.size();
    state.queue.push(job);
    state.queued += job->size;
    job->ns = now_ns();
    if (state.waiting) pthread_cond_signal(&work);
    if (!state.writing && job->ns - state.queue.front()->ns > latest) drain(late_ms);
}

// Queue an event. Called with the lock.
void post(std::string &line, Buffer *bytes = nullptr, bool last = false) {
    post(Kind::event, line, bytes, last);
}

// Return whether candidates may be queued. Called with the lock.
bool room() {
    uint64_t start = now_ns(), most = first_wait + (start - state.begun_ns) / 10;
    auto wait = [&] { return state.waited_ns + now_ns() - start < most; };
    while (state.queued > most_queued && !stopped && wait()) written(50);
    state.waited_ns += now_ns() - start;
    return state.queued <= most_queued;
}

// No line can be queued any more: write those that are, and the last one. Called with the lock.
void end_without_memory() noexcept {
    stopped = true;
    if (!state.started) return close_without_memory();
    no_memory_job.kind = Kind::no_memory;
    if (!state.ending) state.queue.push(&no_memory_job);
    state.ending = true;
    drain(1000);
}

void stop_locked(const char *why) noexcept {
    if (stopped) return;
    stopped = true;
    if (!state.opened) return;
    try {
        Line line("stopped", nullptr);
        line.word("why", why);
        post(line.text, nullptr, true);
    } catch (...) {
        end_without_memory();
    }
}

std::string program() {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n > 0 ? std::string(path, static_cast<size_t>(n)) : "";
}

void write_first_lines() {
    static const char *details[] = {"tokens", "survivors", "stages"};
    Line start("start", nullptr);
    start.whole("v", 1).whole("pid", getpid()).word("program", program());
    start.word("detail", details[static_cast<int>(settings.detail)]);
    start.raw("text", settings.text ? "true" : "false").whole("time", time(nullptr));
    if (state.parent) start.whole("parent", state.parent).whole("parent_bytes", state.parent_size);
    post(start.text);
    Line library("library", nullptr);
    std::string version = library_version();
    library.word("path", library_path());
    version.empty() ? library.raw("version", "null") : library.word("version", version);
    if (int number = release_number(); number && number != newest) library.whole("build", number);
    auto system = other<const char *()>("llama_print_system_info");
    library.word("system", system && system() ? system() : "");
    post(library.text);
}

void open_files() {
    rlimit most;
    if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY)
        state.largest = most.rlim_cur;
    std::string none;
    post(Kind::open, none, nullptr, false);
    write_first_lines();
    drain(10000);
    if (state.writing || !state.queue.empty()) stopped = true;  // its name is not known
}

// Open the files at the first event: most processes of a program never load libllama.
bool opened() noexcept {
    if (state.opened) return !stopped;
    state.opened = true;
    state.pid = getpid();
    state.begun_ns = now_ns();
    try {
        open_files();
    } catch (...) {
        end_without_memory();
    }
    return !stopped;
}

bool full_with(size_t more) {
    state.promised += more;
    if (state.promised <= settings.limit) return false;
    stop_locked("the limit on disk is reached");
    return true;
}

// Choose a segment with room; the arrays of an event are never parted.
bool segment_for(size_t length) {
    bool old = settings.keep_ms && now_ns() - state.segment_ns > settings.keep_ms * 125000;
    if (state.segment && !old && state.offset + length <= segment_size) return true;
    if (!access((std::string(settings.folder) + "/stop").c_str(), F_OK)) {
        stop_locked("the limit on disk is reached");
        return false;
    }
    state.segment++;
    state.offset = 0;
    state.segment_ns = now_ns();
    return true;
}

std::string reference(const Reference &r, size_t base, bool dropped) {
    std::string out = "{\"n\":" + std::to_string(r.n) + ",\"sorted\":" + (r.sorted ? "1" : "0") +
                      ",\"selected\":" + std::to_string(r.selected);
    if (!r.summed || dropped) return out + "}";
    out += std::string(",\"form\":\"") + r.form + "\"";
    if (strcmp(r.form, "none"))
        out += ",\"at\":[" + std::to_string(state.segment) + "," + std::to_string(base + r.at) + "]";
    if (r.listed) out += ",\"listed\":" + std::to_string(r.listed);
    if (r.stride != 1)
        out += ",\"stride\":" + std::to_string(r.stride) +
               ",\"offset\":" + std::to_string(r.offset);
    char sum[32];
    snprintf(sum, sizeof sum, ",\"sum\":\"%016llx\"}", static_cast<unsigned long long>(r.sum));
    return out + sum;
}

// The order of these locks is that of the calls: models.cpp writes lines while it holds its own.
void before_fork() {
    lock_lookup(true);
    lock_models(true);
    lock_samplers(true);
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&mutex);
    drain(10000);
}

void after_fork() {
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&gate);
    lock_samplers(false);
    lock_models(false);
    lock_lookup(false);
}

// By a clock that nobody sets.
void make_conditions() {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&work, &monotonic);
    pthread_cond_init(&done, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

// A child has files of its own. Its first line names those of its parent, up to the fork.
void in_child() {
    State fresh;
    fresh.parent = state.opened ? static_cast<long>(state.pid) : state.parent;
    fresh.parent_size = state.opened ? state.events.size : state.parent_size;
    close_file(state.arrays);
    close_file(state.events);
    while (!state.queue.empty()) recycle(state.queue.pop());
    fresh.spare = state.spare;
    state = fresh;
    make_conditions();  // its writer is not there
    after_fork();
}

void forget_thread(void *thread) {
    thread_of_this = nullptr;
    delete static_cast<Thread *>(thread);
}

const char *environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

__attribute__((constructor)) void read_settings() {
    settings.folder = strdup(environment("SAMPLER_PARITY_RECORD"));
    settings.release = strdup(environment("SAMPLER_PARITY_RECORD_RELEASE"));
    if (!settings.folder || !settings.release || !*settings.folder) return;
    const char *detail = environment("SAMPLER_PARITY_RECORD_DETAIL");
    settings.detail = !strcmp(detail, "tokens")   ? Detail::tokens
                      : !strcmp(detail, "stages") ? Detail::stages
                                                  : Detail::survivors;
    settings.text = strcmp(environment("SAMPLER_PARITY_RECORD_TEXT"), "0") != 0;
    if (uint64_t limit = strtoull(environment("SAMPLER_PARITY_RECORD_LIMIT"), nullptr, 10))
        settings.limit = limit;  // the compactor watches the folder; this is one process
    settings.keep_ms = strtoull(environment("SAMPLER_PARITY_RECORD_KEEP_MS"), nullptr, 10);
    if (pthread_key_create(&thread_key, forget_thread)) return;
    make_conditions();
    pthread_atfork(before_fork, after_fork, in_child);
    settings.on = true;
}

// End the recording, and wait for it. Called with the lock.
void write_end(unsigned ms) {
    if (state.opened && !stopped) {
        stopped = true;
        Line line("end", nullptr);
        line.whole("applies", static_cast<int64_t>(state.applies));
        line.whole("rec_ns", static_cast<int64_t>(state.spent_ns));
        post(line.text, nullptr, true);
    }
    drain(ms);
}

__attribute__((destructor)) void end_at_exit() noexcept {
    Lock lock;
    try {
        if (settings.on) write_end(10000);
    } catch (...) {
        end_without_memory();
    }
}

}  // namespace

// Write what is queued before the program ends, or becomes another, without destructors. A child of
// vfork has our memory, and is not us. A handler of signals may interrupt who has the lock.
void write_at_once(bool end, std::string *last_line) {
    if (!settings.on || !state.opened || state.pid != getpid()) return;
    int kept = errno;
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (pthread_mutex_timedlock(&gate, &until)) return;
    if (!pthread_mutex_timedlock(&mutex, &until)) {
        try {
            if (last_line && !stopped) post(*last_line);
            end ? write_end(1000) : drain(1000);
        } catch (...) {
            end_without_memory();
        }
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_unlock(&gate);
    errno = kept;
}

uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

bool recording() { return settings.on && !stopped.load(std::memory_order_relaxed); }

uint64_t next_apply() { return __atomic_add_fetch(&applies_begun, 1, __ATOMIC_RELAXED); }

Thread *this_thread() {
    if (thread_of_this || !settings.on) return thread_of_this;
    auto fresh = new (std::nothrow) Thread;
    if (!fresh || pthread_setspecific(thread_key, fresh)) return delete fresh, stop(no_memory), nullptr;
    fresh->number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    return thread_of_this = fresh;
}

void stop(const char *why) noexcept {
    Lock lock;
    if (opened()) stop_locked(why);
}

void write_line(Line &line) {
    Lock lock;
    if (!opened() || full_with(line.text.size())) return;
    if (state.queued > 2 * most_queued) return stop_locked("the disk is too slow");
    post(line.text);
}

void write_apply(Thread *thread, const void *sampler, const Reference &after, int32_t token, float p,
                 uint64_t ns, uint64_t start_ns) {
    Lock lock;
    if (!opened()) return;
    size_t size = thread->bytes.size;
    bool dropped = size && !room();
    if (dropped) size = thread->bytes.size = 0;
    if (stopped || full_with(size) || (size && !segment_for(size))) return;
    size_t base = state.offset;
    Line line("apply", thread);
    line.whole("q", static_cast<int64_t>(thread->number_of_apply)).address("s", sampler);
    if (thread->has_row) line.address("ctx", thread->ctx).whole("i", thread->row);
    line.raw("before", reference(thread->before, base, dropped));
    if (settings.detail != Detail::tokens) {
        std::string stages = "[";
        for (const Stage &stage : thread->stages) {
            if (stages.size() > 1) stages += ',';
            stages += "{\"s\":" + json_address(stage.sampler) + "," +
                      reference(stage.left, base, dropped).substr(1);
        }
        line.raw("stages", stages + "]").raw("after", reference(after, base, dropped));
    }
    line.whole("token", token).real("p", static_cast<double>(p));
    if (dropped) line.raw("dropped", "true");
    uint64_t spent = now_ns() - start_ns - ns;
    line.whole("ns", static_cast<int64_t>(ns)).whole("rec_ns", static_cast<int64_t>(spent));
    state.applies++;
    state.spent_ns += spent;
    post(line.text, &thread->bytes);
    state.offset += size;  // now that they are queued: without memory for it others may come before
}

// Write a file beside the events; its name goes into a line.
bool write_whole_file(const std::string &suffix, std::string text, std::string &name) {
    Lock lock;
    if (!opened() || full_with(text.size())) return false;
    std::string path = state.name + suffix;
    name = path.substr(path.rfind('/') + 1);
    post(Kind::whole, text, nullptr, false, suffix);
    return true;
}

EXPORTED void _exit(int status) {
    write_at_once(true);
    for (;;) syscall(SYS_exit_group, status);
}
EXPORTED void _Exit(int status) { _exit(status); }

#define BECOMES(name, parameters, passed)                                \
    EXPORTED int name parameters noexcept {                              \
        write_at_once(false);                                            \
        return reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name)) passed; \
    }
BECOMES(execv, (const char *path, char *const words[]), (path, words))
BECOMES(execve, (const char *path, char *const words[], char *const env[]), (path, words, env))
BECOMES(execvp, (const char *file, char *const words[]), (file, words))
BECOMES(execvpe, (const char *file, char *const words[], char *const env[]), (file, words, env))
BECOMES(fexecve, (int fd, char *const words[], char *const env[]), (fd, words, env))
