#include "frazil/cli/avro_text.h"

#include <cmath>

#include "frazil/base/bytes.h"
#include "frazil/cli/json_text.h"

namespace frazil::cli {
namespace {

using format::AvroDecoder;
using format::AvroKind;
using format::AvroNode;

std::string NumberText(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : fmt::format("\"{}\"", number);
}

std::string ArrayText(const AvroNode& node, AvroDecoder& decoder) {
  std::string text = "[";
  decoder.ReadArray(*node.children[0], [&] {
    if (text.size() > 1) text += ", ";
    text += AvroText(*node.children[0], decoder);
  });
  return text + "]";
}

std::string MapText(const AvroNode& node, AvroDecoder& decoder) {
  std::string text = "{";
  while (int64_t count = decoder.ReadItemCount(node.children[0]->min_size_bytes + 1)) {
    for (; count > 0 && decoder.ok(); --count) {
      if (text.size() > 1) text += ", ";
      text += JsonString(decoder.ReadString()) + ": ";
      text += AvroText(*node.children[0], decoder);
    }
  }
  return text + "}";
}

std::string RecordText(const AvroNode& node, AvroDecoder& decoder) {
  std::string text = "{";
  for (const format::AvroField& field : node.fields) {
    if (text.size() > 1) text += ", ";
    text += JsonString(field.name) + ": ";
    text += AvroText(*field.type, decoder);
  }
  return text + "}";
}

std::string EnumText(const AvroNode& node, AvroDecoder& decoder) {
  const size_t symbol = decoder.ReadBranch(node.symbols.size());
  return decoder.ok() ? JsonString(node.symbols[symbol]) : "null";
}

std::string UnionText(const AvroNode& node, AvroDecoder& decoder) {
  const size_t branch = decoder.ReadBranch(node.children.size());
  return decoder.ok() ? AvroText(*node.children[branch], decoder) : "null";
}

}  // namespace

std::string AvroText(const AvroNode& node, AvroDecoder& decoder) {
  switch (node.kind) {
    case AvroKind::kNull: return "null";
    case AvroKind::kBoolean: return decoder.ReadBoolean() ? "true" : "false";
    case AvroKind::kInt: return std::to_string(decoder.ReadInt());
    case AvroKind::kLong: return std::to_string(decoder.ReadLong());
    case AvroKind::kFloat: return NumberText(decoder.ReadFloat());
    case AvroKind::kDouble: return NumberText(decoder.ReadDouble());
    case AvroKind::kString: return JsonString(decoder.ReadString());
    case AvroKind::kBytes: return JsonString(ToHex(decoder.ReadBytes()));
    case AvroKind::kFixed: return JsonString(ToHex(decoder.ReadFixed(static_cast<size_t>(node.fixed_size))));
    case AvroKind::kEnum: return EnumText(node, decoder);
    case AvroKind::kRecord: return RecordText(node, decoder);
    case AvroKind::kArray: return ArrayText(node, decoder);
    case AvroKind::kMap: return MapText(node, decoder);
    case AvroKind::kUnion: return UnionText(node, decoder);
  }
  return "null";
}

}  // namespace frazil::cli
