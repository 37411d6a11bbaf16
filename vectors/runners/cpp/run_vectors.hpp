// Run test vectors in C++17 with any test framework, or with the plain main.cpp.
//
// Copy this file. Write `sample(name, test)`. It returns what is left, or nothing for a sampler
// that it lacks. For scripts write `make`, and pass it to `problems` as the third argument. With
// EXACT=1 the result must be llama.cpp's to the bit. The README of the kit has the fields. Then, in
// Catch2 or doctest:
//
//   TEST_CASE("vectors") {
//     for (const auto& report : run_vectors::problems(run_vectors::kit(), sample)) {
//       INFO(report.text());
//       CHECK(report.problems.empty());
//     }
//   }
//
// in GoogleTest:
//
//   TEST(Samplers, Vectors) {
//     for (const auto& report : run_vectors::problems(run_vectors::kit(), sample)) {
//       EXPECT_TRUE(report.problems.empty()) << report.text();
//     }
//   }
//
// and run it with VECTORS=kit in the environment.

#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace run_vectors {

struct Json {
  enum Kind { null, boolean, number, text, list, object } kind = null;
  double x = 0;
  std::string s;
  std::vector<Json> items;
  std::vector<std::string> keys;  // those of `items`, in an object

  bool has(const std::string& key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
  const Json& operator[](const std::string& key) const {
    return items.at(std::find(keys.begin(), keys.end(), key) - keys.begin());
  }

  // The strings "inf", "-inf" and "nan" are numbers too.
  double as_number() const { return kind == text ? std::strtod(s.c_str(), nullptr) : x; }
};

// What is left. Without p and sorted EXACT=1 does not compare them.
struct Outcome {
  std::vector<int> ids;
  std::vector<float> logits;
  int token = -1;
  std::optional<std::vector<float>> p;
  std::optional<bool> sorted;
};

struct Test {
  std::string id;
  Json parameters;
  std::vector<int> tokens;
  double uniform = 0;
  std::vector<int> ids;
  std::vector<float> logits, p;
  bool sorted = false;
  Outcome exact;  // the token -1 is not compared
  std::optional<Json> right;
  std::vector<double> low, high;

  double parameter(const std::string& key, double otherwise) const {
    return parameters.has(key) ? parameters[key].as_number() : otherwise;
  }
};

// A sampler with a state.
struct Instance {
  virtual ~Instance() = default;
  virtual Outcome apply(const Test& test) = 0;  // the test has no tokens
  virtual void accept(int token) = 0;
  virtual void reset() = 0;
  virtual std::unique_ptr<Instance> clone() const = 0;
};

using Sampler = std::function<std::optional<Outcome>(const std::string& name, const Test& test)>;

// Returns nothing for a sampler that is missing.
using Make = std::function<std::unique_ptr<Instance>(
    const std::string& name, const Json& parameters, std::optional<std::uint32_t> seed)>;

struct Report {
  std::string name;
  std::size_t run = 0, skipped = 0;
  std::vector<std::string> problems;  // lines "ID: problem"

  // Returns the counts and the first ten problems.
  std::string text() const {
    std::ostringstream out;
    out << name << ": ";
    if (run > 0) out << run - problems.size() << " of " << run << " right";
    if (run > 0 && skipped > 0) out << ", ";
    if (skipped > 0) out << "skipped, " << skipped << " tests";
    for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 10); ++i) {
      out << "\n" << problems[i];
    }
    return out.str();
  }
};

template <class... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream out;
  out << std::setprecision(17);
  (out << ... << parts);
  return out.str();
}

inline std::vector<int> integers(const Json& list) {
  std::vector<int> out;
  for (const Json& item : list.items) out.push_back(static_cast<int>(item.x));
  return out;
}

template <class Number>
std::map<int, double> by_id(const std::vector<int>& ids, const std::vector<Number>& numbers) {
  std::map<int, double> out;
  for (std::size_t i = 0; i < ids.size(); ++i) out[ids[i]] = numbers.at(i);
  return out;
}

inline bool is_exact() {
  const char* exact = std::getenv("EXACT");
  return exact && std::string(exact) == "1";
}

