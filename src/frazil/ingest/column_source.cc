#include "frazil/ingest/column_source.h"

#include <array>

#include "frazil/ingest/column_text.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {

using spec::TypeId;
using Kind = ColumnSource::Kind;

namespace {

constexpr std::string_view kHeaderPrefix = "$headers.";
constexpr std::string_view kKeyPrefix = "$key.";

tl::unexpected<Error> NoSource(const std::string& column, const std::string& source) {
  Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' has an unknown source: {}", column, source));
  const std::string near = spec::NearestName(source, {"$timestamp", "$partition", "$offset", "$key", "$headers.NAME"});
  return tl::unexpected(std::move(error).WithHint(
      near.empty() ? "a field of the value, $timestamp, $partition, $offset, $headers.NAME, $key or $key.FIELD"
                   : fmt::format("did you mean {}?", near)));
}

}  // namespace

Result<ColumnSource> SourceOf(const RecordColumns& columns, const std::string& column) {
  const auto named = columns.source_of.find(column);
  if (named == columns.source_of.end()) return ColumnSource{Kind::kValue, column};
  const std::string& source = named->second;
  if (source.empty()) return NoSource(column, source);
  if (source[0] != '$') return ColumnSource{Kind::kValue, source};
  if (source == "$timestamp") return ColumnSource{Kind::kTimestamp, ""};
  if (source == "$partition") return ColumnSource{Kind::kPartition, ""};
  if (source == "$offset") return ColumnSource{Kind::kOffset, ""};
  if (source == "$key") return ColumnSource{Kind::kKey, ""};
  for (const auto& [prefix, kind] :
       std::array{std::pair(kKeyPrefix, Kind::kKey), std::pair(kHeaderPrefix, Kind::kHeader)}) {
    if (source.starts_with(prefix) && source.size() > prefix.size()) {
      return ColumnSource{kind, source.substr(prefix.size())};
    }
  }
  return NoSource(column, source);
}

Result<MetadataColumn> MetadataColumn::Make(const ColumnSource& source, const spec::Field& field,
                                            ColumnBuffer* column) {
  MetadataColumn made(source, column);
  const TypeId type = field.type.id();
  bool fits = false;
  switch (source.kind) {
    case Kind::kTimestamp:
      if (type == TypeId::kTimestamp || type == TypeId::kTimestampTz) made.ticks_per_ms_ = 1'000;
      if (type == TypeId::kTimestampNs || type == TypeId::kTimestampTzNs) made.ticks_per_ms_ = 1'000'000;
      fits = made.ticks_per_ms_ > 1 || type == TypeId::kLong;
      break;
    case Kind::kPartition:
      made.is_int_ = type == TypeId::kInt;
      fits = made.is_int_ || type == TypeId::kLong;
      break;
    case Kind::kOffset: fits = type == TypeId::kLong; break;
    case Kind::kHeader: fits = type == TypeId::kString || type == TypeId::kBinary; break;
    case Kind::kValue:
    case Kind::kKey: break;
  }
  if (!fits) {
    return Fail(ErrorCode::kInvalidArgument, "column '{}' of type {} cannot be filled from the record's {}", field.name,
                field.type.ToString(),
                source.kind == Kind::kTimestamp   ? "timestamp"
                : source.kind == Kind::kPartition ? "partition"
                : source.kind == Kind::kOffset    ? "offset"
                                                  : "headers");
  }
  return made;
}

Status MetadataColumn::Append(const SourceRecord& record) const {
  switch (source_.kind) {
    case Kind::kTimestamp: {
      if (!record.timestamp_ms) return {};
      int64_t ticks = 0;
      if (__builtin_mul_overflow(*record.timestamp_ms, ticks_per_ms_, &ticks)) {
        return Fail(ErrorCode::kInvalidArgument, "timestamp of the record is out of range: {} ms",
                    *record.timestamp_ms);
      }
      column_->Append(ticks);
      return {};
    }
    case Kind::kPartition:
      is_int_ ? column_->Append<int32_t>(record.partition) : column_->Append<int64_t>(record.partition);
      return {};
    case Kind::kOffset: column_->Append(record.offset); return {};
    case Kind::kHeader: return AppendHeader(record);
    case Kind::kValue:
    case Kind::kKey: return {};
  }
  return {};
}

Status MetadataColumn::AppendHeader(const SourceRecord& record) const {
  for (auto header = record.headers.rbegin(); header != record.headers.rend(); ++header) {
    if (header->first != source_.path) continue;
    if (header->second.data() == nullptr) return {};
    const ByteView bytes = AsBytes(header->second);
    if (column_->field().type.id() == TypeId::kString && !IsUtf8(bytes)) {
      return Fail(ErrorCode::kInvalidArgument, "header '{}' is not UTF-8", source_.path);
    }
    column_->AppendBytes(bytes);
    return {};
  }
  return {};
}

}  // namespace frazil::ingest
