#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <parquet/column_page.h>
#include <parquet/schema.h>

namespace frazil::format {

/// A dictionary page taken apart: its values in the PLAIN encoding, addressable. Immutable. Internal to parquet_*.cc.
class ParquetDictionary {
 public:
  /// Copies the page. Throws parquet::ParquetException for other encodings and lengths that cannot be.
  ParquetDictionary(const parquet::DictionaryPage& page, const parquet::ColumnDescriptor& column);

  void AppendValue(int32_t index, std::vector<uint8_t>& out) const;
  int64_t memory_bytes() const;

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> begins_;  // of each value and the end; byte arrays only
  uint32_t width_ = 0;            // of others
  int32_t num_values_ = 0;
};

/// The values of one data page, from front to back. Internal to the parquet_*.cc files. All may throw
/// parquet::ParquetException.
class ParquetValueSource {
 public:
  virtual ~ParquetValueSource() = default;

  virtual void Skip(int64_t count) = 0;
  /// Appends values in the PLAIN encoding; booleans as a byte each.
  virtual void Take(int64_t count, std::vector<uint8_t>& out) = 0;
};

/// `num_values` of `size` bytes in `encoding`; `dictionary` where it says dictionary. Both are used, not copied.
std::unique_ptr<ParquetValueSource> MakeParquetValueSource(const parquet::ColumnDescriptor& column,
                                                           parquet::Encoding::type encoding, int num_values,
                                                           const uint8_t* data, int size,
                                                           const ParquetDictionary* dictionary);

bool IsDictionaryEncoding(parquet::Encoding::type encoding);

}  // namespace frazil::format