// Takes NaN as equal, and 0 and -0 as different.
inline bool same_bits(const std::vector<float>& some, const std::vector<float>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](float x, float y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
  });
}

// Returns where a result differs from llama.cpp's, or "".
inline std::string exact_problem(const Outcome& exact, const Outcome& outcome) {
  if (outcome.ids != exact.ids) return "other ids are left, or in another order";
  if (!same_bits(outcome.logits, exact.logits)) return "logits differ";
  if (outcome.p && !same_bits(*outcome.p, *exact.p)) return "p differ";
  if (exact.token != -1 && outcome.token != exact.token) {
    return join("token ", outcome.token, " is selected, not ", exact.token);
  }
  if (outcome.sorted && outcome.sorted != exact.sorted) return join("sorted is ", *outcome.sorted);
  return "";
}

// Returns what is wrong with the selected token, or "".
inline std::string token_problem(const Json& right, int token) {
  if (!right.has("tokens")) return "";
  const auto tokens = integers(right["tokens"]);
  if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) return "";
  std::string list;
  for (int i : tokens) list += " " + std::to_string(i);
  return join("token ", token, " is selected, not one of", list);
}

// Returns what is wrong with a result, or "".
inline std::string problem(const Test& test, const Outcome& outcome) {
  const double removed = -std::numeric_limits<double>::infinity();
  if (is_exact()) return exact_problem(test.exact, outcome);
  if (!test.right) return "";
  const Json& right = *test.right;
  if (right.has("token_alone")) return token_problem(right, outcome.token);
  if (outcome.ids.size() != outcome.logits.size()) {
    return join(outcome.ids.size(), " ids, ", outcome.logits.size(), " logits");
  }
  const auto before = by_id(test.ids, test.logits);
  std::map<int, double> left = by_id(outcome.ids, outcome.logits);
  if (left.size() < outcome.ids.size()) return "an id comes twice";
  for (auto it = left.begin(); it != left.end();) {
    it = it->second == removed ? left.erase(it) : std::next(it);
  }
  std::set<int> stay, may;
  if (right.has("stay")) {
    for (int i : integers(right["stay"])) stay.insert(i);
  } else {
    for (auto [i, x] : before) {
      if (x != removed) stay.insert(i);
    }
  }
  if (right.has("may")) {
    for (int i : integers(right["may"])) may.insert(i);
  }
  for (int i : stay) {
    if (!left.count(i)) return join("token ", i, " must stay");
  }
  for (auto [i, x] : left) {
    if (!stay.count(i) && !may.count(i)) return join("token ", i, " must go");
  }
  const double least = right.has("least") ? right["least"].x : stay.size();
  const double most = right.has("most") ? right["most"].x : stay.size();
  if (left.size() < least || left.size() > most) {
    return join(left.size(), " tokens stay, not ", least, " to ", most);
  }
  auto low = before, high = before;
  if (right.has("low")) {
    const auto order = right.has("ids") ? integers(right["ids"]) : test.ids;
    low = by_id(order, test.low);
    high = by_id(order, test.high);
  }
  for (auto [i, x] : left) {
    // The negation, since a NaN is wrong too.
    if (!(low.at(i) <= x && x <= high.at(i))) {
      return join("token ", i, " has ", x, ", not ", low.at(i), " to ", high.at(i));
    }
  }
  return token_problem(right, outcome.token);
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the numbers of a row. `rows` is the text of rows.f32.
inline std::vector<double> numbers(const Json& row, const std::string& rows) {
  std::vector<double> out;
  if (row.kind == Json::list) {
    for (const Json& item : row.items) out.push_back(item.as_number());
    return out;
  }
  const auto at = static_cast<std::size_t>(row["at"].x);
  for (std::size_t i = at; i < at + static_cast<std::size_t>(row["n"].x); ++i) {
    std::uint32_t bits = 0;
    for (int byte = 3; byte >= 0; --byte) {
      bits = bits << 8 | static_cast<unsigned char>(rows.at(4 * i + byte));
    }
    float x;
    std::memcpy(&x, &bits, sizeof x);
    out.push_back(x);
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text), at_(text.c_str()) {}

  Json value() {
    Json json;
    space();
    if (*at_ == '{') {
      json.kind = Json::object;
      for (next(); more('}');) {
        std::string key = string();
        space();
        expect(":");
        json.keys.push_back(key);
        json.items.push_back(value());
      }
    } else if (*at_ == '[') {
      json.kind = Json::list;
      for (next(); more(']');) json.items.push_back(value());
    } else if (*at_ == '"') {
      json.kind = Json::text;
      json.s = string();
    } else if (*at_ == 't' || *at_ == 'f') {
      json.kind = Json::boolean;
      json.x = *at_ == 't';
      expect(*at_ == 't' ? "true" : "false");
    } else if (*at_ == 'n') {
      expect("null");
    } else {
      json.kind = Json::number;
      char* end;
      json.x = std::strtod(at_, &end);
      if (end == at_) fail("a value");
      at_ = end;
    }
    return json;
  }

 private:
  // Steps over a comma; at the end of a list or an object over that, and returns false.
  bool more(char end) {
    space();
    if (*at_ == ',') {
      next();
      space();
    }
    if (*at_ != end) return true;
    next();
    return false;
  }

  std::string string() {
    std::string out;
    for (expect("\""); *at_ != '"'; next()) {
      if (*at_ == '\0') fail("the end of a string");
      if (*at_ == '\\') {
        out += escape();
      } else {
        out += *at_;
      }
    }
    next();
    return out;
  }

  std::string escape() {
    next();
    const char* names = "bfnrt";
    const char* name = std::strchr(names, *at_);
    if (*at_ == '\0') fail("an escape");
    if (name) return std::string(1, "\b\f\n\r\t"[name - names]);
    if (*at_ != 'u') return std::string(1, *at_);
    unsigned code = hex();
    // Two escapes are one character beyond the first 65,536.
    if (code >= 0xd800 && code < 0xdc00) {
      next();
      expect("\\");
      code = 0x10000 + ((code - 0xd800) << 10) + (hex() - 0xdc00);
    }
    return utf8(code);
  }

  // Reads "uXXXX" up to its last digit.
  unsigned hex() {
    expect("u");
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      if (!std::isxdigit(static_cast<unsigned char>(at_[i]))) fail("four digits");
      code = code << 4 | static_cast<unsigned>(std::stoi(std::string(1, at_[i]), nullptr, 16));
    }
    at_ += 3;
    return code;
  }

  static std::string utf8(unsigned code) {
    const auto first = [=](int mark, int by) { return static_cast<char>(mark | code >> by); };
    const auto last = [=](int by) { return static_cast<char>(0x80 | (code >> by & 0x3f)); };
    if (code < 0x80) return {first(0, 0)};
    if (code < 0x800) return {first(0xc0, 6), last(0)};
    if (code < 0x10000) return {first(0xe0, 12), last(6), last(0)};
    return {first(0xf0, 18), last(12), last(6), last(0)};
  }

  void next() { ++at_; }

  void space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') next();
  }

  void expect(const std::string& word) {
    if (std::strncmp(at_, word.c_str(), word.size()) != 0) fail(word);
    at_ += word.size();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(join("no ", what, " at byte ", at_ - text_.c_str()));
  }

  const std::string& text_;
  const char* at_;
};

