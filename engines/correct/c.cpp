// Every sampler in C++, float32, with exp and log of its own. program.py has the messages.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using Floats = std::vector<float>;
using Numbers = std::vector<double>;
using Whole = std::vector<int32_t>;
constexpr float INF = std::numeric_limits<float>::infinity();
constexpr int EIGHT = 8;

struct Candidates {
    Whole ids;
    Floats logits, p;
    bool sorted;
    int selected;
    int n() const { return int(ids.size()); }
};

// exp(r) for |r| <= ln(2) / 2 by Taylor's series; the exponent comes back by ldexp. Below 2 ULP.
static float exp_(float x) {
    if (std::isnan(x)) return x;
    if (x > 89) return INF;
    if (x < -104) return 0;
    const float k = std::nearbyint(x * 1.44269504f);
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float sum = 1 / 5040.0f;
    for (const float factor : {1 / 720.0f, 1 / 120.0f, 1 / 24.0f, 1 / 6.0f, 0.5f}) sum = sum * r + factor;
    return std::ldexp(1 + (r + r * r * sum), int(k));
}

// log(m) = 2 atanh((m - 1) / (m + 1)) for m in sqrt(1/2)..sqrt(2), in T; the error is below 1e-9.
template <typename T> static T log_of_part(T m) {
    const T s = (m - 1) / (m + 1), square = s * s;
    T sum = 0;
    for (const int odd : {13, 11, 9, 7, 5, 3}) sum = (sum + T(1) / odd) * square;
    return 2 * (s + s * sum);
}

static bool special(float x) { return !(x > 0) || x == INF; }

static float log_of_special(float x) { return x == 0 ? -INF : x == INF ? INF : std::numeric_limits<float>::quiet_NaN(); }

static double log_twice(float x, int & exponent) {
    double part = std::frexp(double(x), &exponent);
    if (part < 0.70710678118654752) part *= 2, exponent--;
    return log_of_part<double>(part);
}

static float log_(float x) {
    if (special(x)) return log_of_special(x);
    int e;
    float m = std::frexp(x, &e);
    if (m < 0.70710678f) m *= 2, e--;
    return float(e) * 0.693359375f + (log_of_part<float>(m) - float(e) * 2.12194440e-4f);
}

static float log2_(float x) {
    if (special(x)) return log_of_special(x);
    int e;
    const double part = log_twice(x, e);
    return float(e + part * 1.4426950408889634);
}

// b^e = 2^(e log2 b), with the exponent in double; the last step has the error of exp_.
static float pow_(float b, float e) {
    if (e == 0 || b == 1) return 1;
    if (b == 0) return e > 0 ? 0 : INF;
    if (special(b) || !std::isfinite(e)) return std::pow(b, e);
    int exponent;
    const double part = log_twice(b, exponent), y = e * (exponent + part * 1.4426950408889634);
    if (y > 129) return INF;
    if (y < -151) return 0;
    const double k = std::nearbyint(y);
    return std::ldexp(exp_(float((y - k) * 0.6931471805599453)), int(k));
}

