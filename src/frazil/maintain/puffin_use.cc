#include "frazil/maintain/puffin_use.h"

#include <map>
#include <unordered_set>

#include "frazil/format/puffin.h"

namespace frazil::maintain {

Result<std::vector<PuffinUse>> FindPuffins(const table::Table& table, const table::LiveFiles& live) {
  std::unordered_set<std::string> data_files;
  for (const table::LiveDataFile& file : live.data_files) data_files.insert(file.file.file_path);
  std::map<std::string, PuffinUse> by_path;
  for (const table::LiveDelete& file : live.delete_files) {
    if (!file.file.is_deletion_vector()) continue;
    PuffinUse& use = by_path[file.file.file_path];
    if (use.path.empty()) {
      use.path = file.file.file_path;
      use.partition = {file.file.spec_id, file.file.partition};
      use.file_bytes = file.file.file_size_in_bytes;
    }
    use.live_bytes += file.file.content_size_in_bytes.value_or(0);
    const bool is_used = file.file.referenced_data_file && data_files.contains(*file.file.referenced_data_file);
    ++(is_used ? use.num_live : use.num_dangling);
  }
  std::vector<PuffinUse> puffins;
  for (auto& [path, use] : by_path) {
    FRAZIL_ASSIGN(const auto file, table.io()->Open(path));
    FRAZIL_ASSIGN(const format::PuffinFooter footer, format::ReadPuffinFooter(*file));
    use.has_dead_blobs = static_cast<int64_t>(footer.blobs.size()) > use.num_live + use.num_dangling;
    puffins.push_back(std::move(use));
  }
  return puffins;
}

}  // namespace frazil::maintain