inline std::string kit() {
  const char* folder = std::getenv("VECTORS");
  return folder ? folder : ".";
}

inline std::vector<float> floats(const Json& row, const std::string& rows) {
  std::vector<float> out;
  for (double x : numbers(row, rows)) out.push_back(static_cast<float>(x));
  return out;
}

// Returns a vector, or a call of apply. What `exact` leaves out is as in the input.
inline Test as_test(const Json& json, const Json& parameters, const std::string& rows) {
  Test test;
  test.parameters = parameters;
  if (json.has("id")) test.id = json["id"].s;
  if (json.has("tokens")) test.tokens = integers(json["tokens"]);
  if (json.has("uniform")) test.uniform = json["uniform"].x;
  if (json.has("flags")) {
    for (const Json& flag : json["flags"].items) test.sorted = test.sorted || flag.s == "sorted";
  }
  test.logits = floats(json["logits"], rows);
  test.p.resize(test.logits.size());
  if (json.has("p")) test.p = floats(json["p"], rows);
  test.ids.resize(test.logits.size());
  std::iota(test.ids.begin(), test.ids.end(), 0);
  if (json.has("ids")) test.ids = integers(json["ids"]);
  if (json.has("right")) test.right = json["right"];
  if (test.right && test.right->has("low")) {
    test.low = numbers((*test.right)["low"], rows);
    test.high = numbers((*test.right)["high"], rows);
  }
  const Json& left = json["exact"];
  Outcome& exact = test.exact;
  exact.ids = left.has("ids") ? integers(left["ids"]) : test.ids;
  const auto row = [&](const char* name, const std::vector<float>& input) {
    if (left.has(name)) return floats(left[name], rows);
    const auto before = by_id(test.ids, input);
    std::vector<float> out;
    for (int i : exact.ids) out.push_back(static_cast<float>(before.at(i)));
    return out;
  };
  exact.logits = row("logits", test.logits);
  exact.p = row("p", test.p);
  exact.sorted = left.has("sorted") ? left["sorted"].x != 0 : test.sorted;
  if (left.has("token")) exact.token = static_cast<int>(left["token"].x);
  return test;
}

