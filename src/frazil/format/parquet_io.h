#pragma once

#include <memory>

#include <arrow/io/interfaces.h>

#include "frazil/io/file_io.h"

namespace frazil::format {

// Our files in Arrow's clothes. Internal to the parquet_*.cc files.

std::shared_ptr<arrow::io::RandomAccessFile> ToArrowFile(std::shared_ptr<const io::InputFile> file);

/// Closing the stream does not close the file: that is what makes it visible, so the owner decides. `file` must outlive
/// the stream.
std::shared_ptr<arrow::io::OutputStream> ToArrowStream(io::OutputFile* file);

}  // namespace frazil::format
