#include "frazil/table/row_map_format.h"

#include <unordered_set>

#include "frazil/base/hash.h"

namespace frazil::table {
namespace {

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "{}", what); }

void AppendText(Bytes& out, const std::string& text) {
  AppendLittle(out, static_cast<uint32_t>(text.size()));
  AppendBytes(out, AsBytes(text));
}

/// Takes values off the front; once something is missing everything is zero and ok() is false.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}

  template <typename T>
  T Take() {
    const ByteView bytes = TakeBytes(sizeof(T));
    return bytes.empty() ? T{} : LoadLittle<T>(bytes.data());
  }
  ByteView TakeBytes(uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const ByteView taken = rest_.first(static_cast<size_t>(size));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::string TakeText() {
    const auto size = Take<uint32_t>();
    return std::string(AsText(TakeBytes(size)));
  }
  ByteView rest() const { return rest_; }
  bool ok() const { return ok_; }

 private:
  ByteView rest_;
  bool ok_ = true;
};

bool IsCount(int64_t count) { return count >= 0 && count <= RowMap::kMaxRecords; }

}  // namespace

std::string RowMapChecksum(ByteView blob) { return fmt::format("{:016x}", HashKey(blob, 0).high); }

Bytes EncodeRowMapHead(const RowMapHead& head) {
  Bytes out;
  AppendLittle(out, static_cast<uint32_t>(head.outputs.size()));
  for (const RowMap::Output& output : head.outputs) {
    AppendText(out, output.path);
    AppendLittle(out, output.record_count);
  }
  AppendLittle(out, static_cast<uint32_t>(head.sources.size()));
  for (const RowMap::Source& source : head.sources) {
    AppendText(out, source.path);
    AppendLittle(out, source.sequence_number.value());
    AppendLittle(out, static_cast<uint8_t>(source.first_row_id ? 1 : 0));
    AppendLittle(out, source.first_row_id.value_or(spec::RowId(0)).value());
    AppendLittle(out, source.record_count);
  }
  return out;
}

Result<RowMapHead> DecodeRowMapHead(ByteView blob) {
  RowMapHead head;
  Reader reader(blob);
  std::unordered_set<std::string> paths;
  // A count is a claim: what is reserved grows with the bytes that are there.
  const auto num_outputs = reader.Take<uint32_t>();
  for (uint32_t i = 0; i < num_outputs && reader.ok(); ++i) {
    RowMap::Output& output = head.outputs.emplace_back();
    output.path = reader.TakeText();
    output.record_count = reader.Take<int64_t>();
    if (!IsCount(output.record_count)) return Corrupt("number of rows of an output");
    if (reader.ok() && !paths.insert(output.path).second) return Corrupt("an output twice");
  }
  paths.clear();
  const auto num_sources = reader.Take<uint32_t>();
  for (uint32_t i = 0; i < num_sources && reader.ok(); ++i) {
    RowMap::Source& source = head.sources.emplace_back();
    source.path = reader.TakeText();
    source.sequence_number = spec::SequenceNumber(reader.Take<int64_t>());
    const auto has_first_row_id = reader.Take<uint8_t>();
    const spec::RowId first_row_id(reader.Take<int64_t>());
    source.record_count = reader.Take<int64_t>();
    if (has_first_row_id > 1 || (has_first_row_id == 0 && first_row_id.value() != 0)) return Corrupt("first row id");
    if (has_first_row_id == 1) source.first_row_id = first_row_id;
    if (!IsCount(source.record_count)) return Corrupt("number of rows of a source");
    if (reader.ok() && !paths.insert(source.path).second) return Corrupt("a source twice");
  }
  if (!reader.ok()) return Corrupt("head is cut off");
  if (!reader.rest().empty()) return Corrupt("bytes after the head");
  return head;
}

Result<Bytes> EncodeRowMapSource(uint32_t index, RowMapKind kind, uint8_t width,
                                 const format::DeletionVector& dropped) {
  Bytes vector;
  if (!dropped.empty()) FRAZIL_TRY(dropped.EncodeTo(vector));
  Bytes out;
  AppendLittle(out, index);
  AppendLittle(out, static_cast<uint8_t>(kind));
  AppendLittle(out, width);
  AppendLittle(out, uint16_t{0});
  AppendLittle(out, static_cast<uint64_t>(vector.size()));
  AppendBytes(out, vector);
  return out;
}

Result<RowMapSourceBlob> DecodeRowMapSource(ByteView blob, uint32_t index, int64_t record_count) {
  Reader reader(blob);
  const auto own_index = reader.Take<uint32_t>();
  const auto kind = reader.Take<uint8_t>();
  RowMapSourceBlob source;
  source.width = reader.Take<uint8_t>();
  const auto zero = reader.Take<uint16_t>();
  const ByteView dropped = reader.TakeBytes(reader.Take<uint64_t>());
  if (!reader.ok()) return Corrupt("source is cut off");
  if (own_index != index) return Corrupt("another source");
  if (zero != 0 || kind > static_cast<uint8_t>(RowMapKind::kArray)) return Corrupt("unknown kind of source");
  source.kind = static_cast<RowMapKind>(kind);
  const bool is_array = source.kind == RowMapKind::kArray;
  if (is_array ? source.width != 4 && source.width != 8 : source.width != 0) return Corrupt("unknown width of source");
  if (!dropped.empty()) {
    FRAZIL_ASSIGN(source.dropped, format::DeletionVector::Decode(dropped));
    if (!source.dropped.empty() && source.dropped.Max().value() >= record_count) {
      return Corrupt("a dropped position outside the file");
    }
  }
  source.data = reader.rest();
  return source;
}

}  // namespace frazil::table
