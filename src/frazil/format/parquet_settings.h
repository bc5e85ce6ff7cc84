#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "frazil/base/result.h"

namespace frazil::format {

/// A Bloom filter for a column's values, so that readers looking for one skip row groups without it.
struct BloomSettings {
  double fpp = 0.01;           ///< rate of values that look present and are not
  std::optional<int64_t> ndv;  ///< expected different values of a row group; none: as many as `bloom_bytes` holds
};

/// How a file is written, from table properties. Internal to the parquet_*.cc files.
struct ParquetSettings {
  parquet::Compression::type codec = parquet::Compression::ZSTD;
  std::optional<int> level;  ///< none: the codec's own, 1 for zstd
  int64_t row_group_bytes = int64_t{128} << 20;
  int64_t page_bytes = int64_t{1} << 20;
  int64_t page_rows = 20000;
  int64_t dictionary_bytes = int64_t{2} << 20;
  bool page_v2 = false;
  bool delta_integers = false;
  std::map<std::string, bool> dictionary_by_column;  ///< full column name
  std::map<std::string, bool> statistics_by_column;
  std::map<std::string, BloomSettings> bloom_by_column;  ///< only columns that get one
  int64_t bloom_bytes = int64_t{1} << 20;                ///< limit of one filter, of a row group and column
};

/// kInvalidArgument naming the property, kNotSupported naming a codec that is not built in.
Result<ParquetSettings> ParseParquetSettings(const std::map<std::string, std::string>& properties);

/// The columns of a file that is written, as we declare them: decimals as integers where they fit.
Result<std::shared_ptr<parquet::SchemaDescriptor>> ToParquetSchema(const arrow::Schema& schema);

/// A leaf column as the writer sees it, in the order of the file's columns.
struct ParquetLeaf {
  std::string full_name;
  bool repeats = true;  ///< worth a dictionary
};

/// `memory`: what the writer's buffers come from; it must outlive the writer.
std::shared_ptr<parquet::WriterProperties> ToWriterProperties(const ParquetSettings& settings,
                                                              const parquet::SchemaDescriptor& schema,
                                                              const std::vector<ParquetLeaf>& leaves,
                                                              arrow::MemoryPool* memory);

}  // namespace frazil::format
