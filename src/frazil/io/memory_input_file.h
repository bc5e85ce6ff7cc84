#pragma once

#include <memory>
#include <string>

#include "frazil/io/file_io.h"

namespace frazil::io {

/// An open file whose bytes are in memory.
std::unique_ptr<InputFile> MakeMemoryInputFile(std::string path, std::shared_ptr<const Bytes> bytes);

/// Reads a file of at most `max_bytes` whole, so that its parts cost no calls of the store; larger ones stay as they are.
Result<std::unique_ptr<InputFile>> LoadIfSmall(std::unique_ptr<InputFile> file, int64_t max_bytes);

}  // namespace frazil::io