static float total(const Floats & x) {
    float lanes[EIGHT] = {};
    for (size_t i = 0; i < x.size(); i++) lanes[i % EIGHT] += x[i];
    for (int half = EIGHT / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return lanes[0];
}

static Floats running(const Floats & x) {
    Floats sums(x.size());
    std::partial_sum(x.begin(), x.end(), sums.begin());
    return sums;
}

static float largest(const Floats & x) {
    float top = -INF;
    for (const float value : x) top = value > top ? value : top;
    return top;
}

static int best(const Floats & x) {
    int at = 0;
    for (int i = 1; i < int(x.size()); i++) at = x[i] > x[at] ? i : at;
    return at;
}

static void keep(Candidates & c, const std::vector<int> & at) {
    Candidates kept{{}, {}, {}, c.sorted, c.selected};
    for (const int i : at) {
        kept.ids.push_back(c.ids[i]);
        kept.logits.push_back(c.logits[i]);
        kept.p.push_back(c.p[i]);
    }
    c = std::move(kept);
}

static std::vector<int> positions(const Candidates & c) {
    std::vector<int> at(c.n());
    std::iota(at.begin(), at.end(), 0);
    return at;
}

static void where(Candidates & c, const std::function<bool(int)> & stays) {
    std::vector<int> at;
    for (const int i : positions(c)) if (stays(i)) at.push_back(i);
    keep(c, at);
}

static void head(Candidates & c, size_t n) {
    if (n >= c.ids.size()) return;
    c.ids.resize(n), c.logits.resize(n), c.p.resize(n);
}

static void sort(Candidates & c) {
    if (c.sorted) return;
    auto key = [&](int i) { return std::isnan(c.logits[i]) ? -INF : c.logits[i]; };
    std::vector<int> at = positions(c);
    std::sort(at.begin(), at.end(), [&](int i, int j) { return std::make_pair(-key(i), c.ids[i]) < std::make_pair(-key(j), c.ids[j]); });
    keep(c, at);
    c.sorted = true;
}

static Floats weights(const Candidates & c) {
    const float top = largest(c.logits);
    Floats w;
    for (const float x : c.logits) w.push_back(exp_(x - top));
    return w;
}

static Floats divided(Floats x, float by) {
    for (float & value : x) value /= by;
    return x;
}

static void softmax(Candidates & c, bool sort_first = true) {
    if (sort_first) sort(c);
    const Floats w = weights(c);
    c.p = divided(w, total(w));
}

template <typename Enough> static size_t crossing(const Floats & p, double least, Enough enough) {
    const Floats mass = running(p);
    for (size_t i = 0; i < p.size(); i++)
        if (enough(mass[i]) && double(i + 1) >= least) return i + 1;
    return p.size();
}

static int pick(const Floats & w, float u, int lost) {
    const Floats sums = running(w);
    if (std::isnan(sums.back())) return lost;
    const float wanted = sums.back() * u;
    for (size_t i = 0; i < w.size(); i++)
        if (sums[i] >= wanted && (w[i] > 0 || u == 0)) return int(i);
    return lost;
}

static void draw(Candidates & c, double u) { c.selected = c.n() > 1 ? pick(c.p, float(u), 0) : 0; }

static void dist(Candidates & c, float u) {
    c.selected = c.n() - 1;
    if (c.n() == 1) c.p = {1};
    if (c.n() < 2) return;
    const Floats w = weights(c);
    c.selected = pick(w, u, c.n() - 1);
    c.p = divided(w, total(w));
}

static void min_p(Candidates & c, float p, double min_keep) {
    if (p <= 0 || c.n() == 0) return;
    const float top = largest(c.logits), distance = log_(p);
    if (!c.sorted && top != -INF) {
        auto passes = [&](int i) { return c.logits[i] >= top + distance; };
        int n = 0;
        for (int i = 0; i < c.n(); i++) n += passes(i);
        if (n > 0 && n >= min_keep) return where(c, passes);
    }
    sort(c);
    for (int i = 1; i < c.n(); i++)
        if (c.logits[i] < c.logits[0] + distance && i >= min_keep) return head(c, i);
}

static void typical_p(Candidates & c, float p, double min_keep) {
    if (p >= 1) return;
    softmax(c);
    Floats terms, away;
    for (const float value : c.p) terms.push_back(-value * log_(value));
    const float entropy = total(terms);
    for (const float value : c.p) away.push_back(std::fabs(-log_(value) - entropy));
    std::vector<int> at = positions(c);
    if (!std::isnan(entropy)) std::stable_sort(at.begin(), at.end(), [&](int i, int j) { return away[i] < away[j]; });
    keep(c, at);
    head(c, crossing(c.p, min_keep, [&](float mass) { return mass > p; }));
    c.sorted = false;
}

static void temp(Candidates & c, float t) {
    if (t == 1 || c.n() == 0) return;
    const int kept = best(c.logits);
    for (int i = 0; i < c.n(); i++) c.logits[i] = t > 0 ? c.logits[i] / t : i == kept ? c.logits[i] : -INF;
}

static void temp_ext(Candidates & c, float t, float delta, float exponent) {
    if (delta <= 0) return temp(c, t);
    if (c.n() < 2) return;
    softmax(c);
    Floats terms;
    for (const float p : c.p) if (p > 0) terms.push_back(p * log_(p));
    const float share = pow_(std::max(0.0f, -total(terms)) / log_(float(c.n())), exponent);
    const float lowest = std::max(0.0f, t - delta);
    temp(c, lowest + ((t + delta) - lowest) * share);
    softmax(c, false);
}

static void xtc(Candidates & c, float t, double min_keep) {
    softmax(c);
    int top = 0;
    while (top < c.n() && c.p[top] >= t) top++;
    const int last = std::max(0, top - 1);
    if (last > 0 && c.n() - last >= min_keep) where(c, [&](int i) { return i >= last; });
}

static void top_n_sigma(Candidates & c, float n) {
    Floats possible, squares;
    for (const float x : c.logits) if (x != -INF) possible.push_back(x);
    if (n <= 0 || c.n() < 2 || possible.empty()) return;
    const float count = float(possible.size()), mean = total(possible) / count;
    for (const float x : possible) squares.push_back((x - mean) * (x - mean));
    const float lowest = largest(possible) - n * std::sqrt(total(squares) / count);
    for (float & x : c.logits) x = x < lowest ? -INF : x;
}

static Numbers steer(Candidates & c, const Numbers & of) {
    const float mu = float(of[0]), tau = float(of[1]), eta = float(of[2]);
    softmax(c);
    draw(c, of[3]);
    return {mu - eta * (-log2_(c.p[c.selected]) - tau)};
}

static Numbers mirostat(Candidates & c, const Numbers & of) {
    softmax(c);
    const int m = int(of[4]), pairs = std::min(c.n() - 1, m > 0 ? m - 1 : c.n());
    Floats products, squares;
    for (int i = 0; i < pairs; i++) {
        const float t = log_(float(i + 2) / float(i + 1));
        products.push_back(t * log_(c.p[i] / c.p[i + 1]));
        squares.push_back(t * t);
    }
    const float s = total(products) / total(squares), e = s - 1;
    const float k = pow_(e * pow_(2, float(of[0])) / (1 - pow_(float(of[5]), -e)), 1 / s);
    head(c, k >= 1 && k < 2147483648.0f ? size_t(k) : 1);
    return steer(c, of);
}

static Numbers mirostat_v2(Candidates & c, const Numbers & of) {
    softmax(c);
    int n = 0;
    while (n < c.n() && !(-log2_(c.p[n]) > float(of[0]))) n++;
    head(c, std::max(1, n));
    return steer(c, of);
}

static std::unordered_map<int, int> places(const Candidates & c) {
    std::unordered_map<int, int> at;
    for (int i = 0; i < c.n(); i++) at[c.ids[i]] = i;
    return at;
}

static void penalties(Candidates & c, const Numbers & of, const Whole & counts) {
    const float repeat = float(of[0]), freq = float(of[1]), present = float(of[2]);
    const auto at = places(c);
    for (size_t i = 0; i < counts.size(); i += 2) {
        if (!at.count(counts[i])) continue;
        float & x = c.logits[at.at(counts[i])];
        x = (x <= 0 ? x * repeat : x / repeat) - (float(counts[i + 1]) * freq + present);
    }
    c.sorted = false;
}

static void dry(Candidates & c, const Numbers & of, const Whole & lengths) {
    const float multiplier = float(of[0]), base = float(of[1]);
    const int most = base > 1.000001f ? int(88.7228391f / log_(base)) : 0;
    const auto at = places(c);
    for (size_t i = 0; i < lengths.size(); i += 2) {
        if (!at.count(lengths[i])) continue;
        int exponent = lengths[i + 1] - int(of[2]);
        if (most > 0) exponent = std::min(exponent, most);
        const int half = exponent / 2;  // the whole power may exceed float32
        c.logits[at.at(lengths[i])] -= multiplier * pow_(base, float(half)) * pow_(base, float(exponent - half));
    }
    c.sorted = false;
}

static void logit_bias(Candidates & c, const Numbers & biases, const Whole & tokens) {
    const auto at = places(c);
    std::set<int> seen;
    for (size_t i = 0; i < tokens.size(); i++) {
        const int token = tokens[i];
        const bool again = !seen.insert(token).second;
        if (at.count(token) && (at.at(token) == token || !again)) c.logits[at.at(token)] += float(biases[i]);
    }
}

static void infill(Candidates & c, const Numbers & of, const Whole & whole) {
    softmax(c);
    const size_t n_eog = size_t(of[1]);
    const std::set<int> eog(whole.begin(), whole.begin() + n_eog);
    auto is_end = [&](int i) { return eog.count(c.ids[i]) > 0; };
    Floats of_ends, of_text;
    for (int i = 0; i < c.n(); i++) (is_end(i) ? of_ends : of_text).push_back(c.p[i]);
    if (3 * total(of_ends) * float(c.n()) > total(of_text)) {
        where(c, is_end);
        c.p = divided(c.p, total(c.p));
        return;
    }
    const auto at = places(c);
    std::vector<std::pair<int, int>> pairs;
    for (size_t i = n_eog; i < whole.size(); i += 2) pairs.emplace_back(at.at(whole[i]), at.at(whole[i + 1]));
    std::sort(pairs.begin(), pairs.end());
    for (const auto & [i, j] : pairs) {
        if (c.logits[i] == -INF || c.logits[j] == -INF) continue;
        const int into = c.p[j] > c.p[i] ? j : i, merged = i + j - into;
        c.p[into] += c.p[merged];
        c.p[merged] = 0;
        c.logits[merged] = -INF;
    }
    const Candidates all = c;
    where(c, [&](int i) { return !(c.p[i] < 0.2f) || is_end(i); });
    int n_text = 0;
    for (int i = 0; i < c.n(); i++) n_text += !is_end(i);
    if (n_text == 0) {
        if (c.n() == 0) c = all;
        head(c, 1);
        c.ids[0] = int(of[0]);
        c.logits[0] = 1;
        return;
    }
    c.p = divided(c.p, total(c.p));
    where(c, [&](int i) { return !(c.p[i] < 1.0f / float(n_text + 1)) || is_end(i); });
    c.p = divided(c.p, total(c.p));
}

static Numbers adaptive_p(Candidates & c, const Numbers & of) {
    softmax(c, false);
    const Numbers original(c.p.begin(), c.p.end());
    const float target = float(of[0]);
    if (target >= 0) {
        auto clamp = [](float x) { return std::min(1.0f, std::max(0.0f, x)); };
        const float wanted = clamp(2 * clamp(target) - float(of[1]) / float(of[2]));
        for (int i = 0; i < c.n(); i++) {
            const float d = std::fabs(c.p[i] - wanted) / 0.3f;
            if (c.logits[i] != -INF) c.logits[i] = 5 - 10 * d * d / (1 + d);
        }
        softmax(c, false);
    }
    draw(c, of[3]);
    return original;
}

static Numbers apply(const std::string & name, Candidates & c, const Numbers & of, const Whole & whole) {
    auto at = [&](size_t i) { return float(of[i]); };
    if (name == "greedy") c.selected = best(c.logits);
    if (name == "dist") dist(c, at(0));
    if (name == "top_k" && of[0] > 0) sort(c), head(c, size_t(of[0]));
    if (name == "top_p" && of[0] < 1) softmax(c), head(c, crossing(c.p, of[1], [&](float mass) { return mass >= at(0); }));
    if (name == "min_p") min_p(c, at(0), of[1]);
    if (name == "typical_p") typical_p(c, at(0), of[1]);
    if (name == "temp") temp(c, at(0));
    if (name == "temp_ext") temp_ext(c, at(0), at(1), at(2));
    if (name == "xtc") xtc(c, at(0), of[1]);
    if (name == "top_n_sigma") top_n_sigma(c, at(0));
    if (name == "mirostat") return mirostat(c, of);
    if (name == "mirostat_v2") return mirostat_v2(c, of);
    if (name == "penalties") penalties(c, of, whole);
    if (name == "dry") dry(c, of, whole);
    if (name == "logit_bias") logit_bias(c, of, whole);
    if (name == "infill") infill(c, of, whole);
    if (name == "adaptive_p") return adaptive_p(c, of);
    return {};
}

template <typename T> static std::vector<T> read(size_t n) {
    std::vector<T> values(n);
    if (n && fread(values.data(), sizeof(T), n, stdin) != n) exit(1);
    return values;
}

template <typename T> static void write(const std::vector<T> & values) {
    if (!values.empty()) fwrite(values.data(), sizeof(T), values.size(), stdout);
}

// Whether a call has all that its sampler reads.
static bool complete(const std::string & name, const Candidates & c, const Numbers & of, const Whole & whole) {
    static const std::map<std::string, size_t> numbers = {
        {"dist", 1}, {"top_k", 1}, {"top_p", 2}, {"min_p", 2}, {"typical_p", 2}, {"temp", 1}, {"temp_ext", 3}, {"xtc", 2},
        {"top_n_sigma", 1}, {"mirostat", 6}, {"mirostat_v2", 4}, {"penalties", 3}, {"dry", 3}, {"infill", 2}, {"adaptive_p", 4},
    };
    const auto least = numbers.find(name);
    if (least != numbers.end() && of.size() < least->second) return false;
    if (name == "logit_bias") return of.size() >= whole.size();
    if (name == "penalties" || name == "dry") return whole.size() % 2 == 0;
    if (name == "mirostat" || name == "mirostat_v2") return c.n() > 0;
    if (name != "infill") return true;
    return c.n() > 0 && of[1] >= 0 && of[1] <= double(whole.size()) && (whole.size() - size_t(of[1])) % 2 == 0;
}

static int answer_all() {
    char head[65] = {};
    while (fread(head, 1, 64, stdin) == 64) {
        char name[64];
        int n, sorted, selected, n_numbers, n_whole;
        if (sscanf(head, "%63s %d %d %d %d %d", name, &n, &sorted, &selected, &n_numbers, &n_whole) != 6) return 1;
        if (n < 0 || n_numbers < 0 || n_whole < 0) return 1;
        const auto numbers = read<double>(n_numbers);
        const auto whole = read<int32_t>(n_whole);
        Candidates c{read<int32_t>(n), read<float>(n), read<float>(n), sorted != 0, selected};
        if (!complete(name, c, numbers, whole)) throw std::out_of_range(std::string(name) + " lacks arguments");
        const Numbers state = apply(name, c, numbers, whole);
        snprintf(head, sizeof head, "%-64s", (std::to_string(c.n()) + " " + std::to_string(c.sorted) + " " +
            std::to_string(c.selected) + " " + std::to_string(state.size())).c_str());
        fwrite(head, 1, 64, stdout);
        write(state), write(c.ids), write(c.logits), write(c.p);
        fflush(stdout);
    }
    return 0;
}

int main() {
    try {
        return answer_all();
    } catch (const std::bad_alloc &) {
        fprintf(stderr, "out of memory\n");
        _Exit(1);  // a half answer is not written
    } catch (const std::out_of_range & error) {
        fprintf(stderr, "no such call: %s\n", error.what());
        _Exit(1);
    }
}
