// Opening any bytes as an index run and reading all of it must end in entries or an error that names the run. What
// would stop at a checksum is repaired first, so that the bytes behind it are believed.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "frazil/index/run.h"
#include "frazil/index/run_probe.h"

namespace {

using namespace frazil;
using namespace frazil::index;

constexpr char kName[] = "memory:/fuzz.run";

void CheckError(const Error& error) {
  if (error.code() != ErrorCode::kCorruptData || error.ToString().find(kName) == std::string::npos) std::abort();
}

void ReadAll(const Bytes& bytes) {
  const auto run = Run::FromBytes(bytes, kName);
  if (!run) return CheckError(run.error());
  std::vector<Hash96> keys{{0, 0}, {UINT64_MAX / 2, 0}, {UINT64_MAX, UINT32_MAX}};
  Run::Cursor cursor(**run);
  while (true) {
    Entry entry;
    const Result<bool> more = cursor.Next(entry);
    if (!more) CheckError(more.error());
    if (!more || !*more) break;
    keys.push_back(entry.hash);
    keys.push_back({entry.hash.high + (uint64_t{1} << 48), entry.hash.low});
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<ProbeHit> hits;
  const std::vector<std::shared_ptr<const Run>> runs{*run, *run};
  if (const Status probed = Probe(runs, keys, hits); !probed) CheckError(probed.error());
  if (const Status verified = (*run)->Verify(); !verified) CheckError(verified.error());
}

void Repair(Bytes& bytes) {
  if (bytes.size() < RunFooter::kBytes) return;
  std::byte* footer = bytes.data() + bytes.size() - RunFooter::kBytes;
  const auto repair = [](std::byte* to, uint64_t checksum) { std::memcpy(to, &checksum, sizeof(checksum)); };
  const auto repair_footer = [&] {
    repair(footer + RunFooter::kBytes - 8, ChecksumOfBytes({footer, RunFooter::kBytes - 8}));
  };
  repair_footer();
  const auto decoded = RunFooter::Decode({footer, RunFooter::kBytes}, static_cast<int64_t>(bytes.size()), kName);
  if (!decoded) return;
  const auto begin = static_cast<size_t>(decoded->fences_offset());
  uint64_t pages_checksum = 0;
  for (size_t page = 0; page * RunPage::kBytes < begin; ++page) {
    std::byte* at = bytes.data() + page * RunPage::kBytes;
    const uint64_t checksum = ChecksumOfPage(at, static_cast<int64_t>(page));
    repair(at + RunPage::kChecksumOffset, checksum);
    pages_checksum = AddPageChecksum(pages_checksum, checksum);
  }
  repair(footer + 64, pages_checksum);
  repair(footer + 72, ChecksumOfBytes(ByteView(bytes).subspan(begin, decoded->footer_offset() - begin)));
  repair_footer();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes = CopyBytes(std::as_bytes(std::span(data, size)));
  ReadAll(bytes);
  Repair(bytes);
  ReadAll(bytes);
  return 0;
}
