#include "frazil/sql/type_shape.h"

#include <algorithm>

#include "frazil/spec/ascii.h"

namespace frazil::sql {
namespace {

class ShapeReader {
 public:
  explicit ShapeReader(std::string_view text) : text_(text) {}

  TypeShape Read() {
    TypeShape shape;
    if (Takes("struct(")) {
      shape.kind = TypeShape::Kind::kStruct;
      while (at_ < text_.size() && !Takes(")")) {
        std::string name = Name();
        Takes(" ");
        shape.parts.emplace_back(std::move(name), Read());
        Takes(", ");
      }
    } else if (Takes("map(")) {
      shape.kind = TypeShape::Kind::kMap;
      shape.parts.emplace_back("key", Read());
      Takes(", ");
      shape.parts.emplace_back("value", Read());
      Takes(")");
    } else {
      const size_t begin = at_;
      SkipOther();
      shape.text = text_.substr(begin, at_ - begin);
    }
    while (at_ < text_.size() && text_[at_] == '[') {
      at_ = std::min(text_.find(']', at_), text_.size() - 1) + 1;
      TypeShape list{.kind = TypeShape::Kind::kList, .text = {}, .parts = {}};
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

}  // namespace

TypeShape ShapeOf(std::string_view type) { return ShapeReader(type).Read(); }

bool IsSameKind(const TypeShape& shape, const spec::Type& type) {
  switch (shape.kind) {
    case TypeShape::Kind::kOther: return false;
    case TypeShape::Kind::kStruct: return type.id() == spec::TypeId::kStruct;
    case TypeShape::Kind::kList: return type.id() == spec::TypeId::kList;
    case TypeShape::Kind::kMap: return type.id() == spec::TypeId::kMap;
  }
  return false;
}

const spec::Field* FindPart(const spec::Type& type, const std::string& name) {
  for (const spec::Field& field : type.fields()) {
    if (spec::EqualsAnyCase(field.name, name)) return &field;
  }
  return nullptr;
}

}  // namespace frazil::sql
