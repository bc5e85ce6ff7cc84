#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "frazil/spec/table_metadata_json.h"

// Any bytes: refused with an error, or read and then the same after being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace frazil::spec;  // NOLINT(google-build-using-namespace)
  auto metadata = ParseTableMetadata({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!metadata || (*metadata)->format_version == 1) return 0;
  auto written = WriteTableMetadata(**metadata);
  if (!written) {
    std::fprintf(stderr, "what was read cannot be written: %s\n", written.error().ToString().c_str());
    std::abort();
  }
  auto again = ParseTableMetadata(*written, "written");
  if (!again) {
    std::fprintf(stderr, "what was written cannot be read: %s\n", again.error().ToString().c_str());
    std::abort();
  }
  if (!(**again == **metadata)) {
    std::fprintf(stderr, "reads differently after being written: %s\n", written->c_str());
    std::abort();
  }
  return 0;
}
