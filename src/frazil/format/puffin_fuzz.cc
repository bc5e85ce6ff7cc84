// Reading any bytes as a Puffin file must end in blobs or an error that names the file.

#include <cstdlib>

#include "frazil/format/puffin.h"
#include "frazil/io/memory_file_io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = "memory:/fuzz.puffin";
  frazil::io::MemoryFileIO io;
  io.Overwrite(path, frazil::CopyBytes(std::as_bytes(std::span(data, size))));
  const auto file = io.Open(path);
  const auto footer = frazil::format::ReadPuffinFooter(**file);
  if (!footer) {
    if (footer.error().ToString().find(path) == std::string::npos) std::abort();
    return 0;
  }
  for (const frazil::format::PuffinBlob& blob : footer->blobs) {
    const auto bytes = frazil::format::ReadPuffinBlob(**file, blob);
    if (!bytes && bytes.error().ToString().find(path) == std::string::npos) std::abort();
  }
  return 0;
}
