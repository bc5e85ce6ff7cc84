// The Avro container and what is decoded from it: any bytes, as manifest and as manifest list.

#include <cstdlib>

#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_file.h"
#include "frazil/format/manifest_file.h"

using namespace frazil;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView view = std::as_bytes(std::span(data, size));
  if (auto file = format::AvroFileReader::FromBytes(CopyBytes(view), "fuzz.avro")) {
    (void)file->ForEachBlock([&](ByteView block, int64_t num_records) -> Status {
      format::AvroDecoder decoder(block);
      for (int64_t i = 0; i < num_records && decoder.ok(); ++i) decoder.Skip(*file->schema());
      return {};
    });
  }
  auto entries = format::ReadManifestBytes(CopyBytes(view), "fuzz.avro");
  if (!entries && entries.error().ToString().find("fuzz.avro") == std::string::npos) std::abort();
  auto manifests = format::ReadManifestListBytes(CopyBytes(view), "fuzz.avro");
  if (!manifests && manifests.error().ToString().find("fuzz.avro") == std::string::npos) std::abort();
  return 0;
}
