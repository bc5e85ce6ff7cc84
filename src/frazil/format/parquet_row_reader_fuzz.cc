// Reading single rows of any bytes as a Parquet file must end in rows or an error that names the file.

#include <cstdlib>

#include <arrow/record_batch.h>

#include "frazil/format/parquet_row_reader.h"
#include "frazil/io/memory_file_io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace frazil;
  const std::string path = "memory:/fuzz.parquet";
  io::MemoryFileIO io;
  io.Overwrite(path, CopyBytes(std::as_bytes(std::span(data, size))));
  const auto must_name_path = [&](const Error& error) {
    if (error.ToString().find(path) == std::string::npos) std::abort();
  };
  const auto file = format::ParquetReader::Open(*io.Open(path));
  if (!file) {
    must_name_path(file.error());
    return 0;
  }
  auto fields = (*file)->FileFields();
  if (!fields || (*file)->num_rows() == 0) return 0;
  const format::ParquetRowReader rows(*file, std::make_shared<format::ParquetPageCache>(int64_t{1} << 20));
  for (const int64_t position : {int64_t{0}, (*file)->num_rows() / 2, (*file)->num_rows() - 1}) {
    const auto read = rows.ReadRows(*fields, std::span(&position, 1), nullptr);
    if (!read) {
      must_name_path(read.error());
    } else if ((*read)->num_rows() != 1 || !(*read)->Validate().ok()) {
      std::abort();
    }
  }
  return 0;
}
