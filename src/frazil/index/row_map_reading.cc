#include "frazil/index/row_map_reading.h"

#include <algorithm>

namespace frazil::index {
namespace {

struct Charged {
  MemoryBudget::Reservation room;
  std::shared_ptr<const table::RowMap> row_map;
};

/// What reading it will take before RowMap::memory_bytes() can be asked.
Result<int64_t> BytesToRead(const io::FileIO& io, const std::string& path) {
  FRAZIL_ASSIGN(const std::unique_ptr<io::InputFile> file, io.Open(path));
  const bool is_mapped = file->size_bytes() >= table::RowMap::kMinMappedBytes && io::LocalPath(path).has_value();
  return is_mapped ? 0 : file->size_bytes();
}

}  // namespace

Result<std::shared_ptr<const table::RowMap>> ReadRowMap(const io::FileIO& io, const std::string& path,
                                                        MemoryBudget* budget) {
  if (budget == nullptr) return table::RowMap::Read(io, path);
  FRAZIL_ASSIGN(const int64_t bytes, BytesToRead(io, path));
  auto charged = std::make_shared<Charged>();
  FRAZIL_ASSIGN(charged->room, budget->Reserve(bytes, "a row map of the key index"));
  FRAZIL_ASSIGN(charged->row_map, table::RowMap::Read(io, path));
  FRAZIL_TRY(charged->room.Resize(charged->row_map->memory_bytes()));
  const table::RowMap* row_map = charged->row_map.get();
  return std::shared_ptr<const table::RowMap>(std::move(charged), row_map);
}

Status CopyFile(const io::FileIO& from_io, const std::string& from, io::FileIO& to_io, const std::string& to) {
  constexpr int64_t kPieceBytes = int64_t{1} << 20;
  FRAZIL_ASSIGN(const std::unique_ptr<io::InputFile> input, from_io.Open(from));
  FRAZIL_ASSIGN(const std::unique_ptr<io::OutputFile> output, to_io.Create(to));
  Bytes piece;
  for (int64_t offset = 0; offset < input->size_bytes(); offset += kPieceBytes) {
    piece.resize(static_cast<size_t>(std::min(kPieceBytes, input->size_bytes() - offset)));
    FRAZIL_TRY(input->ReadAt(offset, piece));
    FRAZIL_TRY(output->Append(piece));
  }
  return output->Close();
}

}  // namespace frazil::index
