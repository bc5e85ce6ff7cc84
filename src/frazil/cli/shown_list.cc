#include "frazil/cli/shown_list.h"

#include <algorithm>
#include <string_view>

#include "frazil/base/bytes.h"
#include "frazil/io/file_io.h"

namespace frazil::cli {
namespace {

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

}  // namespace

Result<std::optional<std::vector<std::string>>> ReadShownList(const std::string& path, int64_t now_ms) {
  const auto io = io::MakeLocalFileIO();
  FRAZIL_ASSIGN(const auto files, io->List(path.substr(0, path.rfind('/'))));
  const auto own =
      std::find_if(files.begin(), files.end(), [&](const io::FileInfo& file) { return file.path == path; });
  if (own == files.end() || own->modified_ms < now_ms - kDayMs) return std::nullopt;
  FRAZIL_ASSIGN(const Bytes bytes, io->ReadFile(path));
  std::vector<std::string> lines;
  std::string_view rest = AsText(bytes);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace frazil::cli
