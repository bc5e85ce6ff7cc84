#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/schema.h>

#include "frazil/format/parquet_plain_values.h"

namespace frazil::format {

/// Takes chosen rows of one leaf column out of its data pages and puts them into one small page of their own, levels
/// and all, so that Arrow makes arrays of them as of any page. Internal to the parquet_*.cc files.
///
/// Throws parquet::ParquetException when a page is not what it says. One thread.
class ParquetLeafRows {
 public:
  /// `rows`: ascending row numbers in the row group, must outlive this.
  ParquetLeafRows(const parquet::ColumnDescriptor& column, std::span<const int64_t> rows)
      : column_(column), rows_(rows) {}

  /// Row number of the next page's first row; only needed where pages were left out.
  void MoveTo(int64_t row);
  int64_t next_row() const { return next_row_; }

  /// Whether a page of a column that does not repeat holds none of the rows, so that it can be left out.
  bool CanSkip(int64_t num_values) const;
  /// Whether nothing is missing (a row of a repeated column ends where the next begins).
  bool IsComplete() const { return next_ == rows_.size() && !(is_taking_ && column_.max_repetition_level() > 0); }
  bool HasAll() const { return next_ == rows_.size(); }

  /// Looks through the next page; afterwards next_row() is the row after the last one that began in it.
  /// False when it goes on with a row that began in a page that was left out.
  bool Add(const parquet::DataPage& page, const ParquetDictionary* dictionary);

  /// The rows of a column at the top of the table as an array of `type`, the one in which Arrow reads the column; null
  /// unless values of the type lie in memory as they do in a page, for then that is Arrow's business (ToPage()).
  std::shared_ptr<arrow::Array> ToArray(const std::shared_ptr<arrow::DataType>& type) const;
  /// The rows as one plain page.
  std::shared_ptr<parquet::Page> ToPage() const;

 private:
  void AddFlat(parquet::LevelDecoder* definitions, int num_values, ParquetValueSource& values);
  std::shared_ptr<arrow::Buffer> Validity() const;
  std::shared_ptr<arrow::Buffer> FixedValues(size_t width, bool has_nulls) const;
  bool AddRepeated(parquet::LevelDecoder& repetitions, parquet::LevelDecoder& definitions, int num_values,
                   ParquetValueSource& values);

  const parquet::ColumnDescriptor& column_;
  const std::span<const int64_t> rows_;
  size_t next_ = 0;  // into rows_
  int64_t next_row_ = 0;
  bool has_row_ = false;    // some row began since the last MoveTo
  bool is_taking_ = false;  // the row that began last is wanted
  std::vector<int16_t> definition_levels_;
  std::vector<int16_t> repetition_levels_;
  int64_t num_levels_ = 0;
  std::vector<uint8_t> values_;
};

}  // namespace frazil::format
