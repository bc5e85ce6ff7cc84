// Reading any bytes as a row map must end in a map of which every row has a place of its own, or an error that names the
// file. The input is the head and the sources, each behind its length; frame and checksums are made right, else the fuzzer
// would never come behind them.

#include <cstdlib>
#include <set>

#include "frazil/format/puffin.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/row_map.h"
#include "frazil/table/row_map_format.h"

namespace {

constexpr char kPath[] = "memory:/fuzz.puffin";
constexpr int64_t kMaxChecked = 5000;

void CheckRowMap(const frazil::table::RowMap& row_map) {
  std::set<frazil::table::RowMap::Target> met;
  for (uint32_t source = 0; source < row_map.sources().size(); ++source) {
    const int64_t count = row_map.sources()[source].record_count;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < std::min(count, kMaxChecked); ++i)
      positions.push_back(i * std::max<int64_t>(1, count / kMaxChecked));
    std::vector<std::optional<frazil::table::RowMap::Target>> found;
    row_map.FindAll(source, positions, found);
    for (size_t i = 0; i < positions.size(); ++i) {
      if (found[i] != row_map.Find(source, frazil::spec::RowPosition(positions[i]))) std::abort();
      if (!found[i]) continue;
      const auto& output = row_map.outputs().at(found[i]->output);
      if (found[i]->position.value() < 0 || found[i]->position.value() >= output.record_count) std::abort();
      if (!met.insert(*found[i]).second) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace frazil;
  ByteView rest = std::as_bytes(std::span(data, size));
  io::MemoryFileIO io;
  if (!rest.empty() && rest[0] == std::byte{'P'}) {  // a whole file as it is
    io.Overwrite(kPath, CopyBytes(rest));
  } else {
    format::PuffinWriter writer(*io.Create(kPath));
    const char* type = table::kRowMapHeadBlobType;
    while (rest.size() >= 3) {
      const size_t length = std::min<size_t>(LoadLittle<uint16_t>(rest.data() + 1), rest.size() - 3);
      const ByteView blob = rest.subspan(3, length);
      if (!writer.AddBlob({.type = type, .properties = {{table::kRowMapChecksumProperty, table::RowMapChecksum(blob)}}},
                          blob)) {
        std::abort();
      }
      rest = rest.subspan(3 + length);
      type = table::kRowMapSourceBlobType;
    }
    if (!writer.Finish()) std::abort();
  }
  const auto row_map = table::RowMap::Read(io, kPath);
  if (row_map) {
    CheckRowMap(**row_map);
  } else if (row_map.error().ToString().find(kPath) == std::string::npos) {
    std::abort();
  }
  return 0;
}
