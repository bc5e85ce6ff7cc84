// Any text as a manifest must end in a manifest that can be written and read again, or an error that names the file. The
// checksum in front is replaced by the right one, else the fuzzer would never come behind it.

#include <cstdlib>
#include <string>

#include "frazil/base/hash.h"
#include "frazil/index/index_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace frazil::index;
  const std::string rest(reinterpret_cast<const char*>(data), size);
  const std::string text =
      fmt::format(R"({{"checksum":"{:016x}",{})", frazil::HashKey(frazil::AsBytes(rest), 0).high, rest);
  const auto manifest = ParseIndexManifestJson(text, "fuzzed.json");
  if (!manifest) {
    if (manifest.error().ToString().find("fuzzed.json") == std::string::npos) std::abort();
    return 0;
  }
  const auto again = ParseIndexManifestJson(WriteIndexManifestJson(*manifest), "again.json");
  if (!again || *again != *manifest) std::abort();
  return 0;
}
