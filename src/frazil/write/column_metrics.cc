#include "frazil/write/column_metrics.h"

#include <algorithm>
#include <charconv>

#include "frazil/spec/single_value.h"

namespace frazil::write {
namespace {

constexpr MetricsMode kDefaultMode{MetricsMode::Kind::kTruncate, 16};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Result<MetricsMode> ParseMode(const std::string& key, const std::string& text) {
  const std::string lower = Lower(text);
  if (lower == "none") return MetricsMode{MetricsMode::Kind::kNone, 0};
  if (lower == "counts") return MetricsMode{MetricsMode::Kind::kCounts, 0};
  if (lower == "full") return MetricsMode{MetricsMode::Kind::kFull, 0};
  if (lower.starts_with("truncate(") && lower.ends_with(")")) {
    int length = 0;
    const char* end = lower.data() + lower.size() - 1;
    const auto parsed = std::from_chars(lower.data() + 9, end, length);
    if (parsed.ec == std::errc() && parsed.ptr == end && length > 0) {
      return MetricsMode{MetricsMode::Kind::kTruncate, length};
    }
  }
  return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("bad value of property {}: '{}'", key, text))
                            .WithHint("one of none, counts, truncate(N), full"));
}

/// Leaves that manifests can measure, in traversal order: each level's own leaves before those of nested structs.
void MeasurableLeaves(const std::vector<spec::Field>& fields, std::vector<const spec::Field*>& leaves) {
  for (const spec::Field& field : fields) {
    if (!field.type.is_nested()) leaves.push_back(&field);
  }
  for (const spec::Field& field : fields) {
    if (field.type.id() == spec::TypeId::kStruct) MeasurableLeaves(field.type.fields(), leaves);
  }
}

/// Length in bytes of the code point that starts at `text[at]`; 0 when it is not valid UTF-8.
size_t CodePointLength(const std::string& text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 0;
  }
  // An overlong form sorts behind the code point that it claims to be, so its successor would be no upper bound.
  const auto second = static_cast<unsigned char>(length > 1 ? text[at + 1] : 0);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90)) return 0;
  return length;
}

char32_t DecodeCodePoint(const std::string& text, size_t at, size_t length) {
  if (length == 1) return static_cast<unsigned char>(text[at]);
  char32_t value = static_cast<unsigned char>(text[at]) & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) value = (value << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  return value;
}

void AppendCodePoint(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

/// End of the prefix of `length` code points and the starts of its code points. Invalid UTF-8 counts byte by byte.
size_t PrefixEnd(const std::string& text, int length, std::vector<size_t>& starts) {
  size_t at = 0;
  for (int i = 0; i < length && at < text.size(); ++i) {
    starts.push_back(at);
    at += std::max<size_t>(CodePointLength(text, at), 1);
  }
  return at;
}

std::optional<Bytes> EncodeBound(const spec::Type& type, const spec::Value& value, const MetricsMode& mode,
                                 bool upper) {
  if (mode.kind == MetricsMode::Kind::kTruncate) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (!upper) return CopyBytes(AsBytes(TruncateLower(*text, mode.length)));
      const std::optional<std::string> bound = TruncateUpper(*text, mode.length);
      return bound ? std::optional(CopyBytes(AsBytes(*bound))) : std::nullopt;
    }
    if (const auto* bytes = std::get_if<Bytes>(&value); bytes != nullptr && type.id() == spec::TypeId::kBinary) {
      return upper ? TruncateUpper(*bytes, mode.length) : std::optional(TruncateLower(*bytes, mode.length));
    }
  }
  return spec::EncodeSingleValue(type, value);
}

}  // namespace