// Makes the calls of a script. Returns what is wrong first, or ""; nothing if the sampler is
// missing.
inline std::optional<std::string> script_problem(const std::string& name, const Json& script,
                                                 const std::string& rows, const Make& make) {
  const double count = script.has("instances") ? script["instances"].x : 1;
  std::optional<std::uint32_t> seed;
  if (script.has("seed")) seed = static_cast<std::uint32_t>(script["seed"].x);
  std::vector<std::unique_ptr<Instance>> instances;
  while (instances.size() < count) {
    instances.push_back(make ? make(name, script["parameters"], seed) : nullptr);
  }
  if (!instances[0]) return std::nullopt;
  int number = 0;
  for (const Json& call : script["calls"].items) {
    ++number;
    Instance& on = *instances.at(call.has("on") ? static_cast<std::size_t>(call["on"].x) : 0);
    const std::string& what = call["call"].s;
    if (what == "accept") {
      on.accept(static_cast<int>(call["token"].x));
    } else if (what == "reset") {
      on.reset();
    } else if (what == "clone") {
      instances.push_back(on.clone());
    } else {
      const Test test = as_test(call, script["parameters"], rows);
      const std::string wrong = problem(test, on.apply(test));
      if (!wrong.empty()) return join("call ", number, ": ", wrong);
    }
  }
  return "";
}

// Returns what is wrong after one call, or ""; nothing if the sampler is missing.
inline std::optional<std::string> vector_problem(const std::string& name, const Json& vector,
                                                 const std::string& rows, const Sampler& sample) {
  const Test test = as_test(vector, vector["parameters"], rows);
  const auto outcome = sample(name, test);
  if (!outcome) return std::nullopt;
  return problem(test, *outcome);
}

// Runs all tests of a kit.
inline std::vector<Report> problems(const std::filesystem::path& kit, const Sampler& sample,
                                    const Make& make = nullptr) {
  const std::string rows = read(kit / "rows.f32");
  std::set<std::filesystem::path> files;
  for (const char* kind : {"vectors", "scripts"}) {
    // Git and zip drop an empty folder.
    if (!std::filesystem::exists(kit / kind)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(kit / kind)) {
      if (entry.path().extension() == ".json") files.insert(entry.path());
    }
  }
  std::vector<Report> reports;
  for (const auto& path : files) {
    const std::string text = read(path);
    const Json file = Reader(text).value();
    const std::string name = file["sampler"].s;
    Report report;
    report.name = path.parent_path().filename().string() + "/" + name;
    for (const Json& test : file["tests"].items) {
      const bool is_script = test.has("calls");
      if (!is_script && !test.has("right") && !is_exact()) continue;
      const auto wrong = is_script ? script_problem(name, test, rows, make)
                                   : vector_problem(name, test, rows, sample);
      ++(wrong ? report.run : report.skipped);
      if (wrong && !wrong->empty()) report.problems.push_back(test["id"].s + ": " + *wrong);
    }
    reports.push_back(report);
  }
  return reports;
}

}  // namespace run_vectors
