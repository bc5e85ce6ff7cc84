#include "frazil/table/vector_store.h"

#include <algorithm>

#include "frazil/table/vector_reader.h"

namespace frazil::table {

Result<format::DeletionVector> ReadVector(const io::FileIO& io, const spec::DataFile& entry,
                                          int64_t data_file_record_count) {
  VectorReader reader(io);
  FRAZIL_ASSIGN(VectorReader::Vector vector, reader.Read(entry, data_file_record_count));
  return std::move(vector.positions);
}

Result<format::DeletionVector> ReadPositions(const io::FileIO& io, const LiveDataFile& data_file,
                                             const ApplicableDeletes& deletes,
                                             const PositionDeleteReader& read_positions) {
  if (deletes.vector != nullptr) return ReadVector(io, deletes.vector->file, data_file.file.record_count);
  format::DeletionVector all;
  for (const LiveDelete* file : deletes.position_deletes) {
    if (!read_positions) {
      return Fail(ErrorCode::kNotSupported, "reading position delete files: {}", file->file.file_path);
    }
    FRAZIL_ASSIGN(std::vector<int64_t> positions, read_positions(*file, data_file.file.file_path));
    // Positions outside the file delete nothing; a vector must not hold them.
    std::erase_if(positions, [&](int64_t p) { return p < 0 || p >= data_file.file.record_count; });
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    FRAZIL_TRY(all.AddAll(positions));
  }
  return all;
}

}  // namespace frazil::table
