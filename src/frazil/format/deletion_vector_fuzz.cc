// Decoding any bytes must end in a vector or kCorruptData; what decodes must survive a round trip.

#include <cstdlib>

#include "frazil/base/hash.h"
#include "frazil/format/deletion_vector.h"

using frazil::Bytes;
using frazil::ByteView;
using frazil::format::DeletionVector;

namespace {

void Check(ByteView blob) {
  const auto vector = DeletionVector::Decode(blob);
  if (!vector) {
    if (vector.error().code() != frazil::ErrorCode::kCorruptData) std::abort();
    return;
  }
  (void)vector->Contains(frazil::spec::RowPosition(7));
  if (!vector->empty() && vector->Rank(vector->Max()) != vector->cardinality() - 1) std::abort();
  // Dense keys make a blob of up to 12 bytes a key: not the decoder's memory.
  if (!vector->empty() && vector->Max().value() >> 32 > 1000) return;
  Bytes encoded;
  if (!vector->EncodeTo(encoded)) std::abort();
  const auto again = DeletionVector::Decode(encoded);
  if (!again || !(*again == *vector)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  Check(bytes);
  // The same bytes as the inside of a blob whose length and checksum fit: else the fuzzer would rarely get past them.
  Bytes blob;
  frazil::AppendBig(blob, static_cast<uint32_t>(size + 4));
  frazil::AppendLittle(blob, uint32_t{1681511377});
  frazil::AppendBytes(blob, bytes);
  frazil::AppendBig(blob, frazil::Crc32(ByteView(blob).subspan(4)));
  Check(blob);
  return 0;
}
