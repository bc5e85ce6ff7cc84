#include "frazil/index/indexed_file.h"

#include <cmath>
#include <limits>

#include "frazil/table/delete_index.h"

namespace frazil::index {
namespace {

/// One letter a kind, then bytes of fixed or told length.
struct AppendValue {
  Bytes& out;

  void Kind(char kind) const { out.push_back(static_cast<std::byte>(kind)); }
  void Text(char kind, ByteView bytes) const {
    Kind(kind);
    AppendLittle<uint64_t>(out, bytes.size());
    AppendBytes(out, bytes);
  }
  template <typename Float>
  void Floating(char kind, Float value) const {
    Kind(kind);
    AppendLittle<Float>(out, std::isnan(value) ? std::numeric_limits<Float>::quiet_NaN() : value);
  }

  void operator()(std::monostate) const { Kind('n'); }
  void operator()(bool value) const { Kind(value ? 't' : 'f'); }
  void operator()(int32_t value) const { (*this)(int64_t{value}); }
  void operator()(int64_t value) const {
    Kind('i');
    AppendLittle<int64_t>(out, value);
  }
  void operator()(float value) const { Floating('e', value); }
  void operator()(double value) const { Floating('d', value); }
  void operator()(const std::string& value) const { Text('s', AsBytes(value)); }
  void operator()(const Bytes& value) const { Text('b', value); }
  void operator()(const spec::Decimal& value) const {
    Kind('c');
    AppendLittle<spec::Int128>(out, value.unscaled);
  }
  void operator()(const Uuid& value) const {
    Kind('u');
    AppendBytes(out, value.bytes());
  }
};

}  // namespace

Bytes PartitionBytes(const spec::PartitionTuple& tuple) {
  Bytes bytes;
  for (const spec::Value& value : tuple) std::visit(AppendValue{bytes}, value);
  return bytes;
}

IndexedFile IndexedFile::Of(const table::LiveDataFile& file) {
  return {.path = file.file.file_path,
          .content = spec::FileContent::kData,
          .sequence_number = file.sequence_number,
          .spec_id = file.file.spec_id,
          .partition = PartitionBytes(file.file.partition),
          .first_row_id = file.file.first_row_id,
          .record_count = file.file.record_count};
}

IndexedFile IndexedFile::Of(const table::LiveDelete& file) {
  return {.path = file.file.file_path,
          .content = file.file.content,
          .sequence_number = file.sequence_number,
          .spec_id = file.file.spec_id,
          .partition = PartitionBytes(file.file.partition),
          .first_row_id = std::nullopt,
          .record_count = file.file.record_count};
}

bool IndexedFile::IsSame(const table::LiveDataFile& live) const {
  if (path != live.file.file_path || sequence_number != live.sequence_number ||
      first_row_id != live.file.first_row_id || record_count != live.file.record_count) {
    return false;
  }
  // All files of version 1 have this number, also one that came back in another partition, which may give it other keys.
  if (sequence_number.value() > 0) return true;
  return spec_id == live.file.spec_id && partition == PartitionBytes(live.file.partition);
}

}  // namespace frazil::index
