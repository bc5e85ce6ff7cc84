#include "frazil/table/vector_cache.h"

namespace frazil::table {

VectorCache::Key VectorCache::KeyOf(const spec::DataFile& entry, int64_t data_file_record_count) {
  return {entry.file_path,
          entry.content_offset.value_or(-1),
          entry.content_size_in_bytes.value_or(-1),
          entry.referenced_data_file.value_or(""),
          entry.record_count,
          data_file_record_count};
}

bool VectorCache::Keep(const spec::DataFile& entry, int64_t data_file_record_count, const Pointer& vector) {
  Key key = KeyOf(entry, data_file_record_count);
  // A decoded bitmap takes about what its blob does, and a map's node.
  const auto bytes = static_cast<int64_t>(sizeof(Key) + key.puffin.size() + key.data_file.size() + 256) + 2 * key.size;
  vectors_.Insert(key, vector, bytes);
  return vectors_.Find(key) == vector;
}

}  // namespace frazil::table
