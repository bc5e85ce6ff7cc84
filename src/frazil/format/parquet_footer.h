#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/io/file_io.h"

namespace frazil::format {

/// A column of a Parquet file, leaf or group, in pre-order.
struct ParquetFooterColumn {
  std::string path;  ///< dotted, as in the file ("tags.list.element")
  std::optional<int32_t> field_id;
  std::string repetition;     ///< "required", "optional", "repeated"
  std::string physical_type;  ///< empty for groups
  std::string logical_type;   ///< empty: none
};

/// The chunk of one leaf in one row group.
struct ParquetFooterChunk {
  std::string path;
  std::optional<int32_t> field_id;
  std::string codec;
  std::vector<std::string> encodings;
  int64_t num_values = 0;
  int64_t compressed_bytes = 0;
  int64_t uncompressed_bytes = 0;
  std::optional<int64_t> null_count;
  std::optional<std::string> min;  ///< as people read it
  std::optional<std::string> max;
  bool has_column_index = false;
  std::optional<int64_t> num_pages;  ///< by the offset index; none: the file has none
  bool has_bloom_filter = false;
};

struct ParquetFooterRowGroup {
  int64_t num_rows = 0;
  int64_t total_bytes = 0;  ///< uncompressed
  std::vector<ParquetFooterChunk> chunks;
};

/// What a Parquet file says of itself, for people.
struct ParquetFooter {
  int64_t num_rows = 0;
  std::string created_by;
  std::map<std::string, std::string> key_values;
  std::vector<ParquetFooterColumn> columns;
  std::vector<ParquetFooterRowGroup> row_groups;
};

/// kCorruptData naming the file, as ParquetReader::Open.
Result<ParquetFooter> ReadParquetFooter(std::shared_ptr<const io::InputFile> file);

}  // namespace frazil::format
