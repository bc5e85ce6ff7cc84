#include "frazil/sql/struct_members.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "frazil/spec/ascii.h"

namespace frazil::sql {
namespace {

using spec::TypeId;

/// A type's text, "struct(a integer, \"b c\" varchar[])", as far as structs are concerned.
struct Shape {
  enum class Kind { kOther, kStruct, kList, kMap } kind = Kind::kOther;
  std::vector<std::pair<std::string, Shape>> parts;  ///< members; the element; key and value
};

class ShapeReader {
 public:
  explicit ShapeReader(std::string_view text) : text_(text) {}

  Shape Read() {
    Shape shape;
    if (Takes("struct(")) {
      shape.kind = Shape::Kind::kStruct;
      while (at_ < text_.size() && !Takes(")")) {
        std::string name = Name();
        Takes(" ");
        shape.parts.emplace_back(std::move(name), Read());
        Takes(", ");
      }
    } else if (Takes("map(")) {
      shape.kind = Shape::Kind::kMap;
      shape.parts.emplace_back("key", Read());
      Takes(", ");
      shape.parts.emplace_back("value", Read());
      Takes(")");
    } else {
      SkipOther();
    }
    while (at_ < text_.size() && text_[at_] == '[') {
      at_ = std::min(text_.find(']', at_), text_.size() - 1) + 1;
      Shape list{Shape::Kind::kList, {}};
      list.parts.emplace_back("element", std::move(shape));
      shape = std::move(list);
    }
    return shape;
  }

 private:
  bool Takes(std::string_view piece) {
    if (!spec::StartsWithAnyCase(text_.substr(at_), piece)) return false;
    at_ += piece.size();
    return true;
  }

  std::string Name() {
    if (at_ >= text_.size() || text_[at_] != '"') {
      const size_t end = std::min(text_.find(' ', at_), text_.size());
      const std::string_view name = text_.substr(at_, end - at_);
      at_ = end;
      return std::string(name);
    }
    std::string name;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' && text_.substr(at_ + 1, 1) != "\"") break;
      if (text_[at_] == '"') ++at_;
      name += text_[at_];
    }
    ++at_;
    return name;
  }

  /// Up to what may follow a type, past parentheses and quotes of its own: decimal(9,2), enum('a', 'b').
  void SkipOther() {
    int depth = 0;
    for (char quote = '\0'; at_ < text_.size(); ++at_) {
      const char letter = text_[at_];
      if (quote != '\0') {
        if (letter == quote) quote = '\0';
      } else if (letter == '\'' || letter == '"') {
        quote = letter;
      } else if (depth == 0 && (letter == ',' || letter == ')' || letter == '[')) {
        return;
      } else if (letter == '(') {
        ++depth;
      } else if (letter == ')') {
        --depth;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

const spec::Field* FindMember(const spec::Type& type, const std::string& name) {
  for (const spec::Field& field : type.fields()) {
    if (spec::EqualsAnyCase(field.name, name)) return &field;
  }
  return nullptr;
}

std::optional<std::string> FindExtra(const Shape& from, const spec::Type& to, const std::string& path) {
  const bool is_same_kind = (from.kind == Shape::Kind::kStruct && to.id() == TypeId::kStruct) ||
                            (from.kind == Shape::Kind::kList && to.id() == TypeId::kList) ||
                            (from.kind == Shape::Kind::kMap && to.id() == TypeId::kMap);
  if (!is_same_kind) return std::nullopt;
  for (const auto& [name, part] : from.parts) {
    const spec::Field* field = FindMember(to, name);
    if (field == nullptr) return path + "." + name;
    if (auto extra = FindExtra(part, field->type, path + "." + name)) return extra;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindExtraMember(const std::string& from, const spec::Type& to, const std::string& path) {
  return FindExtra(ShapeReader(from).Read(), to, path);
}

}  // namespace frazil::sql
