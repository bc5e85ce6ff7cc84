#include "frazil/maintain/left_temporaries.h"

#include <chrono>
#include <filesystem>

#include "frazil/io/local_output_file.h"

namespace frazil::maintain {

namespace fs = std::filesystem;

std::vector<io::FileInfo> FindLeftTemporaries(const std::string& folder) {
  std::vector<io::FileInfo> found;
  const auto root = io::LocalPath(folder);
  if (!root) return found;
  std::error_code error;
  fs::recursive_directory_iterator entry(*root, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (!io::IsTemporaryName(entry->path().filename().native())) continue;
    const auto size = entry->is_regular_file(unknown) ? entry->file_size(unknown) : 0;
    const auto modified = entry->last_write_time(unknown);
    if (unknown) continue;  // its writer has ended it meanwhile
    const auto since_epoch = std::chrono::file_clock::to_sys(modified).time_since_epoch();
    found.push_back({folder + "/" + entry->path().lexically_relative(*root).native(), static_cast<int64_t>(size),
                     std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()});
  }
  return found;
}

void RemoveLeftTemporaries(const std::string& folder) {
  for (const io::FileInfo& file : FindLeftTemporaries(folder)) {
    std::error_code ignored;
    if (const auto path = io::LocalPath(file.path)) fs::remove(*path, ignored);
  }
}

}  // namespace frazil::maintain