Result<MetricsConfig> MetricsConfig::Make(const spec::TableMetadata& metadata, const spec::Schema& schema) {
  static constexpr char kDefaultKey[] = "write.metadata.metrics.default";
  static constexpr char kColumnPrefix[] = "write.metadata.metrics.column.";
  MetricsConfig config;
  MetricsMode mode = kDefaultMode;
  std::vector<const spec::Field*> leaves;
  MeasurableLeaves(schema.fields(), leaves);
  size_t num_measured = leaves.size();
  if (const auto set = metadata.properties.find(kDefaultKey); set != metadata.properties.end()) {
    FRAZIL_ASSIGN(mode, ParseMode(kDefaultKey, set->second));
  } else {
    FRAZIL_ASSIGN(const int64_t limit,
                  metadata.IntProperty("write.metadata.metrics.max-inferred-column-defaults", 100));
    num_measured = std::min(num_measured, static_cast<size_t>(std::max<int64_t>(limit, 0)));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    config.modes_[leaves[i]->id] = i < num_measured ? mode : MetricsMode{MetricsMode::Kind::kNone, 0};
  }
  for (const spec::SortField& field : metadata.default_sort_order().fields) {
    auto found = config.modes_.find(field.source_id);
    if (found == config.modes_.end()) continue;
    if (found->second.kind == MetricsMode::Kind::kNone || found->second.kind == MetricsMode::Kind::kCounts) {
      found->second = kDefaultMode;  // readers prune by sorted columns
    }
  }
  for (const auto& [key, text] : metadata.properties) {
    if (!key.starts_with(kColumnPrefix)) continue;
    FRAZIL_ASSIGN(const MetricsMode column_mode, ParseMode(key, text));
    // A property of a column that was dropped or renamed stays behind and means nothing.
    if (const spec::Field* field = schema.FindField(key.substr(sizeof(kColumnPrefix) - 1))) {
      if (config.modes_.contains(field->id)) config.modes_[field->id] = column_mode;
    }
  }
  return config;
}

MetricsMode MetricsConfig::ModeOf(spec::FieldId id) const {
  const auto found = modes_.find(id);
  return found == modes_.end() ? MetricsMode{MetricsMode::Kind::kNone, 0} : found->second;
}

void SetColumnMetrics(const format::ParquetMetrics& metrics, const spec::Schema& schema, const MetricsConfig& config,
                      spec::DataFile& file) {
  file.record_count = metrics.record_count;
  for (const auto& [field, name] : schema.AllFields()) {
    const MetricsMode mode = config.ModeOf(field->id);
    if (mode.kind == MetricsMode::Kind::kNone) continue;
    auto copy = [&](const std::map<spec::FieldId, int64_t>& from, std::map<spec::FieldId, int64_t>& to) {
      if (const auto found = from.find(field->id); found != from.end()) to.insert(*found);
    };
    copy(metrics.column_sizes, file.column_sizes);
    copy(metrics.value_counts, file.value_counts);
    copy(metrics.null_value_counts, file.null_value_counts);
    copy(metrics.nan_value_counts, file.nan_value_counts);
    if (mode.kind == MetricsMode::Kind::kCounts) continue;
    if (const auto lower = metrics.lower_bounds.find(field->id); lower != metrics.lower_bounds.end()) {
      if (auto bound = EncodeBound(field->type, lower->second, mode, false)) file.lower_bounds[field->id] = *bound;
    }
    if (const auto upper = metrics.upper_bounds.find(field->id); upper != metrics.upper_bounds.end()) {
      if (auto bound = EncodeBound(field->type, upper->second, mode, true)) file.upper_bounds[field->id] = *bound;
    }
  }
}

std::string TruncateLower(const std::string& text, int length) {
  std::vector<size_t> starts;
  return text.substr(0, PrefixEnd(text, length, starts));
}

std::optional<std::string> TruncateUpper(const std::string& text, int length) {
  std::vector<size_t> starts;
  if (PrefixEnd(text, length, starts) == text.size()) return text;
  // Increment the last code point that can be; what follows it is dropped.
  for (size_t i = starts.size(); i > 0; --i) {
    const size_t at = starts[i - 1];
    const size_t code_point_length = CodePointLength(text, at);
    if (code_point_length == 0) return std::nullopt;  // not UTF-8: no text above it is sure to be valid
    char32_t next = DecodeCodePoint(text, at, code_point_length) + 1;
    if (next == 0xD800) next = 0xE000;
    if (next > 0x10FFFF) continue;
    std::string bound = text.substr(0, at);
    AppendCodePoint(bound, next);
    return bound;
  }
  return std::nullopt;
}

Bytes TruncateLower(const Bytes& bytes, int length) {
  return {bytes.begin(),
          bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), static_cast<size_t>(length)))};
}

std::optional<Bytes> TruncateUpper(const Bytes& bytes, int length) {
  if (bytes.size() <= static_cast<size_t>(length)) return bytes;
  Bytes bound = TruncateLower(bytes, length);
  while (!bound.empty()) {
    if (bound.back() != std::byte{0xff}) {
      bound.back() = static_cast<std::byte>(std::to_integer<unsigned>(bound.back()) + 1);
      return bound;
    }
    bound.pop_back();
  }
  return std::nullopt;
}

}  // namespace frazil::write
