// Run test vectors in C++17 with any test framework, or with the plain main.cpp.
//
// Copy this file. Write `sample(name, test)`. It returns what is left, or nothing for a sampler
// that it lacks. The README of the kit has the fields. Then, in Catch2 or doctest:
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

  // The strings "inf" and "-inf" are numbers too.
  double as_number() const { return kind == text ? std::strtod(s.c_str(), nullptr) : x; }
};

struct Test {
  std::string id, about;
  Json parameters;
  std::vector<int> tokens;
  double uniform = 0;
  std::vector<int> ids;
  std::vector<float> logits;
  std::optional<Json> right;
  std::vector<double> low, high;

  double parameter(const std::string& key, double otherwise) const {
    return parameters.has(key) ? parameters[key].as_number() : otherwise;
  }
};

struct Outcome {
  std::vector<int> ids;
  std::vector<float> logits;
  int token = -1;
};

using Sampler = std::function<std::optional<Outcome>(const std::string& name, const Test& test)>;

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
    if (skipped > 0) out << "skipped, " << skipped << " vectors";
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

// Returns what is wrong with a result, or "".
inline std::string problem(const Test& test, const Outcome& outcome) {
  const double removed = -std::numeric_limits<double>::infinity();
  const Json& right = *test.right;
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
  if (right.has("tokens")) {
    const auto tokens = integers(right["tokens"]);
    if (std::find(tokens.begin(), tokens.end(), outcome.token) == tokens.end()) {
      std::string list;
      for (int token : tokens) list += " " + std::to_string(token);
      return join("token ", outcome.token, " is selected, not one of", list);
    }
  }
  return "";
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

// Returns the tests of one file.
inline std::vector<Test> vectors(const Json& file, const std::string& rows) {
  std::vector<Test> out;
  for (const Json& json : file["tests"].items) {
    Test test;
    test.id = json["id"].s;
    test.about = json["about"].s;
    test.parameters = json["parameters"];
    if (json.has("tokens")) test.tokens = integers(json["tokens"]);
    if (json.has("uniform")) test.uniform = json["uniform"].x;
    for (double x : numbers(json["logits"], rows)) test.logits.push_back(static_cast<float>(x));
    test.ids.resize(test.logits.size());
    std::iota(test.ids.begin(), test.ids.end(), 0);
    if (json.has("ids")) test.ids = integers(json["ids"]);
    if (json.has("right")) test.right = json["right"];
    if (test.right && test.right->has("low")) {
      test.low = numbers((*test.right)["low"], rows);
      test.high = numbers((*test.right)["high"], rows);
    }
    out.push_back(test);
  }
  return out;
}

// Runs all tests of a kit.
inline std::vector<Report> problems(const std::filesystem::path& kit, const Sampler& sample) {
  const std::string rows = read(kit / "rows.f32");
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kit / "vectors")) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  std::vector<Report> reports;
  for (const auto& path : files) {
    const std::string text = read(path);
    const Json file = Reader(text).value();
    Report report;
    report.name = file["sampler"].s;
    for (const Test& test : vectors(file, rows)) {
      if (!test.right) continue;
      const auto outcome = sample(report.name, test);
      if (!outcome) {
        ++report.skipped;
        continue;
      }
      ++report.run;
      const std::string wrong = problem(test, *outcome);
      if (!wrong.empty()) report.problems.push_back(test.id + ": " + wrong);
    }
    reports.push_back(report);
  }
  return reports;
}

}  // namespace run_vectors
