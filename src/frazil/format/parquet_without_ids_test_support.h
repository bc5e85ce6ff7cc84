#pragma once

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>

#include "frazil/base/bytes.h"
#include "frazil/base/test_support.h"

namespace frazil::format {

/// A Parquet file as tools write it that know no field ids.
inline Bytes ParquetWithoutIds(const arrow::Table& table) {
  const auto out = *arrow::io::BufferOutputStream::Create();
  EXPECT_TRUE(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out).ok());
  const std::shared_ptr<arrow::Buffer> buffer = *out->Finish();
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer->data());
  return Bytes(bytes, bytes + buffer->size());
}

}  // namespace frazil::format
