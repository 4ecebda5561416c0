#include "base/json.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxReasonSize = 200;  // a bad token can be the whole file

// Reads a text and counts the bytes read so far in `*consumed`, so that errors
// found by the handler below have a position too.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* consumed)
      : at_(at), consumed_(consumed) {}

  const char& operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*consumed_;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  size_t* consumed_;
};

// Builds the value from the parser's events; `false` stops the parser.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(Json& root) : root_(root) {}

  const std::string& reason() const { return reason_; }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string&) override {
    return Add(value);
  }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t&) override { return Fail("binary value"); }

  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    // Not operator[], which searches the whole object for the key.
    ObjectOf(*open_.back()).emplace_back(std::move(name), nullptr);
    return true;
  }
  bool end_object() override {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : ObjectOf(*open_.back())) {
      names.push_back(name);
    }
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) {
      return Fail(
          fmt::format("the object that ends here has the key \"{}\" "
                      "twice",
                      *twice));
    }
    open_.pop_back();
    return true;
  }

  // The library's message, "[json.exception...] parse error at line 1, column
  // 2: what", without the library's position.
  bool parse_error(size_t, const std::string&,
                   const Json::exception& error) override {
    std::string_view message = error.what();
    const size_t place_end = message.find(": ");
    const size_t tag_end = message.find("] ");
    if (error.id < 200 && place_end != std::string_view::npos) {
      message.remove_prefix(place_end + 2);
    } else if (tag_end != std::string_view::npos) {
      message.remove_prefix(tag_end + 2);
    }
    return Fail(message);
  }

 private:
  static Json::object_t& ObjectOf(Json& json) {
    return json.get_ref<Json::object_t&>();
  }

  bool Fail(std::string_view reason) {
    reason_ = reason;
    return false;
  }

  // Puts `value` where the innermost open array or object expects its next
  // item.
  Json* Place(Json value) {
    Json* place = &root_;
    if (!open_.empty() && open_.back()->is_array()) {
      place = &open_.back()->emplace_back(nullptr);
    } else if (!open_.empty()) {
      place = &ObjectOf(*open_.back()).back().second;
    }
    *place = std::move(value);
    return place;
  }
  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json container) {
    if (open_.size() == kMaxDepth) {
      return Fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    open_.push_back(Place(std::move(container)));
    return true;
  }

  Json& root_;
  std::vector<Json*> open_;  // into root_: the path to the value being read
  std::string reason_;
};

// The position is that of the last character read.
absl::Status ErrorAt(std::string_view text, size_t consumed,
                     std::string_view source, std::string_view reason) {
  const std::string_view before = text.substr(0, consumed - (consumed > 0));
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none
  return InvalidArgument(fmt::format("{}: line {}, column {}: {}", source, line,
                                     before.size() - line_begin + 1,
                                     reason.substr(0, kMaxReasonSize)));
}

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text, std::string_view source) {
  size_t consumed = 0;
  Json root;
  Builder builder(root);
  const CountingIterator begin(text.data(), &consumed);
  const CountingIterator end(text.data() + text.size(), &consumed);
  if (!Json::sax_parse(begin, end, &builder)) {
    return ErrorAt(text, consumed, source, builder.reason());
  }
  return root;
}

std::string FormatJson(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace spillway
